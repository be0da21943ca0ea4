"""Hypothesis strategies for the input that a clustering may hand to the tree: nasty tables first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

__all__ = ["Problem", "problems"]

TRADEOFFS = (0.0, 1e-3, 0.03, 0.3, 1.0, 10.0)
OFFSETS = (0.0, 0.0, 0.0, 1.0, -1e9, 1e9)


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that `grow` takes; equal only to itself, so that results for it can be cached."""

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    explain_centers: NDArray[np.float64]
    centers: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    tradeoff: float

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """The positional arguments."""
        return self.X_explain, self.X_cluster, self.explain_centers, self.centers

    @property
    def options(self) -> dict[str, Any]:
        """The arguments by name."""
        return {"weight": self.weight, "tradeoff": self.tradeoff}


def generators() -> st.SearchStrategy[np.random.Generator]:
    """Where the cells come from: hypothesis chooses the structure, so that it shrinks to the essentials."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def sizes(smallest: int, largest: int) -> st.SearchStrategy[int]:
    """A number of rows or centers: mostly not tiny, or there is nothing to choose between."""
    usual = st.integers(largest // 2, largest)
    return st.one_of(usual, usual, usual, st.integers(smallest, largest))


def scales() -> st.SearchStrategy[float]:
    """Units of a column: mostly ordinary, down to 1e-12 and up to 1e12."""
    return st.sampled_from([1.0, 1.0, 1.0, 1e-12, 1e-6, 1e-3, 0.1, 1e3, 1e6, 1e12])


@st.composite
def columns(draw: st.DrawFn, random: np.random.Generator, n_rows: int) -> NDArray[np.float64]:
    """One column: a few levels, all kinds of numbers or a constant, in some unit around some offset."""
    kind = draw(st.sampled_from(["levels", "levels", "smooth", "tailed", "constant"]))
    if kind == "constant":
        values = np.full(n_rows, float(draw(st.integers(-3, 3))))
    elif kind == "levels":
        values = random.integers(-1, draw(st.integers(1, 20)), size=n_rows).astype(np.float64)
    else:
        values = random.normal(size=n_rows)
        if kind == "tailed":
            values = np.sign(values) * np.expm1(4 * np.abs(values))
    return values * draw(scales()) + draw(st.sampled_from(OFFSETS))


@st.composite
def tables(draw: st.DrawFn, random: np.random.Generator, n_rows: int, max_columns: int) -> NDArray[np.float64]:
    """A matrix of such columns; some repeat another one, or are its mirror image, so that features tie."""
    made: list[NDArray[np.float64]] = []
    for _ in range(draw(sizes(1, max_columns))):
        kind = draw(st.sampled_from(["new", "new", "new", "new", "again", "mirrored"])) if made else "new"
        if kind == "new":
            made.append(draw(columns(random, n_rows)))
        else:
            other = made[random.integers(len(made))]
            made.append(other if kind == "again" else -other)
    return np.stack(made, axis=1)


@st.composite
def weights(draw: st.DrawFn, random: np.random.Generator, n_rows: int) -> NDArray[np.float64] | None:
    """None, whole numbers, or anything from 1e-6 to 1e6; zeros among them, but not only zeros."""
    kind = draw(st.sampled_from(["none", "none", "whole", "wild"]))
    if kind == "none":
        return None
    weight = random.choice([0.0, 1.0, 2.0, 3.0] if kind == "whole" else [0.0, 1e-6, 0.1, 1.0, 2.5, 1e3, 1e6], n_rows)
    weight[random.integers(n_rows)] = 1.0
    return weight


@st.composite
def problems(draw: st.DrawFn, max_rows: int = 48, max_columns: int = 5, max_centers: int = 8) -> Problem:
    """Small tables with ties, duplicates and strange centers, in one space or two."""
    random = draw(generators())
    n_rows = draw(sizes(1, max_rows))
    X_explain = draw(tables(random, n_rows, max_columns))
    if draw(st.sampled_from([False, False, True])):  # some rows are others again
        X_explain = X_explain[random.integers(n_rows, size=n_rows)]
    X_explain = X_explain.astype(draw(st.sampled_from([np.float64, np.float64, np.float32])))

    space = draw(st.sampled_from(["same", "same", "standardised", "projected", "other"]))
    wide = X_explain.astype(np.float64)
    if space == "same":
        X_cluster = X_explain
    elif space == "standardised":
        spread = wide.std(axis=0)
        X_cluster = (wide - wide.mean(axis=0)) / np.where(spread > 0, spread, 1)
    elif space == "projected":
        X_cluster = wide @ random.normal(size=(wide.shape[1], draw(st.integers(1, 3))))
    else:
        X_cluster = draw(tables(random, n_rows, max_columns))
    if space != "same":
        X_cluster = X_cluster.astype(draw(st.sampled_from([np.float64, np.float32])))
    points = X_cluster.astype(np.float64)

    here: list[NDArray[np.float64]] = []
    there: list[NDArray[np.float64]] = []
    ordinary = ["mean", "row"]  # too many strange centers, and no cut is valid
    kinds = st.sampled_from(ordinary if draw(st.booleans()) else [*ordinary, "mean", "row", "free", "far", "copy"])
    for _ in range(draw(sizes(1, max_centers))):
        kind = draw(kinds)
        if kind == "copy" and here:
            again = random.integers(len(here))
            here.append(here[again])
            there.append(there[again])
            continue
        some = random.integers(n_rows, size=1 if kind == "row" else 5)
        reach = {"free": 1.0, "far": draw(st.sampled_from([10.0, 1e3, 1e6]))}.get(kind, 0.0)
        for found, space_points in ((here, wide), (there, points)):
            moves = reach * random.normal(size=space_points.shape[1]) * np.ptp(space_points, axis=0)
            found.append(space_points[some].mean(axis=0) + moves)
    return Problem(
        X_explain,
        X_cluster,
        np.array(here),
        np.array(there),
        draw(weights(random, n_rows)),
        draw(st.sampled_from(TRADEOFFS)),
    )
