"""The kernel's one Python entry: arrays in, arrays out."""

from shallowrules._kernel.binning import encode
from shallowrules._kernel.builder import grow_nodes, openmp_enabled
from shallowrules._kernel.depth import eval_wad
from shallowrules._kernel.matrix import column_ranges
from shallowrules._kernel.merging import distinct_rows
from shallowrules._kernel.neighbors import nearest_centers
from shallowrules._kernel.reoptimizing import reoptimize
from shallowrules._kernel.routing import route_rows
from shallowrules._kernel.spread import spread

__all__ = [
    "column_ranges",
    "distinct_rows",
    "encode",
    "eval_wad",
    "grow_nodes",
    "nearest_centers",
    "openmp_enabled",
    "reoptimize",
    "route_rows",
    "spread",
]
