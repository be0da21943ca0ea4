"""Short lists: the nearest of a node's centers, for every row."""

from shallowrules._kernel.growth.state cimport Node, Scratch, State

cdef double distance_to(const State* state, const double* point, int center) noexcept nogil
cdef void list_members(const State* state, const Node* node, Scratch* scratch) noexcept nogil
cdef void fill_lists(
    State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void filter_lists(
    State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef double sum_costs(const State* state, const Node* node, Py_ssize_t chunk) noexcept nogil
