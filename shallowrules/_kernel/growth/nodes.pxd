"""The steps that all ways of growing share: make a node a leaf, cut it, estimate the work below it."""

from shallowrules._kernel.growth.state cimport CenterOrder, Cut, Node, RowBuffers, Slots, State, Table

cdef void make_leaf(
    const Table* table, const Slots* slots, const CenterOrder* centers, Node* node, RowBuffers* buffers
) noexcept nogil
cdef void cut_node(
    State* state, int index, const Cut* cut, int* buffer, int n_threads, int left, int right
) noexcept nogil
cdef void make_children(
    Node* nodes, int index, Py_ssize_t n_rows_left, int n_left, int left, int right
) noexcept nogil
cdef double work_below(const Node* node) noexcept nogil
