"""The induced cost of all cuts of all features, from one pass over a node's rows.

A row contributes the distance to its nearest center c1 to every cut, except on the run of cuts that
separates it from c1: there it contributes the distance to the nearest center on its own side, a step
function that changes only where a nearer center changes side (Laber et al., section 4.2, do the same
sum in O(k) per row). Only these steps are written, as differences; a prefix sum over the codes then
gives the induced cost of every cut.

- A difference at the row's own value goes to `tally`, by code, additions and subtractions apart, so
  that they bound what happens inside a bin. A difference at a center goes to `event`, by center.
- Differences are integers, see `cut_scan.first_point`. Sums are then exact and free of order, so that
  neither cancellation nor threads can change a tree.
- A row left of c1 and a row right of it are mirror images: codes are complemented for the latter
  (``~code`` reverses the order), so that one walk serves both.
- The walk over a row's list is resolved without branches: a bit per listed center, set where the center
  is on the row's side of c1. Only an exhausted list looks at centers beyond it.
"""

from libc.stdint cimport int64_t, uint16_t

from shallowrules._kernel.growth.histograms cimport in_units
from shallowrules._kernel.shared.matrix cimport load_point
from shallowrules._kernel.growth.nearest_lists cimport distance_to
from shallowrules._kernel.growth.state cimport BLOCK, LIST, FixedPoint, Node, Scratch, State, Tally


cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef extern from "growth/list_sweep.h" nogil:
    void sr_sides(
        int instructions, const uint16_t* near, const int* codes, Py_ssize_t count, const int* center_codes,
        int low, int high, int* place, unsigned char* bits) noexcept
    Py_ssize_t sr_settle(
        const uint16_t* near, Py_ssize_t count, const int* center_codes, const int* place,
        const unsigned char* bits, const int64_t* values, Tally* tally, int64_t* event, int* rest) noexcept
    int sr_lowest_bit(unsigned int bits) noexcept


cdef inline int64_t _beyond(
    const State* state, const Node* node, const FixedPoint* fixed, Py_ssize_t feature,
    Py_ssize_t slot, const double* point, int place, int mirror, int until, int64_t* event, int last,
) noexcept nogil:
    """Finish the walk of a row whose list is exhausted: the centers beyond the list, by coordinate.

    Returns the row's own event, unsigned; writes the steps at centers to `event` unless it is NULL.
    """
    cdef Py_ssize_t k = state.n_centers, j
    cdef const int* codes = state.center_codes + feature * k
    cdef const int* order = state.order + feature * k
    cdef Py_ssize_t step = 1 if mirror == 0 else -1
    cdef int center, code
    cdef double weight = 1.0 if state.weight == NULL else state.weight[slot]
    cdef double d, least = -1.0, first_distance = state.distance[slot * LIST]
    cdef int64_t value = 0, own = 0, next_value, sign = 1 if mirror == 0 else -1
    cdef bint started = False
    j = node.first_center if mirror == 0 else node.last_center - 1
    while True:
        center = order[j]
        code = codes[center] ^ mirror
        if not code < until:
            break
        if code > place and not started:
            own = value = in_units(weight * (least - first_distance), fixed)
            started = True
        d = distance_to(state, point, center)
        if least < 0 or d < least:
            least = d
            if started:
                next_value = in_units(weight * (d - first_distance), fixed)
                if event != NULL:
                    event[center] += sign * (next_value - value)
                value = next_value
        j += step
    if not started:
        own = value = in_units(weight * (least - first_distance), fixed)
    if event != NULL:
        event[last] -= sign * value
    return own


cdef void sweep_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add the events of slots first .. last - 1 to the histograms, block by block, feature by feature."""
    cdef Py_ssize_t n = state.n_rows, k = state.n_centers, n_codes = state.n_codes
    cdef Py_ssize_t begin = first, end, slot, f, i, r, n_rest
    cdef int j, low, high, place, nearest, mirror, until, center, code, at
    cdef unsigned int bits
    cdef int64_t value, signed_value
    cdef const int* center_codes
    cdef const uint16_t* near
    cdef Tally* tally
    cdef int64_t* weights
    cdef int64_t* event
    cdef int64_t* values
    cdef double weight
    cdef const double* distance
    cdef bint weighted = state.weighted, loaded
    cdef Py_ssize_t m = state.clustered.n_columns
    while begin < last:
        end = min(begin + BLOCK, last)
        loaded = False  # the block's points: only walks beyond the lists need them
        for slot in range(begin, end):
            distance = state.distance + slot * LIST
            values = scratch.value + (slot - begin) * LIST
            weight = 1.0 if state.weight == NULL else state.weight[slot]
            values[0] = llrint(weight * state.weight_scale) if weighted else 0
            for j in range(1, LIST):
                values[j] = in_units(weight * (distance[j] - distance[0]), fixed)
        for f in range(state.n_features):
            center_codes = state.center_codes + f * k
            low = center_codes[state.order[f * k + node.first_center]]
            high = center_codes[state.order[f * k + node.last_center - 1]]
            tally = scratch.tally + f * n_codes
            weights = scratch.weight + f * n_codes
            event = scratch.event + f * k
            sr_sides(
                state.instructions, state.near + begin * LIST, state.codes + f * n + begin, end - begin, center_codes,
                low, high, scratch.place, scratch.sides,
            )
            if weighted:
                for i in range(end - begin):
                    weights[scratch.place[i]] += scratch.value[i * LIST]
            n_rest = sr_settle(
                state.near + begin * LIST, end - begin, center_codes, scratch.place, scratch.sides, scratch.value,
                tally, event, scratch.rest,
            )
            for r in range(n_rest):
                i = scratch.rest[r]
                place = scratch.place[i]
                bits = scratch.sides[i]
                near = state.near + (begin + i) * LIST
                nearest = near[0]
                mirror = -(place > center_codes[nearest])
                at = place ^ mirror
                until = center_codes[nearest] ^ mirror
                value = -1
                while bits:
                    j = sr_lowest_bit(bits)
                    bits &= bits - 1
                    center = near[j]
                    code = center_codes[center] ^ mirror
                    if not code < until:
                        continue
                    signed_value = (scratch.value[i * LIST + j] ^ mirror) - mirror
                    event[nearest] -= signed_value
                    if code <= at:
                        value = scratch.value[i * LIST + j]
                        break
                    event[center] += signed_value
                    nearest = center
                    until = code
                if value < 0:
                    if not loaded:
                        for slot in range(begin, end):
                            load_point(&state.clustered, state.row[slot], scratch.points + (slot - begin) * m)
                        loaded = True
                    value = _beyond(
                        state, node, fixed, f, begin + i, scratch.points + i * m, at, mirror, until, event, nearest
                    )
                if mirror:
                    tally[place].removed += value
                else:
                    tally[place].added += value
        begin = end


cdef int64_t listed_event(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil:
    """Return what a row adds to the induced cost of the cuts from its own value on."""
    cdef Py_ssize_t k = state.n_centers
    cdef const int* center_codes = state.center_codes + feature * k
    cdef const uint16_t* near = state.near + slot * LIST
    cdef int place = state.codes[feature * state.n_rows + slot]
    cdef int mirror = -(place > center_codes[near[0]])
    cdef int at = place ^ mirror, until = center_codes[near[0]] ^ mirror, j, code, last = near[0]
    cdef double weight = 1.0 if state.weight == NULL else state.weight[slot]
    cdef int64_t value
    if at == until:
        return 0
    for j in range(1, LIST):
        code = center_codes[near[j]] ^ mirror
        if code < until:
            if code <= at:
                value = in_units(weight * (state.distance[slot * LIST + j] - state.distance[slot * LIST]), fixed)
                return (value ^ mirror) - mirror
            until = code
            last = near[j]
    load_point(&state.clustered, state.row[slot], scratch.point)
    value = _beyond(state, node, fixed, feature, slot, scratch.point, at, mirror, until, NULL, last)
    return (value ^ mirror) - mirror
