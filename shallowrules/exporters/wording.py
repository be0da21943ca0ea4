"""What the forms for people say of rules, in the same words: conditions, numbers, figures, what sets a cluster apart.

Names and categories go through a function that a form gives, which makes them safe there: Markdown escapes its syntax.
A page, whose template escapes everything, needs only that words from right to left keep to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from shallowrules.errors import counted
from shallowrules.exporters.context import bounds, package_version, percent
from shallowrules.exporters.rendering import isolate, one_line
from shallowrules.rules import (
    Between,
    Cluster,
    Condition,
    ConditionVisitor,
    Cut,
    Membership,
    NoneOf,
    OneOf,
    RuleColumn,
    RuleSet,
    Value,
    format_value,
)
from shallowrules.rules.figures import show_figure
from shallowrules.rules.words.doubts import doubts_about
from shallowrules.tables.times import BOUND_WORDS, average_text, bound_text

__all__ = [
    "COLUMNS_SHOWN",
    "DEVIATION",
    "STRONG_DEVIATION",
    "ConditionWords",
    "bound_words_of",
    "branch_label",
    "describe_doubts",
    "describe_figures",
    "describe_made",
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
"""Columns that are named in what separates the clusters; the others are added up."""

DEVIATION = 0.15
STRONG_DEVIATION = 0.3

Escape = Callable[[str], str]
"""Makes text safe where it is to stand."""


def format_number(value: int | float, column: RuleColumn | None = None) -> str:
    """Return a number to read: four significant digits, thousands apart; of a column of times a time."""
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
    """Return a threshold with all its digits, thousands apart; of a column of times what values are held against."""
    if column is not None and column.is_time:
        return column.show_threshold(bound)
    return f"{bound:,}".removesuffix(".0")


class ConditionWords(ConditionVisitor[str]):
    """What a condition asks of a column, to follow "is".

    Parameters
    ----------
    escape : callable
    says_flags : bool
        Whether a column of 0 and 1 is said to be 0, or 1, in place of what is at most 0, or above.
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
        """Return the categories to be one of."""
        values = list_values(condition.values, self.escape)
        return values if len(condition.values) == 1 else f"one of {values}" if values else "nothing at all"

    def none_of(self, condition: NoneOf) -> str:
        """Return the categories to be none of."""
        values = list_values(condition.values, self.escape)
        return f"not {values}" if len(condition.values) == 1 else f"none of {values}"


def bound_words_of(column: RuleColumn) -> tuple[str, str]:
    """Return what is asked of a value of a column above a bound, and at most the bound, in words."""
    return BOUND_WORDS.get(column.type, ("above", "at most"))


def says_flag(condition: Condition) -> bool:
    """Return whether a condition asks whether a column of 0 and 1 is one of these."""
    if not isinstance(condition, Between) or not condition.column.is_flag:
        return False
    return (condition.lower, condition.upper) in ((None, 0), (0, None))


def describe_missing(column: RuleColumn, escape: Escape = isolate) -> str:
    """Return what a missing value is taken as, in brackets, or nothing."""
    if column.imputed is None:
        return ""
    if isinstance(column.imputed, str | bool):
        value = list_values([column.imputed], escape)
    else:
        value = column.show(column.imputed) if column.is_time else format_exact(column.imputed)
    return f" ({value} where missing)"


def branch_label(node: Cut | Membership, column: RuleColumn, goes_left: bool) -> str:
    """Return what is asked of a row on one side of a node, in a few characters."""
    if isinstance(node, Cut):
        if column.is_time:
            sign, text = bound_text(column.type, int(node.threshold), above=not goes_left)
            return f"{sign.replace('<=', '≤').replace('>=', '≥')} {text}"
        return f"{'≤' if goes_left else '>'} {format_exact(node.threshold + 0)}"
    if not goes_left and column.type == "boolean":
        return list_values([value for value in (False, True) if value not in node.values])
    values = list_values(node.values, one_line)  # nothing stands behind it
    return values if goes_left else f"not {values}"


def list_values(values: Sequence[Value], escape: Escape = isolate) -> str:
    """Return categories, apart by commas."""
    return ", ".join(escape(format_value(value)) for value in values)


def describe_quality(cluster: Cluster, labelled: bool, escape: Escape = isolate) -> str:
    """Return precision and recall of a cluster as a sentence."""
    if labelled:
        label = escape(repr(cluster.name))
        return (
            f"{percent(cluster.precision)} of what the rules put here has the given label {label} (precision), "
            f"and the rules find {percent(cluster.recall)} of what has it (recall)."
        )
    return (
        f"{percent(cluster.precision)} of the rows with this label are in this cluster in the original clustering "
        f"(precision), and {percent(cluster.recall)} of the rows of that cluster get this label (recall)."
    )


def describe_profile(rules: RuleSet, cluster: Cluster, escape: Escape = isolate) -> list[dict[str, Any]]:
    """Return a line per column: tested ones first, then those in which the cluster stands out most."""
    tested = set(rules.tested_columns)
    lines = []
    for index, column in enumerate(rules.columns):
        what = (
            _number_line(column, cluster, index)
            if column.is_numeric
            else _category_line(column, cluster, index, escape)
        )
        lines.append(
            {
                "index": index,
                "column": column.name,
                "tested": index in tested,
                **what,
                "mark": _mark(what["deviation"], column),
            }
        )
    return sorted(lines, key=lambda line: (not line["tested"], -abs(line["deviation"])))


def _number_line(column: RuleColumn, cluster: Cluster, index: int) -> dict[str, Any]:
    """Compare the means, in the column's whole range; of a column of 0 and 1 they are shares."""
    here, table = cast(float, cluster.means[index]), cast(float, column.mean)
    spread = cast(float, column.maximum) - cast(float, column.minimum)
    deviation = (here - table) / spread if spread > 0 else 0.0
    if column.is_flag:
        return {"here": percent(here), "table": percent(table), "deviation": deviation}
    return {"here": format_number(here, column), "table": format_number(table, column), "deviation": deviation}


def _category_line(column: RuleColumn, cluster: Cluster, index: int, escape: Escape) -> dict[str, Any]:
    """Compare the shares of the value in which they differ most."""
    deviations = [here - table for here, table in zip(cluster.shares[index], column.shares, strict=True)]
    most = max(range(len(deviations)), key=lambda i: abs(deviations[i]))
    value = list_values([column.values[most]], escape)
    return {
        "here": f"{value}: {percent(cluster.shares[index][most])}",
        "table": f"{value}: {percent(column.shares[most])}",
        "deviation": deviations[most],
    }


def _mark(deviation: float, column: RuleColumn) -> str:
    if abs(deviation) < DEVIATION:
        return ""
    words = ("later", "earlier") if column.is_time and column.type != "duration" else ("higher", "lower")
    direction = words[0] if deviation > 0 else words[1]
    return f"much {direction}" if abs(deviation) >= STRONG_DEVIATION else direction


def describe_separation(rules: RuleSet, percent: Callable[[float], str] = percent) -> str:
    """Return which columns separate the clusters, and how much each; empty where that is not known.

    `percent` writes a share.
    """
    shares = list(rules.separation)
    shown = shares if len(shares) <= SEPARATING_SHOWN + 1 else shares[:SEPARATING_SHOWN]
    text = ", ".join(f"{one_line(column.name)} {percent(share)}" for column, share in shown)
    rest = shares[len(shown) :]
    if not rest:
        return text
    return f"{text}, {counted(len(rest), 'other column')} {percent(sum(share for _, share in rest))}"


def describe_total(total: float, share: float | None, percent: Callable[[float], str] = percent) -> str:
    """Return a sum and its share of the whole, which `percent` writes; None where there is no share."""
    return format_number(total) + ("" if share is None else f" ({percent(share)})")


def describe_totals(rules: RuleSet, percent: Callable[[float], str] = percent) -> dict[int, str]:
    """Return the total of each cluster, and its share; empty where no column was added up."""
    share = rules.statistics.share_of_total
    return {
        cluster.index: describe_total(cluster.total, share(cluster), percent)
        for cluster in rules.clusters
        if cluster.total is not None
    }


def describe_doubts(rules: RuleSet) -> list[str]:
    """Return what speaks against the clustering, each with what to try."""
    return [f"{doubt.text} {doubt.way_out}" for doubt in doubts_about(rules, percent)]


def describe_made(rules: RuleSet, table: str | None = None) -> str:
    """Return what rules were made from and how, as far as they say it: file, seed, columns left out and why.

    Parameters
    ----------
    rules : RuleSet
    table : str, optional
        What was read, in place of the files that the rules name.
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
        f"columns left out: {', '.join(said)}" if said else "",
    ]
    return "; ".join(filter(None, parts))


def describe_origin(rules: RuleSet) -> str:
    """Return from which rules a form was written, and by which version."""
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
    """Return what the sheet says of the whole, in words."""
    s, unmeasured = rules.statistics, sum(cluster.unmeasured for cluster in rules.clusters)
    extra = s.normalized_cost - 1
    if extra >= 0.00005:
        price = (
            f"The clusters are {show_figure(100 * extra, '.2f')} % less tight than without rules: that is what it "
            "costs that a rule explains every row."
        )
    elif extra > -0.00005:
        price = "The clusters are as tight as without rules: that a rule explains every row costs nothing."
    else:  # given labels need not be the tightest clusters, nor need those of k-means
        others = "the given ones" if s.labelled else "those of the clustering without rules"
        price = f"The clusters are {-100 * extra:.2f} % tighter than {others}."
    return {
        "table": f"{counted(s.rows, 'row')}, {counted(len(rules.columns), 'column')}"
        + (f", weighing {s.weight:,.10g} in all" if s.weighted else ""),
        "clusters": f"{counted(len(rules.clusters), 'cluster')}, described by {counted(len(rules), 'rule')} "
        f"that test {counted(len(rules.tested_columns), 'column')}",
        "tradeoff": f"{100 * s.tradeoff:g} %",
        "agreement": percent(s.agreement),
        "left_out": counted(s.left_out, "row"),
        "price": price,
        "cost": f"{s.cost:.6g}",
        "reference_cost": f"{s.reference_cost:.6g}",
        "normalized_cost": show_figure(s.normalized_cost, ".4f"),
        "waes": f"{s.waes:.2f}",
        "wad": f"{s.wad:.2f}",
        "separation": describe_separation(rules),
        "total": "" if s.total is None else format_number(s.total),
        "unmeasured": f"{counted(unmeasured, 'row')} without a value" if unmeasured else "",
        "columns_shown": str(COLUMNS_SHOWN),
        "deviation": f"{100 * DEVIATION:.0f} %",
        "strong_deviation": f"{100 * STRONG_DEVIATION:.0f} %",
    }
