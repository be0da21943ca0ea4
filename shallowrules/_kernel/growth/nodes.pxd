"""What every way of growing does with a node: make it a leaf, cut it, tell how much work is below it."""

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
