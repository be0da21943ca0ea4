"""The trees of a region of a table in memory, all of it or the rows and centers on one side of kept cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import counted
from shallowrules.fitting.clustered import ClusteredTable
from shallowrules.fitting.data import FitParameters, Log
from shallowrules.fitting.growing import (
    from_the_table,
    over_the_table,
    renumbered,
    settings_of,
    thorough_of,
)
from shallowrules.fitting.keeping import Region
from shallowrules.trees import growing
from shallowrules.trees.candidates import SearchSettings
from shallowrules.trees.coded_table import Coded, code_rows, is_coded_beside
from shallowrules.trees.extending import extend
from shallowrules.trees.grown_tree import GrownTree, renumber_centers
from shallowrules.trees.growth_data import ExplainedRows, GrowthData, UniqueRows, find_unique_rows
from shallowrules.trees.progress import Progress, part_of
from shallowrules.trees.refining import refine
from shallowrules.trees.thorough import Thorough, note_of

__all__ = ["Explained", "grow_region"]


def grow_region(
    data: ClusteredTable,
    region: Region,
    tradeoffs: Sequence[float],
    progress: Progress | None,
    log: Log,
    tell_best: Callable[[float], None] | None,
) -> list[tuple[GrownTree, ...]]:
    """Grow the trees that explain the centers of a region; labels are those of its rows."""
    encoding, reference, parameters = data.encoding, data.reference, data.parameters
    method, n_threads, kept = parameters.method, parameters.n_threads, region.centers
    refines = (
        parameters.refine != "none" and method == "exshallow" and not reference.labelled and data.reference_cost > 0
    )
    with_imm = method == "imm" or (method == "exkmc" and parameters.base == "imm")
    rows = RegionRows.of(data, region)
    # For rows whose center is on the other side of a kept cut, take the nearest one on this side.
    assigned = renumbered(rows.labels, kept) if with_imm and region.rows is None else None
    unique = _unique_rows(data, region, rows, assigned)
    n_parts = 1 + refines * len(tradeoffs)
    first_part = part_of(progress, 0, n_parts)
    coded = None
    with ThreadPoolExecutor(1) as beside:
        if refines and is_coded_beside(unique, n_threads):
            coded = beside.submit(code_rows, unique, 1, with_codes=True)
        distances = _known_distances(data, region, unique)
        if len(tradeoffs) > 1:
            greedy = growing.grow_path(unique, tradeoffs, distances=distances, n_threads=n_threads, progress=first_part)
        else:
            tree = growing.grow(
                unique,
                method=method,
                tradeoff=tradeoffs[0],
                max_leaves=parameters.max_leaves,
                base=parameters.base,
                distances=distances,
                n_threads=n_threads,
                progress=first_part,
            )
            greedy = [tree]
    explained = rows.explained(unique, kept)
    by_model_column: dict[int, tuple[GrownTree, GrownTree]] = {}  # with the tree itself, whose id is the key
    grown = []
    for i, (tradeoff, tree) in enumerate(zip(tradeoffs, greedy, strict=True)):
        trees, settings = [tree], settings_of(parameters, tradeoff)
        if refines and tree.n_leaves == len(kept) > 1:
            thorough = thorough_of(parameters, len(kept), log, tell_best)
            part = part_of(progress, 1 + i, n_parts)
            trees.append(_refined(tree, explained, settings, thorough, coded, log, part))
        takes_more = method == "exshallow" and parameters.max_leaves is not None and region.rows is None
        if takes_more and tree.n_leaves == len(kept):
            trees = [_extended(one, explained, settings, parameters, log, searches=one is not tree) for one in trees]
        for one in trees:
            if id(one) not in by_model_column:
                by_model_column[id(one)] = one, over_the_table(renumber_centers(one, kept), encoding.encoder)
        grown.append(tuple(by_model_column[id(one)][1] for one in trees))
    return grown


def _unique_rows(
    data: ClusteredTable, region: Region, rows: RegionRows, assigned: NDArray[np.int32] | None = None
) -> UniqueRows:
    """Return the distinct rows of a region and its centers; `assigned` as for `find_unique_rows`."""
    encoding, reference, kept = data.encoding, data.reference, region.centers
    return find_unique_rows(
        GrowthData(
            rows.X_explain,
            rows.X_cluster,
            reference.explain_centers[kept],
            reference.centers[kept],
            rows.weight,
            encoding.explain_ranges,
            encoding.cluster_ranges,
            region.path_sides,
        ),
        assigned,
        data.parameters.n_threads,
    )


@dataclass(frozen=True, eq=False)
class RegionRows:
    """The rows of a region.

    Attributes
    ----------
    X_explain, X_cluster, weight
        As in `GrowthData`.
    labels : ndarray of int32
        Of the reference.
    reference_cost : float
        Its part of the cost of the reference, by weight: a condition then costs as much in refinement as in the whole
        table.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None
    labels: NDArray[np.int32]
    reference_cost: float

    @classmethod
    def of(cls, data: ClusteredTable, region: Region) -> RegionRows:
        """Return the rows of a region of a table."""
        encoding, weight, labels = data.encoding, data.fit_weight, data.reference.labels
        if region.rows is None:
            return cls(encoding.X_explain, encoding.X_cluster, weight, labels, data.reference_cost)
        rows = region.rows
        share = len(rows) / len(labels) if weight is None else float(weight[rows].sum() / weight.sum())
        X_explain = encoding.X_explain[rows]
        X_cluster = X_explain if encoding.X_cluster is encoding.X_explain else encoding.X_cluster[rows]
        return cls(
            X_explain, X_cluster, None if weight is None else weight[rows], labels[rows], data.reference_cost * share
        )

    def explained(self, unique: UniqueRows, kept: NDArray[np.integer]) -> ExplainedRows:
        """Return the distinct rows with the clustering, its labels as positions among the centers `kept`."""
        return ExplainedRows(unique, self.reference_cost, renumbered(self.labels, kept))


def _known_distances(data: ClusteredTable, region: Region, unique: UniqueRows) -> NDArray[np.float64] | None:
    """Return the distances from finding the nearest centers, if they are those of a region's rows and centers."""
    held = data.reference.distances
    distances = None if held is None else held.take()
    is_whole = region.rows is None and unique.group is None and len(region.centers) == len(data.reference.centers)
    return distances if is_whole else None


def _refined(
    tree: GrownTree,
    rows: ExplainedRows,
    settings: SearchSettings,
    thorough: Thorough | None,
    coded: Future[Coded] | None,
    log: Log,
    progress: Progress | None,
) -> GrownTree:
    """Return a refined tree; the greedy one if an interrupt ends a thorough search before there is another."""
    try:
        refinement = refine(tree, rows, settings, thorough=thorough, coded=coded, progress=progress)
    except KeyboardInterrupt:
        if thorough is None:
            raise
        return replace(tree, notes=(note_of(0, interrupted=True),))
    if refinement is None:
        return tree
    log(refinement.summary())
    return refinement.tree


def _extended(
    tree: GrownTree,
    rows: ExplainedRows,
    settings: SearchSettings,
    parameters: FitParameters,
    log: Log,
    *,
    searches: bool,
) -> GrownTree:
    """Return a tree of at most `max_leaves` leaves whose J' is lower, or the tree itself."""
    assert parameters.max_leaves is not None
    try:
        extended = extend(tree, rows, settings, max_leaves=parameters.max_leaves, searches=searches)
    except KeyboardInterrupt:
        if parameters.refine != "thorough":
            raise
        return tree  # the best one so far
    if extended is not tree and extended.objectives is not None:
        before, after = extended.objectives.bound, extended.objectives.own
        log(f"{counted(extended.n_leaves, 'rule')} in place of {tree.n_leaves}: J {before:.4f} -> {after:.4f}")
    return extended


@dataclass(frozen=True, eq=False)
class Explained:
    """A table and its clustering as needed for a search that continues from grown trees."""

    data: ClusteredTable
    rows: ExplainedRows

    @classmethod
    def of(cls, data: ClusteredTable) -> Explained:
        """Return the table and its clustering, as needed."""
        kept = data.kept_centers.astype(np.intp)
        region = Region(None, kept)
        rows = RegionRows.of(data, region)
        return cls(data, rows.explained(_unique_rows(data, region, rows), kept))

    def tree(self, grown: GrownTree) -> GrownTree:
        """Return a tree whose features are those that rules may test and whose centers are the kept ones."""
        return from_the_table(grown, self.data.encoding.encoder, self.data.kept_centers)
