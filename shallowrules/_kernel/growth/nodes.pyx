"""The steps that all ways of growing share: make a node a leaf, cut it, estimate the work below it."""

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, log2

from shallowrules._kernel.growth.dense_sweep cimport distance_to
from shallowrules._kernel.growth.objective cimport tie_limit
from shallowrules._kernel.growth.partition cimport (
    mark_sides, partition_centers, partition_distances, partition_rows
)
from shallowrules._kernel.growth.state cimport (
    LEAF, NOT_CUT_YET, CenterOrder, Cut, Node, RowBuffers, Slots, State, Table
)
from shallowrules._kernel.shared.matrix cimport load_point


cdef void make_leaf(
    const Table* table, const Slots* slots, const CenterOrder* centers, Node* node, RowBuffers* buffers
) noexcept nogil:
    """End a branch: with its one center, or, if no cut is valid, with the first of the cheapest of several."""
    cdef const int* members = centers.order + node.first_center
    cdef int n_members = node.last_center - node.first_center, i
    cdef double* cost = buffers.lane_distance  # by place in `members`
    cdef double lowest = INFINITY, limit
    node.feature = LEAF
    node.center = members[0]
    if n_members == 1:
        return
    for i in range(n_members):
        cost[i] = _cost_of_leaf(table, slots, node, members[i], buffers.point)
        lowest = min(lowest, cost[i])
    # The last digits of sums depend on the order of the rows.
    limit = tie_limit(lowest)
    node.center = INT_MAX
    for i in range(n_members):
        if members[i] < node.center and cost[i] <= limit:
            node.center = members[i]


cdef double _cost_of_leaf(
    const Table* table, const Slots* slots, const Node* node, int center, double* point
) noexcept nogil:
    cdef Py_ssize_t slot
    cdef double cost = 0.0
    for slot in range(node.first, node.last_counted):
        load_point(&table.X_cluster, slots.row[slot], point)
        cost += distance_to(table, point, center) * (1.0 if slots.weight == NULL else slots.weight[slot])
    return cost


cdef void cut_node(
    State* state, int index, const Cut* cut, int* buffer, int n_threads, int left, int right
) noexcept nogil:
    """Cut a node: partition its rows and centers, and enter its children at places `left` and `right`.

    Parameters
    ----------
    buffer : [k]
    right : -1 for the place after those that the left subtree fills if it begins at `left`
    """
    cdef Node* node = &state.nodes[index]
    cdef Py_ssize_t n_rows_left, n_pairs
    cdef int n_left
    node.feature = cut.feature
    n_rows_left = mark_sides(&state.table, &state.slots, node, cut)
    n_left = partition_centers(&state.table, &state.centers, node, cut, buffer)
    n_pairs = partition_rows(&state.table, &state.slots, node.first, node.last, n_rows_left, n_threads)
    if node.has_distances:
        partition_distances(&state.table, &state.slots, &state.centers, node, n_pairs, n_threads)
    make_children(state.nodes, index, n_rows_left, n_left, left, left + 2 * n_left - 1 if right < 0 else right)


cdef void make_children(
    Node* nodes, int index, Py_ssize_t n_rows_left, int n_left, int left, int right
) noexcept nogil:
    """Enter the two children of a node that has just been cut at places `left` and `right`."""
    cdef Node* node = &nodes[index]
    cdef Node* child
    cdef int side
    node.left = left
    node.right = right
    for side in range(2):
        child = &nodes[node.left if side else node.right]
        child.parent = index
        child.is_left = side == 1
        child.feature = NOT_CUT_YET
        child.has_distances = node.has_distances
        child.first = node.first if side else node.first + n_rows_left
        child.last = child.last_counted = node.first + n_rows_left if side else node.last
        child.first_center = node.first_center if side else node.first_center + n_left
        child.last_center = node.first_center + n_left if side else node.last_center


cdef double work_below(const Node* node) noexcept nogil:
    """Estimate the work of a node and all below it: its rows, once for each level."""
    return <double>(node.last - node.first) * log2(<double>(node.last_center - node.first_center))
