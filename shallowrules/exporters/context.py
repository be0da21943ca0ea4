"""A rule set as a template sees it: plain data only, the same for every exporter.

The context is stable, because users' own templates read it:

``statistics``
    The fields of `shallowrules.rules.Statistics`, and ``cost_text``, the normalized cost as text ("1.050").
``columns``
    Per raw column: ``name``, ``type``, ``mean``, ``minimum``, ``maximum``, ``tested``, and where it has
    categories (``type`` is "text" or "boolean") ``values`` and ``shares``; ``decimal`` and ``nulls`` say how
    text becomes its values, ``imputed`` is the substitute for missing ones (none if there is none).
``clusters``
    Largest first: ``index``, ``name``, ``title``, ``note`` (empty if there is none), ``noise`` (whether it is the
    noise of a clustering), ``rows``, ``weight``, ``share``, ``precision``, ``recall``, ``means`` (one per column, none
    for categories), ``shares`` (per column those of its values), ``share_text`` ("33.1%"), ``rows_text`` ("59 rows,
    33.1%") and ``rules``.
``rules``
    Largest cluster first: ``cluster`` (its index), ``rows``, ``weight``, ``share``, ``depth``,
    ``rows_text`` and ``conditions``, each with ``column`` (its name), ``type``, ``lower`` and
    ``upper`` (a number or none): the value is above the one and at most the other; and ``included`` (a
    list of categories or none) and ``excluded`` (a list): the value is one of the former, none of the latter.
``options``
    The exporter's options.

An exporter adds entries of its own; its module names them. Columns and clusters also have the other fields of
`shallowrules.rules.RuleColumn` and `shallowrules.rules.Cluster`, which may change.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import Any

from shallowrules.errors import ExportError, counted
from shallowrules.rules import (
    INT64,
    Between,
    Condition,
    ConditionVisitor,
    Cut,
    NoneOf,
    Number,
    OneOf,
    Rule,
    RuleColumn,
    RuleSet,
)
from shallowrules.rules.figures import percent, show_figure
from shallowrules.rules.nodes import rules_length
from shallowrules.tables.conversion import DOUBLE_EXACT
from shallowrules.tables.times import NATURES

__all__ = [
    "bounds",
    "check_length",
    "check_no_times",
    "check_whole_columns",
    "check_whole_thresholds",
    "describe",
    "is_exact_in_doubles",
    "is_held_as_double",
    "is_int64",
    "package_version",
    "rows_text",
    "summary_of",
]

MAX_LENGTH = 20_000_000
"""Maximum number of characters of rules that are written: Python needs some 100 bytes for each to compile them."""


@cache
def package_version() -> str:
    """Return the version of this package, looked up once: that takes as long as some exports."""
    return version("shallowrules")


def check_length(rules: RuleSet) -> None:
    """Raise ExportError for rules that would fill the memory of whoever writes or reads them."""
    length = rules_length(rules.nodes, rules.columns)
    if length > MAX_LENGTH:
        raise ExportError(
            f"{counted(len(rules), 'rule')} would have about {length:,} characters, and the limit is "
            f"{MAX_LENGTH:,}: each rule repeats the path to its leaf, so make a tree with fewer leaves, or a larger "
            "trade-off"
        )


def check_no_times(rules: RuleSet, exporter: str, held: Container[str] = ()) -> None:
    """Raise ExportError for rules that test a date, a point in time or a duration, unless its kind is `held`."""
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        if column.is_time and column.type not in held:
            raise ExportError(
                f"exporter {exporter!r} cannot write rules on {NATURES[column.type]}, and one tests column "
                f"{column.name!r}: replace it with a column of numbers, such as days since a fixed date"
            )


def check_whole_thresholds(rules: RuleSet, exporter: str, held: range) -> None:
    """Raise ExportError for rules that compare whole numbers with one that a format does not hold exactly."""
    for node in rules.nodes:
        if isinstance(node, Cut) and rules.columns[node.column].is_whole and node.threshold not in held:
            raise _beyond(rules.columns[node.column], f"a rule compares it with {node.threshold}", exporter, held)


def check_whole_columns(rules: RuleSet, exporter: str, held: range) -> None:
    """Raise ExportError if a tested column has whole numbers that a format cannot hold, compared with or not."""
    check_whole_thresholds(rules, exporter, held)
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        if column.is_whole and column.maximum is not None and column.maximum not in held:
            raise _beyond(column, f"the column goes up to {column.maximum}", exporter, held)


def is_exact_in_doubles(rules: RuleSet, feature: int) -> bool:
    """Return whether doubles tell any whole number from each threshold of a column."""
    thresholds = (node.threshold for node in rules.nodes if isinstance(node, Cut) and node.column == feature)
    return all(abs(threshold) < DOUBLE_EXACT for threshold in thresholds)


def is_held_as_double(rules: RuleSet, feature: int) -> bool:
    """Return whether doubles do for a column of numbers: they tell its values from thresholds and null markers."""
    column = rules.columns[feature]
    nulls_told = all(abs(number) < DOUBLE_EXACT for number in column.conversion.null_numbers)
    return not column.is_whole or (nulls_told and is_exact_in_doubles(rules, feature))


def is_int64(number: Number) -> bool:
    """Return whether a finite number is a whole one of 64 bits."""
    return number == int(number) and int(number) in INT64


def _beyond(column: RuleColumn, why: str, exporter: str, held: range) -> ExportError:
    return ExportError(
        f"exporter {exporter!r} cannot write rules on column {column.name!r}: its format holds whole numbers up to "
        f"{held[-1]}, and {why}; use another exporter"
    )


def describe(rules: RuleSet, add_to_rule: Callable[[Rule], dict[str, Any]]) -> dict[str, Any]:
    """Return the rule set as nested dicts and lists.

    Parameters
    ----------
    rules : RuleSet
    add_to_rule : callable
        Gives the entries that an exporter adds to each rule.

    Raises
    ------
    ExportError
        If there is more to write than `MAX_LENGTH`.
    """
    check_length(rules)
    describe_condition = _Description()
    described: dict[int, list[dict[str, Any]]] = {cluster.index: [] for cluster in rules.by_size}
    for rule in rules:
        described[rule.cluster].append(
            {
                "cluster": rule.cluster,
                "rows": rule.rows,
                "weight": rule.weight,
                "share": rule.share,
                "depth": rule.depth,
                "rows_text": rows_text(rule.rows, rule.share),
                "conditions": [describe_condition(condition) for condition in rule.conditions],
                **add_to_rule(rule),
            }
        )
    tested = set(rules.tested_columns)
    return {
        "statistics": {
            **asdict(rules.statistics),
            **{name: list(getattr(rules.statistics, name)) for name in ("notes", "other_columns")},
            "cost_text": show_figure(rules.statistics.normalized_cost, ".3f"),
        },
        "columns": [
            {
                **asdict(column),
                **{name: list(getattr(column, name)) for name in ("values", "shares", "nulls")},
                "tested": i in tested,
            }
            for i, column in enumerate(rules.columns)
        ],
        "clusters": [
            {
                **asdict(cluster),
                "title": cluster.title,
                "means": list(cluster.means),
                "shares": [list(shares) for shares in cluster.shares],
                "rows_text": rows_text(cluster.rows, cluster.share),
                "share_text": percent(cluster.share),
                "rules": described[cluster.index],
            }
            for cluster in rules.by_size
        ],
        "rules": [rule for found in described.values() for rule in found],
    }


def bounds(condition: Between) -> tuple[int | float | None, int | float | None]:
    """Return the lower and upper bound in the number type of the column, without a negative zero."""
    convert: Callable[[int | float], int | float] = int if condition.column.is_whole else float
    lower, upper = (None if bound is None else convert(bound) + 0 for bound in (condition.lower, condition.upper))
    return lower, upper


def rows_text(rows: int, share: float) -> str:
    """Return how many rows there are, and their share of the table."""
    return f"{counted(rows, 'row')}, {percent(share)}"


def summary_of(rules: RuleSet) -> str:
    """Return how many rows and clusters there are, and the cost of the rules, for the description of a model."""
    statistics = rules.statistics
    return (
        f"{counted(statistics.rows, 'row')}, {counted(len(rules.clusters), 'cluster')}; k-means cost "
        f"{show_figure(statistics.normalized_cost, '.3f')} times that of the clusters without rules"
    )


class _Description(ConditionVisitor[dict[str, Any]]):
    """A condition as plain data, with every entry for each kind."""

    def between(self, condition: Between) -> dict[str, Any]:
        """Return the bounds."""
        lower, upper = bounds(condition)
        return {**self._describe(condition), "lower": lower, "upper": upper}

    def one_of(self, condition: OneOf) -> dict[str, Any]:
        """Return the accepted categories."""
        return {**self._describe(condition), "included": list(condition.values)}

    def none_of(self, condition: NoneOf) -> dict[str, Any]:
        """Return the excluded categories."""
        return {**self._describe(condition), "excluded": list(condition.values)}

    def _describe(self, condition: Condition) -> dict[str, Any]:
        column = condition.column
        empty: dict[str, Any] = {"lower": None, "upper": None, "included": None, "excluded": []}
        return {"column": column.name, "type": column.type, **empty}
