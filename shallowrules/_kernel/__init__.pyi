from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel.inputs import CodedRows as CodedRows
from shallowrules._kernel.inputs import GrowthInput as GrowthInput
from shallowrules._kernel.inputs import Ranges as Ranges
from shallowrules._kernel.inputs import column_ranges as column_ranges

_Progress = Callable[[float], object] | None
_Nodes = dict[str, NDArray[Any]]

class NodeRows:
    def __init__(
        self,
        inputs: GrowthInput,
        weight_scale: float,
        fixed: tuple[float, float, float],
    ) -> None: ...
    def sums(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.int64]]: ...
    def rows_of_bins(self, feature: int, codes: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
    def center_costs(self) -> NDArray[np.int64]: ...

class NodeScan:
    codes: NDArray[np.int32]
    def __init__(self, inputs: GrowthInput) -> None: ...
    def take_sums(
        self,
        tally: NDArray[np.int64],
        weight: NDArray[np.int64] | None,
        center_step: NDArray[np.int64],
        cost: float,
        fixed: tuple[float, float, float],
        tradeoff: float,
    ) -> None: ...
    def take_rows(self, feature: int, rows: NDArray[np.int64]) -> None: ...
    def take_items(self, feature: int, values: NDArray[np.float64], sums: NDArray[np.int64]) -> None: ...
    def lowest(self, feature: int, inside: bool, limit: float) -> float: ...
    def bins_within(self, feature: int, limit: float) -> NDArray[np.int32]: ...
    def first_cut(self, feature: int, lowest: float) -> tuple[int, bool, float] | None: ...
    def is_within_reach(self, objective: float) -> bool: ...

def count_in_bins(
    columns: list[tuple[NDArray[Any], NDArray[np.float64], float, float, float]],
    groups: NDArray[np.int32],
    n_groups: int,
    n_threads: int = 1,
) -> list[NDArray[np.int64]]: ...
def deduplicate(
    X_explain: NDArray[Any],
    X_cluster: NDArray[Any],
    weight: NDArray[np.float64] | None,
    labels: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]: ...
def draw_rows(
    closest: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n: int,
    up_to: NDArray[np.float64],
    at: NDArray[np.float64],
    bound: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
def encode(
    X_explain: NDArray[Any],
    rows: NDArray[np.int32],
    explain_centers: NDArray[np.float64],
    n_threads: int,
    *,
    ranks: int = 0,
    ranges: Ranges | None = None,
    sample: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.uint16], NDArray[np.int32], int, NDArray[np.uint8], int]: ...
def cost_of(cost: NDArray[np.int64], scale: float) -> float: ...
def fixed_point(
    cluster_centers: NDArray[np.float64], cost: float, n_rows: float, total_weight: float, reach: float
) -> tuple[float, float, float]: ...
def eval_wad(n_centers: int, n_left: int, share_left: float) -> float: ...
def gaps_of_cuts(
    X_explain: NDArray[Any],
    feature: NDArray[np.int32],
    cut: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    labels: NDArray[np.int32],
    *,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def grow_tree(
    inputs: GrowthInput,
    tradeoff: float,
    *,
    n_threads: int = 1,
    progress: _Progress = None,
    kept_distances: int | None = None,
) -> _Nodes: ...
def grow_imm(
    inputs: GrowthInput,
    assigned: NDArray[np.int32],
    *,
    n_threads: int = 1,
    progress: _Progress = None,
) -> _Nodes: ...
def grow_exkmc(
    inputs: GrowthInput,
    n_leaves: int,
    *,
    assigned: NDArray[np.int32] | None = None,
    n_threads: int = 1,
    progress: _Progress = None,
) -> _Nodes: ...
def grow_ahead(
    inputs: GrowthInput,
    tradeoff: float,
    lookahead: tuple[int, int, float, float],
    *,
    cuts: tuple[int, int] = (0, 1),
    ranks: int = 256,
    n_threads: int = 1,
    progress: _Progress = None,
    kept_distances: int | None = None,
) -> _Nodes: ...
def grow_data_tree(
    values: NDArray[np.float64],
    points: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_leaves: int,
    max_passes: float,
) -> dict[str, NDArray[Any]] | None: ...
def improve_tree(
    inputs: CodedRows,
    tree: _Nodes,
    *,
    condition_penalty: float,
    max_passes: float,
    moves_leaves: bool,
    n_clusters: int = 0,
    n_threads: int = 1,
    progress: _Progress = None,
) -> dict[str, Any]: ...
def perturb_tree(
    inputs: CodedRows,
    tree: dict[str, NDArray[Any]],
    *,
    condition_penalty: float,
    max_passes: float,
    moves_leaves: bool,
    seed: int,
    settings: tuple[float, float, float],
    n_clusters: int = 0,
    n_trees: int = 1,
    progress: _Progress = None,
    goal: tuple[str, float, float, float] | None = None,
) -> list[dict[str, Any]]: ...
def split_leaves(
    inputs: CodedRows,
    tree: _Nodes,
    *,
    n_clusters: int,
    n_leaves: int,
    condition_penalty: float,
    progress: _Progress = None,
) -> list[dict[str, Any]]: ...
def row_keys(X: NDArray[Any], rows: NDArray[np.int32], n_threads: int = 1) -> NDArray[np.uint64]: ...
def keeps_all_distances(X_cluster: NDArray[Any], k: int) -> bool: ...
def nearest_centers(
    X_cluster: NDArray[Any],
    centers: NDArray[np.float64],
    rows: NDArray[np.int32] | None = None,
    *,
    distances: NDArray[np.float64] | None = None,
    n_threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]: ...
def openmp_enabled() -> bool: ...
def place_rows(
    values: NDArray[Any],
    groups: NDArray[np.int32],
    edges: NDArray[np.float64],
    up: float,
    down: float,
    first: float,
) -> NDArray[np.int32]: ...
def route_rows(
    X_explain: NDArray[Any],
    feature: NDArray[np.int32],
    cut: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    *,
    n_threads: int,
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]: ...
def rows_near_cuts(
    X: NDArray[Any],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    first_edge: NDArray[np.int64],
    edges: NDArray[np.float64],
    *,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]: ...
def sum_closest(
    X: NDArray[Any],
    centers: NDArray[np.float64],
    closest: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    *,
    keeps: bool,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def sums_of_parts(
    X: NDArray[Any],
    groups: NDArray[np.int32],
    n_groups: int,
    weight: NDArray[np.float64] | None,
    scale: NDArray[np.float64],
    rounder: NDArray[np.float64],
    n_threads: int,
    *,
    rounds_products: bool = False,
    rows: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]: ...
def exact_squares(
    X_cluster: NDArray[Any],
    labels: NDArray[np.int32],
    around: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_threads: int = 1,
    *,
    rounds_products: bool = False,
) -> int | None: ...
def weigh_by_bits(
    columns: list[tuple[NDArray[np.float64], int, int, int]],
    groups: NDArray[np.int32],
    n_groups: int,
    weight: NDArray[np.float64] | None = None,
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]: ...
def weigh_near_cuts(
    X: NDArray[Any],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    first_edge: NDArray[np.int64],
    edges: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    *,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
def without_centers(n_starts: int, n: int) -> NDArray[np.float64]: ...
