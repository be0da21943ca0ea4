"""What every way of growing does with a node: make it a leaf, give it children, tell how far the work is."""

from libc.math cimport INFINITY, log2

from shallowrules._kernel.shared.matrix cimport load_point
from shallowrules._kernel.growth.nearest_lists cimport distance_to
from shallowrules._kernel.growth.state cimport TO_DO, Node, Scratch, State

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1


cdef void make_leaf(State* state, Node* node, Scratch* scratch) noexcept nogil:
    """End a branch: with its one center, or, where no cut is valid, with the cheapest of several."""
    cdef Py_ssize_t slot
    cdef int i, center, best = -1
    cdef double cost, lowest = INFINITY
    node.feature = -1
    node.center = state.order[node.first_center]
    if node.last_center - node.first_center == 1:
        return
    for i in range(node.first_center, node.last_center):
        center = state.order[i]
        cost = 0.0
        for slot in range(node.first, node.counted):
            load_point(&state.clustered, state.row[slot], scratch.point)
            cost += distance_to(state, scratch.point, center) * (
                1.0 if state.weight == NULL else state.weight[slot]
            )
        if best < 0 or cost < lowest or (cost == lowest and center < best):
            lowest = cost
            best = center
    node.center = best


cdef void make_children(
    State* state, int index, Py_ssize_t n_rows_left, int n_left, int left, int right
) noexcept nogil:
    """Enter the two children of a node that has just been cut at places `left` and `right`."""
    cdef Node* node = &state.nodes[index]
    cdef Node* child
    cdef int side
    node.left = left
    node.right = right
    for side in range(2):
        child = &state.nodes[node.left if side else node.right]
        child.parent = index
        child.is_left = side == 1
        child.feature = TO_DO
        child.first = node.first if side else node.first + n_rows_left
        child.last = child.counted = node.first + n_rows_left if side else node.last
        child.first_center = node.first_center if side else node.first_center + n_left
        child.last_center = node.first_center + n_left if side else node.last_center


cdef double work_of(const Node* node) noexcept nogil:
    """Estimate the work that a node and all below it are: its rows, once for each level."""
    return <double>(node.last - node.first) * log2(<double>(node.last_center - node.first_center))


cdef void look_up(State* state, double done) noexcept with gil:
    """Report the share of work done; an interrupt, or whatever else is raised, ends the work."""
    try:
        PyErr_CheckSignals()
        if <object>state.report is not None:
            (<object>state.report)(done)
    except BaseException as failure:
        (<list>state.failures).append(failure)
        state.stopped = True
