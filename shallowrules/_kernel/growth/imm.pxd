"""The rows that cuts separate from their centers: what IMM minimises."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport Node, Scratch, State

cdef void count_mistakes(
    const State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef int64_t own_mistake(const State* state, int feature, Py_ssize_t slot) noexcept nogil
