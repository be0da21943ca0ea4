"""The trees of many trade-offs at once."""

from shallowrules._kernel.growth.state cimport CenterOrder, Node, Table

cdef void sort_centers(const Table* table, CenterOrder* centers, const Node* node) noexcept nogil
