"""The tree as PMML 4.4, the standard by which KNIME, SAS, SPSS and scoring servers exchange models.

It is a TreeModel with the tests of the tree. A row without a value in a column that is tested on its path gets no
prediction, as in every other format (``missingValueStrategy`` and ``noTrueChildStrategy``). An engine gets numbers as
numbers: it has to convert text from a file itself, except null markers. Some engines (PMML4S) compare all numbers as
doubles, which do not tell neighbors apart at a threshold of 2^53 or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from shallowrules.errors import ExportError, OptionName
from shallowrules.exporters.base import ClusterAs, check_cluster_as, check_text
from shallowrules.exporters.context import (
    bounds,
    check_length,
    check_no_times,
    check_whole_columns,
    is_exact_in_doubles,
    package_version,
    summary_of,
)
from shallowrules.exporters.xml_text import check_xml_text
from shallowrules.rules import INT64, Between, ConditionVisitor, Leaf, NoneOf, OneOf, RuleColumn, RuleSet, Value

__all__ = ["PmmlExporter", "PmmlOptions"]

KINDS = {
    "float": ("continuous", "double"),
    "integer": ("continuous", "integer"),
    "text": ("categorical", "string"),
    "boolean": ("categorical", "boolean"),
}
"""By the type of a column: the operational type and the data type of its field."""

DEEPEST_INDENT = 20


@dataclass(frozen=True)
class PmmlOptions:
    """Options of the exporter ``"pmml"``.

    Parameters
    ----------
    cluster_as : {"number", "name"}
        The model's prediction: the number of a cluster, or its name, the label that it was given. Numbers are
        predicted as text where one is the smallest of 64 bits, which stands for no prediction in PMML4S.
    cluster_column : str
        Name of the field that holds it.
    """

    cluster_as: ClusterAs = "number"
    cluster_column: str = "cluster"

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        check_text("cluster_column", self.cluster_column)


class PmmlExporter:
    """Writes the tree as PMML; options: `PmmlOptions`."""

    name = "pmml"
    file_extension = ".pmml"
    media_type = "application/xml"
    options = PmmlOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the document.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If PMML cannot hold a name, a category, or a kind of value that the rules test, or a column has the name of
            the prediction.
        """
        settings = PmmlOptions(**options)
        check_length(rules)
        check_no_times(rules, self.name)
        check_whole_columns(rules, self.name, INT64)
        names = [column.name for column in rules.columns]
        for name in (settings.cluster_column, _output_name(settings)):
            if name in names:
                raise ExportError(
                    f"the table has a column {name!r}; give the prediction a different name with ",
                    OptionName("cluster_column"),
                )
        return "\n".join(_document(rules, settings)) + "\n"


def _document(rules: RuleSet, settings: PmmlOptions) -> Iterator[str]:
    """Yield the lines of the document."""
    target = _attribute(settings.cluster_column)
    numbers = settings.cluster_as == "number" and all(cluster.index != INT64[0] for cluster in rules.clusters)
    kind = "integer" if numbers else "string"
    labels = {c.index: str(c.label) if settings.cluster_as == "number" else c.name for c in rules.clusters}
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">'
    yield f"  <Header description={_attribute(summary_of(rules))}>"
    yield f'    <Extension name="rules_sha256" value="{rules.sha256}"/>'
    yield f'    <Application name="shallowrules" version="{package_version()}"/>'
    yield "  </Header>"
    yield f'  <DataDictionary numberOfFields="{len(tested) + 1}">'
    for feature in rules.tested_columns:
        yield from _data_field(rules, feature)
    yield f'    <DataField name={target} optype="categorical" dataType="{kind}">'
    for label in labels.values():
        yield f"      <Value value={_attribute(label)}/>"
    yield "    </DataField>"
    yield "  </DataDictionary>"
    yield (
        '  <TreeModel functionName="classification" splitCharacteristic="binarySplit" '
        'missingValueStrategy="nullPrediction" noTrueChildStrategy="returnNullPrediction">'
    )
    yield "    <MiningSchema>"
    for column in tested:
        given = "" if column.imputed is None else f" missingValueReplacement={_value(column.imputed)}"
        yield f'      <MiningField name={_attribute(column.name)} invalidValueTreatment="asIs"{given}/>'
    yield f'      <MiningField name={target} usageType="target"/>'
    yield "    </MiningSchema>"
    output = _attribute(_output_name(settings))
    yield "    <Output>"
    yield f'      <OutputField name={output} feature="predictedValue" optype="categorical" dataType="{kind}"/>'
    yield "    </Output>"
    yield from _nodes(rules, labels)
    yield "  </TreeModel>"
    yield "</PMML>"


def _output_name(settings: PmmlOptions) -> str:
    """Return the name of the output, without blanks: it becomes the name of a column."""
    return "_".join(["predicted", *settings.cluster_column.split()])


def _data_field(rules: RuleSet, feature: int) -> Iterator[str]:
    """Yield the field of a column, with its null markers."""
    column = rules.columns[feature]
    optype, data_type = ("continuous", "double") if column.codes else KINDS[column.type]
    if column.is_whole and is_exact_in_doubles(rules, feature):  # an engine cuts fractions off in an integer field
        data_type = "double"
    opening = f'    <DataField name={_attribute(column.name)} optype="{optype}" dataType="{data_type}"'
    conversion = column.conversion
    nulls: list[str] = []
    if column.is_numeric or column.codes:
        nulls = [_plain(number) for number in conversion.null_numbers]
    elif column.type == "text":
        nulls = list(conversion.nulls)
    if not nulls:
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    for null in nulls:
        yield f'      <Value value={_attribute(null)} property="missing"/>'
    yield "    </DataField>"


def _nodes(rules: RuleSet, labels: dict[int, str]) -> Iterator[str]:
    """Yield the nodes, each with its predicate, and those below it."""
    predicates = _Predicates()
    pending: list[tuple[int, str, int]] = [(0, "<True/>", 2)]  # a node, its predicate, its depth; -1 ends a node
    while pending:
        index, predicate, depth = pending.pop()
        indent = "  " * min(depth, DEEPEST_INDENT)
        if index < 0:
            yield f"{indent}</Node>"
            continue
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            score = _attribute(labels[node.cluster])
            yield f'{indent}<Node id="{index}" score={score} recordCount="{node.rows}">{predicate}</Node>'
            continue
        yield f'{indent}<Node id="{index}">{predicate}'
        column = rules.columns[node.column]
        pending.append((-1, "", depth))
        pending += [
            (child, predicates(node.condition(column, goes_left)), depth + 1)
            for child, goes_left in ((node.right, False), (node.left, True))
        ]


class _Predicates(ConditionVisitor[str]):
    """Conditions as predicates, which a missing value makes unknown."""

    def between(self, condition: Between) -> str:
        """Return a comparison, or two."""
        lower, upper = bounds(condition)
        limits = (("greaterThan", lower), ("lessOrEqual", upper))
        return _compound("and", condition.column, [(sign, bound) for sign, bound in limits if bound is not None])

    def one_of(self, condition: OneOf) -> str:
        """Return tests for equality."""
        return _compound("or", condition.column, [("equal", value) for value in condition.values])

    def none_of(self, condition: NoneOf) -> str:
        """Return tests for inequality."""
        return _compound("and", condition.column, [("notEqual", value) for value in condition.values])


def _compound(joined_by: str, column: RuleColumn, tests: list[tuple[str, Value | int | float]]) -> str:
    """Return tests of a column as one predicate."""
    if not tests:
        return "<False/>"
    field = _attribute(column.name)
    simple = [f'<SimplePredicate field={field} operator="{sign}" value={_value(value)}/>' for sign, value in tests]
    if len(simple) == 1:
        return simple[0]
    return f'<CompoundPredicate booleanOperator="{joined_by}">{"".join(simple)}</CompoundPredicate>'


def _value(value: Value | int | float) -> str:
    return _attribute(value if isinstance(value, str) else _plain(value))


def _plain(value: bool | int | float) -> str:
    """Return a number or a truth value as XML writes it."""
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _attribute(text: str) -> str:
    """Return a value of an attribute in quotes; ExportError if XML cannot hold it."""
    return quoteattr(check_xml_text(text))
