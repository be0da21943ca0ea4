"""Parting a node's rows and centers once its cut is chosen."""

from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State

cdef Py_ssize_t take_sides(State* state, Node* node, const Cut* cut) noexcept nogil
cdef int split_centers(State* state, Node* node, const Cut* cut, Scratch* scratch) noexcept nogil
cdef void part_rows(
    State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left, int n_threads
) noexcept nogil
cdef void drop_mistakes(State* state, Node* child, int n_threads) noexcept nogil
