"""The tree as an ONNX model of plain operators, which compare doubles and whole numbers exactly.

ONNX's own tree ensembles are not used: their thresholds are single-precision floats. The model has one input per tested
column, a tensor with a value per row, and one output, the clusters:

- numbers, truth values (1 and 0) and codes are doubles, NaN where one is missing. Whole numbers of 64 bits are int64 if
  a threshold is 2^53 or more; these cannot be missing.
- texts are strings. ONNX has no missing string, so a text stands for it.

A row without a cluster gets -1, or the empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shallowrules.errors import ExportError, MissingExtraError, OptionName
from shallowrules.exporters.base import ClusterAs, check_cluster_as, check_text
from shallowrules.exporters.context import (
    check_length,
    check_no_times,
    check_whole_columns,
    is_held_as_double,
    is_int64,
    package_version,
    summary_of,
)
from shallowrules.rules import INT64, Cut, Leaf, Membership, Number, RuleColumn, RuleSet, Value
from shallowrules.tables.labels import NO_CLUSTER

__all__ = ["OnnxExporter", "OnnxOptions", "input_type"]

OPSETS = {"": 20, "ai.onnx.ml": 3}
"""The operators' versions: 20 is the first with RegexFullMatch. IR_VERSION is that of the same release."""

IR_VERSION = 9

ROWS = "rows"


@dataclass(frozen=True)
class OnnxOptions:
    """Options of the exporter ``"onnx"``.

    Parameters
    ----------
    cluster_as : {"number", "name"}
        The model's output: the number of a cluster, -1 for none, or its name, the empty text for none.
    cluster_column : str
        Name of the output.
    missing_text : str
        The text that stands for a missing one in the inputs of text.
    """

    cluster_as: ClusterAs = "number"
    cluster_column: str = "cluster"
    missing_text: str = "(missing)"

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        check_text("cluster_column", self.cluster_column)
        check_text("missing_text", self.missing_text)


class OnnxExporter:
    """Writes the tree as an ONNX model; options: `OnnxOptions`."""

    name = "onnx"
    file_extension = ".onnx"
    media_type = "application/octet-stream"
    options = OnnxOptions

    def export(self, rules: RuleSet, **options: Any) -> bytes:
        """Return the model.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If ONNX cannot hold a name, a category, or a kind of value that the rules test.
        MissingExtraError
            If onnx is not installed.
        """
        settings = OnnxOptions(**options)
        try:
            import onnx
        except ImportError:
            raise MissingExtraError("the exporter 'onnx'", "onnx", "onnx") from None
        check_length(rules)
        check_no_times(rules, self.name)
        check_whole_columns(rules, self.name, INT64)
        _check(rules, settings)
        return _Graph(onnx, rules, settings).model().SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def input_type(rules: RuleSet, feature: int) -> str:
    """Return the type of a column's input: double, int64 or string."""
    column = rules.columns[feature]
    if column.type == "text" and not column.codes:
        return "string"
    return "double" if is_held_as_double(rules, feature) else "int64"


def _inputs(rules: RuleSet) -> Sequence[int]:
    """Return the columns that are read: if no rule tests any, the first one, for the number of rows."""
    return rules.tested_columns or (0,)


def _check(rules: RuleSet, settings: OnnxOptions) -> None:
    """Raise ExportError for columns, names and categories that the model cannot have."""
    columns = [rules.columns[feature] for feature in _inputs(rules)]
    texts = [name for column in columns for name in (column.name, *_categories(column))]
    clusters = [cluster.name for cluster in rules.clusters] if settings.cluster_as == "name" else []
    for text in (*texts, *clusters, settings.cluster_column, settings.missing_text):
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            raise ExportError(
                f"ONNX cannot hold the text {text!r}, which has a NUL character or an unpaired surrogate: use another "
                "exporter"
            )
    if "" in clusters:
        raise ExportError("a cluster has the empty name, which stands for no cluster; use cluster_as='number'")
    if settings.cluster_column in [column.name for column in columns]:
        raise ExportError(
            f"the table has a column {settings.cluster_column!r}; give the output a different name with ",
            OptionName("cluster_column"),
        )
    for column in columns:
        if not column.name:
            raise ExportError("a column has the empty name, which an input of ONNX cannot have: rename the column")
        if column.is_numeric and column.from_text:
            raise ExportError(
                f"exporter 'onnx' cannot write rules on numbers in text, and one tests column {column.name!r}: an "
                "input of ONNX is numbers or text, and no operator reads the one from the other as the rules do; use "
                "another exporter, or make it a column of numbers and fit again"
            )
        if settings.missing_text in _categories(column) and column.imputed != settings.missing_text:
            raise ExportError(
                f"column {column.name!r} has the category {settings.missing_text!r}, which stands for a missing text; "
                "choose another one with ",
                OptionName("missing_text"),
            )


def _categories(column: RuleColumn) -> list[str]:
    """Return the texts of a column of text that the model holds."""
    if column.type != "text" or column.codes:
        return []
    return [value for value in (*column.values, *column.nulls) if isinstance(value, str)]


class _Graph:
    """The graph, grown by its methods: each adds operators and returns the name of their output."""

    def __init__(self, onnx: Any, rules: RuleSet, settings: OnnxOptions) -> None:
        self.onnx, self.rules, self.settings = onnx, rules, settings
        self.types = onnx.TensorProto
        self.nodes: list[Any] = []
        self.constants: dict[tuple[Any, ...], Any] = {}
        self.prefix = "_"  # of the names of all that is neither an input nor the output
        names = [settings.cluster_column, *(rules.columns[feature].name for feature in _inputs(rules))]
        while any(name.startswith(self.prefix) for name in names):
            self.prefix += "_"
        self.categories: dict[int, list[Value]] = {}
        for node in rules.nodes:
            if isinstance(node, Membership):
                known = self.categories.setdefault(node.column, [])
                known += [value for value in node.values if value not in known]
        self.values: dict[int, str] = {}
        self.missing: dict[int, str | None] = {}

    def model(self) -> Any:
        """Return the model."""
        helper, rules, settings = self.onnx.helper, self.rules, self.settings
        kinds = {"double": self.types.DOUBLE, "int64": self.types.INT64, "string": self.types.STRING}
        inputs = [
            helper.make_tensor_value_info(rules.columns[feature].name, kinds[input_type(rules, feature)], [ROWS])
            for feature in _inputs(rules)
        ]
        kind = self.types.INT64 if settings.cluster_as == "number" else self.types.STRING
        for feature in rules.tested_columns:
            self._read(feature)
        found = self._below()
        if not rules.tested_columns:
            found = self._add("Expand", found, self._add("Shape", inputs[0].name))
        self.nodes.append(helper.make_node("Identity", [found], [settings.cluster_column]))
        output = helper.make_tensor_value_info(settings.cluster_column, kind, [ROWS])
        graph = helper.make_graph(self.nodes, "rules", inputs, [output], list(self.constants.values()))
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_operatorsetid(domain, version) for domain, version in OPSETS.items()],
            ir_version=IR_VERSION,
            producer_name="shallowrules",
            producer_version=package_version(),
            doc_string=summary_of(rules),
        )
        helper.set_model_props(model, {"rules_sha256": rules.sha256})
        return model

    def _add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **attributes))
        return name

    def _constant(self, kind: int, values: Any, shape: tuple[int, ...] = ()) -> str:
        # The text of a number tells -0.0 from 0.0, and 1 from 1.0 and True.
        key = (kind, shape, repr(values))
        if key not in self.constants:
            name = f"{self.prefix}constant_{len(self.constants)}"
            self.constants[key] = self.onnx.helper.make_tensor(name, kind, shape, values)
        return str(self.constants[key].name)

    def _number(self, feature: int, number: Number) -> str:
        """Return a number in the type of a column's input."""
        if input_type(self.rules, feature) == "int64":
            return self._constant(self.types.INT64, [int(number)])
        return self._constant(self.types.DOUBLE, [float(number)])

    def _any(self, conditions: Sequence[str]) -> str | None:
        """Return where one of some conditions holds, None if there are none."""
        found: str | None = None
        for condition in conditions:
            found = condition if found is None else self._add("Or", found, condition)
        return found

    def _read(self, feature: int) -> None:
        """Add a column's values and, unless they are imputed, the places where they are missing."""
        column = self.rules.columns[feature]
        read: Callable[[int], tuple[str, str | None]]
        read = self._read_texts if input_type(self.rules, feature) == "string" else self._read_numbers
        values, missing = read(feature)
        if missing is not None and column.imputed is not None:
            values, missing = self._add("Where", missing, self._imputed(feature), values), None
        if column.type == "boolean":  # any number but 0 and 1 counts as missing
            truths = [self._add("Equal", values, self._number(feature, truth)) for truth in (0, 1)]
            missing = self._add("Not", self._add("Or", *truths))
        self.values[feature], self.missing[feature] = values, missing

    def _read_numbers(self, feature: int) -> tuple[str, str | None]:
        column, kind = self.rules.columns[feature], input_type(self.rules, feature)
        name = column.name
        numbers = column.conversion.null_numbers if column.is_numeric or column.codes else ()
        if kind == "int64":
            numbers = tuple(filter(is_int64, numbers))
        missing = [self._add("Equal", name, self._number(feature, number)) for number in numbers]
        if kind == "double":
            missing.insert(0, self._add("IsNaN", name))
        return name, self._any(missing)

    def _read_texts(self, feature: int) -> tuple[str, str | None]:
        """Return the places of texts among the categories that are asked for, and where one is missing."""
        column, categories = self.rules.columns[feature], self.categories[feature]
        places = self._add(
            "LabelEncoder",
            column.name,
            domain="ai.onnx.ml",
            keys_strings=[str(value) for value in categories] or [""],
            values_int64s=list(range(len(categories))) or [0],
            default_int64=len(categories),
        )
        missing = [self._equals(column.name, self.settings.missing_text)]
        if column.nulls:
            pattern = " *(" + "|".join(map(_escaped, column.nulls)) + ") *"
            missing.append(self._add("RegexFullMatch", column.name, pattern=pattern))
        return places, self._any(missing)

    def _equals(self, name: str, text: str) -> str:
        return self._add("Equal", name, self._constant(self.types.STRING, [text.encode()]))

    def _imputed(self, feature: int) -> str:
        column = self.rules.columns[feature]
        if input_type(self.rules, feature) == "string":
            known = self.categories[feature]
            place = known.index(column.imputed) if column.imputed in known else len(known)  # type: ignore[arg-type]
            return self._constant(self.types.INT64, [place])
        return self._number(feature, _as_number(column.imputed))

    def _goes_left(self, node: Cut | Membership) -> str:
        """Return where a column's values meet a node's condition."""
        values = self.values[node.column]
        if isinstance(node, Cut):
            return self._add("LessOrEqual", values, self._number(node.column, node.threshold))
        if input_type(self.rules, node.column) == "string":
            known = self.categories[node.column]
            table = [value in node.values for value in known] + [False]
            return self._add("Gather", self._constant(self.types.BOOL, table, (len(table),)), values)
        equal = [self._add("Equal", values, self._number(node.column, _as_number(value))) for value in node.values]
        return self._any(equal) or self._add("Less", values, values)  # no value is less than itself

    def _below(self) -> str:
        """Return the clusters of the rows, computed from the leaves upwards."""
        rules = self.rules
        names = self.settings.cluster_as == "name"
        labels = {cluster.index: cluster.name if names else cluster.index for cluster in rules.clusters}
        found: dict[int, str] = {}
        for index in reversed(range(len(rules.nodes))):  # children come after their parent
            node = rules.nodes[index]
            if isinstance(node, Leaf):
                found[index] = self._label(labels[node.cluster])
                continue
            clusters = self._add("Where", self._goes_left(node), found[node.left], found[node.right])
            missing = self.missing[node.column]
            if missing is not None:
                clusters = self._add("Where", missing, self._label("" if names else NO_CLUSTER), clusters)
            found[index] = clusters
        return found[0]

    def _label(self, label: str | int) -> str:
        if isinstance(label, str):
            return self._constant(self.types.STRING, [label.encode()])
        return self._constant(self.types.INT64, [label])


def _as_number(value: Any) -> Number:
    """Return a number, a truth value or a code as a number."""
    return int(value) if isinstance(value, str | bool) else value


def _escaped(text: str) -> str:
    """Return a pattern that only this text matches."""
    return "".join(f"\\x{{{ord(character):x}}}" if not character.isalnum() else character for character in text)
