"""Short lists: the nearest of a node's centers, for every row."""

from shallowrules._kernel.growth.state cimport CenterOrder, NearestLists, Node, RowBuffers, Slots, State, Table

cdef double distance_to(const Table* table, const double* point, int center) noexcept nogil
cdef void list_members(const CenterOrder* centers, const Node* node, int* members) noexcept nogil
cdef void fill_lists(
    State* state, const Node* node, RowBuffers* buffers, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void filter_lists(
    State* state, const Node* node, RowBuffers* buffers, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef double sum_costs(
    const Slots* slots, const NearestLists* lists, const Node* node, Py_ssize_t chunk
) noexcept nogil
