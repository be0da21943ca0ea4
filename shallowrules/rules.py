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
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shallowrules.encoding import explained_matrix, refuse_unusable
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
from shallowrules.table import Table
from shallowrules.tree import LEAF, Tree, compare

__all__ = [
    "Cluster",
    "Condition",
    "Leaf",
    "Rule",
    "RuleColumn",
    "RuleSet",
    "Split",
    "Statistics",
    "describe_tree",
]

FORMAT = "shallowrules/1"
UNMATCHED = -1
MOST_CLUSTER = np.iinfo(np.int32).max

Number = int | float


@dataclass(frozen=True)
class RuleColumn:
    """A raw column of the training table.

    `type` is how its values were read and are compared. `mean`, `minimum` and `maximum`
    describe the training rows, in the column's own units.
    """

    name: str
    type: Literal["integer", "float"]
    mean: float
    minimum: Number
    maximum: Number


@dataclass(frozen=True)
class Split:
    """An inner node: a row goes to node `left` if the condition holds, else to `right`."""

    column: int
    operator: Literal["<="]
    value: Number
    left: int
    right: int


@dataclass(frozen=True)
class Leaf:
    """A leaf: the cluster it carries, its training rows and their summed weight."""

    cluster: int
    rows: int
    weight: float


@dataclass(frozen=True)
class Condition:
    """All that one rule asks of one column: ``lower < value <= upper``, either side open.

    A missing value makes the condition not hold.
    """

    feature: int
    column: RuleColumn
    lower: Number | None = None
    upper: Number | None = None

    @property
    def size(self) -> int:
        """Number of non-redundant conditions in the paper's sense: 1 or 2."""
        return (self.lower is not None) + (self.upper is not None)

    def __str__(self) -> str:
        name = self.column.name
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
    """

    leaf: int
    cluster: int
    conditions: tuple[Condition, ...]
    rows: int
    weight: float
    share: float
    depth: int

    @property
    def size(self) -> int:
        """Number of non-redundant conditions (the paper's explanation size)."""
        return sum(condition.size for condition in self.conditions)

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
    means : tuple of float
        Mean of every column of `RuleSet.columns`, in its own units.
    """

    index: int
    name: str
    rows: int
    weight: float
    share: float
    precision: float
    recall: float
    means: tuple[float, ...]

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
        pending: list[tuple[int, int, dict[int, tuple[Number | None, Number | None]]]] = [(0, 0, {})]
        while pending:
            index, depth, bounds = pending.pop()
            node = self.nodes[index]
            if isinstance(node, Leaf):
                conditions = tuple(
                    Condition(feature, self.columns[feature], lower, upper)
                    for feature, (lower, upper) in bounds.items()
                )
                share = node.weight / self.statistics.weight
                found.append(Rule(index, node.cluster, conditions, node.rows, node.weight, share, depth))
                continue
            lower, upper = bounds.get(node.column, (None, None))
            tighter_upper = node.value if upper is None else min(upper, node.value)
            tighter_lower = node.value if lower is None else max(lower, node.value)
            pending.append((node.left, depth + 1, {**bounds, node.column: (lower, tighter_upper)}))
            pending.append((node.right, depth + 1, {**bounds, node.column: (tighter_lower, upper)}))
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
            If a tested column is missing or is not numeric.
        """
        table = Table.of(table, names=[column.name for column in self.columns])
        present = {column.name: column for column in table.columns}
        values, absent = {}, {}
        for feature in self.tested_columns:
            wanted = self.columns[feature]
            if wanted.name not in present:
                raise DataError(
                    f"the rules test column {wanted.name!r}, which the table does not have; "
                    f"it has: {', '.join(repr(name) for name in present)}"
                )
            values[feature] = present[wanted.name].numbers()
            absent[feature] = present[wanted.name].absent
        labels = np.full(table.n_rows, UNMATCHED, dtype=np.int32)
        for rule in self.rules:
            matches = np.ones(table.n_rows, dtype=bool)
            for condition in rule.conditions:
                number = values[condition.feature]
                matches &= ~absent[condition.feature]
                if condition.upper is not None:
                    matches &= compare(number, condition.upper)[0]
                if condition.lower is not None:
                    matches &= compare(number, condition.lower)[1]
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
        explained = explained_matrix(table)
        _check_columns(tree, table)
        refuse_unusable(table, explained)
        n_rows = table.n_rows
        weight = None
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
                raise DataError(f"sample_weight must be {n_rows} numbers, one per row, none negative")
        if not n_rows or (weight is not None and not weight.any()):
            raise DataError("there is no row to measure the tree on: give at least one of positive weight")
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
            explained,
            points,
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
            "columns": [asdict(column) for column in self.columns],
            "nodes": [asdict(node) for node in self.nodes],
            "clusters": [{**asdict(cluster), "means": list(cluster.means)} for cluster in self.clusters],
            "statistics": {**asdict(self.statistics), "notes": list(self.statistics.notes)},
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
    explained: NDArray[Any],
    clustered: NDArray[Any],
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
    explained, clustered : ndarray of float32 or float64, shapes (n_rows, n_columns) and (n_rows, m)
        The same as one matrix, and the space in which costs are measured.
    labels, reference : ndarray of int32, shape (n_rows,)
        Cluster of each row by the tree, and by the clustering that it follows; anything where rows do not count.
    weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 do not count.
    weighted : bool
        Whether weights were given: where rows are in no cluster, there is a `weight` without.
    fallback : ndarray of float64, shape (k, n_columns)
        What stands for the mean of a cluster that has no rows.
    method, tradeoff, labelled, left_out, notes
        As in `Statistics`.

    Returns
    -------
    rules : RuleSet
    means : ndarray of float64, shape (k, n_columns)
        Mean of every cluster, also of those without a leaf, in the units of the table.
    """
    k = len(tree.names)
    cost = partition_cost(clustered, labels, weight)
    reference_cost = cost if reference is labels else partition_cost(clustered, reference, weight)
    means = group_means(explained, labels, k, weight)
    means = np.where(np.isnan(means), fallback, means)
    if weight is not None and not weight.all():
        counted = weight > 0
        labels, reference, weight = labels[counted], reference[counted], weight[counted]
    counts = np.bincount(labels, minlength=k)
    sums = counts.astype(np.float64) if weight is None else np.bincount(labels, weight, minlength=k)
    columns = tuple(
        _describe(column.name, column.type, column.values, float(np.average(means[:, j], weights=sums)))
        for j, column in enumerate(table.columns)
    )
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
            means=tuple(float(value) for value in means[i]),
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
        notes=notes,
    )
    return RuleSet(columns, _rule_nodes(tree, table), clusters, statistics), means


def _describe(name: str, kind: str, values: NDArray[Any], mean: float) -> RuleColumn:
    """Return what the rules keep of a column."""
    number = int if kind == "integer" else float
    return RuleColumn(name, kind, float(mean), number(values.min()), number(values.max()))  # type: ignore[arg-type]


def _rule_nodes(tree: Tree, table: Table) -> tuple[Split | Leaf, ...]:
    """Return the tree's nodes as the rules keep them: integers for integer columns."""
    nodes: list[Split | Leaf] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            nodes.append(Leaf(int(tree.cluster[node]), int(tree.rows[node]), float(tree.weight[node])))
            continue
        value = float(tree.threshold[node])
        integer = table.columns[tree.feature[node]].type == "integer"
        nodes.append(
            Split(
                int(tree.feature[node]),
                "<=",
                math.floor(value) if integer else value,
                int(tree.left[node]),
                int(tree.right[node]),
            )
        )
    return tuple(nodes)


def _check_columns(tree: Tree, table: Table) -> None:
    """Raise DataError if the table cannot be the one that the tree is over."""
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


# What each annotation allows in a document: a check, what to call it, how to store it.
_KINDS: dict[str, tuple[Any, str, Any]] = {
    "str": (_is_text, "text", str),
    "bool": (lambda value: isinstance(value, bool), "true or false", bool),
    "int": (_is_whole, "a whole number", int),
    "float": (_is_number, "a finite number", float),
    "Number": (_is_number, "a finite number", lambda value: value),
    "tuple[float, ...]": (_is_numbers, "a list of finite numbers", lambda value: tuple(map(float, value))),
    "tuple[str, ...]": (_is_texts, "a list of texts", tuple),
    "Literal['<=']": (lambda value: value in ("<=",), "one of the operators <=", str),
    "Literal['integer', 'float']": (lambda value: value in ("integer", "float"), "integer or float", str),
}


def _build(kind: type, item: Any, where: str) -> Any:
    """Make a `kind` from a JSON object, checking every entry against its annotation."""
    if not isinstance(item, dict):
        raise RulesFormatError(f"{where} must be an object")
    known = {entry.name: str(entry.type).replace('"', "'") for entry in fields(kind)}
    missing = [name for name in known if name not in item]
    unknown = [name for name in item if name not in known]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has unknown entries {', '.join(map(repr, unknown))}"
        raise RulesFormatError(f"{where} {what}")
    values = {}
    for name, annotation in known.items():
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
    parents = [0] * n_nodes
    for index, node in enumerate(rules.nodes):
        if isinstance(node, Leaf):
            if node.rows < 0 or node.weight < 0:
                refuse(f"nodes[{index}] has a negative number of rows or weight")
            continue
        if not 0 <= node.column < len(names):
            refuse(f"nodes[{index}] tests column {node.column}; there are {len(names)} columns")
        if not -sys.float_info.max <= node.value <= sys.float_info.max:
            refuse(f"nodes[{index}] does not cut {names[node.column]!r} at a finite number")
        if rules.columns[node.column].type == "integer" and not _is_whole(node.value):
            refuse(f"nodes[{index}] cuts the integer column {names[node.column]!r} at {node.value!r}")
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
        if len(cluster.means) != len(names):
            refuse(f"cluster {cluster.index} has {len(cluster.means)} means for {len(names)} columns")
    statistics = rules.statistics
    if statistics.weight <= 0 or statistics.rows <= 0:
        refuse("statistics.rows and statistics.weight must be positive")
    if statistics.left_out < 0:
        refuse("statistics.left_out must not be negative")
    for column in rules.columns:
        if column.minimum > column.maximum:
            refuse(f"column {column.name!r} has its minimum {column.minimum} above its maximum {column.maximum}")
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
