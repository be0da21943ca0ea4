"""A node's histograms: rows and the steps of the induced cost, by code and by center; costs as integers."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from shallowrules._kernel.growth.state cimport FixedPoint, Node, Scratch, State, Tally

cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept


cdef int64_t in_units(double cost, const FixedPoint* fixed) noexcept nogil:
    """Return a cost in fixed point: at most the cap, and not 0 unless the cost is."""
    cdef double scaled = cost * fixed.scale
    cdef int64_t units = llrint(min(scaled, fixed.cap))
    return units + (units == 0 and cost > 0.0)


cdef void clear_feature(const State* state, const Node* node, Scratch* scratch, Py_ssize_t f) noexcept nogil:
    """Zero the part of a feature's histograms that the node uses."""
    cdef Py_ssize_t n_codes = state.n_codes, k = state.n_centers
    cdef int low = state.center_codes[f * k + state.order[f * k + node.first_center]]
    cdef int high = state.center_codes[f * k + state.order[f * k + node.last_center - 1]]
    cdef int j
    memset(scratch.tally + f * n_codes + low, 0, (high - low + 1) * sizeof(Tally))
    if state.weighted:
        memset(scratch.weight + f * n_codes + low, 0, (high - low + 1) * sizeof(int64_t))
    for j in range(node.first_center, node.last_center):
        scratch.event[f * k + state.order[f * k + j]] = 0


cdef void clear_histograms(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Zero the part of all features' histograms that the node uses."""
    cdef Py_ssize_t f
    for f in range(state.n_features):
        clear_feature(state, node, scratch, f)


cdef void add_histograms(
    const State* state, const Node* node, Scratch* total, const Scratch* part, int feature
) noexcept nogil:
    """Add one thread's histograms of a feature to another's."""
    cdef Py_ssize_t k = state.n_centers, base = <Py_ssize_t>feature * state.n_codes, code
    cdef int low = state.center_codes[feature * k + state.order[feature * k + node.first_center]]
    cdef int high = state.center_codes[feature * k + state.order[feature * k + node.last_center - 1]]
    cdef int j, center
    for code in range(base + low, base + high + 1):
        total.tally[code].added += part.tally[code].added
        total.tally[code].removed += part.tally[code].removed
        total.tally[code].rows += part.tally[code].rows
    if state.weighted:
        for code in range(base + low, base + high + 1):
            total.weight[code] += part.weight[code]
    for j in range(node.first_center, node.last_center):
        center = state.order[feature * k + j]
        total.event[feature * k + center] += part.event[feature * k + center]
