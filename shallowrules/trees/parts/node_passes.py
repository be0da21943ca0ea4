"""Passes over the rows of nodes: the rows of each node in a part, and the facts found about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules._kernel import GrowthInput, Ranges
from shallowrules.encoding.rows import Encode, Rows
from shallowrules.partitions.merging import Added, ByKey
from shallowrules.trees.parts.node_sums import Collected, KeySample, Totals, ValueSums, ends_of

__all__ = [
    "NodeRequest",
    "Request",
    "Route",
    "collect_part",
    "collect_rows",
    "find_ends",
    "find_totals",
    "ranges_of",
    "sample_bins",
    "sum_bins",
    "sum_center_costs",
    "sum_values",
]


@dataclass(frozen=True, eq=False)
class Route:
    """The cuts so far, which determine the node of each row."""

    feature: NDArray[np.int32]
    cut: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    def rows_at(self, X_explain: NDArray[Any], places: Sequence[int]) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield the rows of a part that are in each of some leaves, where there are any."""
        reached = _kernel.route_rows(X_explain, self.feature, self.cut, self.left, self.right, n_threads=1)
        number = np.full(len(self.feature), -1, dtype=np.int16 if len(places) < 2**15 else np.int32)
        number[list(places)] = np.arange(len(places))
        numbers = number[reached]
        order = np.argsort(numbers, kind="stable").astype(np.int32)
        begins = np.searchsorted(numbers[order], np.arange(len(places) + 1))
        for place, begin, end in zip(places, begins[:-1], begins[1:], strict=True):
            if end > begin:
                yield place, order[begin:end]


@dataclass(frozen=True, eq=False)
class NodeRequest:
    """The facts about a node that a pass needs.

    Parameters
    ----------
    centers : ndarray of int
        The node's.
    sample : ndarray of float64, shape (s, d)
        Rows that say what its bins are.
    fixed : (scale, cap, reach)
        The fixed point of its sums.
    bins : dict from int to ndarray of int32
        By feature, for `sum_values` and `sample_bins`.
    features : tuple of int
        For `find_ends`.
    distinct : bool
        For `collect_rows`: whether equal rows are to be one.
    """

    centers: NDArray[np.intp]
    sample: NDArray[np.float64]
    fixed: tuple[float, float, float]
    bins: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    features: tuple[int, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, eq=False)
class Request:
    """The facts that a pass should find about some nodes, by their places in the route."""

    encode: Encode
    route: Route
    nodes: Mapping[int, NodeRequest]
    weight_scale: float
    explain_centers: NDArray[np.float64]
    cluster_centers: NDArray[np.float64]

    def node_rows(self, rows: Rows) -> Iterator[tuple[int, _kernel.NodeRows]]:
        """Yield the kernel's rows of each node that has some in a part."""
        for place, chosen in self.route.rows_at(rows.X_explain, list(self.nodes)):
            node = self.nodes[place]
            inputs = GrowthInput(
                rows.X_explain,
                rows.X_cluster,
                np.ascontiguousarray(chosen),
                None if rows.weight is None else rows.weight[chosen],
                np.ascontiguousarray(self.explain_centers[node.centers]),
                np.ascontiguousarray(self.cluster_centers[node.centers]),
                ranges_of(node.sample),
                None,
                node.sample,
            )
            yield place, _kernel.NodeRows(inputs, self.weight_scale, node.fixed)


def ranges_of(sample: NDArray[np.float64]) -> Ranges:
    """Return the ranges of a sample, which its bins span."""
    return Ranges(sample.min(axis=0), sample.max(axis=0))


def find_totals(part: Any, state: tuple[Encode, NDArray[np.float64], int, np.uint64]) -> Totals:
    """Return the totals of a table, which growing a tree needs first; the state is the arguments of `Totals.of`."""
    encode, cluster_centers, n_sample, max_key = state
    return Totals.of(encode(part), cluster_centers, n_sample, max_key)


def sum_bins(part: Any, request: Request) -> ByKey:
    """Return by node the contribution of its rows to the cuts of each bin, as `Added` of `NodeRows.sums`."""
    names = "tally", "weight", "center step", "cost"
    return ByKey(
        {
            place: Added({name: sums for name, sums in zip(names, node.sums(), strict=True) if sums is not None})
            for place, node in request.node_rows(request.encode(part))
        }
    )


def sum_values(part: Any, request: Request) -> ByKey:
    """Return by node and feature the `ValueSums` of the bins asked for."""
    return ByKey(
        {
            (place, feature): ValueSums((node.rows_of_bins(feature, bins),))
            for place, node in request.node_rows(request.encode(part))
            for feature, bins in request.nodes[place].bins.items()
        }
    )


def sample_bins(part: Any, state: tuple[Request, int]) -> ByKey:
    """Return by node a `KeySample` of its rows in the bins asked for; the state is the request and the maximum size."""
    request, n_most = state
    rows = request.encode(part)
    found = {}
    for place, chosen in request.route.rows_at(rows.X_explain, list(request.nodes)):
        node = request.nodes[place]
        own = np.ascontiguousarray(request.explain_centers[node.centers])
        chosen = np.ascontiguousarray(chosen)
        codes = _kernel.encode(rows.X_explain, chosen, own, 1, ranges=ranges_of(node.sample), sample=node.sample)[0]
        inside = np.zeros(len(chosen), dtype=bool)
        for feature, bins in node.bins.items():
            inside |= np.isin(codes[feature], bins)
        found[place] = KeySample.of(rows.X_explain, chosen[inside], n_most)
    return ByKey(found)


def sum_center_costs(part: Any, request: Request) -> ByKey:
    """Return by node the cost of its rows with each of its centers."""
    found = request.node_rows(request.encode(part))
    return ByKey({place: Added({"costs": node.center_costs()}) for place, node in found})


def find_ends(part: Any, request: Request) -> ByKey:
    """Return by node and feature its outermost distinct rows, as `Ends`."""
    rows = request.encode(part)
    found: dict[Any, Any] = {}
    for place, chosen in request.route.rows_at(rows.X_explain, list(request.nodes)):
        keys = _kernel.row_keys(rows.X_explain, chosen), _kernel.row_keys(rows.X_cluster, chosen)
        for feature in request.nodes[place].features:
            values = rows.X_explain[chosen, feature].astype(np.float64) + 0.0
            found[place, feature] = ends_of(values, *keys, len(request.nodes[place].centers))
    return ByKey(found)


def collect_part(part: Any, encode: Encode) -> Collected:
    """Return all rows of a part."""
    return Collected((encode(part).only_rows(),), distinct=False)


def collect_rows(part: Any, request: Request) -> ByKey:
    """Return by node all its rows, as `Collected`."""
    rows = request.encode(part)
    return ByKey(
        {
            place: Collected.of(rows, chosen, request.nodes[place].distinct)
            for place, chosen in request.route.rows_at(rows.X_explain, list(request.nodes))
        }
    )
