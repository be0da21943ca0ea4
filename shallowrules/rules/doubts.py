"""What to know of a clustering before its rules are put to work: where it is poor, or trivial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shallowrules.rules.columns import RuleColumn

if TYPE_CHECKING:
    from shallowrules.rules.model import RuleSet

__all__ = ["Doubt", "doubts_about"]

LOW_AGREEMENT = 0.6
"""Share of rows that keep their cluster below which rules follow a clustering poorly."""

MANY_COLUMNS = 4
"""With fewer columns, that one or two decide is no wonder."""

ONE_ALONE, TWO_ALONE = 0.75, 0.9
"""Shares of what separates the clusters by which one column, or two, decide nearly alone."""

HARDLY = 0.05
"""Share of what separates the clusters by which the columns of numbers hardly count."""


@dataclass(frozen=True)
class Doubt:
    """A reason to think again.

    Attributes
    ----------
    kind : {"poor", "few columns", "numbers"}
    text : str
        A sentence.
    columns : tuple of RuleColumn
        Those that it is about.
    """

    kind: Literal["poor", "few columns", "numbers"]
    text: str
    columns: tuple[RuleColumn, ...] = ()


def doubts_about(rules: RuleSet) -> list[Doubt]:
    """Return what speaks against a clustering, by the figures of its rules; given labels are as they are."""
    if rules.statistics.labelled:
        return []
    found = []
    if rules.statistics.agreement < LOW_AGREEMENT:
        what = (
            "of the weight stays in the cluster that it"
            if rules.statistics.weighted
            else "of the rows stay in the cluster that they"
        )
        found.append(
            Doubt(
                "poor",
                f"Only {rules.statistics.agreement:.1%} {what} would have without rules: conditions on single columns "
                "hardly tell these clusters apart.",
            )
        )
    shares = rules.separation
    if len(shares) < MANY_COLUMNS:
        return found
    alone = next((n for n, least in ((1, ONE_ALONE), (2, TWO_ALONE)) if sum(s for _, s in shares[:n]) >= least), 0)
    if alone:
        columns = tuple(column for column, _ in shares[:alone])
        names = " and ".join(repr(column.name) for column in columns)
        share = sum(share for _, share in shares[:alone])
        verb, these = ("makes", "this column") if alone == 1 else ("make", "these two columns")
        found.append(
            Doubt(
                "few columns",
                f"{names} {verb} up {share:.1%} of what separates the clusters, and the other {len(shares) - alone} "
                f"columns hardly count: the clusters are nearly {these}, spelt out.",
                columns,
            )
        )
    numbers = [share for column, share in shares if column.is_numeric]
    categories = tuple(column for column, _ in shares if not column.is_numeric)
    if numbers and categories and sum(numbers) <= HARDLY:
        found.append(
            Doubt(
                "numbers",
                f"The {len(numbers)} columns of numbers make up {sum(numbers):.1%} of what separates the clusters: "
                "they hardly count beside the categories.",
                categories,
            )
        )
    return found
