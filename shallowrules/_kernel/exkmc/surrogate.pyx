"""The best cut of a leaf by surrogate cost: what ExKMC minimises (Frost, Moshkovitz, Rashtchian, 2020).

The surrogate cost of a leaf is that of its rows with the one of all k reference centers that is cheapest for
them. A feature's rows are added up in bins, one vector of k costs for each; prefix sums of the bins price the
cuts at their ends and bound those inside, and only bins whose bound reaches the best are looked into, row by
row. Costs are integers, so that the sums do not depend on their order, and a row costs at most a few times
what the whole leaf does: a side that such a row makes dear is never the best.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.cut_scan cimport by_value, power_for
from shallowrules._kernel.growth.histograms cimport in_units
from shallowrules._kernel.shared.matrix cimport entry, load_block
from shallowrules._kernel.growth.state cimport BITS_OF_SUM, LANES, Cut, FixedPoint, Item, Node, Scratch, State

cdef extern from "shared/lanes.h" nogil:
    void sr_lane_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        Py_ssize_t n_centers, double* out) noexcept

cdef extern from "growth/dense_sweep.h" nogil:
    void sr_add(int instructions, int64_t* to, const int64_t* from_, Py_ssize_t count) noexcept

cdef double TIE = 1e-9
cdef double NOISE = 1e-10   # of a leaf's cost: a gain of no more is rounding
cdef double REACH = 4.0     # leaf costs that one row may cost
cdef double MUCH_LESS = 2.0 ** -10


cdef void _measure(const State* state, const int* rows, Py_ssize_t count, Scratch* scratch) noexcept nogil:
    """Write the distances of up to 16 rows to all centers to scratch.lane_distance."""
    cdef int c
    for c in range(state.n_centers):
        scratch.members[c] = c
    load_block(&state.clustered, rows, count, scratch.lanes, LANES)
    sr_lane_distances(
        state.instructions, scratch.lanes, state.clustered.n_columns, state.centers, scratch.members,
        state.n_centers, scratch.lane_distance,
    )


cdef double cheapest_cost(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Return the cost of a node's rows with the center that is cheapest for them, or a little more."""
    cdef Py_ssize_t begin = node.first, count, r, c, k = state.n_centers
    cdef double weight, least = INFINITY
    cdef double* total = scratch.cost_of
    memset(total, 0, k * sizeof(double))
    while begin < node.last:
        count = min(<Py_ssize_t>LANES, node.last - begin)
        _measure(state, state.row + begin, count, scratch)
        for r in range(count):
            weight = 1.0 if state.weight == NULL else state.weight[begin + r]
            for c in range(k):
                total[c] += weight * scratch.lane_distance[c * LANES + r]
        begin += count
    for c in range(k):
        least = min(least, total[c])
    return least * (1.0 + TIE)


cdef void _load_costs(
    const State* state, const FixedPoint* fixed, Scratch* scratch, Py_ssize_t slot, Py_ssize_t count
) noexcept nogil:
    """Write what up to 16 slots cost with each center to scratch.center_costs."""
    cdef Py_ssize_t r, c, k = state.n_centers
    cdef double weight
    _measure(state, state.row + slot, count, scratch)
    for r in range(count):
        weight = 1.0 if state.weight == NULL else state.weight[slot + r]
        for c in range(k):
            scratch.center_costs[r * k + c] = in_units(weight * scratch.lane_distance[c * LANES + r], fixed)


cdef inline void _add_to_bin(
    const State* state, Scratch* scratch, Py_ssize_t place, const int64_t* costs, int rows
) noexcept nogil:
    """Add costs to a bin; an empty one holds whatever was there before."""
    cdef Py_ssize_t k = state.n_centers
    if scratch.bin_rows[place] == 0:
        memcpy(scratch.bin_costs + place * k, costs, k * sizeof(int64_t))
    else:
        sr_add(state.instructions, scratch.bin_costs + place * k, costs, k)
    scratch.bin_rows[place] += rows


cdef void _fill_bins(
    const State* state, const FixedPoint* fixed, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add slots first .. last - 1 to the bins of all features."""
    cdef Py_ssize_t begin = first, count, r, f, k = state.n_centers
    cdef const int* codes
    cdef const int* bin_of
    memset(scratch.bin_rows, 0, state.n_features * state.n_bins * sizeof(int))
    while begin < last:
        count = min(<Py_ssize_t>LANES, last - begin)
        _load_costs(state, fixed, scratch, begin, count)
        for f in range(state.n_features):
            codes = state.codes + f * state.n_rows + begin
            bin_of = state.bin_of + f * state.n_codes
            for r in range(count):
                _add_to_bin(state, scratch, f * state.n_bins + bin_of[codes[r]], scratch.center_costs + r * k, 1)
        begin += count


cdef void _merge_bins(const State* state, Scratch* scratches, int n_threads, Py_ssize_t feature) noexcept nogil:
    """Add the other threads' bins of a feature to those of the first."""
    cdef Py_ssize_t place
    cdef int t
    for t in range(1, n_threads):
        for place in range(feature * state.n_bins, (feature + 1) * state.n_bins):
            if scratches[t].bin_rows[place]:
                _add_to_bin(
                    state, scratches, place, scratches[t].bin_costs + place * state.n_centers,
                    scratches[t].bin_rows[place],
                )


cdef inline int64_t _price(const int64_t* left, const int64_t* all_costs, const int64_t* inside, int k) noexcept nogil:
    """Return the cheapest center's cost on the left, plus that of what is neither left nor inside; `inside` or NULL."""
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


cdef bint _open(
    const State* state, const Node* node, const FixedPoint* fixed, Scratch* scratch, const int64_t* all_costs,
    int feature, int bin, double limit, bint stop_at_first, Cut* best,
) noexcept nogil:
    """Price the cuts inside a bin, scratch.left_costs being what lies before it; True if one ends the search."""
    cdef const int* codes = state.codes + feature * state.n_rows
    cdef const int* bin_of = state.bin_of + feature * state.n_codes
    cdef Py_ssize_t slot, count = 0, i, k = state.n_centers
    cdef Item* items = scratch.items
    cdef double objective
    for slot in range(node.first, node.last):
        if bin_of[codes[slot]] == bin:
            items[count].code = codes[slot]
            items[count].value = entry(&state.explained, state.row[slot], feature)
            items[count].event = slot
            count += 1
    qsort(items, count, sizeof(Item), by_value)
    memcpy(scratch.inside_costs, scratch.left_costs, k * sizeof(int64_t))
    for i in range(count - 1):
        _load_costs(state, fixed, scratch, items[i].event, 1)
        sr_add(state.instructions, scratch.inside_costs, scratch.center_costs, k)
        if items[i].value == items[i + 1].value:
            continue
        objective = <double>_price(scratch.inside_costs, all_costs, NULL, state.n_centers)
        if objective < best.objective and objective <= limit:
            best.objective = objective
            best.code = items[i].code
            best.inside = True
            best.value = items[i].value
            if stop_at_first:
                return True
    return False


cdef bint _examine(
    const State* state, const Node* node, const FixedPoint* fixed, Scratch* scratch, const Scratch* sums,
    int feature, double limit, bint open_bins, bint stop_at_first, Cut* best,
) noexcept nogil:
    """Find the lowest cut of a feature within a limit, or the first; True if the first was asked for and found."""
    cdef Py_ssize_t k = state.n_centers, n = node.last - node.first, rows_left = 0, place, base
    cdef int bin, code
    cdef double objective
    cdef const int64_t* costs
    base = <Py_ssize_t>feature * state.n_bins
    memset(scratch.left_costs, 0, k * sizeof(int64_t))
    for bin in range(state.n_bins):
        place = base + bin
        if sums.bin_rows[place] == 0:
            continue
        costs = sums.bin_costs + place * k
        if open_bins and sums.bin_rows[place] > 1 and not state.single_bin[place]:
            objective = <double>_price(scratch.left_costs, sums.all_costs, costs, state.n_centers)
            if objective <= min(limit, best.objective * (1.0 + TIE)) and _open(
                state, node, fixed, scratch, sums.all_costs, feature, bin, limit, stop_at_first, best
            ):
                return True
        sr_add(state.instructions, scratch.left_costs, costs, k)
        rows_left += sums.bin_rows[place]
        if rows_left == n:
            break
        objective = <double>_price(scratch.left_costs, sums.all_costs, NULL, state.n_centers)
        if objective < best.objective and objective <= limit:
            code = state.n_codes - 1
            while state.bin_of[feature * state.n_codes + code] > bin:
                code -= 1
            best.objective = objective
            best.code = code
            best.inside = False
            if stop_at_first:
                return True
    return False


cdef void _examine_part(
    const State* state, const Node* node, const FixedPoint* fixed, Scratch* scratches, int n_threads, int part,
    bint open_bins, double limit,
) noexcept nogil:
    cdef int f = part
    cdef Cut cut
    while f < state.n_features:
        cut.objective = INFINITY
        if not open_bins and f > 0:
            _merge_bins(state, scratches, n_threads, f)
        _examine(
            state, node, fixed, &scratches[part], scratches, f, limit * (1.0 + TIE), open_bins, False, &cut
        )
        scratches.best[f] = min(scratches.best[f], cut.objective) if open_bins else cut.objective
        f += n_threads


cdef double _lowest(const State* state, const Scratch* scratch) noexcept nogil:
    cdef double lowest = INFINITY
    cdef int f
    for f in range(state.n_features):
        lowest = min(lowest, scratch.best[f])
    return lowest


cdef void price_leaf(
    State* state, Node* node, Scratch* scratches, int n_threads, double cost, bint keeps_center
) noexcept nogil:
    """Set a leaf's center, the cheapest unless it keeps its own, and find its best cut.

    `cost`: what the leaf costs at most with its cheapest center.
    """
    cdef Py_ssize_t n = node.last - node.first, place, k = state.n_centers, c
    cdef FixedPoint fixed
    cdef int t, f
    cdef double lowest
    cdef int64_t least
    node.gain = 0.0
    fixed.scale = 1.0
    fixed.cap = 2.0 ** (BITS_OF_SUM - 1) / <double>n
    if cost > 0.0:
        fixed.scale = power_for(<double>n * REACH * cost, BITS_OF_SUM)
        fixed.cap = REACH * cost * fixed.scale
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _fill_bins(
            state, &fixed, &scratches[t], node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads
        )
    _merge_bins(state, scratches, n_threads, 0)
    memset(scratches.all_costs, 0, k * sizeof(int64_t))
    for place in range(state.n_bins):
        if scratches.bin_rows[place]:
            sr_add(state.instructions, scratches.all_costs, scratches.bin_costs + place * k, k)
    least = scratches.all_costs[0]
    for c in range(k):
        least = min(least, scratches.all_costs[c])
    node.cost = <double>least / fixed.scale
    if 0.0 < node.cost < cost * MUCH_LESS:  # the units were made for a leaf that costs far more
        price_leaf(state, node, scratches, n_threads, node.cost, keeps_center)
        return
    if not keeps_center:
        for c in range(k):
            if scratches.all_costs[c] == least:
                node.center = <int>c
                break
    if least == 0:
        return
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _examine_part(state, node, &fixed, scratches, n_threads, t, False, INFINITY)
    lowest = _lowest(state, scratches)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _examine_part(state, node, &fixed, scratches, n_threads, t, True, lowest)
    lowest = _lowest(state, scratches)
    if lowest == INFINITY:
        return
    for f in range(state.n_features):
        if scratches.best[f] <= lowest * (1.0 + TIE):
            node.offer.objective = INFINITY
            node.offered = f
            _examine(state, node, &fixed, scratches, scratches, f, lowest * (1.0 + TIE), True, True, &node.offer)
            break
    node.offer.objective /= fixed.scale
    node.gain = (<double>least - lowest) / fixed.scale  # of the lowest; the first that ties with it is offered
    if node.gain <= NOISE * node.cost:
        node.gain = 0.0
