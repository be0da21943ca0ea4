"""The induced cost of all cuts of all features, from one pass over a node's rows.

A row contributes the distance to its nearest center c1 to every cut, except on the run of cuts that
separates it from c1: there it contributes the distance to the nearest center on its own side, a step
function that changes only where a nearer center changes side (Laber et al., section 4.2, do the same
sum in O(k) per row). Only these steps are written, as differences; a prefix sum over the codes then
gives the induced cost of every cut.

- A difference at the row's own value goes to `own`, by code, additions and subtractions apart, so
  that they bound what happens inside a bin. A difference at a center goes to `event`, by center.
- Differences are integers: `llrint(weight * (d - d1) * scale)`. Sums are then exact and free of order,
  so that neither cancellation nor threads can change a tree.
- A row left of c1 and a row right of it are mirror images: codes are complemented for the latter
  (``~code`` reverses the order), so that one walk serves both.
- The walk over a row's list is resolved without branches: a bit per listed center, set where the center
  is on the row's side of c1. Only an exhausted list looks at centers beyond it.
"""

from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from shallowrules._kernel.matrix cimport entry
from shallowrules._kernel.neighbors cimport distance_to
from shallowrules._kernel.state cimport BLOCK, LIST, Node, Scratch, State


cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SR_LOWEST_BIT(x) __builtin_ctz(x)
    #else
    static int SR_LOWEST_BIT(unsigned x) { int n = 0; while (!(x & 1u)) { x >>= 1; n++; } return n; }
    #endif
    """
    int SR_LOWEST_BIT(unsigned int) noexcept nogil


cdef void clear_histograms(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Zero the part of the histograms that the node uses."""
    cdef Py_ssize_t f, n_codes = state.n_codes, k = state.n_centers
    cdef int low, high, j
    for f in range(state.n_features):
        low = state.center_codes[f * k + state.order[f * k + node.first_center]]
        high = state.center_codes[f * k + state.order[f * k + node.last_center - 1]]
        memset(scratch.own + 2 * (f * n_codes + low), 0, 2 * (high - low + 1) * sizeof(int64_t))
        memset(scratch.count + f * n_codes + low, 0, (high - low + 1) * sizeof(int))
        if state.weighted:
            memset(scratch.weight + f * n_codes + low, 0, (high - low + 1) * sizeof(int64_t))
        for j in range(node.first_center, node.last_center):
            scratch.event[f * k + state.order[f * k + j]] = 0


cdef void add_histograms(
    const State* state, const Node* node, Scratch* total, const Scratch* part, int feature
) noexcept nogil:
    """Add one thread's histograms of a feature to another's."""
    cdef Py_ssize_t k = state.n_centers, base = <Py_ssize_t>feature * state.n_codes, code
    cdef int low = state.center_codes[feature * k + state.order[feature * k + node.first_center]]
    cdef int high = state.center_codes[feature * k + state.order[feature * k + node.last_center - 1]]
    cdef int j, center
    for code in range(2 * (base + low), 2 * (base + high + 1)):
        total.own[code] += part.own[code]
    for code in range(base + low, base + high + 1):
        total.count[code] += part.count[code]
    if state.weighted:
        for code in range(base + low, base + high + 1):
            total.weight[code] += part.weight[code]
    for j in range(node.first_center, node.last_center):
        center = state.order[feature * k + j]
        total.event[feature * k + center] += part.event[feature * k + center]


cdef inline int64_t _beyond(
    const State* state, const Node* node, Scratch* scratch, double scale, Py_ssize_t feature, Py_ssize_t slot,
    int place, int mirror, int until, int64_t* event, int last,
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
    for j in range(state.clustered.n_columns):
        scratch.point[j] = entry(&state.clustered, state.row[slot], j)
    j = node.first_center if mirror == 0 else node.last_center - 1
    while True:
        center = order[j]
        code = codes[center] ^ mirror
        if not code < until:
            break
        if code > place and not started:
            own = value = llrint(weight * (least - first_distance) * scale)
            started = True
        d = distance_to(state, scratch.point, center)
        if least < 0 or d < least:
            least = d
            if started:
                next_value = llrint(weight * (d - first_distance) * scale)
                if event != NULL:
                    event[center] += sign * (next_value - value)
                value = next_value
        j += step
    if not started:
        own = value = llrint(weight * (least - first_distance) * scale)
    if event != NULL:
        event[last] -= sign * value
    return own


cdef void sweep_rows(
    const State* state, const Node* node, Scratch* scratch, double scale, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add the events of slots first .. last - 1 to the histograms, block by block, feature by feature."""
    cdef Py_ssize_t n = state.n_rows, k = state.n_centers, n_codes = state.n_codes
    cdef Py_ssize_t begin = first, end, slot, f
    cdef int j, low, high, place, nearest, mirror, until, near_code, center, code, at
    cdef unsigned int bits
    cdef int64_t value, signed_value
    cdef const int* codes
    cdef const int* center_codes
    cdef const uint16_t* near
    cdef int64_t* own
    cdef int* count
    cdef int64_t* weights
    cdef int64_t* event
    cdef int64_t* values
    cdef double weight
    cdef const double* distance
    cdef bint weighted = state.weighted, done
    while begin < last:
        end = min(begin + BLOCK, last)
        for slot in range(begin, end):
            distance = state.distance + slot * LIST
            values = scratch.value + (slot - begin) * LIST
            weight = 1.0 if state.weight == NULL else state.weight[slot]
            values[0] = llrint(weight * state.weight_scale) if weighted else 0
            for j in range(1, LIST):
                values[j] = llrint(weight * (distance[j] - distance[0]) * scale)
        for f in range(state.n_features):
            codes = state.codes + f * n
            center_codes = state.center_codes + f * k
            low = center_codes[state.order[f * k + node.first_center]]
            high = center_codes[state.order[f * k + node.last_center - 1]]
            own = scratch.own + 2 * f * n_codes
            count = scratch.count + f * n_codes
            weights = scratch.weight + f * n_codes
            event = scratch.event + f * k
            for slot in range(begin, end):
                place = min(max(codes[slot], low), high)
                near = state.near + slot * LIST
                values = scratch.value + (slot - begin) * LIST
                count[place] += 1
                if weighted:
                    weights[place] += values[0]
                nearest = near[0]
                near_code = center_codes[nearest]
                if place == near_code:
                    continue
                mirror = -(place > near_code)
                at = place ^ mirror
                until = near_code ^ mirror
                bits = 0
                for j in range(1, LIST):
                    bits |= <unsigned int>((center_codes[near[j]] ^ mirror) < until) << j
                done = False
                while bits:
                    j = SR_LOWEST_BIT(bits)
                    center = near[j]
                    code = center_codes[center] ^ mirror
                    value = values[j]
                    signed_value = (value ^ mirror) - mirror
                    event[nearest] -= signed_value
                    if code <= at:
                        own[2 * place - mirror] += value
                        done = True
                        break
                    event[center] += signed_value
                    nearest = center
                    until = code
                    bits &= bits - 1
                    while bits and not (center_codes[near[SR_LOWEST_BIT(bits)]] ^ mirror) < until:
                        bits &= bits - 1
                if not done:
                    own[2 * place - mirror] += _beyond(
                        state, node, scratch, scale, f, slot, at, mirror, until, event, nearest
                    )
        begin = end


cdef int64_t own_event(
    const State* state, const Node* node, Scratch* scratch, double scale, int feature, Py_ssize_t slot
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
                value = llrint(weight * (state.distance[slot * LIST + j] - state.distance[slot * LIST]) * scale)
                return (value ^ mirror) - mirror
            until = code
            last = near[j]
    value = _beyond(state, node, scratch, scale, feature, slot, at, mirror, until, NULL, last)
    return (value ^ mirror) - mirror
