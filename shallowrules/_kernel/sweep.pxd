"""The induced cost of all cuts of all features, from one pass over a node's rows."""

from libc.stdint cimport int64_t

from shallowrules._kernel.state cimport FixedPoint, Node, Scratch, State

cdef int64_t in_units(double cost, const FixedPoint* fixed) noexcept nogil
cdef void clear_feature(const State* state, const Node* node, Scratch* scratch, Py_ssize_t f) noexcept nogil
cdef void clear_histograms(const State* state, const Node* node, Scratch* scratch) noexcept nogil
cdef void sweep_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void add_histograms(
    const State* state, const Node* node, Scratch* total, const Scratch* part, int feature
) noexcept nogil
cdef int64_t own_event(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil
