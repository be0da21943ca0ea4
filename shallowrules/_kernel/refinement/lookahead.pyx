"""Lookahead: of a node's best cuts, the one whose finished subtree is best.

Price and DExp only guess what a cut will lead to. Here the subtrees of several cuts are grown, and their true objective
is compared: the squared distances of rows to the means of their leaves, and a penalty for each condition that explains
a row (`leaf_cost`). Nodes of the first levels are tried in this way; below them the best cut is taken at once.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy

from shallowrules._kernel.growth.cut_scan cimport Candidate, Candidates
from shallowrules._kernel.growth.cut_search cimport (
    choose_candidates, mark_path_sides, restore_node
)
from shallowrules._kernel.growth.nodes cimport cut_node, make_leaf
from shallowrules._kernel.growth.state cimport Node, Scratch, Slots, State, Table
from shallowrules._kernel.growth.workspace cimport Workspace
from shallowrules._kernel.refinement.leaf_cost cimport leaf_cost
from shallowrules._kernel.shared.allocation cimport allocate
from shallowrules._kernel.shared.interrupts cimport is_poll_due, poll_interrupts
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.threads cimport threads_for

cdef struct Lookahead:
    double tradeoff
    int levels                  # of the tree on which several cuts are tried
    int width                   # how many, at most
    int first, step             # the root's cuts that are tried: from this one on, at this interval
    double condition_penalty    # what a condition costs for a unit of weight
    double max_work             # rows x features of the nodes that are cut until no other cut is tried
    double work                 # of these, so far
    Candidate* candidates       # [levels, width]
    Node* saved                 # [levels, 2 k] the best subtree so far


cdef double _leaf_objective(
    const Table* table, const Slots* slots, const Node* nodes, int index, unsigned char* path_sides, double* mean,
    double condition_penalty,
) noexcept nogil:
    """Return the amount that a leaf adds to the objective of the tree; path_sides: [d] and mean: [m] are written to."""
    cdef const Node* node = &nodes[index]
    cdef Py_ssize_t slot, j, m = table.X_cluster.n_columns
    cdef const int* row = slots.row
    cdef const double* weight = slots.weight
    cdef int origin = row[node.first], n_conditions = 0, f
    cdef double mass = 0.0, sum = 0.0, w, gap, squares
    for j in range(m):
        mean[j] = 0.0
    for slot in range(node.first, node.last):
        w = 1.0 if weight == NULL else weight[slot]
        mass += w
        for j in range(m):
            mean[j] += w * (entry(&table.X_cluster, row[slot], j) - entry(&table.X_cluster, origin, j))
    for j in range(m):
        mean[j] = entry(&table.X_cluster, origin, j) + mean[j] / mass
    for slot in range(node.first, node.last):
        w = 1.0 if weight == NULL else weight[slot]
        squares = 0.0
        for j in range(m):
            gap = entry(&table.X_cluster, row[slot], j) - mean[j]
            squares += gap * gap
        sum += w * squares
    mark_path_sides(table, nodes, index, path_sides)
    for f in range(table.n_features):  # the sides on the path are the conditions of the explanation
        n_conditions += (path_sides[f] & 1) + (path_sides[f] >> 1)
    return leaf_cost(sum, mass, n_conditions, condition_penalty)


cdef double _look_ahead(
    State* state, int index, Scratch* scratches, int n_threads, Lookahead* ahead, int level
) noexcept nogil:
    """Grow the best tree found below a node, and return its objective.

    The node's rows and centers stay in their slots, in another order; the nodes at its places are those of the best
    tree, except for their rows' slots, which are those of the last tree that was tried. The objective is infinity if
    some center got no leaf, so that no tree of fewer leaves is taken for the shorter one.
    """
    cdef Node* node = &state.nodes[index]
    cdef int n_centers = node.last_center - node.first_center, i, side, first = 0, step = 1
    cdef bint tries = level < ahead.levels
    cdef Candidate one
    cdef Candidates candidates
    cdef Node* saved = ahead.saved + 2 * level * state.table.n_centers if tries else NULL
    cdef double objective, best = INFINITY, codes = <double>(node.last - node.first) * state.table.n_features
    candidates.best = ahead.candidates + level * ahead.width if tries else &one
    candidates.capacity = ahead.width if tries else 1
    candidates.count = 0
    n_threads = threads_for(node.last - node.first, n_threads)
    if n_centers > 1:
        choose_candidates(state, index, scratches, n_threads, ahead.tradeoff, &candidates)
        ahead.work += codes
        if is_poll_due(&scratches.worker.unpolled, codes):
            poll_interrupts(&state.progress, min(ahead.work / ahead.max_work, 1.0))
    if candidates.count == 0:
        make_leaf(&state.table, &state.slots, &state.centers, node, &scratches.rows)
        if n_centers > 1:
            return INFINITY
        return _leaf_objective(
            &state.table, &state.slots, state.nodes, index, scratches.scan.path_sides, scratches.rows.point,
            ahead.condition_penalty,
        )
    if level == 0:
        first, step = min(ahead.first, candidates.count - 1), ahead.step
    i = first
    while i < candidates.count:
        if i > first:
            if state.progress.stopped or ahead.work > ahead.max_work:
                break
            restore_node(state, node)
        cut_node(state, index, &candidates.best[i].cut, scratches.rows.members, n_threads, index + 1, -1)
        objective = 0.0
        for side in range(2):
            objective += _look_ahead(
                state, node.right if side else node.left, scratches, n_threads, ahead, level + 1
            )
            if objective > best:
                break
        if i == first or objective < best:
            best = objective
            if candidates.count > 1:
                memcpy(saved, node, (2 * n_centers - 1) * sizeof(Node))
        i += step
    if candidates.count > 1:
        memcpy(node, saved, (2 * n_centers - 1) * sizeof(Node))
    return best


def grow_ahead(
    inputs, double tradeoff, lookahead, *, cuts=(0, 1), int ranks=256, int n_threads=1, progress=None,
    kept_distances=None
):
    """Grow a tree whose first levels try several cuts, and keep the one whose finished subtree is best.

    Parameters
    ----------
    lookahead : tuple
        (levels, width, condition_penalty, max_work): on at most `levels` levels of the tree at most `width` cuts of
        each node are tried. `condition_penalty` is the cost of a condition for a unit of weight, in squared units of
        `X_cluster`. No further cut is tried once nodes of `max_work` rows x features were cut.
    cuts : tuple of int
        (first, step): of the root's cuts, best first, every `step`-th from `first` on is tried.
    ranks : int
        Bins of a feature, each with about as many rows: cuts are tried between them.
    inputs, tradeoff, n_threads, progress, kept_distances
        As for `grow_tree`.

    Returns
    -------
    dict of ndarray, shape (n_places,)
        As `grow_tree` returns it, except for the rows: `first` and `last` tell only their number. Cuts lie at ends
        of bins that depend on the ranks of values.
    """
    cdef Py_ssize_t k = len(inputs.cluster_centers)
    cdef Workspace workspace = Workspace(
        inputs, 2 * k, n_threads=n_threads, progress=progress, ranks=ranks
    )
    cdef State* state = &workspace.state
    cdef Scratch* scratches
    cdef Lookahead ahead
    workspace.allocate_scratches(True)
    workspace.keep_distances(inputs, kept_distances)
    scratches = workspace.scratches
    ahead.tradeoff = tradeoff
    ahead.levels, ahead.width, ahead.condition_penalty, ahead.max_work = lookahead
    ahead.first, ahead.step = cuts
    ahead.work = 0.0
    workspace.keep(allocate([
        (<size_t>&ahead.candidates, ahead.levels * ahead.width, <Py_ssize_t>sizeof(Candidate)),
        (<size_t>&ahead.saved, 2 * k * ahead.levels, <Py_ssize_t>sizeof(Node)),
    ]))
    n_threads = workspace.n_threads
    with nogil:
        _look_ahead(state, 0, scratches, n_threads, &ahead, 0)
    return workspace.finish()
