"""The common parts of emitted Python modules: names and literals, the template's data, and the check that it compiles.

Templates see, besides `shallowrules.exporters.context`: ``function_name``, ``version`` and ``sha256`` (of the package
and of the rules), ``needs`` (the names that have to be imported), ``lenient`` (whether the functions of a row may be
asked to read text as numbers), ``inputs`` (per tested column its ``column``, ``type``, ``kind``, its type or "code",
``annotation``, the types of its values in a row, the ``variable`` that holds its value, and as Python text ``nulls``
and ``decimal``, what makes text a value, empty if nothing, and ``written``, the patterns of its format or empty,
``dates``, how they are written besides ISO 8601, ``holds_numbers`` where rows may give its categories as numbers,
``imputed`` or none, ``null_numbers``, those that mean "no value", ``arguments`` of the function that reads a value,
after the value, ``given``, the value that the function of a row reads, ``lenient``, whether it reads text only if asked
to, ``unread``, what is true of a value that has to be read, empty for any, and ``reader``, the name of that function
without its underscore), ``times`` (of each time that is compared the ``name`` of the constant, its ``number`` and its
``text``), ``grammar`` (the patterns of numbers and times, and the texts that are truth values), ``test`` (Python text),
``leaf`` and ``words`` of every rule, ``label`` (Python text) of every rule and cluster: what its rows get, and
``with_precision``, the name of the function that gives the precision of a row's rule as well, or none; every rule has
its ``precision`` then.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from shallowrules.errors import ExportError, OptionError, OptionName
from shallowrules.exporters.base import ClusterAs, check_text
from shallowrules.exporters.context import describe, package_version
from shallowrules.exporters.python.bounds import time_constants
from shallowrules.exporters.python.inputs import describe_input
from shallowrules.exporters.rendering import one_line, render
from shallowrules.rules import FALSE_TEXTS, GRAMMAR, PLAIN, TRUE_TEXTS, Rule, RuleSet
from shallowrules.tables.number_format import BELOW_ZERO
from shallowrules.tables.times import DURATION, MOMENT

__all__ = [
    "MODULE_NAMES",
    "VECTORIZED",
    "WITH_PRECISION",
    "check_function_name",
    "cluster_labels",
    "describe_module",
    "write_module",
]

FUNCTION_NAME = OptionName("function_name")

VECTORIZED = "assign_clusters"
"""The function of columns."""

REASONS = "assign_with_reason"
"""The function that also gives the rule."""

WITH_PRECISION = "_with_precision"
"""The end of the name of a function that gives the precision of a row's rule as well."""

# The names that the shipped templates define or import, and their functions' parameters and variables.
MODULE_NAMES = frozenset(
    {
        *("CLUSTERS", "Any", "Decimal", "NamedValues", "Protocol", "Real", "annotations", "error", "np", "operator"),
        *("re", "row", VECTORIZED, f"{VECTORIZED}{WITH_PRECISION}", REASONS, "columns"),
        *("_PRECISIONS", "matched", "precision"),
        *("_boolean", "_code", "_float", "_integer", "_is_missing", "_parse", "_text", "_to_float", "_MISSING"),
        *("_NODES", "_LEAVES", "_CHUNK", "_assign", "_categories", "_elements", "_flags", "_numbers", "_of_name"),
        *("_rows",),
        *("date", "datetime", "timedelta", "timezone", "_time", "_times", "_time_of_text", "_written_time"),
        *("_DATES", "_INSTANTS", "_SPANS"),
        *("COLUMNS", "NamedTuple", "RULES_SHA256", "Reason", "Row", "RowError", "RowKeyError", "RowTypeError"),
        *("TypedDict", "_given", "lenient", "missing", "values"),
        *("Iterable", "cluster", "clusters", "cs", "frame", "math", "pd", "pl"),
        *("_DOUBLES", "_TEXTS", "_TRUTHS", "_WHOLE", "_column", "_column_of", "_one_of", "_read"),
        *("_values", "_within_64_bits"),
    }
)


class PythonLanguage:
    """How data is written in Python."""

    def identifier(self, name: str) -> str:
        """Return a column name as the text literal by which a row is asked for it."""
        return repr(name)

    def string(self, text: str) -> str:
        """Return a text literal."""
        return repr(text)

    def number(self, value: int | float) -> str:
        """Return the shortest literal that gives exactly this number."""
        return repr(value)

    def comment(self, text: str) -> str:
        """Return text for a comment or docstring, on one line and without escapes or quotes that end it."""
        return one_line(text).replace("\\", "/").replace('"', "'")


PYTHON = PythonLanguage()


class ModuleOptions(Protocol):
    """The options that every emitted module has."""

    @property
    def function_name(self) -> str:
        """Name of the function that gives rows their cluster."""

    @property
    def cluster_as(self) -> ClusterAs:
        """The label that it returns for a cluster."""

    @property
    def with_precision(self) -> bool:
        """Whether a second function gives the precision of a row's rule as well."""

    @property
    def template(self) -> str | Path | None:
        """A template that replaces the shipped one."""


def check_function_name(value: object) -> None:
    """Raise OptionError unless the value of the option ``function_name`` can be the name of a function."""
    name = check_text("function_name", value)
    # Python folds other letters in names to ASCII ones, so names must differ in ASCII.
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise OptionError(FUNCTION_NAME, f" {name!r} is not a Python name: use ASCII letters, digits and _")
    if name in MODULE_NAMES or hasattr(builtins, name) or name.startswith("__"):
        raise OptionError(FUNCTION_NAME, f" {name!r} is a name that the module itself needs; use a different one")


def cluster_labels(rules: RuleSet, cluster_as: ClusterAs) -> dict[int, str]:
    """Return Python text for the label of each cluster."""
    return {c.index: repr(c.name if cluster_as == "name" else c.label) for c in rules.clusters}


def describe_module(
    rules: RuleSet,
    settings: ModuleOptions,
    variables: Mapping[int, str],
    test_of: Callable[[Rule], str],
) -> dict[str, Any]:
    """Return the template's data.

    Parameters
    ----------
    rules : RuleSet
    settings : dataclass of options
    variables : mapping from int to str
        The variable with the value of each tested column.
    test_of : callable
        Gives the predicate for the rows that a rule matches, as Python text.
    """
    labels = cluster_labels(rules, settings.cluster_as)
    precision = rules.rule_precisions() if settings.with_precision else {}
    context = describe(rules, lambda rule: _describe_rule(rule, test_of, labels, precision))
    for cluster in context["clusters"]:
        cluster["label"] = labels[cluster["index"]]
    inputs = [describe_input(rules.columns[feature], variable) for feature, variable in variables.items()]
    return {
        **context,
        "function_name": settings.function_name,
        "with_precision": f"{settings.function_name}{WITH_PRECISION}" if settings.with_precision else None,
        "version": package_version(),
        "sha256": rules.sha256,
        "inputs": inputs,
        "needs": _needed(inputs),
        "lenient": False,
        "times": [{"name": name, "number": number, "text": text} for name, number, text in time_constants(rules)],
        "grammar": {
            "text": f"{PLAIN.pattern}|{GRAMMAR.infinity}",
            "whole": GRAMMAR.whole,
            "nan": GRAMMAR.nan,
            "code": GRAMMAR.code,
            "below_zero": BELOW_ZERO,
            "moment": MOMENT,
            "duration": DURATION,
            "longest": GRAMMAR.longest,
            "true": repr((*TRUE_TEXTS, 1)),
            "false": repr((*FALSE_TEXTS, 0)),
        },
        "options": {**asdict(settings), "template": None},  # type: ignore[call-overload]  # it is a dataclass
    }


def _describe_rule(
    rule: Rule, test_of: Callable[[Rule], str], labels: Mapping[int, str], precision: Mapping[int, float]
) -> dict[str, Any]:
    return {
        "test": test_of(rule),
        "label": labels[rule.cluster],
        "leaf": rule.leaf,
        "words": str(rule),
        "precision": precision.get(rule.leaf),
    }


def _needed(inputs: list[dict[str, Any]]) -> set[str]:
    """Return the names that the functions that read values import, the module `datetime` for all of its names."""
    readers = {each["reader"] for each in inputs}
    numbers = readers & {"float", "integer"}
    holds_numbers = any(each["holds_numbers"] for each in inputs)
    found = {
        "operator": "integer" in readers,
        "re": readers & {"time", "code"} or (numbers and any(each["nulls"] for each in inputs)),
        "datetime": "time" in readers,
        "Decimal": "integer" in readers or holds_numbers,
        "Real": holds_numbers,
    }
    return {name for name, is_needed in found.items() if is_needed}


def write_module(template: str, context: Mapping[str, Any], own_template: str | Path | None) -> str:
    """Return a module, made by a shipped template or the user's; ExportError if it is not valid Python."""
    text = render(PYTHON, template, context, own_template)
    try:
        compile(text, "<exported rules>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise ExportError(f"the template does not give valid Python: {error}") from error
    return text
