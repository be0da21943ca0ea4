"""Rules as a Python module without dependencies.

Templates see, besides `shallowrules.exporters.context`: ``function_name``, ``inputs`` (per tested
column its ``column``, ``type``, the ``variable`` that holds its value, and as Python text ``nulls`` and
``decimal``, what makes text a value, empty if nothing, ``holds_numbers`` where rows may give its categories as
numbers, ``imputed`` or none, ``null_numbers``, those that mean "no value", ``arguments`` of the function that
reads a value, behind the value, and ``unread``, what is true of a value that has to be read, empty for any),
``grammar`` (the patterns of numbers, and the texts that are truth values), ``lines`` (what gives a row its cluster, in
the style asked for), ``vectorized`` (none, or what a function of columns needs: ``function_name``, and see
`table_of_nodes`), ``test`` (Python text) of every rule, and ``label`` (Python text) of every rule and cluster: what
its rows get.
"""

from __future__ import annotations

import builtins
import keyword
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from shallowrules.errors import ExportError, OptionError, OptionName, check_choice
from shallowrules.exporters.base import ClusterAs, check_cluster_as, check_text
from shallowrules.exporters.context import describe, rows_text
from shallowrules.exporters.python.branches import Conditions, Style, lay_out, table_of_nodes
from shallowrules.exporters.python.inputs import describe_input, name_variables
from shallowrules.exporters.rendering import one_line, render
from shallowrules.rules import FALSE_TEXTS, GRAMMAR, PLAIN, TRUE_TEXTS, RuleSet

__all__ = ["PythonExporter", "PythonOptions"]

FUNCTION_NAME = OptionName("function_name")

VECTORIZED = "assign_clusters"
"""The function of columns."""

# What the shipped template defines or imports, and its functions' parameters and variables.
MODULE_NAMES = frozenset(
    {
        *("CLUSTERS", "Any", "Decimal", "NamedValues", "Protocol", "Real", "annotations", "error", "np", "operator"),
        *("re", "row", VECTORIZED, "columns"),
        *("_boolean", "_float", "_integer", "_is_missing", "_number", "_parse", "_text", "_to_float"),
        *("_NODES", "_LEAVES", "_CHUNK", "_assign", "_categories", "_elements", "_flags", "_numbers", "_of_name"),
        *("_rows",),
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
    style : {"nested", "flat", "ordered"}
        How it asks: the tree, which is the fastest; each rule whole; or a list in which each test relies on those
        before it.
    vectorized : bool
        Whether there is a second function, assign_clusters(columns), of whole columns. The module needs NumPy then.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    function_name: str = "assign_cluster"
    cluster_as: ClusterAs = "number"
    style: Style = "nested"
    vectorized: bool = False
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        check_choice("style", self.style, get_args(Style), option="style")
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
        """Return a module with a function that gives a row its cluster, and one for columns if that is asked for.

        Raises
        ------
        OptionError
            If the function's name is not allowed.
        ExportError
            If a user's template does not give valid Python.
        """
        settings = PythonOptions(**options)
        variables = name_variables(rules, {settings.function_name, *MODULE_NAMES})
        tests = Conditions(variables)
        labels = {c.index: repr(c.name if settings.cluster_as == "name" else c.index) for c in rules.clusters}
        context = describe(rules, lambda rule: {"test": tests.of_rule(rule), "label": labels[rule.cluster]})
        for cluster in context["clusters"]:
            cluster["label"] = labels[cluster["index"]]
        remarks = {rule.leaf: rows_text(rule.rows, rule.share) for rule in rules}
        context.update(
            function_name=settings.function_name,
            inputs=[describe_input(rules.columns[feature], variable) for feature, variable in variables.items()],
            lines=lay_out(settings.style, rules, variables, labels, remarks.__getitem__),
            vectorized=_describe_vectorized(rules, list(variables), labels) if settings.vectorized else None,
            grammar={
                "text": f"{PLAIN.pattern}|{GRAMMAR.infinity}",
                "whole": GRAMMAR.whole,
                "nan": GRAMMAR.nan,
                "longest": GRAMMAR.longest,
                "true": repr((*TRUE_TEXTS, 1)),
                "false": repr((*FALSE_TEXTS, 0)),
            },
            options={**asdict(settings), "template": None},
        )
        text = render(PYTHON, "module.py.j2", context, settings.template)
        try:
            compile(text, "<exported rules>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise ExportError(f"the template does not give valid Python: {error}") from error
        return text


def _describe_vectorized(rules: RuleSet, features: list[int], labels: dict[int, str]) -> dict[str, Any]:
    """Return what the function of columns is laid out from."""
    table = table_of_nodes(rules, {feature: place for place, feature in enumerate(features)}, labels)
    table["categories"] = [repr(table["categories"].get(feature, ())) for feature in features]
    return {"function_name": VECTORIZED, **table}
