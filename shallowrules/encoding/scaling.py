"""Scalers that count rows by their weight: a row of weight 3 scales a table as three equal rows do, exactly."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges, column_ranges
from shallowrules.encoding.blocks import row_blocks
from shallowrules.encoding.ranked import RankedColumn, Weighed, ranked_values
from shallowrules.errors import OptionError
from shallowrules.measures.summation import SumGrid, WeightFacts
from shallowrules.partitions.merging import Added, Run

if TYPE_CHECKING:
    from sklearn.preprocessing import RobustScaler, StandardScaler

__all__ = [
    "SCALES",
    "ReadNumbers",
    "counted_rows",
    "find_scaler",
    "keep_scale",
    "moments",
    "scale_of",
    "scale_rows",
]


SCALES: dict[str | None, str | None] = {
    None: None,
    "minmax": "MinMaxScaler",
    "standard": "StandardScaler",
    "robust": "RobustScaler",
}
"""The scalers of scikit-learn that can scale a table for clustering, by the value of the option."""

QUARTILES = (0.25, 0.5, 0.75)

ReadNumbers = Callable[[Any], tuple[NDArray[Any], NDArray[np.float64] | None]]
"""Takes the rows of a part; returns the numbers of those that count, shape (n_rows, n_columns), and their weights. It
is pickled."""


GivenRows = tuple[NDArray[Any], NDArray[np.float64] | None]


def counted_rows(
    X: NDArray[Any], sample_weight: NDArray[np.float64] | None, ends: NDArray[Any]
) -> tuple[GivenRows, NDArray[Any], WeightFacts]:
    """Return the rows of positive weight, their ends and the facts about their weights, from the ends of all rows."""
    if sample_weight is not None and not sample_weight.all():
        counted = sample_weight > 0
        X, sample_weight = X[counted], sample_weight[counted]
        ends = np.array(column_ranges(X), dtype=X.dtype)
    return (X, sample_weight), ends, WeightFacts.of(sample_weight, len(X))


def find_scaler(scale: str, run: Run, read: ReadNumbers, ends: NDArray[Any], weights: WeightFacts) -> Any:
    """Return scikit-learn's scaler of that name, fitted to a table or to its parts: the same to the last bit.

    Parameters
    ----------
    scale : "minmax", "standard" or "robust"
    run : callable
        As `Run` says.
    read : callable
        As `ReadNumbers` says.
    ends : ndarray of float32 or float64, shape (2, n_columns)
        The smallest number of each column and the largest, among the rows that count.
    weights : WeightFacts
        Of these rows.

    Raises
    ------
    OptionError
        If "robust" would count rows by weights that are not whole numbers: quantiles by these weights are not those of
        any number of rows.
    """
    # Imported here: it takes a second, for which commands without scaling need not wait.
    kind = getattr(import_module("sklearn.preprocessing"), str(SCALES[scale]))
    # Two rows with the ends of every column are all that "minmax" needs. For the others, results that depend on more
    # are replaced: scikit-learn takes no weights ("robust"), or rounds them differently than repeated rows
    # ("standard").
    scaler = kind().fit(ends)
    if scale == "standard":
        _standardize(scaler, run, read, ends, weights)
    elif scale == "robust":
        _use_quartiles(scaler, run, read, ends, weights)
    else:
        scaler.n_samples_seen_ = weights.n_rows
    return scaler


def scale_of(scaler: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the value that a fitted scaler maps to 0 in each column, and how far above it the one mapped to 1 is."""
    if hasattr(scaler, "data_min_"):
        return scaler.data_min_, np.where(scaler.data_range_ == 0, 1.0, scaler.data_range_)
    return scaler.mean_ if hasattr(scaler, "mean_") else scaler.center_, scaler.scale_


def keep_scale(scaler: Any, kept: Mapping[int, tuple[float, float]]) -> Any:
    """Return a fitted scaler with another scale for some columns, as `scale_of` has it, by position."""
    scaler = copy.deepcopy(scaler)
    for j, (origin, unit) in kept.items():
        if hasattr(scaler, "data_min_"):
            scaler.data_min_[j], scaler.data_range_[j], scaler.data_max_[j] = origin, unit, origin + unit
            scaler.scale_[j] = 1.0 / scaler.data_range_[j]
            scaler.min_[j] = -scaler.data_min_[j] * scaler.scale_[j]
            continue
        center = scaler.mean_ if hasattr(scaler, "mean_") else scaler.center_
        center[j], scaler.scale_[j] = origin, unit
    return scaler


def scale_rows(scaler: Any, X: NDArray[Any], n_threads: int = 1) -> NDArray[Any]:
    """Return rows as a fitted scaler scales them, each by itself.

    Parameters
    ----------
    scaler : MinMaxScaler, StandardScaler or RobustScaler
    X : ndarray of float32 or float64, shape (n_rows, n_columns)
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    ndarray of the same shape and type
        Row by row in memory, as distances take it.
    """
    scaled, in_place = np.empty(X.shape, X.dtype), copy.copy(scaler).set_params(copy=False)

    def scale_block(rows: slice) -> None:
        block = scaled[rows]
        block[:] = X[rows]
        block[:] = in_place.transform(block)  # in place: most of the cost of scaling is fresh memory

    blocks = row_blocks(*X.shape)
    if n_threads == 1 or len(blocks) <= 1:
        for rows in blocks:
            scale_block(rows)
        return scaled
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(scale_block, blocks))
    return scaled


def _standardize(scaler: StandardScaler, run: Run, read: ReadNumbers, ends: NDArray[Any], weights: WeightFacts) -> None:
    """Give a scaler the means and variances of columns, in two passes."""
    mean, variance, total = moments(run, read, ends, weights)
    # scikit-learn's own bound on the rounding, below which a column is constant.
    epsilon = np.finfo(np.float64).eps
    constant = variance <= total * epsilon * variance + (total * mean * epsilon) ** 2
    scaler.mean_, scaler.var_ = mean, variance
    scaler.n_samples_seen_ = weights.n_rows if total == weights.n_rows else total
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))


def moments(
    run: Run, read: ReadNumbers, ends: NDArray[Any], weights: WeightFacts
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the means and variances of columns and the weight of all rows, in two passes; parameters as `find_scaler`.

    A table and its parts give the same to the last bit, whatever the order of the rows.
    """
    grid = SumGrid.of(Ranges(*ends), weights)
    found = run(_moments_part, (read, grid, None))
    size = found["weight"]
    mean = grid.means(found["sums"], size)[0]
    squares = (ends.astype(np.float64) - mean) ** 2  # the number farthest from the mean is one of the ends
    grid = SumGrid.of(Ranges(squares.min(axis=0), squares.max(axis=0)), weights)
    variance = grid.means(run(_moments_part, (read, grid, mean))["sums"], size)[0]
    return mean, variance, float(size[0])


def _moments_part(rows: Any, state: tuple[ReadNumbers, SumGrid, NDArray[np.float64] | None]) -> Added:
    """Return the weight of all rows, and the sums of their numbers or of the squared differences from a mean."""
    read, grid, mean = state
    X, weight = read(rows)
    sums = np.zeros((len(grid.rounder), 1, X.shape[1]))
    for block in row_blocks(*X.shape):  # no second matrix is needed
        values = X[block] if mean is None else (X[block].astype(np.float64) - mean) ** 2
        sums += grid.add_up(values, np.zeros(len(values), np.int32), 1, None if weight is None else weight[block])
    return Added({"weight": np.array([float(len(X)) if weight is None else weight.sum()]), "sums": sums})


def _use_quartiles(scaler: RobustScaler, run: Run, read: ReadNumbers, ends: NDArray[Any], weights: WeightFacts) -> None:
    """Give a scaler the quartiles of columns."""
    if not weights.are_whole:
        raise OptionError(
            "scale='robust' uses quartiles, which need whole-number weights (how many rows a row stands "
            "for); round the weights, or use scale 'minmax' or 'standard'"
        )
    positions = [(weights.total - 1) * share for share in QUARTILES]
    ranks = sorted({round_to(position) for position in positions for round_to in (math.floor, math.ceil)})
    columns = {j: RankedColumn(ends.dtype, (low, high), ranks) for j, (low, high) in enumerate(ends.T.tolist())}
    ranked = ranked_values(run, _WeighedColumns(read), columns)
    found = []
    for position in positions:
        below, above = (
            np.array([values[round_to(position)] for values in ranked.values()]) for round_to in (math.floor, math.ceil)
        )
        found.append(below + (above - below) * (position - math.floor(position)))  # linear interpolation
    lower, scaler.center_, upper = found
    spread = upper - lower
    scaler.scale_ = np.where(spread < 10 * np.finfo(spread.dtype).eps, 1.0, spread)  # scikit-learn's bound


@dataclass(frozen=True)
class _WeighedColumns:
    """Reads numbers column by column."""

    read: ReadNumbers

    def __call__(self, rows: Any) -> list[Weighed]:
        X, weight = self.read(rows)
        counts = None if weight is None else weight.astype(np.int64)
        return [Weighed(column, counts) for column in X.T]
