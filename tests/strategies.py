"""Hypothesis strategies for what a clustering may hand to the tree: the nasty tables first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

__all__ = ["Problem", "columns", "problems", "weights"]

TRADEOFFS = (0.0, 1e-3, 0.03, 0.3, 1.0, 10.0)
OFFSETS = (0.0, 0.0, 0.0, 1.0, -1e9, 1e9)


@dataclass(frozen=True)
class Problem:
    """Everything that `grow` takes."""

    explained: NDArray[Any]
    clustered: NDArray[Any]
    explained_centers: NDArray[np.float64]
    centers: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    tradeoff: float

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """The positional arguments."""
        return self.explained, self.clustered, self.explained_centers, self.centers

    @property
    def options(self) -> dict[str, Any]:
        """The arguments by name."""
        return {"weight": self.weight, "tradeoff": self.tradeoff}


def scales() -> st.SearchStrategy[float]:
    """Units of a column: mostly ordinary, down to 1e-12 and up to 1e12."""
    return st.sampled_from([1.0, 1.0, 1.0, 1e-12, 1e-6, 1e-3, 0.1, 1e3, 1e6, 1e12])


@st.composite
def columns(draw: st.DrawFn, n_rows: int) -> NDArray[np.float64]:
    """One column: a few levels, a constant, or all kinds of numbers, in some unit around some offset."""
    kind = draw(st.sampled_from(["levels", "levels", "smooth", "tailed", "constant"]))
    if kind == "constant":
        values = np.full(n_rows, float(draw(st.integers(-3, 3))))
    elif kind == "levels":
        levels = draw(st.integers(1, 12))
        whole = hnp.arrays(np.int8, n_rows, elements=st.integers(-levels, levels), fill=st.nothing())
        values = draw(whole).astype(np.float64)
    else:
        values = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=n_rows)
        if kind == "tailed":
            values = np.sign(values) * np.expm1(4 * np.abs(values))
    return values * draw(scales()) + draw(st.sampled_from(OFFSETS))


@st.composite
def tables(draw: st.DrawFn, n_rows: int, max_columns: int) -> NDArray[np.float64]:
    """A matrix of such columns."""
    n_columns = draw(st.integers(1, max_columns))
    return np.stack([draw(columns(n_rows)) for _ in range(n_columns)], axis=1)


def weights(n_rows: int) -> st.SearchStrategy[NDArray[np.float64] | None]:
    """None, whole numbers, or anything from 1e-6 to 1e6; zeros among them, but not only zeros."""
    whole = hnp.arrays(np.float64, n_rows, elements=st.integers(0, 3))
    wild = hnp.arrays(np.float64, n_rows, elements=st.sampled_from([0.0, 1e-6, 0.1, 1.0, 2.5, 1e3, 1e6]))
    return st.none() | (whole | wild).filter(lambda weight: weight.any())


@st.composite
def problems(draw: st.DrawFn, max_rows: int = 48, max_columns: int = 5, max_centers: int = 8) -> Problem:
    """Small tables with ties, duplicates and strange centers, in one space or two."""
    n_rows = draw(st.integers(1, max_rows) | st.integers(max_rows // 2, max_rows))
    explained = draw(tables(n_rows, max_columns))
    if draw(st.integers(0, 3)) == 3:  # some rows are others again
        explained = explained[draw(hnp.arrays(np.intp, n_rows, elements=st.integers(0, n_rows - 1)))]
    precision = draw(st.sampled_from([np.float64, np.float64, np.float32]))
    explained = explained.astype(precision)

    space = draw(st.sampled_from(["same", "same", "standardised", "projected", "other"]))
    wide = explained.astype(np.float64)
    if space == "same":
        clustered = explained
    elif space == "standardised":
        spread = wide.std(axis=0)
        clustered = (wide - wide.mean(axis=0)) / np.where(spread > 0, spread, 1)
    elif space == "projected":
        width = draw(st.integers(1, 3))
        random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        clustered = wide @ random.normal(size=(wide.shape[1], width))
    else:
        clustered = draw(tables(n_rows, max_columns))
    if space != "same":
        clustered = clustered.astype(draw(st.sampled_from([np.float64, np.float32])))

    here, there = [], []
    ordinary = ["mean", "row"]  # too many strange centers, and no cut is valid
    kinds = st.sampled_from(ordinary if draw(st.booleans()) else [*ordinary, "mean", "row", "free", "far", "copy"])
    for _ in range(draw(st.integers(1, max_centers) | st.integers(max_centers // 2, max_centers))):
        kind = draw(kinds)
        if kind == "copy" and here:
            again = draw(st.integers(0, len(here) - 1))
            here.append(here[again])
            there.append(there[again])
            continue
        several = st.lists(st.integers(0, n_rows - 1), min_size=2, max_size=8)
        some = [draw(st.integers(0, n_rows - 1))] if kind == "row" else draw(several)
        moves = [np.zeros(wide.shape[1]), np.zeros(clustered.shape[1])]
        if kind in ("free", "far"):
            reach = 1.0 if kind == "free" else draw(st.sampled_from([10.0, 1e3, 1e6]))
            random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
            moves = [
                reach * random.normal(size=points.shape[1]) * np.abs(points - points[0]).max(axis=0)
                for points in (wide, clustered.astype(np.float64))
            ]
        here.append(wide[some].mean(axis=0) + moves[0])
        there.append(clustered[some].astype(np.float64).mean(axis=0) + moves[1])
    return Problem(
        explained, clustered, np.array(here), np.array(there), draw(weights(n_rows)), draw(st.sampled_from(TRADEOFFS))
    )
