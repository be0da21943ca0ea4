"""Rules as a sheet in Markdown that a person can read, check and sign.

Templates see, besides `shallowrules.exporters.context`: ``title``, ``figures`` (what the sheet says
of the whole: text by name), ``words`` (text, already Markdown) of every rule, ``above`` and
``at_most`` (exact text or none) and ``one_of`` and ``none_of`` (Markdown or none) of every condition,
``imputed``, ``categories`` and ``categorical`` (whether some column has its missing values imputed, whether
some column and whether some condition is of categories), and of every cluster ``quality`` (text, already
Markdown), ``precision_text`` and ``recall_text``, ``profile`` (rows of its table of means: ``column``,
``tested``, ``here`` and ``table``, both text, and ``mark``) and ``left_out`` (columns that the table lacks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shallowrules.errors import counted
from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import bounds, describe, percent
from shallowrules.exporters.rendering import escape_markdown, render
from shallowrules.rules import (
    Between,
    Cluster,
    ConditionVisitor,
    NoneOf,
    OneOf,
    Rule,
    RuleColumn,
    RuleSet,
    Value,
    format_value,
)

__all__ = ["MarkdownExporter", "MarkdownOptions"]

COLUMNS_SHOWN = 20
RULES_SHOWN = 3
DEVIATION = 0.15
STRONG_DEVIATION = 0.3


class MarkdownLanguage:
    """How data is written in a Markdown sheet."""

    def identifier(self, name: str) -> str:
        """Return a column name, escaped."""
        return escape_markdown(name)

    def string(self, text: str) -> str:
        """Return text, escaped."""
        return escape_markdown(text)

    def number(self, value: int | float) -> str:
        """Return a number to read: four significant digits, thousands apart."""
        if isinstance(value, int):
            return f"{value:,}"
        if value == 0:
            return "0"
        size = abs(value)
        if not 1e-4 <= size < 1e15:
            return f"{value:.3e}"
        if size >= 1000:
            return f"{value:,.0f}"
        return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")

    def comment(self, text: str) -> str:
        """Return text for an HTML comment, where ``--`` would end it."""
        return escape_markdown(text).replace("-", "‐")


MARKDOWN = MarkdownLanguage()


@dataclass(frozen=True)
class MarkdownOptions:
    """Options of the exporter ``"markdown"``.

    Parameters
    ----------
    title : str
        Heading of the sheet.
    all_columns : bool
        Whether the tables of means show every column, however many there are.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    title: str = "Cluster rules"
    all_columns: bool = False
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_text("title", self.title)


class MarkdownExporter:
    """Writes rules as a sheet in Markdown; options: `MarkdownOptions`."""

    name = "markdown"
    file_extension = ".md"
    media_type = "text/markdown"
    file_stem = "report"
    options = MarkdownOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the sheet: figures of the whole, then every cluster, largest first."""
        settings = MarkdownOptions(**options)
        context = describe(rules, lambda rule: {"words": _words(rule)})
        for rule in context["rules"]:
            for condition in rule["conditions"]:
                for side, bound in (("above", "lower"), ("at_most", "upper")):
                    value = condition[bound]
                    condition[side] = None if value is None else _exact(value)
                condition["one_of"] = None if condition["included"] is None else _listed(condition["included"])
                condition["none_of"] = _listed(condition["excluded"]) or None
        for described, cluster in zip(context["clusters"], rules.by_size, strict=True):
            described["quality"] = _quality(cluster, rules.statistics.labelled)
            described["precision_text"] = percent(cluster.precision)
            described["recall_text"] = percent(cluster.recall)
            described["words"] = _words_of_cluster(described["rules"])
            profile = _profile(rules, cluster)
            described["profile"] = profile if settings.all_columns else profile[:COLUMNS_SHOWN]
            described["left_out"] = len(profile) - len(described["profile"])
        context.update(
            title=settings.title,
            figures=_figures(rules),
            imputed=any(column.imputed is not None for column in rules.columns),
            categories=any(not column.is_numeric for column in rules.columns),
            categorical=any(not rules.columns[feature].is_numeric for feature in rules.tested_columns),
            options={"title": settings.title, "all_columns": settings.all_columns, "template": None},
        )
        return render(MARKDOWN, "sheet.md.j2", context, settings.template)


def _exact(bound: int | float) -> str:
    """Return a threshold with all its digits, thousands apart."""
    return f"{bound:,}".removesuffix(".0")


class _ConditionWords(ConditionVisitor[str]):
    """What a condition asks of a column, to follow "is"; Markdown."""

    def between(self, condition: Between) -> str:
        """Return the bounds with all their digits."""
        lower, upper = bounds(condition)
        limits = [f"above {_exact(lower)}"] if lower is not None else []
        limits += [f"at most {_exact(upper)}"] if upper is not None else []
        return " and ".join(limits)

    def one_of(self, condition: OneOf) -> str:
        """Return the categories to be one of."""
        values = _listed(condition.values)
        return values if len(condition.values) == 1 else f"one of {values}" if values else "nothing at all"

    def none_of(self, condition: NoneOf) -> str:
        """Return the categories to be none of."""
        values = _listed(condition.values)
        return f"not {values}" if len(condition.values) == 1 else f"none of {values}"


def _words(rule: Rule) -> str:
    """Return a rule as a Markdown sentence without a full stop."""
    words = _ConditionWords()
    parts = [
        f"**{escape_markdown(condition.column.name)}**{_words_of_missing(condition.column)} is {words(condition)}"
        for condition in rule.conditions
    ]
    return ", and ".join(parts) or "every row"


def _words_of_missing(column: RuleColumn) -> str:
    """Return what a missing value is taken as, in brackets, or nothing."""
    if column.imputed is None:
        return ""
    is_number = isinstance(column.imputed, int | float) and not isinstance(column.imputed, bool)
    value = _exact(column.imputed) if is_number else _listed([column.imputed])  # type: ignore[arg-type, list-item]
    return f" ({value} where missing)"


def _listed(values: Sequence[Value]) -> str:
    return ", ".join(escape_markdown(format_value(value)) for value in values)


def _words_of_cluster(rules: list[dict[str, Any]]) -> str:
    """Return what the table of contents says of a cluster's rules."""
    if len(rules) > RULES_SHOWN:
        return f"one of {len(rules)} rules, see below"
    return "; or ".join(rule["words"] for rule in rules)


def _quality(cluster: Cluster, labelled: bool) -> str:
    if labelled:
        label = escape_markdown(repr(cluster.name))
        return (
            f"{percent(cluster.precision)} of what the rules put here has the given label {label} (precision), "
            f"and the rules find {percent(cluster.recall)} of what has it (recall)."
        )
    return (
        f"{percent(cluster.precision)} of what the rules put here belongs here without rules too (precision), "
        f"and the rules find {percent(cluster.recall)} of what belongs here without rules (recall)."
    )


def _profile(rules: RuleSet, cluster: Cluster) -> list[dict[str, Any]]:
    """Return a line per column: tested ones first, then those in which the cluster stands out most."""
    tested = set(rules.tested_columns)
    lines = []
    for index, column in enumerate(rules.columns):
        what = _number_line(column, cluster, index) if column.is_numeric else _category_line(column, cluster, index)
        lines.append({"column": column.name, "tested": index in tested, **what, "mark": _mark(what["deviation"])})
    return sorted(lines, key=lambda line: (not line["tested"], -abs(line["deviation"])))


def _number_line(column: RuleColumn, cluster: Cluster, index: int) -> dict[str, Any]:
    """Compare the means, in the column's whole range."""
    here, table = cast(float, cluster.means[index]), cast(float, column.mean)
    spread = cast(float, column.maximum) - cast(float, column.minimum)
    write = MARKDOWN.number
    return {"here": write(here), "table": write(table), "deviation": (here - table) / spread if spread > 0 else 0.0}


def _category_line(column: RuleColumn, cluster: Cluster, index: int) -> dict[str, Any]:
    """Compare the shares of the value in which they differ most."""
    deviations = [here - table for here, table in zip(cluster.shares[index], column.shares, strict=True)]
    most = max(range(len(deviations)), key=lambda i: abs(deviations[i]))
    value = _listed([column.values[most]])
    return {
        "here": f"{value}: {percent(cluster.shares[index][most])}",
        "table": f"{value}: {percent(column.shares[most])}",
        "deviation": deviations[most],
    }


def _mark(deviation: float) -> str:
    if abs(deviation) < DEVIATION:
        return ""
    direction = "higher" if deviation > 0 else "lower"
    return f"much {direction}" if abs(deviation) >= STRONG_DEVIATION else direction


def _figures(rules: RuleSet) -> dict[str, str]:
    """Return what the sheet says of the whole, in words."""
    s = rules.statistics
    extra = s.normalized_cost - 1
    if extra >= 0.00005:
        price = (
            f"The clusters are {100 * extra:.2f} % less tight than without rules: that is what it costs that "
            "a rule explains every row."
        )
    elif extra > -0.00005:
        price = "The clusters are as tight as without rules: that a rule explains every row costs nothing."
    else:  # given labels need not be the tightest clusters, nor need those of k-means
        price = f"The clusters are {-100 * extra:.2f} % tighter than the given ones."
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
        "normalized_cost": f"{s.normalized_cost:.4f}",
        "waes": f"{s.waes:.2f}",
        "wad": f"{s.wad:.2f}",
        "columns_shown": str(COLUMNS_SHOWN),
        "deviation": f"{100 * DEVIATION:.0f} %",
        "strong_deviation": f"{100 * STRONG_DEVIATION:.0f} %",
    }
