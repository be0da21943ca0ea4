"""Rules as a sheet in Markdown that a person can read, check and sign.

Templates see, besides `shallowrules.exporters.context`: ``title``, ``origin`` (the hash of the rules and the version of
the package), ``made`` (the origin of the rules, empty if unknown), ``figures`` (the sheet's figures for the rules as a
whole: text by name), ``words`` (text, already Markdown) of every rule, ``above`` and ``at_most`` (exact text or none)
and ``one_of`` and ``none_of`` (Markdown or none) of every condition, ``doubts`` (doubts to read before signing, with
remedies), ``imputed``, ``categories``, ``categorical`` and ``flags`` (whether some column has its missing values
imputed, whether some column and whether some condition is of categories, and whether some condition is of a column of 0
and 1), ``shares_of_flags`` (whether some column is of 0 and 1, whose share of 1 the tables of means show), and of every
cluster ``quality`` (text, already Markdown), ``precision_text`` and ``recall_text``, ``total_text`` (its total and
share, or none), ``profile`` (rows of its table of means, first those in which it differs most from all other rows:
``column``, ``tested``, ``here`` and ``table``, both text, and ``mark``) and ``left_out`` (columns that the table
lacks); ``marks`` (the limits for marked columns, text by name); and ``steps``, none unless the style is "ordered": of
each line of that list ``words`` (Markdown, empty if nothing more is asked), ``title`` of the cluster and ``rows_text``,
none where a row is in no cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from shallowrules.errors import check_choice
from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import describe, rows_text
from shallowrules.exporters.decision_list import ordered_branches
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.rendering import escape_markdown, render
from shallowrules.exporters.wording import (
    COLUMNS_SHOWN,
    ConditionWords,
    bound_words_of,
    describe_doubts,
    describe_figures,
    describe_made,
    describe_marks,
    describe_missing,
    describe_origin,
    describe_profile,
    describe_quality,
    describe_totals,
    format_exact,
    format_number,
    list_values,
    says_flag,
)
from shallowrules.rules import Condition, RuleSet
from shallowrules.rules.figures import percent

__all__ = ["MarkdownExporter", "MarkdownOptions"]

Style = Literal["flat", "ordered"]

RULES_SHOWN = 3


class MarkdownLanguage:
    """How data is written in a Markdown sheet."""

    def identifier(self, name: str) -> str:
        """Return a column name, escaped."""
        return escape_markdown(name)

    def string(self, text: str) -> str:
        """Return text, escaped."""
        return escape_markdown(text)

    def number(self, value: int | float) -> str:
        """Return a number for people: four significant digits, thousands with commas."""
        return format_number(value)

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
    date : str, optional
        To be printed below, as 2026-11-23; none by default, so that equal rules make equal sheets.
    made : str, optional
        The origin of the rules; by default their own record of it: file, seed, and columns left out.
    all_columns : bool
        Whether the tables of means show every column, however many there are.
    style : {"flat", "ordered"}
        What the contents are: the rules, each whole, or a list to be read from the top, in which each relies on those
        before it.
    signature : bool
        Whether the sheet asks for a signature.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    title: str = "Cluster rules"
    date: str | None = None
    made: str | None = field(default=None, metadata=on_command_line(default_from="made"))
    all_columns: bool = False
    style: Style = "flat"
    signature: bool = True
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_text("title", self.title)
        for name in ("date", "made"):
            if (text := getattr(self, name)) is not None:
                check_text(name, text)
        check_choice("style", self.style, get_args(Style), option="style")


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
        by_name = {column.name: column for column in rules.columns}
        context = describe(rules, lambda rule: {"words": ", and ".join(_words(rule.conditions)) or "every row"})
        for rule in context["rules"]:
            for condition in rule["conditions"]:
                column = by_name[condition["column"]]
                words = bound_words_of(column) if column.is_time else ("", "")
                for side, bound, word in (("above", "lower", words[0]), ("at_most", "upper", words[1])):
                    value = condition[bound]
                    condition[side] = None if value is None else f"{word} {format_exact(value, column)}".strip()
                condition["one_of"] = (
                    None if condition["included"] is None else list_values(condition["included"], escape_markdown)
                )
                condition["none_of"] = list_values(condition["excluded"], escape_markdown) or None
        totals = describe_totals(rules)
        for described, cluster in zip(context["clusters"], rules.by_size, strict=True):
            described["quality"] = describe_quality(cluster, rules.statistics.labelled, escape_markdown)
            described["total_text"] = totals.get(cluster.index)
            described["precision_text"] = percent(cluster.precision)
            described["recall_text"] = percent(cluster.recall)
            described["words"] = _words_of_cluster(described["rules"])
            profile = describe_profile(rules, cluster, escape_markdown)
            described["profile"] = profile if settings.all_columns else profile[:COLUMNS_SHOWN]
            described["left_out"] = len(profile) - len(described["profile"])
        context.update(
            title=settings.title,
            origin=describe_origin(rules),
            figures=describe_figures(rules),
            marks=describe_marks(),
            made=settings.made or describe_made(rules),
            imputed=any(column.imputed is not None for column in rules.columns),
            categories=any(not column.is_numeric for column in rules.columns),
            shares_of_flags=any(column.is_flag for column in rules.columns),
            doubts=describe_doubts(rules),
            flags=any(says_flag(condition) for rule in rules for condition in rule.conditions),
            categorical=any(not rules.columns[feature].is_numeric for feature in rules.tested_columns),
            steps=_steps(rules) if settings.style == "ordered" else None,
            options={**asdict(settings), "template": None},
        )
        return render(MARKDOWN, "sheet.md.j2", context, settings.template)


def _words(conditions: Iterable[Condition]) -> list[str]:
    """Return the text of each condition, as Markdown."""
    words = ConditionWords(escape_markdown, says_flags=True)
    return [
        f"**{escape_markdown(column.name)}**{describe_missing(column, escape_markdown)} is {words(condition)}"
        for condition in conditions
        for column in (condition.column,)
    ]


def _steps(rules: RuleSet) -> list[dict[str, Any]]:
    """Return the data for the ordered list: see the module."""
    titles = {cluster.index: cluster.title for cluster in rules.clusters}
    by_leaf = {rule.leaf: rule for rule in rules}
    steps = []
    for branch in ordered_branches(rules):
        asked = _words(branch.conditions)
        if branch.without is not None:
            column = rules.columns[branch.without]
            if column.imputed is not None:
                continue
            asked.append(f"**{escape_markdown(column.name)}** has no value")
        rule = None if branch.leaf is None else by_leaf[branch.leaf]
        steps.append(
            {
                "words": ", and ".join(asked),
                "title": None if branch.cluster is None else titles[branch.cluster],
                "rows_text": None if rule is None else rows_text(rule.rows, rule.share),
            }
        )
    return steps


def _words_of_cluster(rules: list[dict[str, Any]]) -> str:
    """Return the words for a cluster's rules in the table of contents."""
    if len(rules) > RULES_SHOWN:
        return f"one of {len(rules)} rules, see below"
    return "; or ".join(rule["words"] for rule in rules)
