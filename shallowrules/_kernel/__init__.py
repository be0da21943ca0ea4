"""The kernel's one Python entry: arrays in, arrays out. `README.md` is the map of the kernel."""

import shallowrules._kernel._openmp  # before the modules that use OpenMP
from shallowrules._kernel.exkmc.expansion import grow_exkmc
from shallowrules._kernel.growth.depth import eval_wad
from shallowrules._kernel.growth.parts import NodeRows, NodeScan, cost_of, fixed_point
from shallowrules._kernel.growth.tree import grow_imm, grow_tree
from shallowrules._kernel.growth.workspace import keeps_all_distances, openmp_enabled
from shallowrules._kernel.inputs import CodedRows, GrowthInput, Ranges, column_ranges
from shallowrules._kernel.refinement.data_tree import grow_data_tree
from shallowrules._kernel.refinement.improving import improve_tree
from shallowrules._kernel.refinement.lookahead import grow_ahead
from shallowrules._kernel.refinement.perturbing import perturb_tree
from shallowrules._kernel.refinement.unions import split_leaves
from shallowrules._kernel.shared.bin_counts import count_in_bins, place_rows, weigh_by_bits
from shallowrules._kernel.shared.binning import encode
from shallowrules._kernel.shared.equal_rows import deduplicate
from shallowrules._kernel.shared.group_sums import sums_of_parts
from shallowrules._kernel.shared.near_cuts import rows_near_cuts, weigh_near_cuts
from shallowrules._kernel.shared.nearest_rows import nearest_centers
from shallowrules._kernel.shared.routing import gaps_of_cuts, route_rows
from shallowrules._kernel.shared.row_keys import row_keys
from shallowrules._kernel.shared.seeding import draw_rows, sum_closest, without_centers
from shallowrules._kernel.shared.sum_of_squares import exact_squares
