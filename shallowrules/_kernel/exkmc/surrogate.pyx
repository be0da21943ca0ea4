"""The best cut of a leaf by surrogate cost: what ExKMC minimizes (Frost, Moshkovitz, Rashtchian, 2020).

The surrogate cost of a leaf is that of its rows with the one of all k reference centers that is cheapest for them. A
feature's rows are added up in bins, one vector of k costs for each. Prefix sums of the bins give the cost of the cuts
at their ends and bound those inside (`_surrogate_cost` alone defines the cost of a cut), and only bins
whose bound reaches the best are opened, row by row. Costs are integers, so that the sums do not depend on their order,
and a row costs at most `MAX_ROW_COST` times what the whole leaf does: a side that such a row makes expensive is never
best.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.cut_scan cimport by_value
from shallowrules._kernel.growth.fixed_point cimport BITS_OF_SUM, FixedPoint, in_units, power_for
from shallowrules._kernel.growth.objective cimport tie_limit
from shallowrules._kernel.growth.state cimport LANES, Cut, Item, Node, Slots, Table
from shallowrules._kernel.shared.lanes cimport sr_lane_distances
from shallowrules._kernel.shared.matrix cimport entry, load_block
from shallowrules._kernel.shared.threads cimport Share, share_of

cdef extern from "growth/dense_sweep.h" nogil:
    void sr_add(int64_t* to, const int64_t* from_, Py_ssize_t count) noexcept

cdef double MIN_GAIN = 1e-10        # of a leaf's cost: less is rounding
cdef double MAX_ROW_COST = 4.0      # leaf costs that one row may cost
cdef double MIN_SHARE_OF_ESTIMATE = 2.0 ** -10  # a leaf that costs less than this of the estimate gets finer units


cdef struct CutSearch:
    # What to look for among the cuts of a feature.
    int feature
    double limit            # costs above it do not count
    bint opens_bins
    bint stops_at_first


cdef void _measure(const Table* table, const int* rows, Py_ssize_t count, SurrogateScratch* scratch) noexcept nogil:
    """Write the distances of up to 16 rows to all centers to scratch.rows.lane_distance."""
    cdef int c
    for c in range(table.n_centers):
        scratch.rows.members[c] = c
    load_block(&table.X_cluster, rows, count, scratch.rows.lanes, LANES)
    sr_lane_distances(
        scratch.rows.lanes, table.X_cluster.n_columns, table.cluster_centers,
        scratch.rows.members, table.n_centers, scratch.rows.lane_distance,
    )


cdef double cheapest_cost(
    const Table* table, const Slots* slots, const Node* node, SurrogateScratch* scratch
) noexcept nogil:
    """Return the cost of a node's rows with the center that is cheapest for them, or a little more."""
    cdef Py_ssize_t begin = node.first, count, r, c, k = table.n_centers
    cdef double weight, least = INFINITY
    cdef double* total = scratch.cost_of
    memset(total, 0, k * sizeof(double))
    while begin < node.last:
        count = min(<Py_ssize_t>LANES, node.last - begin)
        _measure(table, slots.row + begin, count, scratch)
        for r in range(count):
            weight = 1.0 if slots.weight == NULL else slots.weight[begin + r]
            for c in range(k):
                total[c] += weight * scratch.rows.lane_distance[c * LANES + r]
        begin += count
    for c in range(k):
        least = min(least, total[c])
    return tie_limit(least)


cdef void _load_costs(
    const Table* table, const Slots* slots, const FixedPoint* fixed, SurrogateScratch* scratch, Py_ssize_t slot,
    Py_ssize_t count,
) noexcept nogil:
    """Write the costs of up to 16 slots with each center to scratch.center_costs."""
    cdef Py_ssize_t r, c, k = table.n_centers
    cdef double weight
    _measure(table, slots.row + slot, count, scratch)
    for r in range(count):
        weight = 1.0 if slots.weight == NULL else slots.weight[slot + r]
        for c in range(k):
            scratch.center_costs[r * k + c] = in_units(weight * scratch.rows.lane_distance[c * LANES + r], fixed)


cdef inline void _add_to_bin(
    const Table* table, SurrogateScratch* scratch, Py_ssize_t place, const int64_t* costs, int rows
) noexcept nogil:
    """Add costs to a bin; an empty one holds whatever was there before."""
    cdef Py_ssize_t k = table.n_centers
    if scratch.bin_rows[place] == 0:
        memcpy(scratch.bin_costs + place * k, costs, k * sizeof(int64_t))
    else:
        sr_add(scratch.bin_costs + place * k, costs, k)
    scratch.bin_rows[place] += rows


cdef void _fill_bins(
    const Table* table, const Slots* slots, const CoarseBins* bins, const FixedPoint* fixed, SurrogateScratch* scratch,
    Share share,
) noexcept nogil:
    """Add some slots to the bins of all features."""
    cdef Py_ssize_t begin = share.first, count, r, f, k = table.n_centers
    cdef const uint16_t* codes
    cdef const int* bin_of
    memset(scratch.bin_rows, 0, table.n_features * bins.n_bins * sizeof(int))
    while begin < share.last:
        count = min(<Py_ssize_t>LANES, share.last - begin)
        _load_costs(table, slots, fixed, scratch, begin, count)
        for f in range(table.n_features):
            codes = slots.codes + f * table.n_rows + begin
            bin_of = bins.bin_of + f * table.n_codes
            for r in range(count):
                _add_to_bin(table, scratch, f * bins.n_bins + bin_of[codes[r]], scratch.center_costs + r * k, 1)
        begin += count


cdef void _merge_bins(
    const Table* table, const CoarseBins* bins, SurrogateScratch* scratches, int n_threads, Py_ssize_t feature
) noexcept nogil:
    """Add the other threads' bins of a feature to those of the first."""
    cdef Py_ssize_t place
    cdef int t
    for t in range(1, n_threads):
        for place in range(feature * bins.n_bins, (feature + 1) * bins.n_bins):
            if scratches[t].bin_rows[place]:
                _add_to_bin(
                    table, scratches, place, scratches[t].bin_costs + place * table.n_centers,
                    scratches[t].bin_rows[place],
                )


cdef inline int64_t _surrogate_cost(
    const int64_t* left, const int64_t* all_costs, const int64_t* inside, int k
) noexcept nogil:
    """Return the cost of the left side with its cheapest center, plus that of the right side with its own.

    inside: NULL, or the costs of rows that are on neither side yet. Then this is a lower bound on all cuts among them.
    """
    cdef int64_t least_left = left[0], least_right = all_costs[0] - left[0] - (inside[0] if inside != NULL else 0)
    cdef int c
    if inside == NULL:
        for c in range(1, k):
            least_left = min(least_left, left[c])
            least_right = min(least_right, all_costs[c] - left[c])
    else:
        for c in range(1, k):
            least_left = min(least_left, left[c])
            least_right = min(least_right, all_costs[c] - left[c] - inside[c])
    return least_left + least_right


cdef bint _open_bin(
    const Table* table, const Slots* slots, const int* bin_of, const Node* node, const FixedPoint* fixed,
    SurrogateScratch* scratch, const int64_t* all_costs, int bin, const CutSearch* search, Cut* best,
) noexcept nogil:
    """Evaluate the cuts inside a bin, scratch.left_costs being the costs before it; True if one ends the search.

    bin_of: [n_codes], of the feature.
    """
    cdef int feature = search.feature
    cdef const uint16_t* codes = slots.codes + feature * table.n_rows
    cdef Py_ssize_t slot, count = 0, i, k = table.n_centers
    cdef Item* items = scratch.items
    cdef double objective
    for slot in range(node.first, node.last):
        if bin_of[codes[slot]] == bin:
            items[count].code = codes[slot]
            items[count].value = entry(&table.X_explain, slots.row[slot], feature)
            items[count].step = slot
            count += 1
    qsort(items, count, sizeof(Item), by_value)
    memcpy(scratch.inside_costs, scratch.left_costs, k * sizeof(int64_t))
    for i in range(count - 1):
        _load_costs(table, slots, fixed, scratch, items[i].step, 1)
        sr_add(scratch.inside_costs, scratch.center_costs, k)
        if items[i].value == items[i + 1].value:
            continue
        objective = <double>_surrogate_cost(scratch.inside_costs, all_costs, NULL, table.n_centers)
        if objective < best.objective and objective <= search.limit:
            best.objective = objective
            best.code = items[i].code
            best.inside = True
            best.value = items[i].value
            if search.stops_at_first:
                return True
    return False


cdef void _scan_feature(
    const Table* table, const Slots* slots, const CoarseBins* bins, const Node* node, const FixedPoint* fixed,
    SurrogateScratch* scratch, const SurrogateScratch* sums, const CutSearch* search, Cut* best,
) noexcept nogil:
    """Find the cheapest cut of a feature within the limit, or the first."""
    cdef const int* bin_of = bins.bin_of + <Py_ssize_t>search.feature * table.n_codes
    cdef Py_ssize_t k = table.n_centers, n = node.last - node.first, rows_left = 0, place, base
    cdef int bin, code
    cdef double objective
    cdef const int64_t* costs
    base = <Py_ssize_t>search.feature * bins.n_bins
    best.feature = search.feature
    memset(scratch.left_costs, 0, k * sizeof(int64_t))
    for bin in range(bins.n_bins):
        place = base + bin
        if sums.bin_rows[place] == 0:
            continue
        costs = sums.bin_costs + place * k
        if search.opens_bins and sums.bin_rows[place] > 1 and not bins.single_valued[place]:
            objective = <double>_surrogate_cost(scratch.left_costs, sums.all_costs, costs, table.n_centers)
            if objective <= min(search.limit, tie_limit(best.objective)) and _open_bin(
                table, slots, bin_of, node, fixed, scratch, sums.all_costs, bin, search, best
            ):
                return
        sr_add(scratch.left_costs, costs, k)
        rows_left += sums.bin_rows[place]
        if rows_left == n:
            break
        objective = <double>_surrogate_cost(scratch.left_costs, sums.all_costs, NULL, table.n_centers)
        if objective < best.objective and objective <= search.limit:
            code = table.n_codes - 1
            while bin_of[code] > bin:
                code -= 1
            best.objective = objective
            best.code = code
            best.inside = False
            if search.stops_at_first:
                return


cdef void _scan_features(
    const Table* table, const Slots* slots, const CoarseBins* bins, const Node* node, const FixedPoint* fixed,
    SurrogateScratch* scratches, int n_threads, int part, CutSearch search,
) noexcept nogil:
    """Find the lowest cost of every n_threads-th feature, and note which features were searched."""
    cdef int f = part
    cdef Cut cut
    while f < table.n_features:
        cut.objective = INFINITY
        if not search.opens_bins and f > 0:
            _merge_bins(table, bins, scratches, n_threads, f)
        search.feature = f
        _scan_feature(table, slots, bins, node, fixed, &scratches[part], scratches, &search, &cut)
        scratches.best[f] = min(scratches.best[f], cut.objective) if search.opens_bins else cut.objective
        f += n_threads


cdef double _lowest(int n_features, const double* best) noexcept nogil:
    cdef double lowest = INFINITY
    cdef int f
    for f in range(n_features):
        lowest = min(lowest, best[f])
    return lowest


cdef void _sum_leaf(
    const Table* table, const Slots* slots, const CoarseBins* bins, const Node* node, const FixedPoint* fixed,
    SurrogateScratch* scratches, int n_threads,
) noexcept nogil:
    """Add up the costs of a leaf's rows in the bins of all features, and those of all rows."""
    cdef Py_ssize_t place, k = table.n_centers
    cdef int t
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _fill_bins(table, slots, bins, fixed, &scratches[t], share_of(node.first, node.last, t, n_threads))
    _merge_bins(table, bins, scratches, n_threads, 0)
    memset(scratches.all_costs, 0, k * sizeof(int64_t))
    for place in range(bins.n_bins):
        if scratches.bin_rows[place]:
            sr_add(scratches.all_costs, scratches.bin_costs + place * k, k)


cdef void plan_cut(
    const Table* table, const Slots* slots, const CoarseBins* bins, Node* node, SurrogateScratch* scratches,
    int n_threads, double cost, bint keeps_center,
) noexcept nogil:
    """Set a leaf's center, the cheapest unless it keeps its own, and plan its best cut.

    cost: an upper bound of the leaf's cost with its cheapest center.
    """
    cdef Py_ssize_t n = node.last - node.first, k = table.n_centers, c
    cdef FixedPoint fixed
    cdef int t, f, pass_
    cdef double lowest = INFINITY
    cdef int64_t least
    cdef CutSearch search
    node.gain = 0.0
    fixed.scale = 1.0
    fixed.cap = 2.0 ** (BITS_OF_SUM - 1) / <double>n
    if cost > 0.0:
        fixed.scale = power_for(<double>n * MAX_ROW_COST * cost, BITS_OF_SUM)
        fixed.cap = MAX_ROW_COST * cost * fixed.scale
    _sum_leaf(table, slots, bins, node, &fixed, scratches, n_threads)
    least = scratches.all_costs[0]
    for c in range(k):
        least = min(least, scratches.all_costs[c])
    node.cost = <double>least / fixed.scale
    if 0.0 < node.cost < cost * MIN_SHARE_OF_ESTIMATE:  # the units were made for a leaf that costs far more
        plan_cut(table, slots, bins, node, scratches, n_threads, node.cost, keeps_center)
        return
    if not keeps_center:
        for c in range(k):
            if scratches.all_costs[c] == least:
                node.center = <int>c
                break
    if least == 0:
        return
    search.stops_at_first = False
    for pass_ in range(2):
        search.opens_bins = pass_ == 1
        search.limit = tie_limit(lowest)
        for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            _scan_features(table, slots, bins, node, &fixed, scratches, n_threads, t, search)
        lowest = _lowest(table.n_features, scratches.best)
    if lowest == INFINITY:
        return
    search.stops_at_first = True
    search.limit = tie_limit(lowest)
    for f in range(table.n_features):
        if scratches.best[f] <= search.limit:
            node.planned_cut.objective = INFINITY
            search.feature = f
            _scan_feature(table, slots, bins, node, &fixed, scratches, scratches, &search, &node.planned_cut)
            break
    node.planned_cut.objective /= fixed.scale
    node.gain = (<double>least - lowest) / fixed.scale  # of the lowest; the first that ties with it is planned
    if node.gain <= MIN_GAIN * node.cost:
        node.gain = 0.0
