"""Common wording of the formats for people: conditions, numbers, figures, distinctive columns of a cluster.

Names and categories go through a function of the format, which makes them safe there: Markdown escapes its syntax.
A page, whose template escapes everything, needs only that words from right to left keep to themselves.
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
    "describe_missing",
    "describe_origin",
    "describe_profile",
    "describe_quality",
    "describe_separation",
    "describe_total",
    "describe_totals",
    "format_exact",
    "format_number",
    "list_values",
    "says_flag",
]

COLUMNS_SHOWN = 20

SEPARATING_SHOWN = 5
"""Columns that are named as separating the clusters; the shares of the others are added up."""

MEDIAN_BESIDE = 0.25
"""A median is shown beside a mean that is farther from it than this part of the distance between the quartiles."""

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
    if column.imputed is None:
        return ""
    if isinstance(column.imputed, str | bool):
        value = list_values([column.imputed], escape)
    else:
        value = column.show(column.imputed) if column.is_time else format_exact(column.imputed)
    return f" ({value} where missing)"


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
    """Return categories, apart by commas."""
    return ", ".join(escape(format_value(value)) for value in values)


def describe_quality(cluster: Cluster, labelled: bool, escape: Escape = isolate) -> str:
    """Return precision and recall of a cluster as a sentence."""
    if labelled:
        label = escape(repr(cluster.name))
        return (
            f"{percent(cluster.precision)} of the rows that match these rules have the given label {label} "
            "(precision), "
            f"and the rules find {percent(cluster.recall)} of the rows with that label (recall)."
        )
    return (
        f"{percent(cluster.precision)} of the rows with this label are in this cluster in the original clustering "
        f"(precision), and {percent(cluster.recall)} of the rows of that cluster get this label (recall)."
    )


def describe_profile(rules: RuleSet, cluster: Cluster, escape: Escape = isolate) -> list[dict[str, Any]]:
    """Return a line per column, first those in which the cluster differs most from all other rows."""
    return [
        {
            "index": contrast.index,
            "column": contrast.column.name,
            "tested": contrast.index in rules.tested_columns,
            **_figures_of(contrast, cluster, escape),
            "mark": _mark(contrast),
        }
        for contrast in rules.contrasts[cluster.index]
    ]


def _figures_of(contrast: Contrast, cluster: Cluster, escape: Escape) -> dict[str, str]:
    """Return means in the cluster and in the table; of a category, and of a column of 0 and 1, shares."""
    column, index = contrast.column, contrast.index
    if contrast.value is not None:
        value = list_values([column.values[contrast.value]], escape)
        shares = cluster.shares[index][contrast.value], column.shares[contrast.value]
        return {"here": f"{value}: {percent(shares[0])}", "table": f"{value}: {percent(shares[1])}"}
    here, table = describe_means(column, cluster, index)
    return {"here": here, "table": table}


def describe_means(column: RuleColumn, cluster: Cluster, index: int) -> tuple[str, str]:
    """Return the means of a column of numbers in a cluster and in the table; of one of 0 and 1, the shares of 1.

    A median stands after a mean that is far from it by the spread of the column's middle half.
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


def _mark(contrast: Contrast) -> str:
    """Return the marks of a column and what they say, empty where it has none."""
    if not contrast.marks or not contrast.delta:
        return ""
    return f"{contrast.marks * ('↑' if contrast.delta > 0 else '↓')} {contrast.words}"


def describe_marks() -> dict[str, str]:
    """Return from where on there are marks, in words."""
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
    """Return a sum and its share of the whole; None if there is no share."""
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


def describe_made(rules: RuleSet, table: str | None = None) -> str:
    """Return the origin of rules, as far as they record it: file, seed, excluded columns and the reasons.

    Parameters
    ----------
    rules : RuleSet
    table : str, optional
        The input, instead of the files that the rules name.
    """
    settings = rules.settings
    files = settings.get("tables")
    if table is None and isinstance(files, list) and files:
        table = one_line(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    if table is None and settings and not files:  # a database: its address may hold a password
        table = "rows of a database"
    left_out: dict[str, list[str]] = {}
    for name in rules.statistics.other_columns[:COLUMNS_SHOWN]:
        left_out.setdefault(_reason(name, settings), []).append(one_line(name))
    said = [f"{', '.join(names)} ({reason})" for reason, names in left_out.items()]
    if (more := len(rules.statistics.other_columns) - COLUMNS_SHOWN) > 0:
        said.append(f"{more:,} more")
    parts = [
        table or "",
        f"seed {settings['seed']}" if "seed" in settings else "",
        f"unused columns: {', '.join(said)}" if said else "",
    ]
    return "; ".join(filter(None, parts))


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
        "tradeoff": f"{100 * s.tradeoff:g}%",
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
        "columns_shown": str(COLUMNS_SHOWN),
    }
