"""Rules as a Python module without dependencies.

Templates see, besides `shallowrules.exporters.context`: ``function_name``, ``inputs`` (per tested
column its ``column``, ``type``, the ``variable`` that holds its value, and as Python text ``nulls`` and
``decimal``, what makes text a value, empty if nothing, ``holds_numbers`` where rows may give its categories as
numbers, and ``imputed`` or none), ``grammar`` (the patterns of numbers, and the texts that are truth values), ``test``
(Python text) of every rule, and ``label`` (Python text) of every rule and cluster: what its rows get.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallowrules.errors import ExportError, OptionError, OptionName
from shallowrules.exporters.base import ClusterAs, check_cluster_as, check_text
from shallowrules.exporters.context import bounds, describe
from shallowrules.exporters.rendering import one_line, render
from shallowrules.rules import (
    FALSE_TEXTS,
    GRAMMAR,
    PLAIN,
    TRUE_TEXTS,
    Between,
    ConditionVisitor,
    NoneOf,
    Number,
    OneOf,
    Rule,
    RuleColumn,
    RuleSet,
)

__all__ = ["PythonExporter", "PythonOptions"]

FUNCTION_NAME = OptionName("function_name")

# What the shipped template defines or imports, and its function's parameter.
MODULE_NAMES = frozenset(
    {
        *("CLUSTERS", "Decimal", "Real", "operator", "re", "row"),
        *("_boolean", "_float", "_integer", "_is_missing", "_number", "_parse", "_read", "_text", "_to_float"),
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


@dataclass(frozen=True)
class PythonOptions:
    """Options of the exporter ``"python"``.

    Parameters
    ----------
    function_name : str
        Name of the function that gives a row its cluster.
    cluster_as : {"number", "name"}
        What it gives for a cluster: its number, or its name, the label that it was given.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    function_name: str = "assign_cluster"
    cluster_as: ClusterAs = "number"
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        name = check_text("function_name", self.function_name)
        # Python folds other alphabets' letters in names to ASCII ones, so ASCII is what is told apart.
        if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
            raise OptionError(FUNCTION_NAME, f" {name!r} is not a Python name: use ASCII letters, digits and _")
        if name in MODULE_NAMES or hasattr(builtins, name) or name.startswith("__"):
            raise OptionError(FUNCTION_NAME, f" {name!r} is a name that the module itself needs: use another")


class PythonExporter:
    """Writes rules as a Python module; options: `PythonOptions`."""

    name = "python"
    file_extension = ".py"
    media_type = "text/x-python"
    options = PythonOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return a module with one function that gives a row its cluster.

        Raises
        ------
        OptionError
            If the function's name is not allowed.
        ExportError
            If a user's template does not give valid Python.
        """
        settings = PythonOptions(**options)
        variables = _name_variables(rules, settings.function_name)
        labels = {c.index: repr(c.name if settings.cluster_as == "name" else c.index) for c in rules.clusters}
        context = describe(rules, lambda rule: {"test": _test(rule, variables), "label": labels[rule.cluster]})
        for cluster in context["clusters"]:
            cluster["label"] = labels[cluster["index"]]
        context.update(
            function_name=settings.function_name,
            inputs=[_describe_input(rules.columns[feature], variable) for feature, variable in variables.items()],
            grammar={
                "text": f"{PLAIN.pattern}|{GRAMMAR.infinity}",
                "whole": GRAMMAR.whole,
                "nan": GRAMMAR.nan,
                "longest": GRAMMAR.longest,
                "true": repr((*TRUE_TEXTS, 1)),
                "false": repr((*FALSE_TEXTS, 0)),
            },
            options={"function_name": settings.function_name, "cluster_as": settings.cluster_as, "template": None},
        )
        text = render(PYTHON, "module.py.j2", context, settings.template)
        try:
            compile(text, "<exported rules>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise ExportError(f"the template does not give valid Python: {error}") from error
        return text


def _describe_input(column: RuleColumn, variable: str) -> dict[str, Any]:
    conversion = column.conversion
    nulls: tuple[Any, ...] = conversion.nulls
    if column.is_numeric:
        nulls = (*conversion.words, *(_as_compared(number, column) for number in conversion.null_numbers))
    arguments = repr(nulls) if nulls or column.from_text else ""
    return {
        "column": column.name,
        "type": column.type,
        "variable": variable,
        "nulls": arguments,
        "decimal": repr(conversion.decimal) if conversion.decimal != "." else "",
        "holds_numbers": column.holds_numbers,
        "imputed": None if column.imputed is None else repr(column.imputed),
    }


def _as_compared(number: Number, column: RuleColumn) -> Number:
    """Return a number as the values of a column are compared with it: a float column has doubles."""
    nearest = float(number)
    return nearest if column.type == "float" and nearest != number else number


def _name_variables(rules: RuleSet, function_name: str) -> dict[int, str]:
    """Return a readable variable for every tested column, distinct from every other name."""
    taken = {function_name, *MODULE_NAMES}
    variables = {}
    for feature in rules.tested_columns:
        stem = re.sub(r"[^0-9A-Za-z]+", "_", rules.columns[feature].name)[:40].strip("_").lower()
        if not stem or stem[0].isdigit():
            stem = f"x_{stem}".rstrip("_")
        if keyword.iskeyword(stem) or hasattr(builtins, stem):
            stem += "_"
        variable, repeat = stem, 1
        while variable in taken:
            repeat += 1
            variable = f"{stem}_{repeat}"
        taken.add(variable)
        variables[feature] = variable
    return variables


def _test(rule: Rule, variables: Mapping[int, str]) -> str:
    tests = _Tests(variables)
    return " and ".join(tests(condition) for condition in rule.conditions) or "True"


class _Tests(ConditionVisitor[str]):
    """Conditions as Python; a missing value is NaN or None there, and meets none of them."""

    def __init__(self, variables: Mapping[int, str]) -> None:
        self.variables = variables

    def between(self, condition: Between) -> str:
        """Return a comparison, which NaN does not meet."""
        variable = self.variables[condition.feature]
        lower, upper = bounds(condition)
        if lower is None:
            return f"{variable} <= {upper!r}"
        if upper is None:
            return f"{variable} > {lower!r}"
        return f"{lower!r} < {variable} <= {upper!r}"

    def one_of(self, condition: OneOf) -> str:
        """Return a test for equality, which None does not meet."""
        variable, values = self.variables[condition.feature], condition.values
        if not values:
            return "False"
        if condition.column.type == "boolean":
            return " or ".join(f"{variable} is {value!r}" for value in values)
        return f"{variable} == {values[0]!r}" if len(values) == 1 else f"{variable} in {values!r}"

    def none_of(self, condition: NoneOf) -> str:
        """Return a test for inequality, and that there is a value."""
        variable, values = self.variables[condition.feature], condition.values
        test = f"{variable} != {values[0]!r}" if len(values) == 1 else f"{variable} not in {values!r}"
        return f"{variable} is not None and {test}"
