"""What the scaler of a table in parts takes from all of its rows: that of the whole table, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.encoding import Encoder, quartile_ranks, refuse_fractions, set_moments, set_quartiles
from shallowrules.encoding.roles import Roles
from shallowrules.encoding.rows import RowEncoder
from shallowrules.fitting.ranked import RankedColumn, Weighed, ranked_values
from shallowrules.fitting.survey import Survey
from shallowrules.measures.summation import SumGrid, WeightFacts
from shallowrules.partitions import Part, Partitions
from shallowrules.partitions.merging import Added
from shallowrules.tables.table import Table

__all__ = ["fit_scaler"]


def fit_scaler(
    parts: Partitions, facts: Survey, scale: str | None, roles: Roles, encoder: Encoder, head: Table
) -> None:
    """Give the scaler of an encoder what it has to know of all rows that count.

    Parameters
    ----------
    parts : Partitions
    facts : Survey
    scale : "minmax", "standard" or "robust"
    roles : Roles
    encoder : Encoder
        Its scaler was fitted to `head`.
    head : Table
        With the ends of all numbers of rows that count.
    """
    numbers = _Numbers(RowEncoder(roles, replace(encoder, scaler=None)), tuple(encoder._numbers()[0]))
    raw = numbers.of(numbers.encode.encoder.spaces(encoder.encode_imputed(head))[1])
    if scale == "standard":
        _standardize(parts, numbers, raw, encoder.scaler, facts.weights, weighted=roles.weight is not None)
    elif scale == "robust":
        refuse_fractions(are_whole=facts.weights.are_whole)
        _use_quartiles(parts, numbers, raw, encoder.scaler, facts.weights.total)
    else:
        encoder.scaler.n_samples_seen_ = facts.counted


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Reads the numbers that are scaled, as they are, of the rows of a part that count.

    Parameters
    ----------
    encode : RowEncoder
        Without a scaler.
    places : tuple of int
        Among the clustered columns.
    """

    encode: RowEncoder
    places: tuple[int, ...]

    def of(self, X_cluster: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of some rows."""
        return X_cluster[:, list(self.places)]

    def __call__(self, part: Part) -> list[Weighed]:
        """Return the numbers of each column with their weights."""
        rows = self.encode(part)
        weight = None if rows.weight is None else rows.weight.astype(np.int64)
        return [Weighed(column, weight) for column in self.of(rows.X_cluster).T]


def _use_quartiles(parts: Partitions, numbers: _Numbers, raw: NDArray[Any], scaler: Any, total: float) -> None:
    ranks = quartile_ranks(total)
    columns = {j: RankedColumn(raw.dtype, (raw[:, j].min(), raw[:, j].max()), ranks) for j in range(raw.shape[1])}
    found = ranked_values(parts, numbers, columns)
    ranked = {rank: np.array([found[j][rank] for j in columns], dtype=np.float64) for rank in ranks}
    set_quartiles(scaler, total, ranked)


def _standardize(
    parts: Partitions, numbers: _Numbers, raw: NDArray[Any], scaler: Any, weights: WeightFacts, *, weighted: bool
) -> None:
    """Give a scaler the means and variances, in two passes."""
    grid = SumGrid.of(column_ranges(raw), weights)
    found = parts.map_reduce(_moments_part, (numbers, grid, None))
    total = float(found["weight"])
    mean = grid.sums(found["sums"])[0] / total
    # What is farthest from the mean is one of the ends.
    squares = (raw.astype(np.float64) - mean) ** 2
    grid = SumGrid.of(Ranges(squares.min(axis=0), squares.max(axis=0)), weights)
    variance = grid.sums(parts.map_reduce(_moments_part, (numbers, grid, mean))["sums"])[0] / total
    set_moments(scaler, mean, variance, total if weighted else int(total))


def _moments_part(part: Part, state: tuple[_Numbers, SumGrid, NDArray[np.float64] | None]) -> Added:
    """Return the weight of all rows, and the sums of their numbers or of the squared differences from a mean."""
    numbers, grid, mean = state
    rows = numbers.encode(part)
    X = numbers.of(rows.X_cluster)
    if mean is not None:
        X = (X.astype(np.float64) - mean) ** 2
    weight = np.array(float(len(X)) if rows.weight is None else rows.weight.sum())
    if not len(X):
        return Added({"weight": weight, "sums": np.zeros((len(grid.rounder), 1, X.shape[1]))})
    return Added({"weight": weight, "sums": grid.add_up(X, np.zeros(len(X), np.int32), 1, rows.weight)})
