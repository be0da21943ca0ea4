"""Rounder thresholds of a tree over parts, by passes of `shallowrules.trees.rounding`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import Grids
from shallowrules.encoding.rows import RowEncoder
from shallowrules.fitting.data import FitParameters
from shallowrules.fitting.measuring import costs_of_grown
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.rules.figures import normalized_cost
from shallowrules.tables.table import Table
from shallowrules.trees.growing import GrownTree, Objectives
from shallowrules.trees.moved_rows import RoundedRows
from shallowrules.trees.rounding import round_thresholds, rounds

__all__ = ["round_parts"]


def round_parts(
    parts: Partitions,
    rows: RowEncoder,
    grown: GrownTree,
    head: Table,
    grids: Grids,
    centers: NDArray[np.float64],
    reference: Added,
    parameters: FitParameters,
    log: Callable[[str], None],
) -> GrownTree:
    """Return a tree over the model columns with rounder thresholds, if it is to have them.

    Parameters
    ----------
    parts : Partitions
    rows : RowEncoder
    grown : GrownTree
    head : Table
        With the types of the columns.
    grids : Grids
    centers : ndarray of float64, shape (k, m)
        Of the clustering.
    reference : Added
        What `sum_reference` gave for them.
    parameters : FitParameters
    log : callable
    """
    if not rounds(parameters.round_within, grown):
        return grown
    objectives = grown.objectives
    if objectives is None:
        cost, reference_cost = costs_of_grown(parts, rows, grown, head, grids, centers, reference)
        tradeoff = float(parameters.tradeoff) if parameters.method == "exshallow" else 0.0
        own = normalized_cost(cost, reference_cost) + tradeoff * grown.as_tree().waes
        objectives = Objectives(own, own, reference_cost, tradeoff)

    def run(function: Callable[[RoundedRows, Any], Any], state: Any) -> Any:
        return parts.map_reduce(_on_part, (rows, function, state))

    rounded = round_thresholds(
        grown, rows.encoder, head, grids.cluster, run, objectives, within=parameters.round_within, in_parts=True
    )
    for note in rounded.notes[len(grown.notes) :]:
        log(note)
    return rounded


def _on_part(part: Part, state: tuple[RowEncoder, Callable[[RoundedRows, Any], Any], Any]) -> Any:
    rows, function, given = state
    return function(rows(part), given)
