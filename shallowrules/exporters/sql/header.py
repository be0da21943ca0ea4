"""What SQL text says before its first statement: what made it, what it is worth, and what to know of the engine."""

from __future__ import annotations

from collections.abc import Sequence

from shallowrules.errors import counted
from shallowrules.exporters.context import package_version, percent
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.rules import Cut, Number, RuleColumn, RuleSet, Value
from shallowrules.rules.figures import show_figure

__all__ = ["header_lines"]


def header_lines(rules: RuleSet, names: Sequence[str], dialect: Dialect, without_cluster: str) -> list[str]:
    """Return the lines of the comment that SQL text begins with.

    Parameters
    ----------
    rules : RuleSet
    names : sequence of str
        What the database calls each column of the rules.
    dialect : Dialect
    without_cluster : str
        A sentence on rows that no rule matches.
    """
    return [
        f"Written by shallowrules {package_version()} from the rules with SHA-256 {rules.sha256}.",
        _worth(rules),
        *_missing(rules, names, dialect),
        without_cluster,
        *_cautions(rules, dialect),
    ]


def _worth(rules: RuleSet) -> str:
    """Return what the rules were made from, their cost, and how far they agree with the clusters that they explain."""
    s = rules.statistics
    before = "given clusters" if s.labelled else "clusters without rules"
    return (
        f"{counted(s.rows, 'row')}, {counted(len(rules.clusters), 'cluster')}; k-means cost "
        f"{show_figure(s.normalized_cost, '.3f')} times that of the {before}; "
        f"{percent(s.agreement)} of the rows in the same cluster as there."
    )


def _missing(rules: RuleSet, names: Sequence[str], dialect: Dialect) -> list[str]:
    """Return what becomes of missing values."""
    tested = [(names[i], rules.columns[i]) for i in rules.tested_columns]
    lines = [
        f"A missing value of {dialect.identifier(name)} counts as {_shown(column, column.imputed)}."
        for name, column in tested
        if column.imputed is not None
    ]
    if any(column.imputed is None for _, column in tested):
        others = "another column" if lines else "a column"
        lines.append(f"A rule that tests {others} does not match a row without a value in it.")
    return lines


def _shown(column: RuleColumn, value: Number | Value) -> str:
    return f'"{value}"' if isinstance(value, str) else column.show(value)


def _cautions(rules: RuleSet, dialect: Dialect) -> list[str]:
    """Return what the engine may get wrong, as far as these rules are concerned."""
    numbers: dict[int, list[Number]] = {i: list(rules.columns[i].conversion.null_numbers) for i in rules.tested_columns}
    for node in rules.nodes:
        if isinstance(node, Cut):
            numbers[node.column].append(node.threshold)
    return [
        caution.text
        for caution in dialect.cautions
        if any(caution.concerns(rules.columns[i], found) for i, found in numbers.items())
    ]
