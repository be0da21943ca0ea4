"""The induced cost of all cuts at a node of few centers, in two sweeps.

The first bounds it from below for all features, in 32-bit integers, many rows at once (`dense_sweep.h`).
Mostly that is enough to choose a cut (`cut_search._settle`). If not, the second adds it up exactly, in 64
bits, for the features whose bound leaves room for the lowest objective. Nothing is kept by row between
nodes: distances are taken anew, which costs less than lists of nearest centers would to keep, and lets a
node be cut in several ways.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from shallowrules._kernel.growth.histograms cimport clear_feature, clear_histograms, in_units
from shallowrules._kernel.shared.matrix cimport ask_ahead, load_block, load_point
from shallowrules._kernel.growth.nearest_lists cimport distance_to, list_members
from shallowrules._kernel.growth.state cimport (
    BLOCK, LANES, FixedPoint, Node, Scratch, State, Tally, chunk_place
)
from shallowrules._kernel.shared.threads cimport CHUNK


cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef extern from "shared/lanes.h" nogil:
    void sr_lane_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        Py_ssize_t n_centers, double* out) noexcept

cdef extern from "growth/dense_sweep.h" nogil:
    void sr_dense_units(
        int instructions, const double* distances, Py_ssize_t n_centers, const double* weight, double scale,
        int* units, double* first, int* largest) noexcept
    void sr_dense_exact_units(
        int instructions, const double* distances, Py_ssize_t n_centers, const double* weight, double scale, double cap,
        int64_t* units) noexcept
    void sr_dense_places(const int* codes, Py_ssize_t count, int low, int high, int* place) noexcept
    void sr_dense_sweep(
        int instructions, const int* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int* place, int* sums, int* own) noexcept
    void sr_dense_exact(
        int instructions, const int64_t* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int* place, int64_t* sums, int64_t* own) noexcept
    void sr_dense_tally(const int* place, const int* own, Py_ssize_t count, Tally* tally) noexcept
    const int UNIT_CAP "SR_UNIT_CAP"

cdef enum:
    SAMPLED = 8             # groups of rows that tell the scale of a node's distances
    SWEPT = 7               # blocks whose units fit in 32 bits together: 112 groups

cdef double FAR = 64.0          # mean distances to the nearest center that one row may add, in a bound,
cdef double FARTHEST = 1024.0   # and that it may add at most, where some row seems to need more


cdef void _measure(
    const State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t end, int n_members, Scratch* scratch
) noexcept nogil:
    """Write the distances of up to 16 slots to the node's centers to scratch.lane_distance; go on to `end` then."""
    ask_ahead(&state.clustered, state.row + last, min(end - last, <Py_ssize_t>LANES))
    load_block(&state.clustered, state.row + first, last - first, scratch.lanes, LANES)
    sr_lane_distances(
        state.instructions, scratch.lanes, state.clustered.n_columns, state.centers, scratch.members, n_members,
        scratch.lane_distance,
    )


cdef const double* _weights(const State* state, Py_ssize_t first, Py_ssize_t last, double* room) noexcept nogil:
    """Return the weights of up to 16 slots, lanes beyond them 0; NULL where there are none."""
    cdef Py_ssize_t r
    if state.weight == NULL:
        return NULL
    for r in range(LANES):
        room[r] = state.weight[first + r] if first + r < last else 0.0
    return room


cdef void _line_up(const State* state, const Node* node, Scratch* scratch, Py_ssize_t feature) noexcept nogil:
    """Write the node's centers in the order of a feature: scratch.at, places in members; scratch.edge, codes."""
    cdef Py_ssize_t k = state.n_centers, j
    cdef int center
    for j in range(node.last_center - node.first_center):
        center = state.order[feature * k + node.first_center + j]
        scratch.at[j] = scratch.member_place[center]
        scratch.edge[j] = state.center_codes[feature * k + center]


cdef void _place_members(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    cdef int j
    list_members(state, node, scratch)
    for j in range(node.last_center - node.first_center):
        scratch.member_place[scratch.members[j]] = j


cdef double bound_scale(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Return units per unit of cost for the bounds, from the distances of a few rows and the largest weight.

    Any would be right; best are the finest that hold what every row adds.
    """
    cdef Py_ssize_t n = node.last - node.first, begin, end, slot, g, r, c, count = 0
    cdef int n_members = node.last_center - node.first_center
    cdef double nearest, far, total = 0.0, farthest = 0.0, weight, heaviest = 1.0
    _place_members(state, node, scratch)
    for g in range(SAMPLED):
        begin = node.first + n * g // SAMPLED
        end = min(begin + LANES, node.last)
        _measure(state, begin, end, end, n_members, scratch)
        for r in range(end - begin):
            weight = 1.0 if state.weight == NULL else state.weight[begin + r]
            nearest = far = scratch.lane_distance[r]
            for c in range(n_members):
                nearest = min(nearest, scratch.lane_distance[c * LANES + r])
                far = max(far, scratch.lane_distance[c * LANES + r])
            total += weight * nearest
            farthest = max(farthest, far - nearest)
            count += 1
    if state.weight != NULL:
        heaviest = 0.0
        for slot in range(node.first, node.last):
            heaviest = max(heaviest, state.weight[slot])
    farthest *= heaviest
    if total > 0.0:
        farthest = min(max(2.0 * farthest, FAR * total / count), FARTHEST * total / count)
    return UNIT_CAP / min(farthest, 1e300) if farthest > 1e-290 else 1.0


cdef void _flush_sums(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Move the lanes' sums of all features to scratch.event."""
    cdef Py_ssize_t k = state.n_centers, f, j, r
    cdef int n_members = node.last_center - node.first_center
    cdef int* sums = scratch.sums
    cdef int64_t sum
    for f in range(state.n_features):
        for j in range(n_members):
            sum = 0
            for r in range(LANES):
                sum += sums[r]
                sums[r] = 0
            if j < n_members - 1:
                scratch.event[f * k + state.order[f * k + node.first_center + j]] += sum
            sums += LANES


cdef void bound_rows(
    State* state, const Node* node, Scratch* scratch, double scale, Py_ssize_t first_chunk, Py_ssize_t last_chunk
) noexcept nogil:
    """Add up what the rows of some chunks of the node add at least to every cut of every feature.

    Also sums the chunks' current costs, to state.chunk_cost.
    """
    cdef Py_ssize_t last = min(node.first + last_chunk * CHUNK, node.last), begin, end, slot, f, g, r, j, i
    cdef Py_ssize_t n_groups, chunk = first_chunk, n = state.n_rows
    cdef int n_members = node.last_center - node.first_center
    cdef const double* weight
    cdef double room[LANES]
    cdef double nearest[LANES]
    cdef int largest[LANES]
    cdef double cost = 0.0
    cdef int64_t weight_units[BLOCK]
    cdef int n_swept = 0
    _place_members(state, node, scratch)
    clear_histograms(state, node, scratch)
    memset(largest, 0, LANES * sizeof(int))
    memset(scratch.sums, 0, state.n_features * n_members * LANES * sizeof(int))
    begin = node.first + first_chunk * CHUNK
    while begin < last:
        end = min(begin + BLOCK, last)
        n_groups = (end - begin + LANES - 1) // LANES
        for g in range(n_groups):
            slot = begin + g * LANES
            _measure(state, slot, min(slot + LANES, end), last, n_members, scratch)
            weight = _weights(state, slot, end, room)
            sr_dense_units(
                state.instructions, scratch.lane_distance, n_members, weight, scale,
                scratch.units + g * n_members * LANES, nearest, largest,
            )
            for r in range(min(LANES, end - slot)):
                cost += nearest[r] if weight == NULL else weight[r] * nearest[r]
        for g in range(end - begin, n_groups * LANES):  # lanes beyond the last row add nothing
            for j in range(n_members):
                scratch.units[((n_groups - 1) * n_members + j) * LANES + g % LANES] = 0
        for i in range(end - begin if state.weighted else 0):
            weight_units[i] = llrint(state.weight[begin + i] * state.weight_scale)
        for f in range(state.n_features):
            _line_up(state, node, scratch, f)
            sr_dense_places(
                state.codes + f * n + begin, end - begin, scratch.edge[0], scratch.edge[n_members - 1], scratch.place
            )
            sr_dense_sweep(
                state.instructions, scratch.units, n_groups, n_members, scratch.at, scratch.edge, scratch.place,
                scratch.sums + f * n_members * LANES, scratch.own,
            )
            sr_dense_tally(scratch.place, scratch.own, end - begin, scratch.tally + f * state.n_codes)
            if state.weighted:
                for i in range(end - begin):
                    scratch.weight[f * state.n_codes + scratch.place[i]] += weight_units[i]
        begin = end
        n_swept += 1
        if n_swept == SWEPT or begin == last:
            _flush_sums(state, node, scratch)
            n_swept = 0
        if (begin - node.first) % CHUNK == 0 or begin == last:
            chunk_place(state, node)[chunk] = cost
            cost = 0.0
            chunk += 1
    scratch.capped = False
    for r in range(LANES):
        scratch.capped |= largest[r] == UNIT_CAP


cdef void sum_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add up exactly what slots first .. last - 1 add to every cut of one feature."""
    cdef Py_ssize_t begin = first, end, r, j, k = state.n_centers
    cdef int n_members = node.last_center - node.first_center
    cdef const int* codes = state.codes + feature * state.n_rows
    cdef Tally* tally = scratch.tally + feature * state.n_codes
    cdef double room[LANES]
    cdef int64_t own[LANES]
    cdef int64_t sum
    _place_members(state, node, scratch)
    clear_feature(state, node, scratch, feature)
    _line_up(state, node, scratch, feature)
    memset(scratch.exact_sums, 0, n_members * LANES * sizeof(int64_t))
    while begin < last:
        end = min(begin + LANES, last)
        _measure(state, begin, end, last, n_members, scratch)
        sr_dense_exact_units(
            state.instructions, scratch.lane_distance, n_members, _weights(state, begin, end, room), fixed.scale,
            fixed.cap, scratch.exact_units,
        )
        for r in range(end - begin, LANES):
            for j in range(n_members):
                scratch.exact_units[j * LANES + r] = 0
        sr_dense_places(codes + begin, end - begin, scratch.edge[0], scratch.edge[n_members - 1], scratch.place)
        sr_dense_exact(
            state.instructions, scratch.exact_units, 1, n_members, scratch.at, scratch.edge, scratch.place,
            scratch.exact_sums, own,
        )
        for r in range(end - begin):
            tally[scratch.place[r]].rows += 1
            if own[r] > 0:
                tally[scratch.place[r]].added += own[r]
            else:
                tally[scratch.place[r]].removed -= own[r]
            if state.weighted:
                scratch.weight[feature * state.n_codes + scratch.place[r]] += llrint(
                    state.weight[begin + r] * state.weight_scale
                )
        begin = end
    for j in range(n_members - 1):
        sum = 0
        for r in range(LANES):
            sum += scratch.exact_sums[j * LANES + r]
        scratch.event[feature * k + state.order[feature * k + node.first_center + j]] = sum


cdef void settle_events(const State* state, const Node* node, Scratch* sums, int feature) noexcept nogil:
    """Turn what is added to the cuts next to each center into differences, as `cut_scan` expects them."""
    cdef Py_ssize_t k = state.n_centers, base = <Py_ssize_t>feature * state.n_codes
    cdef const int* order = state.order + feature * k
    cdef const int* center_codes = state.center_codes + feature * k
    cdef int64_t* event = sums.event + feature * k
    cdef const Tally* tally = sums.tally + base
    cdef int code = center_codes[order[node.first_center]], j
    cdef int64_t before = tally[code].added - tally[code].removed, after
    for j in range(node.first_center, node.last_center):
        while code < center_codes[order[j]]:
            code += 1
            before += tally[code].added - tally[code].removed
        after = event[order[j]]
        event[order[j]] = after - before
        before = after


cdef int64_t dense_event(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil:
    """The nearest of the node's centers on the left of a row's value, less the nearest on the right of it."""
    cdef const int* center_codes = state.center_codes + feature * state.n_centers
    cdef int code = state.codes[feature * state.n_rows + slot], j, center
    cdef double weight = 1.0 if state.weight == NULL else state.weight[slot], d
    cdef double left = INFINITY, right = INFINITY, nearest
    load_point(&state.clustered, state.row[slot], scratch.point)
    for j in range(node.first_center, node.last_center):
        center = state.order[j]
        d = distance_to(state, scratch.point, center)
        if center_codes[center] <= code:
            left = min(left, d)
        else:
            right = min(right, d)
    nearest = min(left, right)
    return in_units(weight * (left - nearest), fixed) - in_units(weight * (right - nearest), fixed)
