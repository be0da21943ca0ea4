"""The rows that cuts separate from their centers: what IMM minimises (Moshkovitz et al., 2020).

In the histograms of the other methods: a row is a mistake of the cuts from its own value up to its center,
or from its center up to its own value, with its weight, and costs nothing elsewhere.
"""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport BLOCK, Node, Scratch, State, Tally

cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept


cdef inline int64_t _weight_of(const State* state, Py_ssize_t slot) noexcept nogil:
    return llrint(state.weight[slot] * state.weight_scale) if state.weighted else 1


cdef void count_mistakes(
    const State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Add slots first .. last - 1 to the histograms of all features."""
    cdef Py_ssize_t n = state.n_rows, k = state.n_centers, begin = first, end, slot, f
    cdef int code, own, low, high
    cdef int64_t weight
    cdef const int* center_codes
    cdef const int* codes
    cdef Tally* tally
    cdef int64_t* event
    while begin < last:
        end = min(begin + BLOCK, last)
        for f in range(state.n_features):
            center_codes = state.center_codes + f * k
            low = center_codes[state.order[f * k + node.first_center]]
            high = center_codes[state.order[f * k + node.last_center - 1]]
            codes = state.codes + f * n
            tally = scratch.tally + f * state.n_codes
            event = scratch.event + f * k
            for slot in range(begin, end):
                code = min(max(codes[slot], low), high)
                own = center_codes[state.assigned[slot]]
                weight = _weight_of(state, slot)
                tally[code].rows += 1
                if state.weighted:
                    scratch.weight[f * state.n_codes + code] += weight
                if code < own:
                    tally[code].added += weight
                    event[state.assigned[slot]] -= weight
                elif code > own:
                    tally[code].removed += weight
                    event[state.assigned[slot]] += weight
        begin = end


cdef int64_t own_mistake(const State* state, int feature, Py_ssize_t slot) noexcept nogil:
    """Return what a row adds to the mistakes of the cuts from its own value on."""
    cdef int own = state.center_codes[feature * state.n_centers + state.assigned[slot]]
    cdef int code = state.codes[feature * state.n_rows + slot]
    return _weight_of(state, slot) * ((code < own) - (code > own))
