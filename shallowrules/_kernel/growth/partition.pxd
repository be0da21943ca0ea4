"""Partitioning a node's rows and centers once its cut is chosen."""

from shallowrules._kernel.growth.state cimport CenterOrder, Cut, Node, Slots, Table

cdef Py_ssize_t mark_sides(const Table* table, const Slots* slots, Node* node, const Cut* cut) noexcept nogil
cdef int partition_centers(
    const Table* table, const CenterOrder* centers, Node* node, const Cut* cut, int* buffer
) noexcept nogil
cdef Py_ssize_t partition_rows(
    const Table* table, const Slots* slots, Py_ssize_t first, Py_ssize_t last,
    Py_ssize_t n_left, int n_threads,
) noexcept nogil
cdef void partition_distances(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Py_ssize_t n_pairs,
    int n_threads,
) noexcept nogil
