"""Rules as a Python module without dependencies.

Templates see, besides `shallowrules.exporters.python.module`: ``lines`` (the code that gives a row its
cluster, in the requested style) and ``vectorized`` (none, or the data for a function of columns: ``function_name``,
``with_precision``, ``precisions`` of the leaves, and see `table_of_nodes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from shallowrules.errors import check_choice
from shallowrules.exporters.base import ClusterAs, check_cluster_as
from shallowrules.exporters.context import rows_text
from shallowrules.exporters.python.branches import Conditions, Style, lay_out, table_of_nodes
from shallowrules.exporters.python.inputs import name_variables
from shallowrules.exporters.python.module import (
    MODULE_NAMES,
    VECTORIZED,
    WITH_PRECISION,
    check_function_name,
    cluster_labels,
    describe_module,
    write_module,
)
from shallowrules.rules import RuleSet

__all__ = ["PythonExporter", "PythonOptions"]


@dataclass(frozen=True)
class PythonOptions:
    """Options of the exporter ``"python"``.

    Parameters
    ----------
    function_name : str
        Name of the function that gives a row its cluster.
    cluster_as : {"number", "name"}
        The label that it returns for a cluster: its number, or its name, the label that it was given.
    style : {"nested", "flat", "ordered"}
        How it asks: the tree, which is the fastest; each rule whole; or a list in which each test relies on those
        before it.
    vectorized : bool
        Whether there is a second function, assign_clusters(columns), of whole columns. The module needs NumPy then.
    reasons : bool
        Whether there is a function assign_with_reason(row), which also gives the rule of a row and its words.
    with_precision : bool
        Whether there is one more function for each, with ``_with_precision`` after its name, which gives the cluster
        and the precision of the row's rule: the share of its training rows that are in the cluster without rules too.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    function_name: str = "assign_cluster"
    cluster_as: ClusterAs = "number"
    style: Style = "nested"
    vectorized: bool = False
    reasons: bool = False
    with_precision: bool = False
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        check_choice("style", self.style, get_args(Style), option="style")
        check_function_name(self.function_name)


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
        DataError
            If the precision of a rule is wanted and not known.
        """
        settings = PythonOptions(**options)
        variables = name_variables(rules, {settings.function_name, *MODULE_NAMES})
        labels = cluster_labels(rules, settings.cluster_as)
        remarks = {rule.leaf: rows_text(rule.rows, rule.share) for rule in rules}
        context = describe_module(rules, settings, variables, Conditions(variables).of_rule)
        answers, nothing = {rule.leaf: labels[rule.cluster] for rule in rules}, "None"
        if settings.with_precision:
            precision = rules.rule_precisions()
            answers = {leaf: f"{label}, {precision[leaf]!r}" for leaf, label in answers.items()}
            nothing = "None, None"
        lenient = any(each["lenient"] for each in context["inputs"])
        context.update(
            lenient=lenient,
            needs=context["needs"] | ({"re"} if lenient else set()),
            lines=lay_out(settings.style, rules, variables, answers, nothing, remarks.__getitem__),
            vectorized=_describe_vectorized(rules, list(variables), settings) if settings.vectorized else None,
        )
        return write_module("module.py.j2", context, settings.template)

    def vectors_test(self, rules: RuleSet, module: str, vectors: str, **options: Any) -> dict[str, str]:
        """Return a file for pytest that runs the module on the vectors, given the names of their files beside it."""
        settings = PythonOptions(**options)
        context = {
            **describe_module(rules, settings, {}, lambda rule: ""),
            "module": module,
            "vectors": vectors,
        }
        return {f"test_{module.removesuffix('.py')}.py": write_module("module_test.py.j2", context, None)}


def _describe_vectorized(rules: RuleSet, features: list[int], settings: PythonOptions) -> dict[str, Any]:
    """Return the template's data for the function of columns, which returns an array: -1 in it means no cluster."""
    numbers = {cluster.index: repr(cluster.index) for cluster in rules.clusters}
    labels = numbers if settings.cluster_as == "number" else cluster_labels(rules, settings.cluster_as)
    table = table_of_nodes(rules, {feature: place for place, feature in enumerate(features)}, labels)
    table["categories"] = [repr(table["categories"].get(feature, ())) for feature in features]
    precision = rules.rule_precisions() if settings.with_precision else {}
    return {
        "function_name": VECTORIZED,
        "with_precision": f"{VECTORIZED}{WITH_PRECISION}" if settings.with_precision else None,
        "precisions": [precision.get(leaf) for leaf in table["leaf_nodes"]],
        **table,
    }
