"""Rules as a sheet in Markdown that a person can read, check and sign.

Templates see, besides `shallowrules.exporters.context`: ``title``, ``origin`` (the hash of the rules and the version of
the package), ``source`` (the table, empty if unknown), ``seed`` (a number or none), ``unused`` (its columns that the
rules lack, with reasons), ``method`` (the tree, in words), ``figures`` (the sheet's figures for the rules as a whole:
text by name), ``agreement`` (in words), ``tested`` (the columns that rules test, Markdown), ``words`` (text, already
Markdown) of every rule, ``doubts`` (doubts to read before signing, with remedies), ``imputed`` (what a missing value of
tested columns counts as, Markdown, empty if they have no substitute), ``limits``, ``categorical`` and ``flags``
(whether some condition is of numbers, of categories, and of a column of 0 and 1), ``shares`` (whether some column is of
either kind, so that the tables of means show shares), and of every cluster ``short_title`` (without a name that was
made from its rules), ``quality`` (text, already Markdown), ``precision_text`` and ``recall_text``, ``total_text`` (its
total and share, or none), ``profile`` (rows of its table of means, first those in which it differs most from all other
rows: ``column``, ``value`` (Markdown: the one whose share is shown, empty for a mean), ``tested`` by its rules,
``here``, ``table`` and ``mark``, all text) and ``left_out`` (columns that the table lacks); ``marks`` (the limits for
marked columns, text by name); and ``steps``, none unless the style is "ordered": of each line of that list ``words``
(Markdown, empty if nothing more is asked), ``title`` of the cluster, ``rows_text`` and ``share_text``; where a row is
in no cluster, none and twice empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from shallowrules.errors import check_choice
from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import describe
from shallowrules.exporters.decision_list import ordered_branches
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.rendering import escape_markdown, render
from shallowrules.exporters.wording import (
    COLUMNS_SHOWN,
    ConditionWords,
    describe_doubts,
    describe_figures,
    describe_marks,
    describe_method,
    describe_missing,
    describe_origin,
    describe_profile,
    describe_quality,
    describe_source,
    describe_totals,
    describe_unused,
    format_number,
    says_flag,
    show_imputed,
)
from shallowrules.rules import Cluster, Condition, Rule, RuleColumn, RuleSet, Statistics
from shallowrules.rules.figures import percent

__all__ = ["MarkdownExporter", "MarkdownOptions"]

Style = Literal["flat", "ordered"]

RULES_SHOWN = 3
"""Maximum number of a cluster's rules in the table of all clusters."""


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

WORDS = ConditionWords(escape_markdown, says_flags=True)


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
        The table that the rules were made from; by default the file that they record.
    all_columns : bool
        Whether the tables of means show every column, and not only those that set a cluster apart.
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
        """Return the sheet: a summary, then every cluster, largest first, and how the rules were made."""
        settings = MarkdownOptions(**options)
        context = describe(rules, lambda rule: {"words": _words(rule.conditions) or "every row"})
        totals = describe_totals(rules)
        for described, cluster in zip(context["clusters"], rules.by_size, strict=True):
            described["quality"] = describe_quality(cluster, rules.statistics.labelled, escape_markdown)
            described["total_text"] = totals.get(cluster.index)
            described["short_title"] = _short_title(cluster)
            described["precision_text"] = percent(cluster.precision)
            described["recall_text"] = percent(cluster.recall)
            described["words"] = _words_of_cluster(rules.rules_of(cluster.index))
            profile = describe_profile(rules, cluster, escape_markdown)
            shown = profile if settings.all_columns else _telling(profile)
            described["profile"] = [
                {**line, "here": line["figures"][0], "table": line["figures"][1], "mark": line["short_mark"]}
                for line in shown
            ]
            described["left_out"] = len(profile) - len(shown)
        context.update(
            title=settings.title,
            origin=describe_origin(rules),
            figures=describe_figures(rules),
            marks=describe_marks(),
            source=settings.made or describe_source(rules),
            seed=rules.settings.get("seed"),
            unused=describe_unused(rules),
            method=describe_method(rules),
            tested=_tested(rules),
            agreement=_agreement(rules.statistics),
            imputed=_imputed(rules),
            shares=any(column.is_flag or not column.is_numeric for column in rules.columns),
            doubts=describe_doubts(rules),
            flags=any(says_flag(condition) for rule in rules for condition in rule.conditions),
            limits=any(rules.columns[feature].is_numeric for feature in rules.tested_columns),
            categorical=any(not rules.columns[feature].is_numeric for feature in rules.tested_columns),
            steps=_steps(rules) if settings.style == "ordered" else None,
            options={**asdict(settings), "template": None},
        )
        return render(MARKDOWN, "sheet.md.j2", context, settings.template)


def _words(conditions: Iterable[Condition]) -> str:
    """Return the text of conditions, as Markdown, for a sentence."""
    return ", and ".join(
        f"{_name(condition.column)}{describe_missing(condition.column, escape_markdown)} is {WORDS(condition)}"
        for condition in conditions
    )


def _short_words(conditions: Iterable[Condition]) -> list[str]:
    """Return the text of each condition, as Markdown, for a table; what missing values count as is said below it."""
    return [f"{_name(condition.column)} is {WORDS(condition)}" for condition in conditions]


def _name(column: RuleColumn) -> str:
    return f"**{escape_markdown(column.name)}**"


def _agreement(statistics: Statistics) -> str:
    """Return the share of rows that get the same label from the rules as without them, or their given label."""
    if statistics.labelled:
        said = "weight has its given label" if statistics.weighted else "rows have their given label"
    elif statistics.weighted:
        said = "weight stays in the cluster that it has without rules"
    else:
        said = "rows stay in the cluster that they have without rules"
    return f"{percent(statistics.agreement)} of the {said}"


def _tested(rules: RuleSet) -> str:
    """Return the columns that rules test, as Markdown; if there are many, the first ones and the number of the rest."""
    names = [escape_markdown(rules.columns[feature].name) for feature in rules.tested_columns]
    more = len(names) - COLUMNS_SHOWN
    return ", ".join(names[:COLUMNS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _imputed(rules: RuleSet) -> str:
    """Return the substitutes for missing values of tested columns, as Markdown."""
    columns = [rules.columns[feature] for feature in rules.tested_columns]
    return ", ".join(
        f"{show_imputed(column, escape_markdown)} in {_name(column)}"
        for column in columns
        if column.imputed is not None
    )


def _telling(profile: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of a table of means with something to say: those with a mark, and those that its rules test.

    Where no line has a mark, as for a cluster of few rows, all lines count as marked.
    """
    marked = [line for line in profile if line["mark"]] or profile
    indices = {line["index"] for line in marked[:COLUMNS_SHOWN]}
    return [line for line in profile if line["tested"] or line["index"] in indices]


def _short_title(cluster: Cluster) -> str:
    """Return the title of a cluster for a table that has its rule: a name that was made from the rule is left out."""
    return str(cluster.label) if cluster.named_by_rules else cluster.title


def _steps(rules: RuleSet) -> list[dict[str, Any]]:
    """Return the data for the ordered list: see the module."""
    titles = {cluster.index: _short_title(cluster) for cluster in rules.clusters}
    by_leaf = {rule.leaf: rule for rule in rules}
    steps = []
    for branch in ordered_branches(rules):
        asked = _short_words(branch.conditions)
        if branch.without is not None:
            column = rules.columns[branch.without]
            if column.imputed is not None:
                continue
            asked.append(f"{_name(column)} has no value")
        rule = None if branch.leaf is None else by_leaf[branch.leaf]
        steps.append(
            {
                "words": ", ".join(asked),
                "title": None if branch.cluster is None else titles[branch.cluster],
                "rows_text": "" if rule is None else f"{rule.rows:,}",
                "share_text": "" if rule is None else percent(rule.share),
            }
        )
    return steps


def _words_of_cluster(rules: Sequence[Rule]) -> str:
    """Return the words for a cluster's rules in the table of all clusters."""
    if len(rules) > RULES_SHOWN:
        return f"one of {len(rules)} rules holds, see below"
    return "; or ".join(", ".join(_short_words(rule.conditions)) or "any" for rule in rules)
