"""Short lists: the nearest of a node's centers, for every row."""

from shallowrules._kernel.growth.state cimport CenterOrder, NearestLists, Node, RowBuffers, Slots, Table
from shallowrules._kernel.shared.threads cimport Share

cdef double distance_to(const Table* table, const double* point, int center) noexcept nogil
cdef void list_members(const CenterOrder* centers, const Node* node, int* members) noexcept nogil
cdef void fill_lists(
    const Table* table, const Slots* slots, const NearestLists* lists, const Node* node, RowBuffers* buffers,
    Share share,
) noexcept nogil
cdef void filter_lists(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    RowBuffers* buffers, Share share,
) noexcept nogil
cdef double sum_costs(
    const Slots* slots, const NearestLists* lists, const Node* node, Py_ssize_t chunk
) noexcept nogil
