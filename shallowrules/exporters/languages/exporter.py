"""Rules as a function in a programming language.

Templates see, besides `shallowrules.exporters.context`: ``header`` (lines that say where the rules come from and how
the text is compiled), ``version`` (of the package), ``name`` (of what the text defines), ``inputs`` (per tested column
its ``column``, ``type``, ``field``, ``variable``, ``kind`` and ``held_as``, the type of the field, as literals the
``nulls`` that mean "no value" and the substitute ``imputed`` or none, and ``reading``, the facts by which JavaScript
reads it), ``lines`` (the code that gives a row its cluster), ``label_type``, ``no_cluster`` (a whole number that is no
cluster's), ``labels`` (the literals of all clusters), and ``test`` and ``label`` of every rule, ``label`` of every
cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from shallowrules.errors import ExportError, OptionError, OptionName, counted
from shallowrules.exporters.base import ClusterAs, check_cluster_as
from shallowrules.exporters.context import (
    check_no_times,
    check_whole_columns,
    describe,
    is_int64,
    package_version,
    rows_text,
)
from shallowrules.exporters.languages.language import Conditions, Language, kind_of, nested_lines
from shallowrules.exporters.languages.reading import describe_reading
from shallowrules.exporters.python.inputs import name_variables
from shallowrules.exporters.rendering import render
from shallowrules.rules import INT64, Cut, Membership, Number, RuleColumn, RuleSet, Value
from shallowrules.rules.figures import show_figure

__all__ = ["LanguageExporter", "LanguageOptions"]

NAME = OptionName("name")

INT32 = range(-(2**31) + 1, 2**31)
"""The whole numbers that every language, R included, holds in 32 bits."""


@dataclass(frozen=True)
class LanguageOptions:
    """Options of the exporters of programming languages.

    Parameters
    ----------
    name : str
        Name of the function, in Go of the package; by default assign_cluster or assignCluster, rules.
    cluster_as : {"number", "name"}
        The label that it returns for a cluster: its number, or its name, the label that it was given.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    name: str = ""
    cluster_as: ClusterAs = "number"
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        if not isinstance(self.name, str):
            raise OptionError(NAME, f" must be text, not {self.name!r}")


class LanguageExporter:
    """Writes rules in a language by its facts; options: `LanguageOptions`."""

    name: ClassVar[str]
    file_extension: ClassVar[str]
    media_type: ClassVar[str]
    options = LanguageOptions
    language: ClassVar[Language]
    compiled: ClassVar[str]
    """How the text is compiled and used, where ``{name}`` is what it defines."""

    def export(self, rules: RuleSet, **options: Any) -> Any:
        """Return the text.

        Raises
        ------
        OptionError
            If the name is not allowed.
        ExportError
            If the language cannot hold a value that the rules compare, or does not read it as they do.
        """
        settings = LanguageOptions(**options)
        return render(self.language, self.language.template, self.context(rules, settings), settings.template)

    def context(self, rules: RuleSet, settings: LanguageOptions) -> dict[str, Any]:
        """Return the template's data."""
        language = self.language
        name = settings.name or language.name
        _check_name(language, name)
        self._check(rules)
        fields = name_variables(
            rules, {name}, language.spell, lambda field: {field, language.variable(field)} & language.taken != set()
        )
        variables = {feature: language.variable(field) for feature, field in fields.items()}
        conditions = Conditions(language, rules, variables)
        labels, label_type = _labels(language, rules, settings.cluster_as)
        none = language.none.format(NAME=name.upper(), zero=language.string("") if label_type == "text" else "0")
        remarks = {rule.leaf: rows_text(rule.rows, rule.share) for rule in rules}
        context = describe(rules, lambda rule: {"test": conditions.of_rule(rule), "label": labels[rule.cluster]})
        for cluster in context["clusters"]:
            cluster["label"] = labels[cluster["index"]]
        numbers = {cluster.label for cluster in rules.clusters}
        inputs = [_describe_input(language, rules, feature, fields, variables) for feature in fields]
        return {
            **context,
            "header": list(_header(rules, inputs, self.compiled.format(name=name))),
            "version": package_version(),
            "name": name,
            "inputs": inputs,
            "lines": list(nested_lines(conditions, rules, none, labels, remarks.__getitem__)),
            "label_type": language.labels[label_type],
            "labels": list(dict.fromkeys(labels.values())),
            "no_cluster": next(number for number in count(-1, -1) if number not in numbers),
            "options": {**asdict(settings), "template": None},
        }

    def _check(self, rules: RuleSet) -> None:
        """Raise ExportError for rules that the language does not hold."""
        language = self.language
        if not language.reads_text:
            check_no_times(rules, self.name)
            check_whole_columns(rules, self.name, INT64)
            for feature in rules.tested_columns:
                _check_numeric(self.name, rules.columns[feature])
        for feature in rules.tested_columns:
            if language.by_name:
                language.check_text(rules.columns[feature].name)
            if kind_of(rules, feature) not in language.kinds:
                raise ExportError(
                    f"exporter {self.name!r} cannot write rules on column {rules.columns[feature].name!r}: "
                    f"{language.title} compares numbers as doubles, and a rule compares it with a whole number of 2^53 "
                    "or more; use another exporter"
                )
        tests = sum(
            len(n.values) if isinstance(n, Membership) else 1 for n in rules.nodes if isinstance(n, Cut | Membership)
        )
        if language.most_tests is not None and tests > language.most_tests:
            raise ExportError(
                f"the rules compare {counted(tests, 'value')}, and a function of {language.title} holds at most "
                f"{language.most_tests:,}: make a tree with fewer leaves, or use another exporter"
            )


def _check_name(language: Language, name: str) -> None:
    """Raise OptionError unless the text can define something of this name."""
    if not (name.isascii() and name.isidentifier()) or name.startswith("_"):
        raise OptionError(
            NAME, f" {name!r} is not a name that {language.title} allows: use ASCII letters, digits and _"
        )
    if name in language.taken | language.names:
        raise OptionError(
            NAME, f" {name!r} is already used by {language.title} or by the generated code; choose another name"
        )


def _check_numeric(exporter: str, column: RuleColumn) -> None:
    """Raise ExportError for a column of numbers in a format of text, which most languages do not read."""
    if not column.is_numeric or (column.decimal == "." and not column.format):
        return
    written = f"written as {column.format}" if column.format else "written with a decimal comma"
    raise ExportError(
        f"exporter {exporter!r} cannot write rules on numbers in text, and one tests column {column.name!r}, whose "
        f"numbers are {written}: use the exporter javascript or python, or make it a column of numbers and fit again"
    )


def _labels(language: Language, rules: RuleSet, cluster_as: ClusterAs) -> tuple[dict[int, str], str]:
    """Return the literals of the clusters, and which of the language's types they have."""
    if cluster_as == "name":
        for cluster in rules.clusters:
            language.check_text(cluster.name)
        return {cluster.index: language.string(cluster.name) for cluster in rules.clusters}, "text"
    is_long = any(cluster.label not in INT32 for cluster in rules.clusters)
    if is_long and "long" not in language.labels:
        raise ExportError(
            f"the number of a cluster does not fit into 32 bits, and {language.title} has no larger whole numbers: "
            "use the names of the clusters, cluster_as='name'"
        )
    return {cluster.index: language.whole(cluster.label, is_long) for cluster in rules.clusters}, (
        "long" if is_long else "int"
    )


def _describe_input(
    language: Language, rules: RuleSet, feature: int, fields: Mapping[int, str], variables: Mapping[int, str]
) -> dict[str, Any]:
    """Return the template's data for a tested column."""
    column, kind = rules.columns[feature], kind_of(rules, feature)
    nulls: list[Number | Value] = []
    if kind in ("number", "whole"):
        nulls += [number for number in column.conversion.null_numbers if kind == "number" or is_int64(number)]
    elif kind == "text":
        nulls += column.nulls
    imputed = column.imputed
    if imputed is not None and column.codes:
        imputed = int(imputed)
    return {
        "column": column.name,
        "type": column.type,
        "field": fields[feature],
        "variable": variables[feature],
        "kind": kind,
        "held_as": language.kinds[kind].type,
        "nulls": [language.literal(kind, null) for null in nulls],
        "imputed": None if imputed is None else language.literal(kind, imputed),
        "reading": describe_reading(column),
    }


def _header(rules: RuleSet, inputs: list[dict[str, Any]], compiled: str) -> Iterator[str]:
    """Yield the lines of the comment that the text begins with."""
    s = rules.statistics
    yield f"Rules with SHA-256 {rules.sha256}."
    cost = f"k-means cost {show_figure(s.normalized_cost, '.3f')} times that without rules"
    yield f"{counted(s.rows, 'row')}, {counted(len(rules.clusters), 'cluster')}; {cost}."
    if any(each["imputed"] is None for each in inputs):
        yield "A rule that tests a column does not match a row without a value in it."
    for each in inputs:
        if each["imputed"] is not None:
            yield f"A missing value of '{each['column']}' counts as {each['imputed']}."
    yield from compiled.splitlines()
