"""How much a column of categories counts compared with a column of numbers.

The spread of a column of categories is its Gini impurity, 1 - Σp², the summed variance of its columns of 0 and 1. The
balanced weight makes that equal to the variance of a scaled column of numbers, on average over the columns that are not
constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.blocks import place_between
from shallowrules.encoding.scaling import ReadNumbers
from shallowrules.partitions.merging import Added, Run

__all__ = ["AUTO", "CATEGORY_WEIGHT", "FIXED", "ChosenColumns", "Weighing", "balanced_weight", "find_pairs"]

CATEGORY_WEIGHT = math.sqrt(0.5)
"""Factor of a column of 0 and 1: two categories are then as far apart as 0 and 1.

Rows of different categories differ in two of these columns, so that their squared distance is twice the square
of the weight; the ends of a column that is scaled by "minmax" have the squared distance 1.
"""

AUTO = "auto"
"""The balanced weight, as an option."""

DIGITS = 4
"""Significant digits of a balanced weight, so that it can be typed."""

WEIGHT_RANGE = (1e-6, 1e5)
"""The least and the greatest balanced weight; as an option, a weight is between 0 and 1e6."""


@dataclass(frozen=True)
class Weighing:
    """How categories are weighed.

    Parameters
    ----------
    category_weight : float or "auto"
        The factor of columns of 0 and 1; "auto" for the balanced weight.
    pairs : bool
        Whether a column of two numbers counts as if they were categories; by "auto" it does in any case.
    """

    category_weight: float | str = CATEGORY_WEIGHT
    pairs: bool = False

    @property
    def is_balanced(self) -> bool:
        """Whether the weight depends on the table."""
        return self.category_weight == AUTO

    @property
    def takes_pairs(self) -> bool:
        """Whether a column of two numbers counts as categories."""
        return self.pairs or self.is_balanced

    @property
    def known_weight(self) -> float:
        """The weight before the table is known."""
        return CATEGORY_WEIGHT if self.is_balanced else float(self.category_weight)


FIXED = Weighing()
"""No weight depends on the table."""


@dataclass(frozen=True)
class ChosenColumns:
    """Reads some of the columns that another function reads."""

    read: ReadNumbers
    places: Sequence[int]

    def __call__(self, rows: Any) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Return the columns and the weights of the rows of a part that count."""
        X, weight = self.read(rows)
        return (X if self.places == list(range(X.shape[1])) else X[:, self.places]), weight


def find_pairs(run: Run, read: ReadNumbers, ends: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which columns have two values, in one pass; parameters as `find_scaler`."""
    others = run(_count_others, (read, ends))["parts"]
    return np.asarray((others == 0) & (ends[0] < ends[1]))


def _count_others(rows: Any, state: tuple[ReadNumbers, NDArray[Any]]) -> Added:
    """Return for each column 1 if it has numbers other than its ends."""
    read, (low, high) = state
    X, _ = read(rows)
    return Added(
        {"parts": np.array([place_between(X[:, j], low[j], high[j]) is not None for j in range(len(low))], int)}
    )


def balanced_weight(numbers: Sequence[float], categories: Sequence[float]) -> float:
    """Return the weight that makes the means of both equal, if there are both.

    Parameters
    ----------
    numbers, categories : sequence of float
        The variance of each scaled column of numbers, and the Gini impurity of each column of categories; of those
        that are not constant.
    """
    if not numbers or not categories:
        return CATEGORY_WEIGHT
    weight = math.sqrt(fmean(numbers) / fmean(categories))
    return float(f"{min(max(weight, WEIGHT_RANGE[0]), WEIGHT_RANGE[1]):.{DIGITS}g}")
