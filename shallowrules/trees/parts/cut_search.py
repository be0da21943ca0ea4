"""The search for the cut of a node from the sums of its rows over all parts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, NodeScan
from shallowrules.partitions.merging import Added
from shallowrules.trees.parts.node_passes import ranges_of
from shallowrules.trees.parts.node_sums import Ends, ValueSums, values_of

__all__ = ["CutSearch", "FoundCut", "Node"]

FIRST_REACH = 4.0
"""As in the kernel's `fixed_point`."""

NODE_SAMPLE = 4096
"""Maximum number of rows of a node's sample, which determines its bins."""


@dataclass(eq=False)
class Node:
    """A node that has no cut yet.

    Parameters
    ----------
    place : int
        In the tree so far.
    centers : ndarray of int
    path_sides : ndarray of uint8, shape (d,)
    n_rows : int
    weight, cost_bound : float
        At least the weight of its rows, and their current cost.
    sample : ndarray of float64, shape (s, d)
        Distinct rows of it; its centers where it has none of the sample.
    reach : float
        Prices up to 1 + reach are exact in its sums.
    fixed : (scale, cap, reach)
        The fixed point of its sums.
    few_rows : bool
        Whether it has so few distinct rows that these are collected, however many rows there are.
    inner_sample : ndarray of float64, shape (t, d), or None
        Rows of the bins that were too large, by which these are divided again.
    inner_rows : int or None
        Rows of the bins inside which the best cut may lie, when they were divided last.
    """

    place: int
    centers: NDArray[np.intp]
    path_sides: NDArray[np.uint8]
    n_rows: int
    weight: float
    cost_bound: float
    sample: NDArray[np.float64]
    reach: float = FIRST_REACH
    fixed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    few_rows: bool = False
    inner_sample: NDArray[np.float64] | None = None
    inner_rows: int | None = None

    @property
    def bin_sample(self) -> NDArray[np.float64]:
        """The distinct rows that determine its bins."""
        sample = self.sample[:NODE_SAMPLE]
        return sample if self.inner_sample is None else np.unique(np.concatenate([sample, self.inner_sample]), axis=0)


@dataclass(frozen=True)
class FoundCut:
    """The cut of a node: its feature and threshold, and the rows that go left and their weight, in units."""

    feature: int
    threshold: float
    left_rows: int
    left_weight: int
    weight: int


class CutSearch:
    """The search for the cut of a node whose sums are known.

    Parameters
    ----------
    node : Node
    sample : ndarray of float64, shape (s, d)
        The rows that say what its bins are.
    sums : Added
        Of its bins, as `sum_bins` finds them.
    cost : float
        Its exact current cost.
    fixed : (scale, cap, reach)
        Of the sums, with the reach that the exact cost gives.
    explain_centers : ndarray of float64, shape (k, d)
        All of them.
    tradeoff : float
    """

    def __init__(
        self,
        node: Node,
        sample: NDArray[np.float64],
        sums: Added,
        cost: float,
        fixed: tuple[float, float, float],
        explain_centers: NDArray[np.float64],
        tradeoff: float,
    ) -> None:
        self.node, self.cost = node, cost
        self.tally = sums["tally"]
        self.weight = sums.arrays.get("weight")
        self.sample = sample
        self.d = explain_centers.shape[1]
        self.own_centers = np.ascontiguousarray(explain_centers[node.centers])
        table = np.concatenate([self.sample, self.own_centers])
        rows = np.arange(len(table), dtype=np.int32)
        some = np.ones(len(table))  # rows are distinct, and counted apart from their weights
        centers = self.own_centers, self.own_centers
        ranges = ranges_of(self.sample)
        self.scan = NodeScan(GrowthInput(table, table, rows, some, *centers, ranges, node.path_sides, self.sample))
        weight = np.ascontiguousarray(self.tally[:, :, 2]) if self.weight is None else self.weight
        self.scan.take_sums(self.tally, weight, sums["center step"], cost, fixed, tradeoff)
        self.bins: dict[int, NDArray[np.int32]] = {}
        self.repeated: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
        self.values: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
        self.doubtful = tuple(f for f in range(self.d) if self._is_doubtful(f))

    def _is_doubtful(self, feature: int) -> bool:
        """Whether a cut may have as many rows on each side as centers, but fewer distinct ones.

        The sample's rows are distinct, and so those on a side are at least as many.
        """
        n_sample, n_codes = len(self.sample), self.tally.shape[1]
        codes = self.scan.codes[feature]
        centers = np.sort(codes[n_sample:])
        low, high = int(centers[0]), int(centers[-1])
        at = np.arange(low, high)
        n_left = np.searchsorted(centers, at, side="right")
        n_right = len(centers) - n_left
        sampled = np.cumsum(np.bincount(codes[:n_sample], minlength=n_codes))
        counted = np.concatenate([[0], np.cumsum(self.tally[feature, :, 2])])  # before each code
        n_rows = counted[-1]
        left = (sampled[at] < n_left) & (counted[at + 2] >= n_left)
        right = (n_sample - sampled[at] < n_right) & (n_rows - counted[at] >= n_right)
        return bool((left | right).any())

    def take_ends(self, feature: int, ends: Ends) -> bool:
        """Count the rows of the outermost values as distinct; False if the node has few distinct rows."""
        counts = ends.repeated(len(self.node.centers))
        if counts is None:
            return False
        values, repeated = self.repeated[feature] = counts
        codes = np.clip(self._codes_of(feature, values), *self._outer_codes(feature))
        rows = self.tally[feature, :, 2] - np.bincount(codes, repeated, self.tally.shape[1]).astype(np.int64)
        self.scan.take_rows(feature, np.ascontiguousarray(rows))
        return True

    def _outer_codes(self, feature: int) -> tuple[int, int]:
        codes = self.scan.codes[feature, len(self.sample) :]
        return int(codes.min()), int(codes.max())

    def _codes_of(self, feature: int, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the bins of values of a feature."""
        if not len(values):
            return np.empty(0, dtype=np.int32)
        table = np.zeros((len(values), self.d))
        table[:, feature] = values
        rows = np.arange(len(values), dtype=np.int32)
        ranges = ranges_of(self.sample)
        codes = _kernel.encode(table, rows, self.own_centers, 1, ranges=ranges, sample=self.sample)[0]
        return np.asarray(codes[feature])

    def find_bins(self) -> int:
        """List the bins inside which the best cut may lie; return how many values of rows are in them."""
        features = range(self.d)
        lowest = min(self.scan.lowest(feature, False, math.inf) for feature in features)
        found = {feature: self.scan.bins_within(feature, lowest) for feature in features}
        self.bins = {feature: bins for feature, bins in found.items() if len(bins)}
        self.at_ends = lowest
        return sum(int(self.tally[feature, bins, 2].sum()) for feature, bins in self.bins.items())

    def take_values(self, feature: int, values: ValueSums) -> None:
        """Take the rows of the bins of a feature."""
        value, sums = self.values[feature] = values.whole()
        if feature in self.repeated:
            sums = sums.copy()
            sums[:, 2] -= values_of(value, *self.repeated[feature])
        self.scan.take_items(feature, value, sums)

    def lowest(self) -> float:
        """Return the lowest objective of all cuts, infinity if none is valid."""
        return min(self.scan.lowest(feature, True, self.at_ends) for feature in range(self.d))

    def cut(self, lowest: float) -> FoundCut:
        """Return the first of the best cuts."""
        feature, found = next((f, cut) for f in range(self.d) if (cut := self.scan.first_cut(f, lowest)) is not None)
        code, inside, value = found
        weights = self.tally[feature, :, 2] if self.weight is None else self.weight[feature]
        below = slice(0, code + (not inside))
        rows, weight = int(self.tally[feature, below, 2].sum()), int(weights[below].sum())
        if inside:
            values, sums = self.values[feature]
            among = (sums[:, 3] == code) & (values <= value)
            rows += int(sums[among, 2].sum())
            weight += int(sums[among, 1].sum())
        threshold = value if inside else self._last_value(feature, code)
        return FoundCut(feature, threshold, rows, weight, int(weights.sum()))

    def _last_value(self, feature: int, code: int) -> float:
        """Return the largest number whose bin is at most `code`: the cut at the end of a bin as a threshold."""
        coordinates = self.own_centers[:, feature]
        codes = self.scan.codes[feature, len(self.sample) :]
        low = _position(float(coordinates[codes <= code].max()))
        high = _position(float(coordinates[codes > code].min()))
        while high - low > 1:
            step = max(1, (high - low) // 1024)
            positions = [low, *range(low + step, high, step), high]
            values = np.array([_number(position) for position in positions])
            n_left = int((self._codes_of(feature, values) <= code).sum())
            low, high = positions[n_left - 1], positions[n_left]
        return _number(low)


def _position(value: float) -> int:
    """Return a whole number that is ordered like the floats."""
    bits = int(np.float64(value + 0.0).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def _number(position: int) -> float:
    """Return the float at a position."""
    value = float(np.int64(abs(position)).view(np.float64))
    return value if position >= 0 else -value
