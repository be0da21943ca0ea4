"""A whole fit of a table in parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import column_ranges
from shallowrules.clustering.centers import Grids, cluster_parts, given_centers, sum_reference
from shallowrules.clustering.reference import Reference, classes_of_labels, label_notes, nearest_labels
from shallowrules.encoding import categories, encode, find_scaler
from shallowrules.encoding.codes import with_all_codes
from shallowrules.encoding.roles import Roles
from shallowrules.encoding.rows import Encode, RawNumbers, RowEncoder
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.fitting.assembling import (
    MAX_CLUSTERS,
    assemble_rules,
    choose_bins,
    describe_numbers,
    rule_nodes,
    separation_of,
)
from shallowrules.fitting.data import FitParameters
from shallowrules.fitting.finishing import Fit, doubts_of, placed, record_of
from shallowrules.fitting.growing import lowest, neighbors_of, over_the_table, seed_of, thorough_of
from shallowrules.fitting.imputing import find_imputed, imputation_notes
from shallowrules.fitting.measuring import Counting, TreeOnParts, costs_of, costs_of_grown, count_tree, measured_of
from shallowrules.fitting.options import refuse_in_parts
from shallowrules.fitting.preparing import check_max_leaves, choose_columns
from shallowrules.fitting.rounding import round_parts
from shallowrules.fitting.searching import MORE_RULES, from_the_table, notes_of_prices, prices_more
from shallowrules.fitting.stored_rows import stored_rows
from shallowrules.fitting.survey import Survey, survey
from shallowrules.measures.metrics import partition_cost
from shallowrules.measures.summation import SumGrid
from shallowrules.partitions import Partitions
from shallowrules.partitions.memory import rows_within
from shallowrules.partitions.merging import Added
from shallowrules.tables.table import Table
from shallowrules.trees.extending import extend
from shallowrules.trees.growing import GrownTree, Progress, UniqueRows, renumber_centers
from shallowrules.trees.parts.growing import grow_parts
from shallowrules.trees.parts.refining import PartsReference, extend_parts, price_parts, refine_parts
from shallowrules.trees.refining import refine
from shallowrules.trees.rounding import check_round_within
from shallowrules.trees.searching import part_of

__all__ = ["PartsFit", "fit_parts"]


@dataclass(frozen=True, eq=False)
class PartsFit(Fit):
    """A finished fit of a table in parts, and what it came from."""

    reference: Reference
    names: tuple[str, ...]
    cluster_columns: list[int]


def fit_parts(
    parts: Partitions,
    parameters: FitParameters,
    *,
    centers: Any,
    labels: str | None,
    weight: str | None,
    memory: int | None,
    prices_more_rules: bool,
    progress: Progress | None,
    log: Callable[[str], None],
) -> PartsFit:
    """Cluster a table in parts, grow a tree, and measure it, by passes over the parts.

    Parameters
    ----------
    parts : Partitions
    parameters : FitParameters
        Its clusterer may be centers, or a fitted clusterer that has some.
    centers : array-like of shape (k, n_clustered), fitted clusterer or None
    labels, weight : str or None
        Names of columns.
    memory : int or None
        Bytes that the work in this process may take; None for half of what the machine has available.
    prices_more_rules : bool
        Whether a note is to say what one or two more rules would bring.
    progress, log : callable

    Raises
    ------
    DataError, OptionError
        If the table cannot be fitted in this way.
    """
    refuse_options(parameters, centers, labels)
    if centers is not None:
        parameters = replace(parameters, clusterer=centers)
    roles = Roles.of(parts, labels, weight, imputes=parameters.impute is not None)
    log("looking at names, ranges and categories")
    facts = survey(parts, roles)
    roles = replace(roles, weight_exponent=facts.weight_exponent)
    cluster_columns, explain_columns = choose_columns(parameters, roles.columns, labelled=labels is not None)
    imputed = find_imputed(parts, facts, roles) if roles.imputes else ()
    head = facts.head(parts, roles, imputed, counted_only=True)
    encoding = encode(
        head,
        parameters.scale,
        category_weight=float(parameters.category_weight),
        cluster_columns=cluster_columns,
        explain_columns=explain_columns,
    )
    encoder, used, classes, numbers = encoding.encoder, None, None, None
    if labels is not None:
        known, numbers, used = facts.labelling()
    encoder = with_all_codes(parts, roles, encoder)
    if encoder.scaler is not None:
        read = RawNumbers.of(roles, encoder)
        scaler = find_scaler(str(parameters.scale), parts.map_reduce, read, read.ends(head), facts.weights)
        encoder = replace(encoder, scaler=scaler)
    matrix = encoder.encode_imputed(head)
    X_explain, X_cluster = encoder.spaces(matrix)
    grids = Grids(*(SumGrid.of(column_ranges(X), facts.weights) for X in (matrix, X_explain, X_cluster)))
    one_space, n_clustered = X_explain is X_cluster, X_cluster.shape[1]
    rows = RowEncoder(roles, encoder, numbers)
    if used is not None and numbers is not None:
        # A label whose rows all have weight 0 is left out.
        place = np.cumsum(used) - 1
        rows = replace(rows, numbers={label: int(place[i]) for label, i in numbers.items() if used[i]})
        found = sum_reference(parts, rows, grids, None, int(used.sum()))
        names = tuple(name for name, is_used in zip(known.names, used, strict=True) if is_used)
        whole = (
            None if known.numbers is None else [n for n, is_used in zip(known.numbers, used, strict=True) if is_used]
        )
        classes, notes = classes_of_labels(whole, len(names)), label_notes(known.names, facts.absent_labels, facts.rows)
        means = _means(grids.cluster, found, "cluster")
        points = means
    else:
        given = parameters.clusterer
        log(f"clustering {counted(facts.rows, 'row')} x {counted(n_clustered, 'column')}")
        if given is None:
            if facts.counted < parameters.n_clusters:
                raise DataError(
                    f"n_samples={facts.counted} should be >= n_clusters={parameters.n_clusters}: ask for fewer "
                    "clusters or give more rows"
                )
            points = cluster_parts(parts, rows, grids, parameters.n_clusters, parameters.random_state, log)
        else:
            points = given_centers(given, n_clustered)
        found = sum_reference(parts, rows, grids, points, len(points))
        classes, notes = tuple(range(len(points))), ()
        names = tuple(map(str, classes))
        means = _means(grids.cluster, found, "cluster")
    explain_centers = points
    if not one_space:
        explain_centers = _means(grids.explain, found, "explain")
        empty = np.flatnonzero(found["rows"] == 0)
        if len(empty):
            raise DataError(
                f"no row is nearest to the centers {', '.join(map(str, empty))}, so that there is no place for them in "
                "the explained columns: leave them out"
            )
    for note in notes:
        log(note)
    reference = Reference(
        points, explain_centers, np.zeros(0, np.int32), names, classes, labelled=labels is not None, notes=notes
    )
    check_max_leaves(parameters, len(points), labelled=labels is not None)
    row_bytes = (X_explain.shape[1] + (0 if one_space else n_clustered)) * X_cluster.itemsize + 8
    growing = _Growing(
        parts,
        rows,
        facts,
        reference,
        found["rows"],
        found["weight"],
        means,
        parameters,
        rows_within(memory, row_bytes),
        row_bytes,
        progress=progress,
        log=log,
    )
    tradeoffs = [parameters.tradeoff]
    tradeoffs += neighbors_of(parameters, tradeoffs, labelled=reference.labelled)
    trees = []
    for i, tradeoff in enumerate(tradeoffs):
        at = replace(parameters, tradeoff=tradeoff)
        growing_at = replace(growing, parameters=at, progress=part_of(progress, i, len(tradeoffs)))
        grown = over_the_table(growing_at.run(), encoder)
        trees.append(round_parts(parts, rows, grown, head, grids, reference.centers, found, at, log))
    grown = trees[0]
    if len(trees) > 1:
        costs = [costs_of_grown(parts, rows, tree, head, grids, reference.centers, found)[0] for tree in trees]
        grown = trees[lowest(trees, costs)]
    if prices_more_rules:
        grown = replace(grown, notes=(*grown.notes, *growing.notes(grown)))
    return _finish(parts, rows, facts, reference, found, grids, grown, head, parameters, cluster_columns, log)


def refuse_options(parameters: FitParameters, centers: Any, labels: str | None) -> None:
    """Raise OptionError for what does not work on parts, with the way out."""
    refuse_in_parts(vars(parameters))
    check_round_within(parameters.round_within, labelled=labels is not None)
    if labels is not None and (centers is not None or parameters.clusterer is not None):
        raise OptionError("labels and centers are both given: the clustering to explain is one of them")


@dataclass(frozen=True, eq=False)
class _Growing:
    """What trees over parts are grown from.

    Parameters
    ----------
    reference_rows, reference_weight : ndarray, shape (n_centers,)
        Of each cluster of the clustering that is explained.
    means : ndarray of float64, shape (n_centers, m)
        Of its clusters.
    collected_rows : int
        Rows that may be collected.
    row_bytes : int
        What the numbers of a row take.
    """

    parts: Partitions
    rows: RowEncoder
    facts: Survey
    reference: Reference
    reference_rows: NDArray[Any]
    reference_weight: NDArray[np.float64]
    means: NDArray[np.float64]
    parameters: FitParameters
    collected_rows: int
    row_bytes: int
    progress: Progress | None
    log: Callable[[str], None]

    def run(self) -> GrownTree:
        """Return the tree: the greedy one, or unless ``refine="none"`` a refined one."""
        k = len(self.reference.centers)
        self.log(f"growing a tree for {counted(k, 'cluster')}")
        kept, used = np.arange(k), np.flatnonzero(self.reference_rows)
        with self._table() as table:
            grown = self._greedy(*table, kept)
            if len(used) < k and grown[0].n_leaves < k:
                # More centers than distinct rows: without the centers that no row has, cuts get valid.
                smaller = self._greedy(*table, used)
                if smaller[0].n_leaves > grown[0].n_leaves:
                    grown, kept = smaller, used
        tree = self._extended(self._refined(*grown, kept), grown[0], grown[1], kept)
        if self.progress is not None:
            self.progress(1.0)
        return renumber_centers(replace(tree, labels=np.empty(0, dtype=np.int32)), kept)

    @property
    def _refines(self) -> bool:
        parameters = self.parameters
        return parameters.refine != "none" and parameters.method == "exshallow" and not self.reference.labelled

    def _table(self) -> AbstractContextManager[tuple[Partitions, Encode]]:
        """Return the table for the passes that grow a tree."""
        if self.facts.counted <= self.collected_rows:  # there is one pass
            return nullcontext((self.parts, self.rows))
        return stored_rows(self.parts, self.rows, self.facts.counted * self.row_bytes)

    def _greedy(self, parts: Partitions, encode: Encode, kept: NDArray[np.intp]) -> tuple[GrownTree, UniqueRows | None]:
        reference, parameters = self.reference, self.parameters
        return grow_parts(
            parts,
            encode,
            reference.explain_centers[kept],
            reference.centers[kept],
            n_rows=self.facts.counted,
            collected_rows=self.collected_rows,
            method=parameters.method,
            tradeoff=parameters.tradeoff,
            n_threads=parameters.n_threads,
            progress=part_of(self.progress, 0, 1 + self._refines),
            log=self.log,
        )

    def _refined(self, tree: GrownTree, unique: UniqueRows | None, kept: NDArray[np.intp]) -> GrownTree:
        """Return a refined tree, the greedy one if refinement does not apply."""
        if not self._refines or not tree.n_leaves == len(kept) > 1:
            return tree
        parameters = self.parameters
        options: dict[str, Any] = {
            "tradeoff": parameters.tradeoff,
            "random_seed": seed_of(parameters.random_state),
            "thorough": thorough_of(parameters, len(kept), self.log, None),
            "n_threads": parameters.n_threads,
            "progress": part_of(self.progress, 1, 2),
        }
        if unique is None:
            refinement = refine_parts(self.parts, self.rows, tree, self._on(kept), **options)
        else:
            refinement = refine(tree, unique, **self._clustering(unique, kept), **options)
        if refinement is None:
            return tree
        self.log(refinement.summary())
        return refinement.tree

    def _on(self, kept: NDArray[np.intp]) -> PartsReference:
        """Return the clustering as trees over parts explain it."""
        reference = self.reference
        return PartsReference(
            reference.centers, kept, reference.explain_centers[kept], self.means, self.reference_weight
        )

    def _extended(
        self, tree: GrownTree, greedy: GrownTree, unique: UniqueRows | None, kept: NDArray[np.intp]
    ) -> GrownTree:
        """Return a tree of at most `max_leaves` leaves, if that is given."""
        parameters = self.parameters
        if parameters.method != "exshallow" or parameters.max_leaves is None or tree.n_leaves < len(kept):
            return tree
        options: dict[str, Any] = {
            "max_leaves": parameters.max_leaves,
            "tradeoff": parameters.tradeoff,
            "random_seed": seed_of(parameters.random_state),
            "searches": tree is not greedy,
            "n_threads": parameters.n_threads,
        }
        if unique is None:
            return extend_parts(self.parts, self.rows, tree, self._on(kept), **options)
        return extend(tree, unique, **self._clustering(unique, kept), **options)

    def notes(self, tree: GrownTree) -> list[str]:
        """Return what one or two more rules would bring a finished tree, in a note."""
        kept, parameters = np.unique(tree.center[tree.leaves]).astype(np.intp), self.parameters
        tree = from_the_table(tree, self.rows.encoder, kept)
        if not prices_more(parameters, tree, len(self.reference.centers), labelled=self.reference.labelled):
            return []
        costs = price_parts(
            self.parts,
            self.rows,
            tree,
            self._on(kept),
            max_leaves=len(kept) + MORE_RULES,
            tradeoff=parameters.tradeoff,
            n_threads=parameters.n_threads,
        )
        return notes_of_prices(costs, len(kept))

    def _clustering(self, unique: UniqueRows, kept: NDArray[np.intp]) -> dict[str, Any]:
        """Return cost and labels of the clustering of rows that are in memory."""
        data, n_threads = unique.data, self.parameters.n_threads
        labels = nearest_labels(data.X_cluster, self.reference.centers, n_threads)
        cost = partition_cost(data.X_cluster, labels, data.weight, n_threads)
        place = np.zeros(len(self.reference.centers), dtype=np.int32)
        place[kept] = np.arange(len(kept))
        return {"reference_cost": cost, "reference_labels": place[labels]}


def _finish(
    parts: Partitions,
    rows: RowEncoder,
    facts: Survey,
    reference: Reference,
    found: Added,
    grids: Grids,
    grown: GrownTree,
    head: Table,
    parameters: FitParameters,
    cluster_columns: list[int],
    log: Callable[[str], None],
) -> PartsFit:
    """Return the fit with the rules of a grown tree, measured on all parts."""
    k = len(reference.centers)
    tree, encoder = placed(grown, rows.encoder, head, reference)
    rows = replace(rows, encoder=encoder)
    table = facts.head(parts, rows.roles, encoder.imputed, counted_only=False)
    nodes = rule_nodes(tree, encoder, table)
    values = {i: categories(column) for i, column in enumerate(table.columns) if not column.is_numeric}
    numbers = {i: describe_numbers(c, 0.0, c.ends) for i, c in enumerate(table.columns) if c.is_numeric}
    n_clusters = len(np.unique(tree.cluster[tree.leaves]))
    bins = choose_bins(numbers, nodes, n_clusters, numbers) if n_clusters <= MAX_CLUSTERS else {}
    counting = Counting(k, bins, values, pairs=n_clusters <= MAX_CLUSTERS)
    on = TreeOnParts(rows, tree, reference.centers, grids, counting)
    log("measuring the tree on all rows")
    counts = count_tree(parts, on)
    means, clustered = (
        _means(grid, counts, name) for grid, name in ((grids.matrix, "matrix"), (grids.cluster, "cluster"))
    )
    if np.isnan(means).any():  # clusters without rows
        one_matrix = not encoder.explain_positions
        centers = reference.explain_centers if one_matrix else _means(grids.matrix, found, "matrix")
        means = np.where(np.isnan(means), centers, means)
    by_column = {
        # Side by side, so that products add up as for a whole table.
        column.source: (np.ascontiguousarray(means[:, j]), table.columns[column.source].ends)
        for j, column in enumerate(encoder.columns)
        if column.kind == "number"
    }
    measured = measured_of(counts.arrays, costs_of(parts, on, counts, found), counting, table, by_column)
    method, tradeoff = parameters.method, parameters.tradeoff
    record = record_of(grown, tree, reference, np.arange(k), method, tradeoff, weighted=rows.roles.weight is not None)
    record = replace(
        record,
        left_out=facts.unlabelled,
        separation=separation_of(encoder, _means(grids.cluster, found, "cluster"), found["weight"]),
        notes=(*imputation_notes(facts, rows.roles, encoder.imputed, parts.types), *record.notes),
    )
    rules = assemble_rules(tree, nodes, measured, record)
    return PartsFit(
        tree,
        encoder,
        None,
        rules,
        means,
        np.where(np.isnan(clustered), reference.centers, clustered),
        tuple(doubts_of(tree.n_leaves, k, rules)),
        reference,
        rows.roles.columns,
        cluster_columns,
    )


def _means(grid: SumGrid, found: Added, name: str) -> NDArray[np.float64]:
    """Return the mean of each cluster, NaN for one without rows."""
    return grid.means(found[name], found["weight"])
