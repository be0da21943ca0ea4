"""The rules of a tree, assembled from measurements on its rows, wherever these are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder, categories
from shallowrules.errors import counted
from shallowrules.measures.dominance import Standing
from shallowrules.measures.histograms import NarrowBins, join_bins, plain_numbers
from shallowrules.measures.totals import Totals
from shallowrules.rules import Cluster, Clustering, Cut, Leaf, Membership, Node, RuleColumn, RuleSet, Statistics, Value
from shallowrules.rules.figures import normalized_cost
from shallowrules.rules.nodes import Rule, derive_rules
from shallowrules.rules.words.default_names import default_names
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.conversion import DOUBLE_EXACT, Number
from shallowrules.tables.labels import NOISE
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES, format_time
from shallowrules.trees.tree import LEAF, Tree

__all__ = [
    "MAX_CLUSTERS",
    "FitRecord",
    "Measured",
    "assemble_rules",
    "choose_bins",
    "count_values",
    "describe_columns",
    "describe_numbers",
    "rule_nodes",
    "separation_of",
]

MAX_CLUSTERS = 200
"""With more clusters there are no histograms and no confusion matrix: that would be too many pictures to read."""

MAX_HISTOGRAMS = 4000
"""The number of histograms of all clusters and columns, of some 100 bytes each; they go to the columns that most nodes
test."""

MAX_UNTESTED, MAX_UNTESTED_COLUMNS = 1500, 30
"""The number of histograms of columns that no node tests, and of these columns: those that separate clusters most."""


@dataclass(frozen=True)
class FitRecord:
    """Facts about a fit that need no measurement; the fields are those of `Statistics`.

    `weighted` says whether weights were given. `names_clusters` asks for names made from the rules. `separation` is
    that of the raw columns, by position (`RuleColumn.separation`), `clustering` the record of it for the rules.
    """

    method: str
    weighted: bool
    tradeoff: float = 0.0
    labelled: bool = False
    left_out: int = 0
    notes: tuple[str, ...] = ()
    names_clusters: bool = False
    separation: Mapping[int, float] = field(default_factory=dict)
    clustering: Clustering | None = None
    noise: bool = False


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements on the rows that count.

    Parameters
    ----------
    columns : tuple of RuleColumn
        Without edges of bins.
    profiles : sequence of mapping
        Of every cluster its means, shares, deltas and medians by column.
    counts, sums : ndarray of numbers, shape (k,)
        Rows of every cluster, and their weight.
    cost, reference_cost : float
    agreement : float
    precision, recall : ndarray of float64, shape (k,)
    confusion : ndarray of numbers, shape (k, k), or None
        The weight that the rules put into the cluster of the row and the clustering into that of the column.
    bins : mapping from int to NarrowBins
        By the position of the column.
    counted_rows : sequence of ndarray of numbers, shape (k, n_bins)
        For each of the `bins`, what is in it.
    totals : Totals or None
        Of the column that is added up, by the place of the cluster.
    agreed : ndarray of float64, shape (n_nodes,), or None
        The weight of each leaf that the clustering puts in its cluster too, where a cluster has several leaves.
    """

    columns: tuple[RuleColumn, ...]
    profiles: Sequence[Mapping[str, Any]]
    counts: NDArray[np.integer]
    sums: NDArray[np.float64]
    cost: float
    reference_cost: float
    agreement: float
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    confusion: NDArray[Any] | None
    bins: Mapping[int, NarrowBins]
    counted_rows: Sequence[NDArray[Any]]
    totals: Totals | None = None
    agreed: NDArray[np.float64] | None = None


def assemble_rules(tree: Tree, nodes: tuple[Node, ...], measured: Measured, record: FitRecord) -> RuleSet:
    """Return the rules of a tree.

    Parameters
    ----------
    tree : Tree
        Counted on the rows; it names every cluster.
    nodes : tuple of Node
        The result of `rule_nodes`.
    measured : Measured
    record : FitRecord
    """
    sums, nodes = measured.sums, _with_precision(nodes, measured.agreed)
    clusters = _describe_clusters(tree, measured, noise=record.noise)
    columns, clusters = _with_histograms(measured, clusters, tree)
    columns = tuple(replace(column, separation=record.separation.get(i)) for i, column in enumerate(columns))
    if measured.confusion is not None:
        clusters = _with_confusion(clusters, tree, measured.confusion)
    rules = derive_rules(nodes, columns, float(sums.sum()))
    if record.names_clusters:
        clusters = _named_by_rules(clusters, nodes, rules)
    statistics = Statistics(
        rows=int(measured.counts.sum()),
        weight=float(sums.sum()),
        weighted=record.weighted,
        method=record.method,
        tradeoff=record.tradeoff,
        cost=measured.cost,
        reference_cost=measured.reference_cost,
        normalized_cost=normalized_cost(measured.cost, measured.reference_cost, finite=True),
        agreement=measured.agreement,
        wad=tree.wad,
        # By raw column: the tree may test several columns made from one.
        waes=float(np.average([rule.size for rule in rules], weights=[rule.weight for rule in rules])),
        labelled=record.labelled,
        left_out=record.left_out,
        notes=record.notes,
        measure=None if measured.totals is None else measured.totals.name,
        total=None if measured.totals is None else measured.totals.whole,
    )
    return RuleSet(columns, nodes, clusters, statistics, clustering=record.clustering)


def _with_precision(nodes: tuple[Node, ...], agreed: NDArray[np.float64] | None) -> tuple[Node, ...]:
    """Return the nodes with the precision of each leaf whose cluster has several; none if it was not measured."""
    n_leaves = Counter(node.cluster for node in nodes if isinstance(node, Leaf))

    def precision(index: int, leaf: Leaf) -> float | None:
        if agreed is None or n_leaves[leaf.cluster] == 1:
            return None
        return float(agreed[index]) / leaf.weight if leaf.weight else 0.0

    return tuple(
        replace(node, precision=precision(index, node)) if isinstance(node, Leaf) else node
        for index, node in enumerate(nodes)
    )


def _named_by_rules(
    clusters: tuple[Cluster, ...], nodes: tuple[Node, ...], rules: Sequence[Rule]
) -> tuple[Cluster, ...]:
    """Return the clusters with default names."""
    names = default_names(nodes, sorted(rules, key=lambda rule: (-rule.weight, rule.leaf)), clusters)
    return tuple(
        replace(cluster, name=names[cluster.index], named_by_rules=True) if cluster.index in names else cluster
        for cluster in clusters
    )


def _describe_clusters(tree: Tree, measured: Measured, *, noise: bool) -> tuple[Cluster, ...]:
    """Return the clusters that have a leaf."""
    sums, totals = measured.sums, measured.totals
    return tuple(
        Cluster(
            index=tree.classes[i] if tree.classes else int(i),
            name=tree.names[i],
            rows=int(measured.counts[i]),
            weight=float(sums[i]),
            share=float(sums[i] / sums.sum()),
            precision=float(measured.precision[i]),
            recall=float(measured.recall[i]),
            total=None if totals is None else totals.sums[i],
            unmeasured=0 if totals is None else totals.missing[i],
            noise=noise and tree.names[i] == NOISE,
            **measured.profiles[i],
        )
        for i in np.unique(tree.cluster[tree.leaves])
    )


def choose_bins(
    columns: Sequence[RuleColumn] | Mapping[int, RuleColumn],
    nodes: Sequence[Node],
    n_clusters: int,
    complete: Collection[int],
    separation: Mapping[int, float],
) -> dict[int, NarrowBins]:
    """Return the bins of the columns of numbers that most nodes test, and of those that separate the clusters most.

    By position; columns that are not `complete` have none. `separation` is that of `FitRecord`.
    """
    asked = Counter(node.column for node in nodes if isinstance(node, Cut))
    tested = [index for index, _ in asked.most_common(max(1, MAX_HISTOGRAMS // n_clusters))]
    numbers = range(len(columns)) if isinstance(columns, Sequence) else columns
    others = sorted((i for i in numbers if i in separation and i not in asked), key=lambda i: (-separation[i], i))
    most = min(MAX_UNTESTED_COLUMNS, MAX_UNTESTED // n_clusters)
    bins: dict[int, NarrowBins] = {}
    for index in sorted([*tested, *others[:most]]):
        column = columns[index]
        low, high = cast(Number, column.minimum), cast(Number, column.maximum)
        narrow = NarrowBins.between(low, high, integer=column.is_whole)
        if narrow is not None and index in complete:
            bins[index] = narrow
    return bins


def _with_histograms(
    measured: Measured, clusters: tuple[Cluster, ...], tree: Tree
) -> tuple[tuple[RuleColumn, ...], tuple[Cluster, ...]]:
    """Return the columns with edges of bins, and the clusters with their histograms."""
    columns, places = measured.columns, np.unique(tree.cluster[tree.leaves])
    described, found = list(columns), []
    for (index, narrow), counted_rows in zip(measured.bins.items(), measured.counted_rows, strict=True):
        edges, joined = join_bins(narrow, counted_rows, integer=columns[index].is_whole)
        described[index] = replace(columns[index], edges=edges)
        found.append([plain_numbers(sums) for sums in joined[places]])
    by_cluster = zip(*found, strict=True) if found else ((),) * len(clusters)
    filled = (replace(cluster, histograms=sums) for cluster, sums in zip(clusters, by_cluster, strict=True))
    return tuple(described), tuple(filled)


def _with_confusion(clusters: tuple[Cluster, ...], tree: Tree, weights: NDArray[Any]) -> tuple[Cluster, ...]:
    """Return the clusters with the reference clusters of their rows.

    `weights` has a row for each cluster of the tree and a column for each of the clustering that it follows.
    """
    found = []
    for place, cluster in zip(np.unique(tree.cluster[tree.leaves]), clusters, strict=True):
        places = sorted(np.flatnonzero(weights[place]), key=lambda i: tree.classes[i] if tree.classes else i)
        found.append(
            replace(
                cluster,
                reference_clusters=tuple(tree.classes[i] if tree.classes else int(i) for i in places),
                reference_weights=plain_numbers(weights[place, places]),
            )
        )
    return tuple(found)


def describe_numbers(raw: Column, mean: float, ends: Sequence[float]) -> RuleColumn:
    """Return a column of numbers; `ends` are the smallest and the largest where doubles hold them exactly, else NaN."""
    known = all(abs(end) < DOUBLE_EXACT if raw.is_whole else math.isfinite(end) for end in ends)
    low, high = ends if known else (raw.values.min(), raw.values.max())
    number = int if raw.is_whole else float
    # Adding 0 turns -0.0 into 0.0; otherwise the order of the rows would decide between them.
    return RuleColumn(raw.name, raw.type, mean, number(low) + 0, number(high) + 0)  # type: ignore[arg-type]


def describe_columns(
    table: Table,
    numbers: Mapping[int, tuple[NDArray[np.float64], Sequence[float]]],
    cells: Mapping[int, NDArray[Any]],
    sums: NDArray[np.float64],
    standings: Mapping[int, Standing],
) -> tuple[tuple[RuleColumn, ...], list[dict[str, Any]]]:
    """Return the rules' record of each raw column, and the figures of each cluster by column, as `Cluster` has them.

    Parameters
    ----------
    table : Table
        Its values do not matter where the ends of numbers are known and all categories are among them.
    numbers : mapping from int to (ndarray of shape (k,), (low, high))
        By the position of a column of numbers its mean in each cluster, and its ends as `describe_numbers` takes them.
    cells : mapping from int to ndarray, shape (k, n_values)
        What `count_values` gave for each column of categories, which stand in ascending order.
    sums : ndarray of float64, shape (k,)
        Weight of the clusters.
    standings : mapping from int to Standing
        How the clusters stand in columns of numbers, where that was measured.
    """
    found: list[tuple[RuleColumn, NDArray[Any]]] = []
    for source, raw in enumerate(table.columns):
        if raw.is_numeric:
            in_cluster, ends = numbers[source]
            found.append((describe_numbers(raw, float(in_cluster @ sums / sums.sum()), ends), in_cluster))
        else:
            found.append(_describe_values(raw, categories(raw), cells[source], sums))
    columns = tuple(
        replace(
            described,
            codes=raw.conversion.codes,
            dates=raw.conversion.dates,
            decimal=raw.conversion.decimal,
            nulls=raw.conversion.nulls,
            format=raw.conversion.format,
            imputed=raw.imputed,
            quartiles=_within(described, standings[i].quartiles) if i in standings else (),
        )
        for i, ((described, _), raw) in enumerate(zip(found, table.columns, strict=True))
    )
    medians = {i: _within(columns[i], each.medians) for i, each in standings.items()}
    mixed = any(not column.is_numeric for column in columns)
    profiles = []
    for i in range(len(sums)):
        means = tuple(float(numbers[i]) if column.is_numeric else None for column, numbers in found)
        shares = tuple(() if column.is_numeric else tuple(each[i].tolist()) for column, each in found)
        profile: dict[str, Any] = {"means": means, "shares": shares if mixed else ()}
        if standings and sums[i] > 0:
            deltas = {j: float(each.deltas[i]) for j, each in standings.items() if not math.isnan(each.deltas[i])}
            profile["deltas"] = tuple(map(deltas.get, range(len(columns)))) if deltas else ()
            known = {j: each[i] for j, each in medians.items() if not math.isnan(each[i])}
            profile["medians"] = tuple(map(known.get, range(len(columns))))
        profiles.append(profile)
    return columns, profiles


def _within(column: RuleColumn, values: NDArray[np.float64]) -> tuple[float, ...]:
    """Return values of a column of numbers, none beyond its ends: the middle of a bin may be."""
    low, high = float(cast(Number, column.minimum)), float(cast(Number, column.maximum))
    return tuple((values.clip(low, high) + 0.0).tolist())


def separation_of(encoder: Encoder, means: NDArray[np.float64], weight: NDArray[np.float64]) -> dict[int, float]:
    """Return the share of each raw column in the sum of squares between clusters, by its position.

    Parameters
    ----------
    encoder : Encoder
        Not one after a transformer: each clustered column comes from one raw column.
    means : ndarray of float64, shape (k, m)
        Of the clusters in the space that was clustered.
    weight : ndarray of float64, shape (k,)
        Of the clusters.

    Returns
    -------
    dict from int to float
        Empty where nothing separates them, as with a single cluster.
    """
    means, weight = means[weight > 0], weight[weight > 0] / weight.max()
    gaps = means - (weight @ means / weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        between = weight @ (gaps * gaps)
    total = math.fsum(between.tolist()) if np.isfinite(between).all() else math.inf
    if not 0 < total < math.inf:
        return {}
    found: dict[int, float] = {}
    for j, squares in zip(encoder.cluster_positions or range(len(encoder.columns)), between.tolist(), strict=True):
        source = encoder.columns[j].source
        found[source] = found.get(source, 0.0) + squares / total
    return found


def imputation_note(
    name: str, n_rows: int, value: Number | Value, kind: ColumnType, *, is_new: bool, way: str | None = None
) -> str:
    """Return the note on the missing values of a column of a type, in `n_rows` rows.

    `is_new` means that no other row has the value, a text.
    """
    usual = "the most frequent value" if isinstance(value, str | bool) else "the median"
    what = way or ("a category of its own" if is_new else usual)
    rows = counted(n_rows, "row")
    return f"missing values of column {name!r} ({rows}) are replaced by {shown_value(value, kind)}, {what}"


def shown_value(value: Number | Value, kind: ColumnType) -> str:
    """Return a value of a column of a type for a reader, text in quotes."""
    return format_time(kind, int(value)) if kind in TIME_TYPES else repr(value)


def count_values(
    raw: Column,
    values: Sequence[Value],
    labels: NDArray[np.int32],
    k: int,
    weight: NDArray[np.float64] | None,
) -> NDArray[Any]:
    """Return the rows of each cluster with each value of a column of categories, or their weight, shape (k, n)."""
    cells = labels * len(values) + raw.positions(values)
    return np.bincount(cells, weight, k * len(values)).reshape(k, -1)


def _describe_values(
    raw: Column, values: Sequence[Value], cells: NDArray[Any], sums: NDArray[np.float64]
) -> tuple[RuleColumn, NDArray[np.float64]]:
    """Return a column of categories, the most frequent first, and their shares, shape (k, n_values).

    `values` are all categories, ascending, and `cells` the result of `count_values` for them.
    """
    order = np.argsort(-cells.sum(axis=0), kind="stable")
    shares = cells[:, order] / np.where(sums > 0, sums, 1.0)[:, None]
    of_all = (cells.sum(axis=0)[order] / sums.sum()).tolist()
    described = RuleColumn(raw.name, raw.type, None, None, None, tuple(values[i] for i in order), tuple(of_all))  # type: ignore[arg-type]
    return described, shares


def rule_nodes(tree: Tree, encoder: Encoder, table: Table) -> tuple[Node, ...]:
    """Return the tree's nodes as the rules keep them: over raw columns, integers for integer columns.

    Only the types of the table's columns matter.
    """
    nodes: list[Node] = []
    for node in range(tree.n_nodes):
        if tree.feature[node] == LEAF:
            cluster = int(tree.cluster[node])
            label = tree.classes[cluster] if tree.classes else cluster
            nodes.append(Leaf(label, int(tree.rows[node]), float(tree.weight[node])))
            continue
        cut = encoder.columns[tree.feature[node]]
        threshold, below, above = float(tree.threshold[node]), int(tree.left[node]), int(tree.right[node])
        if cut.kind == "indicator":
            nodes.append(Membership(cut.source, cut.values, above, below))
        elif cut.kind == "rank":
            values = cut.values[: math.floor(threshold) + 1]
            nodes.append(Membership(cut.source, values, below, above, ordered=True))
        elif cut.bounds is not None:
            nodes.append(Cut(cut.source, int(cut.bounds[int(threshold)]), below, above))
        else:
            value = threshold if cut.direction > 0 else -math.nextafter(threshold, math.inf) + 0.0
            left, right = (below, above) if cut.direction > 0 else (above, below)
            integer = table.columns[cut.source].is_whole
            nodes.append(Cut(cut.source, math.floor(value) if integer else value, left, right))
    return tuple(nodes)
