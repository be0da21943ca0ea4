"""Rules as Python modules for whole dataframes: a function that gives a Series of pandas, and an expression of Polars.

Both write each rule whole, as a mask of rows: the rules are disjoint, so they can be in any order. Columns are read as
everywhere: those of an unambiguous type at once, any other value by value, by the functions that the module
of the exporter ``"python"`` has.

Templates see, besides `shallowrules.exporters.python.module`: ``label_type`` (Python text of the type of the labels),
``precision_column`` (the name of the column of the precision), and for Polars of every input also ``plain_nulls``
(Python text of the list of what means "no value" in a column of the input's own type).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from shallowrules.errors import ExportError
from shallowrules.exporters.base import ClusterAs, check_cluster_as, check_text, precision_column_of
from shallowrules.exporters.context import is_int64
from shallowrules.exporters.python.bounds import bound_texts
from shallowrules.exporters.python.inputs import name_variables
from shallowrules.exporters.python.module import MODULE_NAMES, check_function_name, describe_module, write_module
from shallowrules.rules import INT64, Between, ConditionVisitor, Cut, NoneOf, OneOf, Rule, RuleColumn, RuleSet, Value

__all__ = ["FrameOptions", "PandasExporter", "PolarsExporter"]


@dataclass(frozen=True)
class FrameOptions:
    """Options of the exporters ``"pandas"`` and ``"polars"``.

    Parameters
    ----------
    function_name : str
        Name of the function that labels a dataframe.
    cluster_as : {"number", "name"}
        The label that it returns for a cluster: its number, or its name, the label that it was given.
    cluster_column : str
        Name of the column that it gives.
    with_precision : bool
        Whether there is a second function, with ``_with_precision`` after its name, which gives one more column, named
        like that of the cluster with ``_precision``: the precision of the row's rule, the share of its training rows
        that are in the cluster without rules too.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    function_name: str = "assign_cluster"
    cluster_as: ClusterAs = "number"
    cluster_column: str = "cluster"
    with_precision: bool = False
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        check_function_name(self.function_name)
        check_text("cluster_column", self.cluster_column)

    @property
    def precision_column(self) -> str:
        """Name of the column of the precision."""
        return precision_column_of(self.cluster_column)


class PandasExporter:
    """Writes rules as a Python module with a function of a dataframe of pandas; options: `FrameOptions`."""

    name = "pandas"
    file_extension = ".py"
    file_stem = "rules_pandas"
    media_type = "text/x-python"
    options: ClassVar[type] = FrameOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return a module with a function that gives the rows of a dataframe their clusters.

        Raises
        ------
        OptionError
            If the function's name is not allowed.
        ExportError
            If a user's template does not give valid Python.
        DataError
            If the precision of a rule is wanted and not known.
        """
        settings = FrameOptions(**options)
        variables = name_variables(rules, {settings.function_name, *MODULE_NAMES})
        context = describe_module(rules, settings, variables, _Masks(variables).of_rule)
        if any(input_["type"] in ("text", "boolean") for input_ in context["inputs"]):
            context["needs"].add("Iterable")
        context["precision_column"] = settings.precision_column
        context["label_type"] = repr("Int64" if settings.cluster_as == "number" else "string")
        return write_module("module_pandas.py.j2", context, settings.template)


class PolarsExporter:
    """Writes rules as a Python module with an expression of Polars; options: `FrameOptions`."""

    name = "polars"
    file_extension = ".py"
    file_stem = "rules_polars"
    media_type = "text/x-python"
    options: ClassVar[type] = FrameOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return a module with a function that returns an expression, which gives rows their clusters.

        Raises
        ------
        OptionError
            If the function's name is not allowed.
        ExportError
            If Polars cannot hold a name, a category or a threshold, or a user's template does not give valid Python.
        DataError
            If the precision of a rule is wanted and not known.
        """
        settings = FrameOptions(**options)
        _check_for_polars(rules, settings)
        taken = {settings.function_name, settings.cluster_column, settings.precision_column}
        variables = name_variables(rules, taken | MODULE_NAMES)
        context = describe_module(rules, settings, variables, _Expressions(variables).of_rule)
        if context["inputs"]:
            context["needs"].add("math")
        context["precision_column"] = settings.precision_column
        context["label_type"] = "pl.Int64" if settings.cluster_as == "number" else "pl.String"
        for input_, feature in zip(context["inputs"], variables, strict=True):
            input_["plain_nulls"] = repr(_plain_nulls(rules.columns[feature]))
        return write_module("module_polars.py.j2", context, settings.template)


class _Masks(ConditionVisitor[str]):
    """Conditions as masks of the rows of NumPy arrays; numbers are NaN where one is missing, categories None."""

    def __init__(self, variables: Mapping[int, str]) -> None:
        self.variables = variables

    def of_rule(self, rule: Rule) -> str:
        """Return the mask of the rows that a rule matches."""
        return " & ".join(map(self, rule.conditions)) or "np.ones(len(frame), dtype=bool)"

    def between(self, condition: Between) -> str:
        """Return one or two comparisons, which NaN does not satisfy."""
        return _comparisons(self.variables[condition.feature], condition)

    def one_of(self, condition: OneOf) -> str:
        """Return a test for equality, which None does not meet."""
        return self._is(condition.feature, condition.values)

    def none_of(self, condition: NoneOf) -> str:
        """Return a test for inequality and for a value being present."""
        return f"pd.notna({self.variables[condition.feature]}) & ~{self._is(condition.feature, condition.values)}"

    def _is(self, feature: int, values: tuple[Value, ...]) -> str:
        # Values are compared in Python, even with one category: NumPy drops the NUL characters at the end of a text.
        return f"_one_of({self.variables[feature]}, {values!r})"


class _Expressions(ConditionVisitor[str]):
    """Conditions as expressions of Polars, which null makes null."""

    def __init__(self, variables: Mapping[int, str]) -> None:
        self.variables = variables

    def of_rule(self, rule: Rule) -> str:
        """Return the predicate for the rows that a rule matches."""
        return " & ".join(map(self, rule.conditions))

    def between(self, condition: Between) -> str:
        """Return a comparison or two."""
        return _comparisons(self.variables[condition.feature], condition)

    def one_of(self, condition: OneOf) -> str:
        """Return a test for equality."""
        return self._is(condition.feature, condition.values)

    def none_of(self, condition: NoneOf) -> str:
        """Return a test for inequality."""
        return f"~{self._is(condition.feature, condition.values)}"

    def _is(self, feature: int, values: tuple[Value, ...]) -> str:
        if len(values) == 1:
            return f"({self.variables[feature]} == {values[0]!r})"
        return f"{self.variables[feature]}.is_in({list(values)!r})"


def _comparisons(variable: str, condition: Between) -> str:
    return " & ".join(f"({variable} {sign} {bound})" for sign, bound in bound_texts(condition))


def _plain_nulls(column: RuleColumn) -> list[Any]:
    """Return the null markers of a column in its own type: doubles, whole numbers of 64 bits, or texts."""
    if column.type == "float":
        return [float(number) for number in column.conversion.null_numbers]
    if column.is_whole:
        return [int(number) for number in column.conversion.null_numbers if is_int64(number)]
    if column.codes:  # which whole numbers become as texts
        return [str(number) for number in column.conversion.null_numbers]
    return list(column.conversion.nulls) if column.type == "text" else []


def _check_for_polars(rules: RuleSet, settings: FrameOptions) -> None:
    """Raise ExportError for values that no Polars expression can hold."""
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    categories = [value for column in tested for value in (*column.values, *column.nulls) if isinstance(value, str)]
    labels = [cluster.name for cluster in rules.clusters] if settings.cluster_as == "name" else []
    for text in (*(column.name for column in tested), *categories, *labels, settings.cluster_column):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ExportError(
                f"Polars cannot hold the text {text!r}, which has an unpaired surrogate: use the exporter python or "
                "pandas"
            ) from error
    for node in rules.nodes:
        if isinstance(node, Cut) and rules.columns[node.column].is_whole and node.threshold >= INT64[-1]:
            raise ExportError(
                f"a rule compares column {rules.columns[node.column].name!r} with {node.threshold}, the largest whole "
                "number of 64 bits, and Polars has no larger ones in such a column: use the exporter python or pandas"
            )
