"""Doubts about a clustering to consider before its rules are used: where it is poor, or trivial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shallowrules.errors import counted
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.figures import percent

if TYPE_CHECKING:
    from shallowrules.rules.model import RuleSet

__all__ = ["Doubt", "doubts_about"]

LOW_AGREEMENT = 0.6
"""Share of rows that keep their cluster below which rules follow a clustering poorly."""

MANY_COLUMNS = 4
"""With fewer columns, it is not surprising that one or two decide."""

ONE_ALONE, TWO_ALONE = 0.75, 0.9
"""Shares of the variance between clusters by which one column, or two, decide nearly alone."""

HARDLY = 0.05
"""Share of the variance between clusters by which the columns of numbers hardly count."""

MAX_SPELT_OUT = 2
"""Maximum number of columns, all of categories, that the clusters may restate where rules test no other."""

NEARLY_ALL, NEARLY_FREE = 0.95, 1.02
"""Share of rows that keep their cluster, or else normalized cost, from which rules define the clusters."""


@dataclass(frozen=True)
class Doubt:
    """A reason to think again.

    Attributes
    ----------
    kind : {"poor", "restated", "few columns", "numbers"}
    text : str
        A sentence.
    remedy : str
        A remedy, in a sentence that does not name options.
    columns : tuple of RuleColumn
        Those that it is about.
    """

    kind: Literal["poor", "restated", "few columns", "numbers"]
    text: str
    remedy: str
    columns: tuple[RuleColumn, ...] = ()


def doubts_about(rules: RuleSet) -> list[Doubt]:
    """Return the reasons to doubt a clustering that the figures of its rules give; none for given labels."""
    if rules.statistics.labelled:
        return []
    trivial = _spelt_out(rules) or _few_columns(rules)
    return [doubt for doubt in (_poor(rules), trivial, _numbers(rules)) if doubt is not None]


def _poor(rules: RuleSet) -> Doubt | None:
    """Return the doubt that rules follow the clustering poorly, if there is one."""
    if rules.statistics.agreement >= LOW_AGREEMENT:
        return None
    what = (
        "of the weight stays in the cluster that it"
        if rules.statistics.weighted
        else "of the rows stay in the cluster that they"
    )
    return Doubt(
        "poor",
        f"Only {percent(rules.statistics.agreement)} {what} would have without rules: conditions on single columns "
        "hardly tell these clusters apart.",
        "Try other numbers of clusters, another scale of the columns, or more rules.",
    )


def _spelt_out(rules: RuleSet) -> Doubt | None:
    """Return the doubt that clusters are the categories of one or two columns, judging by the tested columns."""
    statistics = rules.statistics
    columns = tuple(rules.columns[feature] for feature in rules.tested_columns)
    if not 1 <= len(columns) <= MAX_SPELT_OUT or len(columns) == len(rules.columns):
        return None
    if any(column.is_numeric for column in columns):
        return None
    if statistics.agreement < NEARLY_ALL and statistics.normalized_cost > NEARLY_FREE:
        return None
    what = "of the weight stays" if statistics.weighted else "of the rows stay"
    return Doubt(
        "restated",
        f"The rules of the {counted(len(rules.clusters), 'cluster')} test nothing but the categories of "
        f"{_listed(columns)}, and {percent(statistics.agreement)} {what} in the same cluster with them: the clusters "
        f"only restate {_these(columns)}.",
        _let_others_count(columns),
        columns,
    )


def _few_columns(rules: RuleSet) -> Doubt | None:
    """Return the doubt that one or two of many columns decide nearly alone, if there is one."""
    shares = rules.separation
    alone = next((n for n, least in ((1, ONE_ALONE), (2, TWO_ALONE)) if sum(s for _, s in shares[:n]) >= least), 0)
    if len(shares) < MANY_COLUMNS or not alone:
        return None
    columns = tuple(column for column, _ in shares[:alone])
    return Doubt(
        "few columns",
        f"{_listed(columns)} {'makes' if alone == 1 else 'make'} up "
        f"{percent(sum(share for _, share in shares[:alone]))} of the variance between clusters, and the other "
        f"{len(shares) - alone} columns hardly count: the clusters nearly restate {_these(columns)}.",
        _let_others_count(columns),
        columns,
    )


def _numbers(rules: RuleSet) -> Doubt | None:
    """Return the doubt that numbers hardly count compared with categories, if there is one."""
    numbers = [share for column, share in rules.separation if column.is_numeric]
    categories = tuple(column for column, _ in rules.separation if not column.is_numeric)
    if not numbers or not categories or sum(numbers) > HARDLY:
        return None
    what, they = (
        ("only column of numbers makes", "it hardly counts")
        if len(numbers) == 1
        else (f"{len(numbers)} columns of numbers make", "they hardly count")
    )
    return Doubt(
        "numbers",
        f"The {what} up {percent(sum(numbers))} of the variance between clusters: {they} beside the categories.",
        "Give categories less weight.",
        categories,
    )


def _listed(columns: Sequence[RuleColumn]) -> str:
    return " and ".join(repr(column.name) for column in columns)


def _these(columns: Sequence[RuleColumn]) -> str:
    return "this column" if len(columns) == 1 else "these two columns"


def _let_others_count(columns: Sequence[RuleColumn]) -> str:
    """Return how to give other columns more influence."""
    lighter = "another scale" if all(column.is_numeric for column in columns) else "less weight for categories"
    return f"To give other columns more influence, try {lighter}, or exclude {_these(columns)}."
