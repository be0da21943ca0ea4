"""The rows that cuts separate from their centers: what IMM minimises."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport Histograms, Node, Slots, State, Table

cdef void count_mistakes(
    const State* state, const Node* node, Histograms* histograms, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef int64_t own_mistake(const Table* table, const Slots* slots, int feature, Py_ssize_t slot) noexcept nogil
cdef void set_aside_mistakes(State* state, Node* child, int n_threads) noexcept nogil
