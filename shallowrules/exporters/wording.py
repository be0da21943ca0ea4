"""Common wording of the formats for people: conditions, numbers, figures, distinctive columns of a cluster.

Names and categories go through a function of the format, which makes them safe there: Markdown escapes its syntax.
A page, whose template escapes everything, only needs right-to-left words to be isolated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from shallowrules.errors import counted
from shallowrules.exporters.context import bounds, package_version
from shallowrules.exporters.rendering import isolate, one_line
from shallowrules.rules import (
    Between,
    Cluster,
    Condition,
    ConditionVisitor,
    Contrast,
    Cut,
    Membership,
    NoneOf,
    OneOf,
    RuleColumn,
    RuleSet,
    Value,
    format_value,
)
from shallowrules.rules.figures import percent, show_figure
from shallowrules.rules.words.contrasts import MARKS, MIN_ROWS
from shallowrules.rules.words.doubts import doubts_about
from shallowrules.tables.times import BOUND_WORDS, average_text, bound_text

__all__ = [
    "COLUMNS_SHOWN",
    "ConditionWords",
    "bound_words_of",
    "branch_label",
    "describe_doubts",
    "describe_figures",
    "describe_made",
    "describe_marks",
    "describe_means",
    "describe_method",
    "describe_missing",
    "describe_origin",
    "describe_profile",
    "describe_quality",
    "describe_separation",
    "describe_source",
    "describe_total",
    "describe_totals",
    "describe_unused",
    "format_exact",
    "format_number",
    "list_values",
    "says_flag",
    "show_imputed",
]

COLUMNS_SHOWN = 20

SEPARATING_SHOWN = 5
"""The number of columns named as separating the clusters; the shares of the others are added up."""

MEDIAN_BESIDE = 0.25
"""A median is shown beside a mean that is farther from it than this part of the distance between the quartiles."""

METHODS = {
    "exshallow": "a decision tree of low cost, whatever the length of its rules (ExShallow)",
    "exgreedy": "a decision tree of low cost, whatever the length of its rules (ExGreedy)",
    "imm": "a decision tree whose questions separate as few rows as possible from their cluster (IMM)",
    "exkmc": "a decision tree grown by the questions that lower the cost most (ExKMC)",
    "cart": "a decision tree that was given (CART)",
}
"""The trees that the methods grow, in words."""

Escape = Callable[[str], str]
"""Makes text safe for its context."""


def format_number(value: int | float, column: RuleColumn | None = None) -> str:
    """Return a number for people: four significant digits, thousands with commas; for a column of times a time."""
    if column is not None and column.is_time:
        return average_text(column.type, value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e15:
        return f"{value:.3e}"
    rounded = float(f"{value:.4g}")
    return f"{value:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.10f}".rstrip("0").rstrip(".")


def format_exact(bound: int | float, column: RuleColumn | None = None) -> str:
    """Return a threshold with all its digits, thousands with commas; for a column of times the compared time."""
    if column is not None and column.is_time:
        return column.show_threshold(bound)
    return f"{bound:,}".removesuffix(".0")


class ConditionWords(ConditionVisitor[str]):
    """The words of a condition, to follow "is".

    Parameters
    ----------
    escape : callable
    says_flags : bool
        Whether a condition on a column of 0 and 1 is worded as 0 or 1, instead of at most 0 or above 0.
    """

    def __init__(self, escape: Escape = isolate, *, says_flags: bool = False) -> None:
        self.escape, self.says_flags = escape, says_flags

    def between(self, condition: Between) -> str:
        """Return the bounds with all their digits."""
        lower, upper = bounds(condition)
        if self.says_flags and says_flag(condition):
            return "0" if lower is None else "1"
        above, at_most = bound_words_of(condition.column)
        limits = [f"{above} {format_exact(lower, condition.column)}"] if lower is not None else []
        limits += [f"{at_most} {format_exact(upper, condition.column)}"] if upper is not None else []
        return " and ".join(limits)

    def one_of(self, condition: OneOf) -> str:
        """Return the accepted categories."""
        values = list_values(condition.values, self.escape)
        return values if len(condition.values) == 1 else f"one of {values}" if values else "nothing at all"

    def none_of(self, condition: NoneOf) -> str:
        """Return the excluded categories."""
        values = list_values(condition.values, self.escape)
        return f"not {values}" if len(condition.values) == 1 else f"none of {values}"


def bound_words_of(column: RuleColumn) -> tuple[str, str]:
    """Return the words for "above a bound" and "at most a bound" for a column's type."""
    return BOUND_WORDS.get(column.type, ("above", "at most"))


def says_flag(condition: Condition) -> bool:
    """Return whether a condition asks whether a column of 0 and 1 is one of these."""
    if not isinstance(condition, Between) or not condition.column.is_flag:
        return False
    return (condition.lower, condition.upper) in ((None, 0), (0, None))


def describe_missing(column: RuleColumn, escape: Escape = isolate) -> str:
    """Return the value that replaces a missing one, in brackets, or nothing."""
    return "" if column.imputed is None else f" ({show_imputed(column, escape)} where missing)"


def show_imputed(column: RuleColumn, escape: Escape) -> str:
    """Return the value that replaces a missing one, for a column that has one."""
    assert column.imputed is not None
    if isinstance(column.imputed, str | bool):
        return list_values([column.imputed], escape)
    return column.show(column.imputed) if column.is_time else format_exact(column.imputed)


def branch_label(node: Cut | Membership, column: RuleColumn, goes_left: bool) -> str:
    """Return the condition on one side of a node, in a few characters."""
    if isinstance(node, Cut):
        if column.is_time:
            sign, text = bound_text(column.type, int(node.threshold), above=not goes_left)
            return f"{sign.replace('<=', '≤').replace('>=', '≥')} {text}"
        return f"{'≤' if goes_left else '>'} {format_exact(node.threshold + 0)}"
    if not goes_left and column.type == "boolean":
        return list_values([value for value in (False, True) if value not in node.values])
    values = list_values(node.values, one_line)  # nothing stands after it
    return values if goes_left else f"not {values}"


def list_values(values: Sequence[Value], escape: Escape = isolate) -> str:
    """Return categories, separated by commas."""
    return ", ".join(escape(format_value(value)) for value in values)


def describe_quality(cluster: Cluster, labelled: bool, escape: Escape = isolate) -> str:
    """Return precision and recall of a cluster as a sentence."""
    if labelled:
        return (
            f"Of these rows, {percent(cluster.precision)} have the given label {escape(repr(cluster.name))} "
            f"(precision); of the rows with that label, {percent(cluster.recall)} are here (recall)."
        )
    return (
        f"Of these rows, {percent(cluster.precision)} are in this cluster without rules too (precision); "
        f"of the rows that it has without rules, {percent(cluster.recall)} are here (recall)."
    )


def describe_profile(rules: RuleSet, cluster: Cluster, escape: Escape = isolate) -> list[dict[str, Any]]:
    """Return a line per column, first those in which the cluster differs most from all other rows."""
    tested = {condition.feature for rule in rules.rules_of(cluster.index) for condition in rule.conditions}
    return [
        {
            "index": contrast.index,
            "column": contrast.column.name,
            "tested": contrast.index in tested,
            **_figures_of(contrast, cluster, escape),
            "mark": _mark(contrast, contrast.words),
            "short_mark": _mark(contrast, contrast.short),
        }
        for contrast in rules.contrasts[cluster.index]
    ]


def _figures_of(contrast: Contrast, cluster: Cluster, escape: Escape) -> dict[str, Any]:
    """Return means in the cluster and in the table; for a category, or a column of 0 and 1, shares of a value."""
    column, index = contrast.column, contrast.index
    if contrast.value is not None:
        value = list_values([column.values[contrast.value]], escape)
        shares = percent(cluster.shares[index][contrast.value]), percent(column.shares[contrast.value])
        return {"value": value, "figures": shares, "here": f"{value}: {shares[0]}", "table": f"{value}: {shares[1]}"}
    figures = describe_means(column, cluster, index)
    return {"value": "1" if column.is_flag else "", "figures": figures, "here": figures[0], "table": figures[1]}


def describe_means(column: RuleColumn, cluster: Cluster, index: int) -> tuple[str, str]:
    """Return the means of a column of numbers in a cluster and in the table; for one of 0 and 1, the shares of 1.

    A median follows a mean that is far from it, compared with the spread of the column's middle half.
    """
    means = cast(float, cluster.means[index]), cast(float, column.mean)
    if column.is_flag:
        return percent(means[0]), percent(means[1])
    medians = cluster.medians[index] if cluster.medians else None, column.quartiles[1] if column.quartiles else None
    here, table = (_with_median(*each, column) for each in zip(means, medians, strict=True))
    return here, table


def _with_median(mean: float, median: float | None, column: RuleColumn) -> str:
    said = format_number(mean, column)
    if median is None or not column.quartiles:
        return said
    lower, _, upper = column.quartiles
    beside = format_number(median, column)
    is_far = abs(mean - median) > MEDIAN_BESIDE * (upper - lower)
    return f"{said} (median {beside})" if is_far and beside != said else said


def _mark(contrast: Contrast, words: str) -> str:
    """Return the marks of a column and their meaning in words, empty where it has none."""
    if not contrast.marks or not contrast.delta:
        return ""
    return f"{contrast.marks * ('↑' if contrast.delta > 0 else '↓')} {words}"


def describe_marks() -> dict[str, str]:
    """Return the limits from which there are marks, in words."""
    one, two = MARKS
    return {
        "pairs": f"{50 * (1 + one):g}%",
        "more_pairs": f"{50 * (1 + two):g}%",
        "points": f"{100 * one:g}",
        "more_points": f"{100 * two:g}",
        "delta": f"{one:g}",
        "more_delta": f"{two:g}",
        "rows": str(MIN_ROWS),
    }


def describe_separation(rules: RuleSet) -> str:
    """Return the columns that separate the clusters and the share of each; empty where that is not known."""
    shares = list(rules.separation)
    shown = shares if len(shares) <= SEPARATING_SHOWN + 1 else shares[:SEPARATING_SHOWN]
    text = ", ".join(f"{one_line(column.name)} {percent(share)}" for column, share in shown)
    rest = shares[len(shown) :]
    if not rest:
        return text
    return f"{text}, {counted(len(rest), 'other column')} {percent(sum(share for _, share in rest))}"


def describe_total(total: float, share: float | None) -> str:
    """Return a sum and, unless it is None, its share of the whole."""
    return format_number(total) + ("" if share is None else f" ({percent(share)})")


def describe_totals(rules: RuleSet) -> dict[int, str]:
    """Return the total of each cluster, and its share; empty if no column was added up."""
    share = rules.statistics.share_of_total
    return {
        cluster.index: describe_total(cluster.total, share(cluster))
        for cluster in rules.clusters
        if cluster.total is not None
    }


def describe_doubts(rules: RuleSet) -> list[str]:
    """Return the reasons to doubt the clustering, each with a remedy."""
    return [f"{doubt.text} {doubt.remedy}" for doubt in doubts_about(rules)]


def describe_made(rules: RuleSet) -> str:
    """Return the origin of rules, as far as they record it: file, seed, excluded columns and the reasons."""
    seed, unused = rules.settings.get("seed"), describe_unused(rules)
    parts = [describe_source(rules), "" if seed is None else f"seed {seed}", unused and f"unused columns: {unused}"]
    return "; ".join(filter(None, parts))


def describe_source(rules: RuleSet) -> str:
    """Return the table that rules were made from, as far as they record it."""
    files = rules.settings.get("tables")
    if isinstance(files, list) and files:
        return one_line(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    # The address of a database may hold a password.
    return "rows of a database" if rules.settings and not files else ""


def describe_unused(rules: RuleSet) -> str:
    """Return the columns of the table that are not among those of the rules, and the reasons."""
    others = rules.statistics.other_columns
    left_out: dict[str, list[str]] = {}
    for name in others[:COLUMNS_SHOWN]:
        left_out.setdefault(_reason(name, rules.settings), []).append(one_line(name))
    said = [f"{', '.join(names)} ({reason})" for reason, names in left_out.items()]
    more = len(others) - COLUMNS_SHOWN
    return ", ".join([*said, f"{more:,} more"] if more > 0 else said)


def describe_method(rules: RuleSet) -> str:
    """Return the tree behind the rules, and what it was grown for."""
    statistics = rules.statistics
    if statistics.method == "exshallow" and statistics.tradeoff:
        saving = f"{100 * statistics.tradeoff:g}% more (of the cost without rules)"
        return f"a shallow decision tree (ExShallow), which may cost {saving} for each condition that it saves per row"
    return METHODS.get(statistics.method, f"a decision tree ({statistics.method})")


def describe_origin(rules: RuleSet) -> str:
    """Return the hash of the rules and the version that wrote them."""
    return f"Rules with SHA-256 {rules.sha256}, written by shallowrules {package_version()}"


def _reason(name: str, settings: Mapping[str, Any]) -> str:
    """Return why a column of the table is not among those of the rules."""
    roles = {"labels": "holds the labels", "weight": "holds the weights", "measure": "is added up"}
    for option, role in roles.items():
        if settings.get(option) == name:
            return role
    chosen = settings.get("columns") or (settings.get("explain") if "labels" in settings else None)
    return "excluded" if not chosen or name in chosen else "not chosen"


def describe_figures(rules: RuleSet) -> dict[str, str]:
    """Return the sheet's figures for the rules as a whole, in words."""
    s, unmeasured = rules.statistics, sum(cluster.unmeasured for cluster in rules.clusters)
    extra = s.normalized_cost - 1
    if extra >= 0.00005:
        price = (
            f"The clusters are {show_figure(100 * extra, '.2f')}% less tight than without rules: the cost of "
            "describing every row by a rule."
        )
    elif extra > -0.00005:
        price = "The clusters are as tight as without rules: describing every row by a rule costs nothing."
    else:  # given labels need not be the tightest clusters, nor need those of k-means
        others = "the given ones" if s.labelled else "those of the clustering without rules"
        price = f"The clusters are {-100 * extra:.2f}% tighter than {others}."
    return {
        "table": f"{counted(s.rows, 'row')}, {counted(len(rules.columns), 'column')}"
        + (f", weighing {s.weight:,.10g} in all" if s.weighted else ""),
        "clusters": f"{counted(len(rules.clusters), 'cluster')}, described by {counted(len(rules), 'rule')} "
        f"that test {counted(len(rules.tested_columns), 'column')}",
        "agreement": percent(s.agreement),
        "left_out": counted(s.left_out, "row"),
        "price": price,
        "cost": f"{s.cost:,.6g}",
        "reference_cost": f"{s.reference_cost:,.6g}",
        "normalized_cost": show_figure(s.normalized_cost, ".4f"),
        "waes": f"{s.waes:.2f}",
        "wad": f"{s.wad:.2f}",
        "separation": describe_separation(rules),
        "total": "" if s.total is None else format_number(s.total),
        "unmeasured": f"{counted(unmeasured, 'row')} without a value" if unmeasured else "",
    }
