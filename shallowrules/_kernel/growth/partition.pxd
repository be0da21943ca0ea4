"""Partitioning a node's rows and centers once its cut is chosen."""

from shallowrules._kernel.growth.state cimport Cut, Node, State

cdef Py_ssize_t mark_sides(State* state, Node* node, const Cut* cut) noexcept nogil
cdef int partition_centers(State* state, Node* node, const Cut* cut, int* buffer) noexcept nogil
cdef void partition_rows(
    State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left, int n_threads
) noexcept nogil
