"""Looking ahead: of a node's best cuts, the one whose finished subtree is best.

Price and DExp only guess what a cut will lead to. Here the subtrees of several cuts are grown, and their true
objective is compared: the squared distances of rows to the means of their leaves, and a price for each condition
that explains a row. Nodes of the first levels are tried so; below them the best cut is taken at once.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy

from shallowrules._kernel.growth.cut_scan cimport Offer
from shallowrules._kernel.growth.forest cimport sort_centers
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.growth.nodes cimport look_up, make_children, make_leaf
from shallowrules._kernel.growth.partition cimport part_rows, split_centers, take_sides
from shallowrules._kernel.growth.cut_search cimport choose_several, mark_killers, prepare
from shallowrules._kernel.growth.state cimport Node, Scratch, State
from shallowrules._kernel.shared.threads cimport MIN_SHARED_ROWS, POLL_INTERVAL

cdef double _leaf_objective(State* state, int index, Scratch* scratch, double price) noexcept nogil:
    """Return what a leaf adds to the objective of the tree."""
    cdef Node* node = &state.nodes[index]
    cdef Py_ssize_t slot, j, m = state.clustered.n_columns
    cdef int origin = state.row[node.first], size = 0, f
    cdef double mass = 0.0, sum = 0.0, w, gap, squares
    cdef double* mean = scratch.point
    for j in range(m):
        mean[j] = 0.0
    for slot in range(node.first, node.last):
        w = 1.0 if state.weight == NULL else state.weight[slot]
        mass += w
        for j in range(m):
            mean[j] += w * (entry(&state.clustered, state.row[slot], j) - entry(&state.clustered, origin, j))
    for j in range(m):
        mean[j] = entry(&state.clustered, origin, j) + mean[j] / mass
    for slot in range(node.first, node.last):
        w = 1.0 if state.weight == NULL else state.weight[slot]
        squares = 0.0
        for j in range(m):
            gap = entry(&state.clustered, state.row[slot], j) - mean[j]
            squares += gap * gap
        sum += w * squares
    mark_killers(state, index, scratch)  # the edges on the path: the conditions of its explanation
    for f in range(state.n_features):
        size += (scratch.killer[f] & 1) + (scratch.killer[f] >> 1)
    return sum + price * mass * size


cdef double look_ahead(
    State* state, int index, Scratch* scratches, int n_threads, Ahead* ahead, int level
) noexcept nogil:
    """Grow the best tree found below a node, and return its objective.

    The node's rows and centers lie where they lay, in another order; the nodes at its places are those of the
    best tree, but for their rows' slots, which are those of the last tree that was tried. The objective is infinity
    if some center got no leaf, so that no tree of fewer leaves is taken for the shorter one.
    """
    cdef Node* node = &state.nodes[index]
    cdef int n_centers = node.last_center - node.first_center, n_offers = 0, i, n_left, side
    cdef bint tries = level < ahead.levels
    cdef Offer one
    cdef Offer* offers = ahead.offers + level * ahead.width if tries else &one
    cdef Node* saved = ahead.saved + 2 * level * state.n_centers if tries else NULL
    cdef Node* child
    cdef Py_ssize_t n_rows_left
    cdef double objective, best = INFINITY
    if node.last - node.first < MIN_SHARED_ROWS:
        n_threads = 1
    if n_centers > 1:
        n_offers = choose_several(state, index, scratches, n_threads, offers, ahead.width if tries else 1)
        ahead.spent += <double>(node.last - node.first) * state.n_features
        scratches.unreported += <double>(node.last - node.first) * state.n_features
        if scratches.unreported > POLL_INTERVAL:
            scratches.unreported = 0.0
            look_up(state, min(ahead.spent / ahead.most, 1.0))
    if n_offers == 0:
        make_leaf(state, node, scratches)
        if n_centers > 1:
            return INFINITY
        return _leaf_objective(state, index, scratches, ahead.price)
    for i in range(n_offers):
        if i > 0:
            if state.stopped or ahead.spent > ahead.most:
                break
            sort_centers(state, node)
            prepare(state, node, scratches, n_threads, True)
        node.feature = offers[i].feature
        n_rows_left = take_sides(state, node, &offers[i].cut)
        n_left = split_centers(state, node, &offers[i].cut, scratches)
        part_rows(state, node.first, node.last, n_rows_left, n_threads)
        make_children(state, index, n_rows_left, n_left, index + 1, index + 2 * n_left)
        for side in range(2):  # both now: it takes state.center_side, which is another one below them
            child = &state.nodes[node.right if side else node.left]
            prepare(state, child, scratches, n_threads if child.last - child.first >= MIN_SHARED_ROWS else 1, False)
        objective = 0.0
        for side in range(2):
            objective += look_ahead(
                state, node.right if side else node.left, scratches, n_threads, ahead, level + 1
            )
            if objective > best:
                break
        if i == 0 or objective < best:
            best = objective
            if n_offers > 1:
                memcpy(saved, node, (2 * n_centers - 1) * sizeof(Node))
    if n_offers > 1:
        memcpy(node, saved, (2 * n_centers - 1) * sizeof(Node))
    return best
