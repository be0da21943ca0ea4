"""A node's histograms: rows and the steps of the induced cost, by code and by center; costs as integers."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport FixedPoint, Node, Scratch, State

cdef int64_t in_units(double cost, const FixedPoint* fixed) noexcept nogil
cdef void clear_feature(const State* state, const Node* node, Scratch* scratch, Py_ssize_t f) noexcept nogil
cdef void clear_histograms(const State* state, const Node* node, Scratch* scratch) noexcept nogil
cdef void add_histograms(
    const State* state, const Node* node, Scratch* total, const Scratch* part, int feature
) noexcept nogil
