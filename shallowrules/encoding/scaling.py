"""Scalers that count rows by their weight: a row of weight 3 scales a table as three equal rows do, exactly."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import Ranges
from shallowrules.encoding.blocks import row_blocks
from shallowrules.errors import OptionError
from shallowrules.measures.summation import group_means

if TYPE_CHECKING:
    from sklearn.preprocessing import RobustScaler, StandardScaler

__all__ = ["SCALES", "fit_scaler", "quartile_ranks", "refuse_fractions", "scale_rows", "set_moments", "set_quartiles"]

SCALES: dict[str | None, str | None] = {
    None: None,
    "minmax": "MinMaxScaler",
    "standard": "StandardScaler",
    "robust": "RobustScaler",
}
"""The spaces in which a table can be clustered, by the name of the option: scikit-learn's scalers."""

QUARTILES = (0.25, 0.5, 0.75)


def fit_scaler(
    scale: str | None,
    X: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
    ranges: Ranges | None = None,
) -> Any:
    """Return scikit-learn's scaler of that name, fitted with weights.

    Parameters
    ----------
    scale : None, "minmax", "standard" or "robust"
    X : ndarray of float32 or float64, shape (n_rows, n_columns)
    sample_weight : ndarray of float64, shape (n_rows,), optional
        Rows of weight 0 do not count.
    ranges : Ranges, optional
        Those of the columns of `X`, where they are known.

    Returns
    -------
    scaler : MinMaxScaler, StandardScaler, RobustScaler or None
        None for None.

    Raises
    ------
    OptionError
        If "robust" is to count rows by weights that are not whole numbers: quantiles by such weights
        are not those of any number of rows.
    """
    name = SCALES[scale]
    if name is None:
        return None
    kind = getattr(import_module("sklearn.preprocessing"), name)  # here: a second that no reader of tables should wait
    if scale == "minmax" and sample_weight is None and ranges is not None:
        scaler = kind().fit(np.array(ranges, dtype=X.dtype))  # two rows with the ends of every column tell it all
        scaler.n_samples_seen_ = len(X)
        return scaler
    if sample_weight is not None:
        counted = sample_weight > 0
        X, sample_weight = X[counted], sample_weight[counted]
    # What scikit-learn finds is kept but for the figures that depend on weights: its own take none
    # ("robust"), or round otherwise than for repeated rows ("standard").
    scaler = kind().fit(X)
    if scale == "standard":
        _standardize(scaler, X, sample_weight)
    elif scale == "robust":
        _use_quartiles(scaler, X, sample_weight)
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
        block[:] = in_place.transform(block)  # the block itself: fresh memory is what scaling costs

    blocks = row_blocks(*X.shape)
    if n_threads == 1 or len(blocks) <= 1:
        for rows in blocks:
            scale_block(rows)
        return scaled
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(scale_block, blocks))
    return scaled


def _standardize(scaler: StandardScaler, X: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
    one_group = np.zeros(len(X), dtype=np.intp)
    mean = group_means(X, one_group, 1, weight)[0]
    variance = np.empty_like(mean)
    for j in range(X.shape[1]):  # column by column, to need no second matrix
        squares = (X[:, j : j + 1].astype(np.float64) - mean[j]) ** 2
        variance[j] = group_means(squares, one_group, 1, weight)[0, 0]
    set_moments(scaler, mean, variance, len(X) if weight is None else weight.sum())


def set_moments(scaler: StandardScaler, mean: NDArray[np.float64], variance: NDArray[np.float64], size: float) -> None:
    """Give a scaler the means and variances of columns of so many rows, or of so much weight."""
    # scikit-learn's own bound on the rounding, below which a column is constant.
    epsilon = np.finfo(np.float64).eps
    constant = variance <= size * epsilon * variance + (size * mean * epsilon) ** 2
    scaler.mean_, scaler.var_, scaler.n_samples_seen_ = mean, variance, size
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))


def _use_quartiles(scaler: RobustScaler, X: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
    refuse_fractions(are_whole=weight is None or bool((weight == np.floor(weight)).all()))
    total = len(X) if weight is None else float(weight.sum())
    ranked = {rank: np.empty(X.shape[1]) for rank in quartile_ranks(total)}
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        values = X[order, j].astype(np.float64) + 0.0  # of 0.0 and -0.0 one
        reached = np.arange(1, len(X) + 1) if weight is None else np.cumsum(weight[order])
        for rank, found in ranked.items():
            found[j] = values[np.searchsorted(reached, rank, side="right")]
    set_quartiles(scaler, total, ranked)


def refuse_fractions(*, are_whole: bool) -> None:
    """Raise OptionError for weights that are not whole numbers: ranks need such."""
    if not are_whole:
        raise OptionError(
            "scale='robust' takes quartiles, which need weights that are whole numbers (how many rows a row "
            "stands for): round the weights, or take scale 'minmax' or 'standard'"
        )


def quartile_ranks(total: float) -> list[int]:
    """Return the ranks, counted from 0, between which the quartiles of so many rows are."""
    positions = [(total - 1) * share for share in QUARTILES]
    return sorted({round_to(position) for position in positions for round_to in (math.floor, math.ceil)})


def set_quartiles(scaler: RobustScaler, total: float, ranked: Mapping[int, NDArray[np.float64]]) -> None:
    """Give a scaler the quartiles of columns of so many rows, from the values of each of their `quartile_ranks`."""
    found = []
    for share in QUARTILES:
        position = (total - 1) * share
        below, above = ranked[math.floor(position)], ranked[math.ceil(position)]
        found.append(below + (above - below) * (position - math.floor(position)))  # linear interpolation
    lower, scaler.center_, upper = found
    spread = upper - lower
    scaler.scale_ = np.where(spread < 10 * np.finfo(spread.dtype).eps, 1.0, spread)  # scikit-learn's bound
