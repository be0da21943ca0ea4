"""A node of a table in parts: sums of its rows in one part, and the choice of its cut from all sums.

The sums are those of the kernel's exact sweeps, as integers that add up exactly in any order. Bins come from a sample,
so that they are the same in all parts.
"""

import numpy as np

from libc.math cimport INFINITY, ldexp
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.cut_scan cimport (
    ALL_CUTS, BIN_ENDS, FIRST_CUT, LIST_BINS, CutSearch, Goal, RowSource, by_value, gather_rows, scan_feature
)
from shallowrules._kernel.growth.cut_search cimport mark_path_sides
from shallowrules._kernel.growth.dense_sweep cimport AllFeatures, distance_to, sum_all_features, to_differences
from shallowrules._kernel.growth.fixed_point cimport (
    REST_BITS, ExactCost, FixedPoint, add_cost, set_cap, within_reach
)
from shallowrules._kernel.growth.objective cimport Objective, objective_of_feature, tie_limit
from shallowrules._kernel.growth.state cimport BLOCK, LANES, Cut, Item, Node, Scratch, State, Tally
from shallowrules._kernel.growth.workspace cimport Workspace
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.matrix cimport load_point


cdef FixedPoint _point_of(fixed) except *:
    cdef FixedPoint point
    point.scale, point.cap, point.reach = fixed
    return point


cdef class NodeRows(Workspace):
    """The rows of a node in one part.

    Parameters
    ----------
    inputs : GrowthInput
        The part's rows that are in the node, at least one; the node's centers; `sample` says the bins.
    weight_scale : float
        Units of weight, a power of two.
    fixed : tuple of float
        What `fixed_point` returns: scale, cap, reach.
    """

    cdef FixedPoint fixed

    def __init__(self, inputs, double weight_scale, fixed):
        Workspace.__init__(self, inputs, 1, n_threads=1, progress=None)
        self.allocate_scratches(True, True)
        self.state.table.weight_scale = weight_scale
        self.fixed = _point_of(fixed)

    def sums(self):
        """Return the sums of the rows.

        Returns
        -------
        tally : ndarray of int64, shape (d, n_codes, 3)
            Of each bin: step up, step down, rows.
        weight : ndarray of int64, shape (d, n_codes), or None
        center_step : ndarray of int64, shape (d, k)
        cost : ndarray of int64, shape (3,)
            Current cost: units, rest, whether it is above 0.
        """
        cdef State* state = &self.state
        cdef Scratch* scratch = self.scratches
        cdef Node* node = state.nodes
        cdef Py_ssize_t d = state.table.n_features, k = state.table.n_centers, f
        cdef ExactCost cost
        cdef AllFeatures all_features
        memset(&cost, 0, sizeof(ExactCost))
        keep = allocate([
            (<size_t>&all_features.units, BLOCK * k, np.int64),
            (<size_t>&all_features.sums, (d, k, LANES), np.int64),
            (<size_t>&all_features.own, BLOCK, np.int64),
        ])
        with nogil:
            sum_all_features(
                &state.table, &state.slots, &state.centers, node, &scratch.histograms, &scratch.rows,
                &scratch.dense, &self.fixed, &all_features, &cost,
            )
            for f in range(d):
                to_differences(&state.table, &state.centers, node, &scratch.histograms, f)
        del keep
        tally = np.empty((d, state.table.n_codes, 3), dtype=np.int64)
        memcpy(<void*><size_t>address_of(tally), scratch.histograms.tally, tally.nbytes)
        center_step = np.empty((d, k), dtype=np.int64)
        memcpy(<void*><size_t>address_of(center_step), scratch.histograms.center_step, center_step.nbytes)
        weights = None
        if state.table.weighted:
            weights = np.empty((d, state.table.n_codes), dtype=np.int64)
            memcpy(<void*><size_t>address_of(weights), scratch.histograms.weight, weights.nbytes)
        return tally, weights, center_step, np.array([cost.units, cost.rest, cost.positive], dtype=np.int64)

    def rows_of_bins(self, int feature, const int[::1] codes):
        """Return the rows in some bins of a feature, those of one value added up.

        Parameters
        ----------
        feature : int
        codes : ndarray of int32
            The bins, ascending, at least one.

        Returns
        -------
        value : ndarray of float64, ascending
        sums : ndarray of int64, shape (n_values, 4)
            What the rows add to the induced cost from their value on, their weight, their number, their code.
        """
        cdef State* state = &self.state
        cdef Scratch* scratch = self.scratches
        cdef RowSource rows = RowSource(&state.slots, &self.fixed, &scratch.rows, NULL, 0)
        cdef Py_ssize_t i, count, n_values = 0
        cdef const Item* items = scratch.scan.items
        with nogil:
            for i in range(codes.shape[0]):
                scratch.scan.opened[codes[i]] = 1
            count = gather_rows(&state.table, &state.centers, state.nodes, &rows, &scratch.scan, feature)
            for i in range(codes.shape[0]):
                scratch.scan.opened[codes[i]] = 0
        values_array, sums_array = np.empty(count), np.zeros((count, 4), dtype=np.int64)
        cdef double[::1] values = values_array
        cdef int64_t[:, ::1] sums = sums_array
        for i in range(count):
            if n_values == 0 or values[n_values - 1] != items[i].value:
                values[n_values] = items[i].value
                sums[n_values, 3] = items[i].code
                n_values += 1
            sums[n_values - 1, 0] += items[i].step
            sums[n_values - 1, 1] += items[i].weight
            sums[n_values - 1, 2] += 1
        return values_array[:n_values], sums_array[:n_values]

    def center_costs(self):
        """Return the cost of the rows with each center, ndarray of int64, shape (k, 2): units, rest."""
        cdef State* state = &self.state
        cdef Py_ssize_t k = state.table.n_centers, slot, c
        cdef double* point = self.scratches.rows.point
        cdef double weight
        cdef ExactCost cost
        costs_array = np.zeros((k, 2), dtype=np.int64)
        cdef int64_t[:, ::1] costs = costs_array
        with nogil:
            for slot in range(state.table.n_rows):
                load_point(&state.table.X_cluster, state.slots.row[slot], point)
                weight = 1.0 if state.slots.weight == NULL else state.slots.weight[slot]
                for c in range(k):
                    cost.units = cost.rest = 0
                    add_cost(&cost, weight * distance_to(&state.table, point, c), self.fixed.scale)
                    costs[c, 0] += cost.units
                    costs[c, 1] += cost.rest
        return costs_array


cdef class NodeScan(Workspace):
    """The choice of a node's cut from the sums of all parts.

    Parameters
    ----------
    inputs : GrowthInput
        A sample of the node's rows as its rows and as `sample`; its centers; `path_sides`; `weight` of any numbers if
        the rows have weights.
    """

    cdef FixedPoint fixed
    cdef Objective of_node
    cdef list _items

    def __init__(self, inputs):
        Workspace.__init__(self, inputs, 1, n_threads=1, progress=None)
        self.allocate_scratches(False)
        self.scratches.scan.capacity = <Py_ssize_t>1 << 62  # `take_items` makes room for all
        several_valued = np.zeros_like(self.single_valued)
        self.keep([several_valued])
        self.state.table.single_valued = <const unsigned char*><size_t>address_of(several_valued)
        self._items = [None] * self.state.table.n_features

    def take_sums(self, tally, weight, center_step, double cost, fixed, double tradeoff):
        """Take the sums of the parts, the exact cost, the fixed point that they have and the trade-off.

        The rows in `tally` are the distinct ones, as far as they matter for whether a cut is valid.
        """
        cdef State* state = &self.state
        cdef Scratch* scratch = self.scratches
        cdef Node* node = state.nodes
        memcpy(scratch.histograms.tally, <const void*><size_t>address_of(tally), tally.nbytes)
        memcpy(scratch.histograms.center_step, <const void*><size_t>address_of(center_step), center_step.nbytes)
        if weight is not None:
            memcpy(scratch.histograms.weight, <const void*><size_t>address_of(weight), weight.nbytes)
        memset(&self.of_node, 0, sizeof(Objective))
        self.of_node.cost, self.of_node.tradeoff = cost, tradeoff
        self.of_node.n_centers = state.table.n_centers
        self.of_node.total_weight = float((tally[0, :, 2] if weight is None else weight[0]).sum())
        self.fixed = _point_of(fixed)
        mark_path_sides(&state.table, state.nodes, 0, scratch.scan.path_sides)
        node.cost = cost

    def take_rows(self, int feature, const int64_t[::1] rows):
        """Take other numbers of distinct rows in the bins of a feature."""
        cdef Tally* tally = self.scratches.histograms.tally + feature * self.state.table.n_codes
        cdef Py_ssize_t code
        for code in range(rows.shape[0]):
            tally[code].rows = rows[code]

    def take_items(self, int feature, const double[::1] values, const int64_t[:, ::1] sums):
        """Take the rows of opened bins of a feature, by value, as `NodeRows.rows_of_bins` returns them."""
        cdef Py_ssize_t i, n = values.shape[0]
        items_array = np.zeros((n, sizeof(Item)), dtype=np.uint8)
        cdef Item* items = <Item*><size_t>address_of(items_array)
        for i in range(n):
            items[i].value = values[i]
            items[i].step, items[i].weight = sums[i, 0], sums[i, 1]
            items[i].rows, items[i].code = sums[i, 2], <int>sums[i, 3]
        qsort(items, n, sizeof(Item), by_value)
        self._items[feature] = items_array
        room = np.zeros((max(map(len, filter(lambda kept: kept is not None, self._items))) + 1, sizeof(Item)), np.uint8)
        self.keep([room])
        self.scratches.scan.items = <Item*><size_t>address_of(room)

    cdef bint _scan(self, int feature, Goal goal, double limit, Cut* cut) except *:
        cdef State* state = &self.state
        cdef Scratch* scratch = self.scratches
        cdef RowSource rows = RowSource(&state.slots, &self.fixed, &scratch.rows, NULL, 0)
        cdef Objective objective = objective_of_feature(
            &self.of_node, self.fixed.scale, scratch.scan.path_sides[feature]
        )
        cdef Item none
        items = self._items[feature]
        rows.items = &none if items is None else <const Item*><size_t>address_of(items)
        rows.n_items = 0 if items is None else len(items)
        cut.objective = INFINITY
        return scan_feature(
            &state.table, &state.centers, state.nodes, &scratch.histograms, &rows, &scratch.scan, &objective,
            CutSearch(feature, goal, limit), cut,
        )

    def lowest(self, int feature, bint inside, double limit):
        """Return the lowest objective of a feature's cuts, infinity if it is above `limit`.

        Cuts at the ends of bins, and if `inside`, those inside bins whose rows were taken.
        """
        cdef Cut cut
        self._set_rows(feature)
        self._scan(feature, ALL_CUTS if inside else BIN_ENDS, tie_limit(limit), &cut)
        return cut.objective

    cdef void _set_rows(self, int feature) noexcept:
        """Make the node as large as the feature's bins say."""
        cdef const Tally* tally = self.scratches.histograms.tally + feature * self.state.table.n_codes
        cdef Py_ssize_t code, rows = 0
        for code in range(self.state.table.n_codes):
            rows += tally[code].rows
        self.state.nodes.last = self.state.nodes.last_counted = rows

    def bins_within(self, int feature, double limit):
        """Return the bins of a feature inside which cuts may have objectives that tie with `limit`, as int32."""
        cdef Cut cut
        cdef int* opened = self.scratches.scan.opened
        self._set_rows(feature)
        self._scan(feature, LIST_BINS, tie_limit(limit), &cut)
        found = [code for code in range(self.state.table.n_codes) if opened[code]]
        memset(opened, 0, self.state.table.n_codes * sizeof(int))
        return np.array(found, dtype=np.int32)

    def first_cut(self, int feature, double lowest):
        """Return the first cut of a feature that ties with the lowest objective: code, inside, value; or None."""
        cdef Cut cut
        self._set_rows(feature)
        if not self._scan(feature, FIRST_CUT, tie_limit(lowest), &cut):
            return None
        return cut.code, bool(cut.inside), cut.value

    def is_within_reach(self, double objective):
        """Return whether a cut of this objective is so cheap that no row of it was capped."""
        return bool(within_reach(objective, &self.fixed))


def fixed_point(cluster_centers, double cost, double n_rows, double total_weight, double reach):
    """Return the fixed point for the sums of a node: scale, cap, reach.

    Parameters
    ----------
    cluster_centers : ndarray of float64, shape (k, m)
        The node's.
    cost : float
        At least its current cost, above 0.
    n_rows, total_weight : float
    reach : float
        Prices up to 1 + reach are exact.
    """
    cdef State state
    cdef Node node
    cdef FixedPoint fixed
    memset(&state, 0, sizeof(State))
    memset(&node, 0, sizeof(Node))
    cluster_centers = np.ascontiguousarray(cluster_centers, dtype=np.float64)
    order = np.arange(len(cluster_centers), dtype=np.int32)
    state.table.X_cluster.n_columns = cluster_centers.shape[1]
    state.table.cluster_centers = <const double*><size_t>address_of(cluster_centers)
    state.table.total_weight = total_weight
    state.centers.order = <int*><size_t>address_of(order)
    node.last, node.last_center, node.cost = <Py_ssize_t>n_rows, <int>len(order), cost
    fixed.reach = reach
    set_cap(&state.table, &state.centers, &node, reach * cost, &fixed)
    return fixed.scale, fixed.cap, fixed.reach


def cost_of(const int64_t[::1] cost, double scale):
    """Return an exact cost, units and rest, as a number."""
    return (<double>cost[0] + ldexp(<double>cost[1], -REST_BITS)) / scale
