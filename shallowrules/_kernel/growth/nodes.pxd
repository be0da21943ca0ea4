"""What every way of growing does with a node."""

from shallowrules._kernel.growth.state cimport Node, Scratch, State

cdef void make_leaf(State* state, Node* node, Scratch* scratch) noexcept nogil
cdef void make_children(
    State* state, int index, Py_ssize_t n_rows_left, int n_left, int left, int right
) noexcept nogil
cdef double work_of(const Node* node) noexcept nogil
cdef void look_up(State* state, double done) noexcept with gil
