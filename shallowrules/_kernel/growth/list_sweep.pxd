"""The induced cost of all cuts of all features, from one pass over a node's rows and their lists."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.state cimport Node, RowBuffers, Scratch, State

cdef void sweep_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef int64_t listed_step(
    const State* state, const Node* node, RowBuffers* rows, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil
