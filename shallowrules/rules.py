"""The tree in raw columns and units, one `Rule` per leaf, and their JSON form.

A `RuleSet` is all that exporters see. It keeps the tree's cuts as plain data (`Split`, `Leaf`) and
derives everything else, so that a saved document cannot contradict itself.
"""

from __future__ import annotations

import html
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.conversion import Conversion, Number
from shallowrules.encoding import Encoder, Encoding, categories, encode, refuse_unusable
from shallowrules.errors import DataError, RulesFormatError
from shallowrules.files import write_whole
from shallowrules.metrics import (
    agreement,
    normalized_cost,
    partition_cost,
    precision_and_recall,
    weighted_average_depth,
    weighted_average_explanation_size,
)
from shallowrules.summation import group_means
from shallowrules.table import Column, Table, Value
from shallowrules.tree import LEAF, Tree, compare

__all__ = [
    "Cluster",
    "Condition",
    "Conversion",
    "Leaf",
    "Number",
    "Rule",
    "RuleColumn",
    "RuleSet",
    "Split",
    "Statistics",
    "Value",
    "describe_tree",
    "write_value",
]

FORMAT = "shallowrules/1"
UNMATCHED = -1
MOST_CLUSTER = np.iinfo(np.int32).max

CATEGORICAL = ("text", "boolean")
"""The types of columns that hold categories, which are compared by equality."""


OPTIONAL = {"optional": True}
"""Marks a field that a document need not have, and that is left out where it has its default."""


@dataclass(frozen=True)
class RuleColumn:
    """A raw column of the training table.

    `type` is how its values were read and are compared. Of numbers, `mean`, `minimum` and `maximum`
    describe the training rows, in the column's own units; of categories they are None, and
    `values` are those of the training rows, the most frequent first, with their `shares` of the weight.

    `decimal` and `nulls` say how the text of a file became the values, where it was needed
    (`shallowrules.conversion.Conversion`). `imputed` is what a missing value is taken as, None where it is
    not taken as anything.
    """

    name: str
    type: Literal["integer", "float", "text", "boolean"]
    mean: float | None
    minimum: Number | None
    maximum: Number | None
    values: tuple[Value, ...] = field(default=(), metadata=OPTIONAL)
    shares: tuple[float, ...] = field(default=(), metadata=OPTIONAL)
    decimal: str = field(default=".", metadata=OPTIONAL)
    nulls: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    imputed: Number | Value | None = field(default=None, metadata=OPTIONAL)

    @property
    def conversion(self) -> Conversion:
        """How a reader that has been told nothing has to read the column."""
        return Conversion(self.decimal, self.nulls)

    def read(self, given: Column) -> Column:
        """Return a column as the rules compare it: converted, and with its missing values imputed.

        Raises
        ------
        DataError
            If it holds values of another type.
        """
        return given.converted(self.conversion, numeric=self.is_numeric).filled(self.imputed)

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.type not in CATEGORICAL

    @property
    def from_text(self) -> bool:
        """Whether the values are numbers, and text to a reader that has been told nothing."""
        return self.is_numeric and self.conversion.from_text

    @property
    def converts_text(self) -> bool:
        """Whether the rules read the text of a file for themselves, so that a reader can leave it as it is."""
        return self.from_text or (not self.is_numeric and bool(self.nulls))


@dataclass(frozen=True)
class Split:
    """An inner node: a row goes to node `left` if the condition holds, else to `right`.

    ``<=`` compares a number, ``=`` a category, and ``in`` asks for one of several categories, which
    are a tuple.
    """

    column: int
    operator: Literal["<=", "=", "in"]
    value: Number | Value | tuple[Value, ...]
    left: int
    right: int

    @property
    def categories(self) -> tuple[Value, ...]:
        """The categories of which a row that goes left has one."""
        return self.value if isinstance(self.value, tuple) else (self.value,)  # type: ignore[return-value]


@dataclass(frozen=True)
class Leaf:
    """A leaf: the cluster it carries, its training rows and their summed weight."""

    cluster: int
    rows: int
    weight: float


@dataclass(frozen=True)
class Condition:
    """All that one rule asks of one column.

    Of a number ``lower < value <= upper``, either side open. Of a category that it is one of `included`, or,
    where that is None, none of `excluded`; a category that no training row had is one like any other.
    A missing value makes the condition not hold.
    """

    feature: int
    column: RuleColumn
    lower: Number | None = None
    upper: Number | None = None
    included: tuple[Value, ...] | None = None
    excluded: tuple[Value, ...] = ()

    def narrowed(self, split: Split, holds: bool) -> Condition:
        """Return this condition together with what one side of a split of its column asks."""
        if split.operator == "<=":
            bound: Any = split.value
            if holds:
                return replace(self, upper=bound if self.upper is None else min(self.upper, bound))
            return replace(self, lower=bound if self.lower is None else max(self.lower, bound))
        categories = split.categories
        if holds:
            allowed = categories if self.included is None else self.included
            included = tuple(value for value in allowed if value in categories and value not in self.excluded)
        elif self.included is not None:
            included = tuple(value for value in self.included if value not in categories)
        elif self.column.type == "boolean":
            included = tuple(value for value in (False, True) if value not in categories)
        else:
            more = tuple(value for value in categories if value not in self.excluded)
            return replace(self, excluded=self.excluded + more)
        return replace(self, included=included, excluded=())

    def __str__(self) -> str:
        name = self.column.name
        if not self.column.is_numeric:
            values = self.excluded if self.included is None else self.included
            if len(values) == 1:
                return f"{name} {'<>' if self.included is None else '='} {write_value(values[0])}"
            return f"{name} {'not in' if self.included is None else 'in'} ({', '.join(map(write_value, values))})"
        if self.lower is None:
            return f"{name} <= {self.upper}"
        if self.upper is None:
            return f"{name} > {self.lower}"
        return f"{self.lower} < {name} <= {self.upper}"


@dataclass(frozen=True)
class Rule:
    """The explanation of one leaf: a conjunction without redundant conditions.

    Attributes
    ----------
    leaf : int
        Node of the rule in `RuleSet.nodes`.
    cluster : int
        Cluster that the rule assigns.
    conditions : tuple of Condition
        One per tested column, in the order in which the tree asks them. Empty for a tree
        that is a single leaf: then every row matches.
    rows : int
        Training rows that match.
    weight, share : float
        Their summed weight, and its share of the whole table.
    depth : int
        Edges from the root to the leaf.
    size : int
        Number of non-redundant conditions (the paper's explanation size). Each category that is asked
        for or excluded counts, as the columns of 0 and 1 do that stand for the categories, so that
        `size` may be more than what is left to read.
    """

    leaf: int
    cluster: int
    conditions: tuple[Condition, ...]
    rows: int
    weight: float
    share: float
    depth: int
    size: int

    def __str__(self) -> str:
        return " and ".join(str(condition) for condition in self.conditions) or "every row"


@dataclass(frozen=True)
class Cluster:
    """What is known of one cluster of the tree on the training rows.

    Attributes
    ----------
    index : int
        Number of the cluster: the row of its reference center, and what every export returns.
    name : str
        What a person calls it: the given label, or the number.
    rows, weight, share
        Training rows, their summed weight and its share of the table.
    precision : float
        Share of the cluster's weight that the unrestricted clustering puts in it too.
    recall : float
        Share of the unrestricted cluster's weight that the rules put in it too.
    means : tuple of float or None
        Mean of every column of `RuleSet.columns`, in its own units; None where it has categories.
    shares : tuple of tuple of float
        Per column of categories the share of each of its `values` in the cluster; empty for a column of
        numbers, and in all where there are only such.
    """

    index: int
    name: str
    rows: int
    weight: float
    share: float
    precision: float
    recall: float
    means: tuple[float | None, ...]
    shares: tuple[tuple[float, ...], ...] = field(default=(), metadata=OPTIONAL)

    @property
    def title(self) -> str:
        """The number, which exports return, and the name beside it where that is another."""
        return self.name if self.name == str(self.index) else f"{self.index} ({self.name})"


@dataclass(frozen=True)
class Statistics:
    """How good and how short the rules are, on the training rows.

    `cost` and `reference_cost` are k-means costs (the paper's Eq. 1) in squared units of the
    space that was clustered, of the tree's partition and of the unrestricted one. `agreement`
    is the share of weight that both put in the same cluster. `wad` and `waes` are Eqs. 2 and 3.
    `labelled` says that labels were given to be explained, and not centers; `left_out` counts the
    rows that belonged to no cluster (noise, or without a label) and are in no other figure.
    """

    rows: int
    weight: float
    weighted: bool
    method: str
    tradeoff: float
    cost: float
    reference_cost: float
    normalized_cost: float
    agreement: float
    wad: float
    waes: float
    labelled: bool = False
    left_out: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Disjoint rules that give every complete row its cluster.

    Iterating gives the rules, largest cluster first; ``print`` shows them one per line.

    Parameters
    ----------
    columns : tuple of RuleColumn
        All columns of the training table, tested or not, in their order.
    nodes : tuple of Split or Leaf
        The tree in raw units: node 0 is the root, children come after their parent.
    clusters : tuple of Cluster
        The clusters that have a leaf, ascending by index.
    statistics : Statistics
        Figures on the training rows.

    Raises
    ------
    RulesFormatError
        If the parts do not form a tree over the columns and clusters.
    """

    columns: tuple[RuleColumn, ...]
    nodes: tuple[Split | Leaf, ...]
    clusters: tuple[Cluster, ...]
    statistics: Statistics

    def __post_init__(self) -> None:
        _validate(self)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """One rule per leaf: largest cluster first, and its largest leaf first."""
        cluster_weight = {cluster.index: cluster.weight for cluster in self.clusters}
        found: list[Rule] = []
        pending: list[tuple[int, int, dict[int, Condition], frozenset[Any]]] = [(0, 0, {}, frozenset())]
        while pending:
            index, depth, conditions, edges = pending.pop()
            node = self.nodes[index]
            if isinstance(node, Leaf):
                share = node.weight / self.statistics.weight
                asked = tuple(conditions.values())
                found.append(Rule(index, node.cluster, asked, node.rows, node.weight, share, depth, size=len(edges)))
                continue
            feature = node.column
            condition = conditions.get(feature) or Condition(feature, self.columns[feature])
            for child, holds in ((node.left, True), (node.right, False)):
                narrowed = {**conditions, feature: condition.narrowed(node, holds)}
                # Each category has a column of its own in the paper's sense; "in" cuts an order of categories.
                edge = (feature, node.value if node.operator == "=" else None, holds)
                pending.append((child, depth + 1, narrowed, edges | {edge}))
        found.sort(key=lambda rule: (-cluster_weight[rule.cluster], rule.cluster, -rule.weight, rule.leaf))
        return tuple(found)

    @cached_property
    def tested_columns(self) -> tuple[int, ...]:
        """Indices of the columns that some rule tests, ascending."""
        return tuple(sorted({node.column for node in self.nodes if isinstance(node, Split)}))

    def rules_of(self, cluster: int) -> tuple[Rule, ...]:
        """Return the rules of one cluster, largest leaf first."""
        return tuple(rule for rule in self.rules if rule.cluster == cluster)

    @cached_property
    def by_size(self) -> tuple[Cluster, ...]:
        """The clusters, largest first."""
        return tuple(sorted(self.clusters, key=lambda cluster: (-cluster.weight, cluster.index)))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RuleSet({len(self)} rules, {len(self.clusters)} clusters, {len(self.columns)} columns)"

    def __str__(self) -> str:
        titles = {cluster.index: cluster.title for cluster in self.clusters}
        lines = [
            f"cluster {_printable(titles[rule.cluster])}: {_printable(str(rule))}  ({rule.rows} rows, {rule.share:.1%})"
            for rule in self.rules
        ]
        s = self.statistics
        lines.append(
            f"cost {s.normalized_cost:.3f} of the unrestricted clustering's; "
            f"conditions per row {s.waes:.2f}, questions per row {s.wad:.2f}"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def assign(self, table: Any) -> NDArray[np.int32]:
        """Return the cluster of each row by matching the rules, -1 where no rule matches.

        Parameters
        ----------
        table : Table, dataframe, mapping of columns, or array-like of shape (n_rows, n_columns)
            The raw columns; found by name where there are names, else by position. Columns
            that no rule tests need not be there in a named table.

        Returns
        -------
        ndarray of int32, shape (n_rows,)

        Raises
        ------
        DataError
            If a tested column is missing, or holds values of another type than the rules compare.
        """
        table = Table.of(table, names=[column.name for column in self.columns])
        present = {column.name: column for column in table.columns}
        columns: dict[int, Column] = {}
        for feature in self.tested_columns:
            wanted = self.columns[feature]
            if wanted.name not in present:
                raise DataError(
                    f"the rules test column {wanted.name!r}, which the table does not have; "
                    f"it has: {', '.join(repr(name) for name in present)}"
                )
            columns[feature] = present[wanted.name]
        matching = {feature: _Matching(self.columns[feature], column) for feature, column in columns.items()}
        labels = np.full(table.n_rows, UNMATCHED, dtype=np.int32)
        for rule in self.rules:
            matches = np.ones(table.n_rows, dtype=bool)
            for condition in rule.conditions:
                matches &= matching[condition.feature].holds(condition)
            labels[matches] = rule.cluster
        return labels

    @classmethod
    def from_tree(
        cls,
        tree: Tree,
        X: Any,
        *,
        reference: ArrayLike | None = None,
        clustered: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        method: str = "cart",
    ) -> RuleSet:
        """Return any tree's rules, measured on a table as the package's own trees are.

        Parameters
        ----------
        tree : Tree
            For example one of `Tree.from_sklearn`, over the columns of `X`.
        X : Table, dataframe or array-like of shape (n_rows, n_columns)
            The raw columns, complete. Names and types of the rules' columns are theirs.
        reference : array-like of shape (n_rows,), optional
            The clustering that the tree is to follow: for a classifier, its labels. Costs, agreement,
            precision and recall are against it; by default it is what the tree itself predicts.
        clustered : array-like of shape (n_rows, m), optional
            The space in which costs are measured; by default `X`.
        sample_weight : array-like of shape (n_rows,), optional
            None negative, not all 0.
        method : str
            What to call the way in which the tree was made.

        Returns
        -------
        RuleSet

        Raises
        ------
        DataError
            If the table, the labels or the weights do not fit the tree or one another.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
        >>> RuleSet.from_tree(Tree.from_sklearn(cart), X, reference=y).statistics.waes
        1.6666666666666667
        """
        table = Table.of(X)
        _check_columns(tree, table)
        refuse_unusable(table)
        n_rows = table.n_rows
        weight = None
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
                raise DataError(f"sample_weight must be {n_rows} numbers, one per row, none negative")
        if not n_rows or (weight is not None and not weight.any()):
            raise DataError("there is no row to measure the tree on: give at least one of positive weight")
        encoding = encode(table)
        explained = encoding.X_explain
        points = explained if clustered is None else np.asarray(clustered)
        if points.ndim != 2 or len(points) != n_rows:
            raise DataError(f"clustered must have {n_rows} rows, those of the table; its shape is {points.shape}")
        counted = tree.count(explained, weight)
        labels = tree.predict(explained)
        k = max(len(tree.names), int(tree.cluster.max()) + 1)
        names = tree.names or tuple(str(i) for i in range(k))
        return describe_tree(
            replace(counted, names=names),
            table,
            replace(encoding, X_cluster=points),
            labels,
            labels if reference is None else _numbered(np.asarray(reference), names, n_rows),
            weight=weight,
            weighted=weight is not None,
            labelled=reference is not None,
            fallback=np.tile(np.average(explained, axis=0, weights=weight), (k, 1)),
            method=method,
        )[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON-ready data, format ``shallowrules/1``."""
        return {
            "format": FORMAT,
            "columns": [_plain(column) for column in self.columns],
            "nodes": [_plain(node) for node in self.nodes],
            "clusters": [_plain(cluster) for cluster in self.clusters],
            "statistics": _plain(self.statistics),
        }

    @classmethod
    def from_dict(cls, document: Any) -> RuleSet:
        """Rebuild the rules from `to_dict`'s data, validating everything."""
        if not isinstance(document, dict):
            raise RulesFormatError("not a rules document: the top level is not a JSON object")
        version = document.get("format")
        if version != FORMAT:
            raise RulesFormatError(
                f'this is not a {FORMAT!r} document (its "format" is {version!r}); '
                "write it again with this version of shallowrules"
            )
        unknown = set(document) - {"format", "columns", "nodes", "clusters", "statistics"}
        if unknown:
            raise RulesFormatError(f"unknown entries in the rules document: {', '.join(sorted(map(repr, unknown)))}")
        columns = tuple(_build(RuleColumn, item, f"columns[{i}]") for i, item in _items(document, "columns"))
        nodes = tuple(
            _build(Leaf if isinstance(item, dict) and "cluster" in item else Split, item, f"nodes[{i}]")
            for i, item in _items(document, "nodes")
        )
        clusters = tuple(_build(Cluster, item, f"clusters[{i}]") for i, item in _items(document, "clusters"))
        statistics = _build(Statistics, document.get("statistics"), "statistics")
        return cls(columns, nodes, clusters, statistics)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the rules as JSON text, and write it to `path` if one is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    def from_json(cls, path: str | Path) -> RuleSet:
        """Read rules from a JSON file.

        Raises
        ------
        RulesFormatError
            If the file is not a complete, valid ``shallowrules/1`` document.
        OSError
            If it cannot be read.
        """
        try:
            document = json.loads(
                Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_no_repeats
            )
        except RulesFormatError as error:
            raise RulesFormatError(f"{path}: {error}") from None
        except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, or a number of thousands of digits
            raise RulesFormatError(f"{path}: not valid JSON ({error}); write the rules again") from error
        try:
            return cls.from_dict(document)
        except RulesFormatError as error:
            raise RulesFormatError(f"{path}: {error}") from None


def describe_tree(
    tree: Tree,
    table: Table,
    encoding: Encoding,
    labels: NDArray[np.int32],
    reference: NDArray[np.int32],
    *,
    weight: NDArray[np.float64] | None,
    weighted: bool,
    fallback: NDArray[np.float64],
    method: str,
    tradeoff: float = 0.0,
    labelled: bool = False,
    left_out: int = 0,
    notes: tuple[str, ...] = (),
) -> tuple[RuleSet, NDArray[np.float64]]:
    """Measure a tree on its rows and return its rules.

    Parameters
    ----------
    tree : Tree
        Counted on these rows; it names every cluster.
    table : Table
        The raw columns.
    encoding : Encoding
        The columns that the tree is over, and the space in which costs are measured.
    labels, reference : ndarray of int32, shape (n_rows,)
        Cluster of each row by the tree, and by the clustering that it follows; anything where rows do not count.
    weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 do not count.
    weighted : bool
        Whether weights were given: where rows are in no cluster, there is a `weight` without.
    fallback : ndarray of float64, shape (k, n_model_columns)
        What stands for the mean of a cluster that has no rows.
    method, tradeoff, labelled, left_out, notes
        As in `Statistics`.

    Returns
    -------
    rules : RuleSet
    means : ndarray of float64, shape (k, n_model_columns)
        Mean of every cluster, also of those without a leaf, in all model columns.
    """
    k = len(tree.names)
    cost = partition_cost(encoding.X_cluster, labels, weight)
    reference_cost = cost if reference is labels else partition_cost(encoding.X_cluster, reference, weight)
    counts = np.bincount(labels if weight is None else labels[weight > 0], minlength=k)
    sums = (counts if weight is None else np.bincount(labels, weight, minlength=k)).astype(np.float64)
    means = group_means(encoding.matrix, labels, k, weight)
    means = np.where(np.isnan(means), fallback, means)
    filled = encoding.encoder.impute(table)
    columns, profiles = _describe_columns(encoding.encoder, filled, means, labels, weight, sums)
    if weight is not None and not weight.all():
        counted = weight > 0
        labels, reference, weight = labels[counted], reference[counted], weight[counted]
    precision, recall = precision_and_recall(labels, reference, k, weight)
    clusters = tuple(
        Cluster(
            index=int(i),
            name=tree.names[i],
            rows=int(counts[i]),
            weight=float(sums[i]),
            share=float(sums[i] / sums.sum()),
            precision=float(precision[i]),
            recall=float(recall[i]),
            **profiles[i],
        )
        for i in np.unique(tree.cluster[tree.leaves])
    )
    statistics = Statistics(
        rows=int(counts.sum()),
        weight=float(sums.sum()),
        weighted=weighted,
        method=method,
        tradeoff=tradeoff,
        cost=cost,
        reference_cost=reference_cost,
        normalized_cost=min(normalized_cost(cost, reference_cost), sys.float_info.max),
        agreement=agreement(labels, reference, weight),
        wad=weighted_average_depth(tree),
        waes=weighted_average_explanation_size(tree),
        labelled=labelled,
        left_out=left_out,
        notes=(*_imputation_notes(table, encoding.encoder), *notes),
    )
    return RuleSet(columns, _rule_nodes(tree, encoding.encoder, filled), clusters, statistics), means


def _describe_columns(
    encoder: Encoder,
    table: Table,
    means: NDArray[np.float64],
    labels: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    sums: NDArray[np.float64],
) -> tuple[tuple[RuleColumn, ...], list[dict[str, Any]]]:
    """Return what the rules keep of each raw column, and of each cluster its means and shares by column."""
    place = {column.source: j for j, column in enumerate(encoder.columns) if column.kind == "number"}
    columns: list[RuleColumn] = []
    of_numbers: list[list[float | None]] = [[] for _ in sums]
    of_values: list[list[tuple[float, ...]]] = [[] for _ in sums]
    for source, raw in enumerate(table.columns):
        if raw.is_numeric:
            if source in place:
                in_cluster = means[:, place[source]] * encoder.columns[place[source]].direction
            else:  # a transformer left it out, or took its numbers for categories
                in_cluster = np.nan_to_num(group_means(raw.values[:, None], labels, len(sums), weight)[:, 0])
            columns.append(_describe_numbers(raw, float(in_cluster @ sums / sums.sum())))
            shares = np.empty((len(sums), 0))
        else:
            described, shares = _describe_values(raw, labels, weight, sums)
            columns.append(described)
        for i in range(len(sums)):
            of_numbers[i].append(float(in_cluster[i]) if raw.is_numeric else None)
            of_values[i].append(tuple(shares[i].tolist()))
    imputed = encoder.imputed or (None,) * len(columns)
    columns = [
        replace(described, decimal=raw.conversion.decimal, nulls=raw.conversion.nulls, imputed=value)
        for described, raw, value in zip(columns, table.columns, imputed, strict=True)
    ]
    mixed = any(not column.is_numeric for column in columns)
    profiles = [
        {"means": tuple(numbers), "shares": tuple(values) if mixed else ()}
        for numbers, values in zip(of_numbers, of_values, strict=True)
    ]
    return tuple(columns), profiles


def _imputation_notes(table: Table, encoder: Encoder) -> tuple[str, ...]:
    """Return what a reader of the rules has to know of missing values that were imputed."""
    notes = []
    for column, value in zip(table.columns, encoder.imputed, strict=False):
        if value is not None:
            what = "the median" if column.is_numeric else "the most frequent value"
            what = what if encoder.transformer is None else "as the transformer does"
            count = int(column.absent.sum())
            notes.append(f"a missing value of column {column.name!r} ({count:,} rows) is taken as {value!r}, {what}")
    return tuple(notes)


def _describe_numbers(raw: Column, mean: float) -> RuleColumn:
    number = int if raw.type == "integer" else float
    return RuleColumn(raw.name, raw.type, mean, number(raw.values.min()), number(raw.values.max()))  # type: ignore[arg-type]


def _describe_values(
    raw: Column, labels: NDArray[np.int32], weight: NDArray[np.float64] | None, sums: NDArray[np.float64]
) -> tuple[RuleColumn, NDArray[np.float64]]:
    """Return a column of categories, the most frequent first, and their shares, shape (k, n_values)."""
    values: list[Value] = list(categories(raw))
    positions = raw.positions(values)
    cells = np.bincount(labels * len(values) + positions, weight, len(sums) * len(values)).reshape(len(sums), -1)
    order = np.argsort(-cells.sum(axis=0), kind="stable")
    shares = cells[:, order] / np.where(sums > 0, sums, 1.0)[:, None]
    of_all = (cells.sum(axis=0)[order] / sums.sum()).tolist()
    described = RuleColumn(raw.name, raw.type, None, None, None, tuple(values[i] for i in order), tuple(of_all))  # type: ignore[arg-type]
    return described, shares


def _rule_nodes(tree: Tree, encoder: Encoder, table: Table) -> tuple[Split | Leaf, ...]:
    """Return the tree's nodes as the rules keep them: over raw columns, integers for integer columns."""
    nodes: list[Split | Leaf] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            nodes.append(Leaf(int(tree.cluster[node]), int(tree.rows[node]), float(tree.weight[node])))
            continue
        cut = encoder.columns[tree.feature[node]]
        threshold, below, above = float(tree.threshold[node]), int(tree.left[node]), int(tree.right[node])
        if cut.kind == "indicator":
            nodes.append(Split(cut.source, "=", cut.values[0], above, below))
        elif cut.kind == "rank":
            nodes.append(Split(cut.source, "in", cut.values[: math.floor(threshold) + 1], below, above))
        else:
            value = threshold if cut.direction > 0 else -math.nextafter(threshold, math.inf) + 0.0
            left, right = (below, above) if cut.direction > 0 else (above, below)
            integer = table.columns[cut.source].type == "integer"
            nodes.append(Split(cut.source, "<=", math.floor(value) if integer else value, left, right))
    return tuple(nodes)


def _check_columns(tree: Tree, table: Table) -> None:
    """Raise DataError if the table cannot be the one that the tree is over."""
    refused = [column for column in table.columns if not column.is_numeric]
    if refused:
        what = ", ".join(f"{column.name!r} ({column.nature})" for column in refused)
        raise DataError(f"columns that are not numeric cannot be used: {what}; exclude them")
    tested = np.unique(tree.feature[tree.feature != LEAF])
    if len(tested) and tested[-1] >= len(table.columns):
        raise DataError(f"the tree tests column {tested[-1]}, but the table has {len(table.columns)} columns")
    for column in (table.columns[feature] for feature in tested):
        if column.type == "integer" and (np.abs(column.values.astype(np.float64)) > 2.0**53).any():
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53, which a tree over floats takes for others; "
                "exclude it, or subtract a constant from it"
            )


def _numbered(given: NDArray[Any], names: Sequence[str], n_rows: int) -> NDArray[np.int32]:
    """Return given labels as the numbers of the clusters that are named so."""
    if given.shape != (n_rows,):
        raise DataError(f"reference must have {n_rows} labels, one per row; its shape is {given.shape}")
    known = {name: number for number, name in enumerate(names)}
    numbers = [known.get(str(label), LEAF) for label in given.tolist()]
    if LEAF in numbers:
        unknown = sorted({str(label) for label in given.tolist()} - set(known))
        raise DataError(
            f"reference has labels that the tree does not know: {', '.join(map(repr, unknown[:5]))}; "
            f"its clusters are: {', '.join(map(repr, names[:20]))}"
        )
    return np.array(numbers, dtype=np.int32)


class _Matching:
    """One column of a table, ready to be held against conditions."""

    def __init__(self, column: RuleColumn, given: Column) -> None:
        given = column.read(given)
        self.present = ~given.absent
        if column.is_numeric:
            self.numbers = given.numbers()
        else:
            self.values = dict.fromkeys(column.values)
            self.positions = given.positions(tuple(self.values))

    def holds(self, condition: Condition) -> NDArray[np.bool_]:
        """Return the rows for which a condition holds."""
        matches = self.present.copy()
        if condition.upper is not None:
            matches &= compare(self.numbers, condition.upper)[0]
        if condition.lower is not None:
            matches &= compare(self.numbers, condition.lower)[1]
        if condition.included is not None:
            matches &= np.isin(self.positions, self._places(condition.included))
        elif condition.excluded:
            matches &= ~np.isin(self.positions, self._places(condition.excluded))
        return matches

    def _places(self, values: Sequence[Value]) -> list[int]:
        return [i for i, value in enumerate(self.values) if value in values]


def write_value(value: Value) -> str:
    """Return a category as rules show it: a text in single quotes, doubled inside, or true or false."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'"


def _plain(item: Any) -> dict[str, Any]:
    """Return a part of a document as JSON-ready data, without what is optional and empty."""
    return {
        entry.name: _list(getattr(item, entry.name))
        for entry in fields(item)
        if not (entry.metadata.get("optional") and getattr(item, entry.name) == entry.default)
    }


def _list(value: Any) -> Any:
    return [_list(item) for item in value] if isinstance(value, tuple) else value


def _printable(text: str) -> str:
    """Replace what would break a line or a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _refuse_constant(token: str) -> float:
    raise RulesFormatError(f"the number {token} is not finite; rules hold finite numbers only")


def _no_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RulesFormatError("a JSON object repeats a key")
    return found


def _items(document: Mapping[str, Any], key: str) -> Iterator[tuple[int, Any]]:
    items = document.get(key)
    if not isinstance(items, list) or not items:
        raise RulesFormatError(f"{key!r} must be a list that is not empty")
    return iter(enumerate(items))


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    """Say whether a value is text that can be written: JSON can escape half a surrogate pair, UTF-8 has none."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_text(item) for item in value)


def _is_numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_number(item) for item in value)


def _is_numbers_or_none(value: object) -> bool:
    return isinstance(value, list | tuple) and all(item is None or _is_number(item) for item in value)


def _is_value(value: object) -> bool:
    return isinstance(value, bool) or _is_text(value)


def _is_values(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_value(item) for item in value)


def _floats(numbers: Sequence[Number | None]) -> tuple[float | None, ...]:
    return tuple(None if number is None else float(number) for number in numbers)


# What each annotation allows in a document: a check, what to call it, how to store it.
_KINDS: dict[str, tuple[Any, str, Any]] = {
    "str": (_is_text, "text", str),
    "bool": (lambda value: isinstance(value, bool), "true or false", bool),
    "int": (_is_whole, "a whole number", int),
    "float": (_is_number, "a finite number", float),
    "float | None": (
        lambda value: value is None or _is_number(value),
        "a finite number",
        lambda value: None if value is None else float(value),
    ),
    "Number | None": (lambda value: value is None or _is_number(value), "a finite number", lambda value: value),
    "Number | Value | tuple[Value, ...]": (
        lambda value: _is_number(value) or _is_value(value) or _is_values(value),
        "a finite number, a category or a list of categories",
        lambda value: tuple(value) if isinstance(value, list | tuple) else value,
    ),
    "Number | Value | None": (
        lambda value: value is None or _is_number(value) or _is_value(value),
        "a finite number, a category or null",
        lambda value: value,
    ),
    "tuple[Value, ...]": (_is_values, "a list of texts or of true and false", tuple),
    "tuple[float, ...]": (_is_numbers, "a list of finite numbers", lambda value: tuple(map(float, value))),
    "tuple[float | None, ...]": (_is_numbers_or_none, "a list of finite numbers", _floats),
    "tuple[tuple[float, ...], ...]": (
        lambda value: isinstance(value, list | tuple) and all(map(_is_numbers, value)),
        "a list of lists of finite numbers",
        lambda value: tuple(tuple(map(float, item)) for item in value),
    ),
    "tuple[str, ...]": (_is_texts, "a list of texts", tuple),
    "Literal['<=', '=', 'in']": (lambda value: value in ("<=", "=", "in"), "one of the operators <=, = and in", str),
    "Literal['integer', 'float', 'text', 'boolean']": (
        lambda value: value in ("integer", "float", "text", "boolean"),
        "integer, float, text or boolean",
        str,
    ),
}


def _build(kind: type, item: Any, where: str) -> Any:
    """Make a `kind` from a JSON object, checking every entry against its annotation."""
    if not isinstance(item, dict):
        raise RulesFormatError(f"{where} must be an object")
    known = {entry.name: str(entry.type).replace('"', "'") for entry in fields(kind)}
    optional = {entry.name for entry in fields(kind) if entry.metadata.get("optional")}
    missing = [name for name in known if name not in item and name not in optional]
    unknown = [name for name in item if name not in known]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has unknown entries {', '.join(map(repr, unknown))}"
        raise RulesFormatError(f"{where} {what}")
    values = {}
    for name, annotation in known.items():
        if name not in item:
            continue
        allowed, description, convert = _KINDS[annotation]
        if not allowed(item[name]):
            raise RulesFormatError(f"{where}.{name} is {item[name]!r}, not {description}")
        try:
            values[name] = convert(item[name])
        except OverflowError:
            raise RulesFormatError(f"{where}.{name} is too large a number") from None
    return kind(**values)


def _validate(rules: RuleSet) -> None:
    """Check that nodes form one tree over known columns and that clusters match its leaves."""

    def refuse(message: str) -> None:
        raise RulesFormatError(message)

    n_nodes = len(rules.nodes)
    names = [column.name for column in rules.columns]
    if len(set(names)) != len(names):
        refuse("two columns have the same name")
    for column in rules.columns:
        fault = _column_fault(column)
        if fault:
            refuse(f"column {column.name!r} {fault}")
    parents = [0] * n_nodes
    for index, node in enumerate(rules.nodes):
        if isinstance(node, Leaf):
            if node.rows < 0 or node.weight < 0:
                refuse(f"nodes[{index}] has a negative number of rows or weight")
            continue
        if not 0 <= node.column < len(names):
            refuse(f"nodes[{index}] tests column {node.column}; there are {len(names)} columns")
        fault = _split_fault(node, rules.columns[node.column])
        if fault:
            refuse(f"nodes[{index}] {fault}")
        for child in (node.left, node.right):
            if not index < child < n_nodes:
                refuse(f"nodes[{index}] has child {child}: children must come after their parent (no cycles)")
            parents[child] += 1
    for index, count in enumerate(parents[1:], start=1):
        if count != 1:
            refuse(f"nodes[{index}] has {count} parents; in a tree it has one")
    carried = {node.cluster for node in rules.nodes if isinstance(node, Leaf)}
    listed = [cluster.index for cluster in rules.clusters]
    if len(set(listed)) != len(listed) or set(listed) != carried or min(listed) < 0:
        refuse(f"the clusters listed ({sorted(listed)}) are not those of the leaves ({sorted(carried)})")
    if max(listed) > MOST_CLUSTER:
        refuse(f"cluster {max(listed)} is beyond {MOST_CLUSTER}, the largest number that a label can be")
    for cluster in rules.clusters:
        fault = _profile_fault(cluster, rules.columns)
        if fault:
            refuse(f"cluster {cluster.index} has {fault}")
    statistics = rules.statistics
    if statistics.weight <= 0 or statistics.rows <= 0:
        refuse("statistics.rows and statistics.weight must be positive")
    if statistics.left_out < 0:
        refuse("statistics.left_out must not be negative")
    rows = dict.fromkeys(listed, 0)
    weight = dict.fromkeys(listed, 0.0)
    for node in rules.nodes:
        if isinstance(node, Leaf):
            rows[node.cluster] += node.rows
            weight[node.cluster] += node.weight
    shares = {"statistics.agreement": statistics.agreement}
    for cluster in rules.clusters:
        where = f"cluster {cluster.index}"
        shares |= {f"{where}: {name}": getattr(cluster, name) for name in ("share", "precision", "recall")}
        if cluster.rows != rows[cluster.index]:
            refuse(f"{where} has {cluster.rows} rows, its leaves have {rows[cluster.index]}")
        if not math.isclose(cluster.weight, weight[cluster.index], rel_tol=1e-6):
            refuse(f"{where} has weight {cluster.weight}, its leaves have {weight[cluster.index]}")
    if statistics.rows != sum(cluster.rows for cluster in rules.clusters):
        refuse(f"statistics.rows is {statistics.rows}, which is not the sum over the clusters")
    for where, share in shares.items():
        if not 0 <= share <= 1 + 1e-9:
            refuse(f"{where} is {share}, not a share from 0 to 1")


def _split_fault(split: Split, column: RuleColumn) -> str | None:
    """Return what is wrong with a split of a column, to follow "the node"."""
    if column.is_numeric != (split.operator == "<="):
        return f"tests the {column.type} column {column.name!r} by {split.operator!r}"
    if column.is_numeric:
        bound: Any = split.value
        if not _is_number(bound) or not -sys.float_info.max <= bound <= sys.float_info.max:
            return f"does not cut {column.name!r} at a finite number"
        if column.type == "integer" and not _is_whole(bound):
            return f"cuts the integer column {column.name!r} at {bound!r}"
        return None
    if (split.operator == "in") != isinstance(split.value, tuple) or not _is_values(split.categories):
        return f"compares {column.name!r} by {split.operator!r} with {split.value!r}"
    unknown = [value for value in split.categories if not _among(value, column.values)]
    if unknown or not split.categories:
        return f"compares {column.name!r} with {split.value!r}, which is not among the column's values"
    return None


def _among(value: Value, values: Sequence[Value]) -> bool:
    """Return whether a category is one of several; ``True == 1`` does not make a number one."""
    return any(type(value) is type(other) and value == other for other in values)


def _column_fault(column: RuleColumn) -> str | None:
    """Return what is wrong with the figures of a column, to follow its name."""
    minimum, maximum = column.minimum, column.maximum
    fault = _reading_fault(column)
    if fault:
        return fault
    if column.is_numeric:
        if column.mean is None or minimum is None or maximum is None:
            return f"is of type {column.type} and has no mean, minimum or maximum"
        if column.values or column.shares:
            return f"is of type {column.type} and has values"
        return f"has its minimum {minimum} above its maximum {maximum}" if minimum > maximum else None
    if not (column.mean is minimum is maximum is None):
        return f"is of type {column.type} and has a mean, minimum or maximum"
    kind = bool if column.type == "boolean" else str
    if not column.values or not all(type(value) is kind for value in column.values):
        return f"is of type {column.type} and has the values {list(column.values)!r}"
    if len(set(column.values)) != len(column.values):
        return "has a value twice"
    return _shares_fault(column.shares, column)


def _reading_fault(column: RuleColumn) -> str | None:
    """Return what is wrong with how a column is read, to follow its name."""
    if column.decimal not in (".", ",") or (column.decimal == "," and not column.is_numeric):
        return f"is of type {column.type} and has the decimal separator {column.decimal!r}"
    if column.nulls and column.type == "boolean":
        return "is of type boolean, and no text means a missing value in it"
    if any(token != token.strip(" ") for token in column.nulls):
        return "has spaces around a text that means a missing value"
    if column.imputed is None:
        return None
    kinds: dict[str, Any] = {"integer": _is_whole, "float": _is_number, "text": _is_text}
    if not kinds.get(column.type, lambda value: isinstance(value, bool))(column.imputed):
        return f"is of type {column.type} and takes missing values as {column.imputed!r}"
    if column.is_numeric and not -sys.float_info.max <= cast(float, column.imputed) <= sys.float_info.max:
        return "takes missing values as a number that is not finite"
    return None


def _profile_fault(cluster: Cluster, columns: Sequence[RuleColumn]) -> str | None:
    """Return what is wrong with the means and shares of a cluster, to follow "has"."""
    if len(cluster.means) != len(columns):
        return f"{len(cluster.means)} means for {len(columns)} columns"
    shares = cluster.shares or ((),) * len(columns)
    if len(shares) != len(columns):
        return f"shares of {len(shares)} columns, not of {len(columns)}"
    for column, mean, of_values in zip(columns, cluster.means, shares, strict=True):
        if (mean is None) == column.is_numeric:
            return f"{'no' if mean is None else 'a'} mean of the {column.type} column {column.name!r}"
        fault = None if column.is_numeric and not of_values else _shares_fault(of_values, column)
        if fault:
            return f"a column {column.name!r} that {fault}"
    return None


def _shares_fault(shares: Sequence[float], column: RuleColumn) -> str | None:
    if len(shares) != len(column.values):
        return f"has {len(shares)} shares for {len(column.values)} values"
    if not all(0 <= share <= 1 + 1e-9 for share in shares):
        return "has a share that is not from 0 to 1"
    return None
