"""ExKMC: split the leaf whose best cut lowers the surrogate cost most, until there are enough leaves or none does.

It starts from one leaf, or from IMM's tree. Each leaf has a planned cut, found when the leaf was made (`surrogate`);
so of all leaves only the two new ones are worked on in a step. Of leaves with equal gains, the oldest is split.
"""

import numpy as np

from cython.parallel cimport prange

from shallowrules._kernel.exkmc.surrogate cimport CoarseBins, SurrogateScratch, cheapest_cost, plan_cut
from shallowrules._kernel.growth.nodes cimport make_children
from shallowrules._kernel.growth.partition cimport mark_sides, partition_rows
from shallowrules._kernel.growth.state cimport LANES, LEAF, Item, Node, State
from shallowrules._kernel.growth.tree cimport grow_nodes
from shallowrules._kernel.growth.workspace cimport Workspace
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.interrupts cimport is_poll_due, poll_interrupts
from shallowrules._kernel.shared.threads cimport MIN_SHARED_ROWS, threads_for

cdef enum:
    MIN_BINS = 16
    MAX_BINS = 256              # of a feature
    BIN_MEMORY = 64000000       # bytes that a thread's bins may take


def _coarse_bins(codes, single_valued, n_bins):
    """Return the bin of every code, shape (d, n_codes), and which bins have a single value, shape (d, n_bins)."""
    d, n_codes = single_valued.shape
    bin_of = np.empty((d, n_codes), dtype=np.int32)
    single_valued_bins = np.zeros((d, n_bins), dtype=np.uint8)
    for f in range(d):
        used = np.bincount(codes[f], minlength=n_codes) > 0
        n_used = int(used.sum())
        rank = np.maximum(np.cumsum(used) - 1, 0)
        if n_used > n_bins:
            bin_of[f] = rank * n_bins // n_used
        else:
            bin_of[f] = rank
            single_valued_bins[f, :n_used] = single_valued[f][used]
    return bin_of, single_valued_bins


cdef _set_bins(Workspace workspace, CoarseBins* bins):
    """Group the codes into bins."""
    cdef Py_ssize_t d = workspace.state.table.n_features, k = workspace.state.table.n_centers
    bins.n_bins = <int>max(MIN_BINS, min(MAX_BINS, BIN_MEMORY // (8 * d * k)))
    bin_of, single_valued = _coarse_bins(workspace.codes, workspace.single_valued, bins.n_bins)
    bins.bin_of = <const int*><size_t>address_of(bin_of)
    bins.single_valued = <const unsigned char*><size_t>address_of(single_valued)
    workspace.keep([bin_of, single_valued])


cdef SurrogateScratch* _allocate_scratches(Workspace workspace, int n_bins) except NULL:
    """Allocate a scratch for each thread."""
    cdef Py_ssize_t d = workspace.state.table.n_features, k = workspace.state.table.n_centers
    cdef Py_ssize_t n = workspace.state.table.n_rows, m = workspace.state.table.X_cluster.n_columns
    cdef SurrogateScratch* scratches
    cdef SurrogateScratch* scratch
    cdef int t
    workspace.keep(allocate([(<size_t>&scratches, workspace.n_threads, <Py_ssize_t>sizeof(SurrogateScratch))]))
    for t in range(workspace.n_threads):
        scratch = &scratches[t]
        workspace.keep(allocate([
            (<size_t>&scratch.rows.lanes, (m, LANES), np.float64),
            (<size_t>&scratch.rows.lane_distance, (k, LANES), np.float64),
            (<size_t>&scratch.rows.members, k, np.int32),
            (<size_t>&scratch.items, n, <Py_ssize_t>sizeof(Item)),  # a bin may hold every row
            (<size_t>&scratch.bin_costs, (d, n_bins, k), np.int64),
            (<size_t>&scratch.bin_rows, (d, n_bins), np.int32),
            (<size_t>&scratch.center_costs, (LANES, k), np.int64),
            (<size_t>&scratch.left_costs, k, np.int64),
            (<size_t>&scratch.inside_costs, k, np.int64),
            (<size_t>&scratch.all_costs, k, np.int64),
            (<size_t>&scratch.cost_of, k, np.float64),
            (<size_t>&scratch.best, d, np.float64),
        ]))
    return scratches


cdef int _list_leaves(const Node* nodes, int root, int* leaves) noexcept nogil:
    """List the leaves of a tree, left before right; return how many."""
    cdef int index = root, n_found = 0
    while True:
        while nodes[index].feature >= 0:
            index = nodes[index].left
        leaves[n_found] = index
        n_found += 1
        while index != root and not nodes[index].is_left:
            index = nodes[index].parent
        if index == root:
            return n_found
        index = nodes[nodes[index].parent].right


cdef void _plan_child(
    State* state, const CoarseBins* bins, int place, SurrogateScratch* scratches, int n_threads, double cost
) noexcept nogil:
    cdef Node* child = &state.nodes[place]
    child.feature = LEAF
    plan_cut(
        &state.table, &state.slots, bins, child, scratches, threads_for(child.last - child.first, n_threads), cost,
        False,
    )


cdef void _split_leaf(
    State* state, const CoarseBins* bins, SurrogateScratch* scratches, int n_threads, int index, int left
) noexcept nogil:
    """Make a leaf's planned cut; its children get the places `left` and the next one, and plan theirs."""
    cdef Node* node = &state.nodes[index]
    cdef Py_ssize_t n_rows_left
    cdef int side
    cdef double cost = node.planned_cut.objective   # of both children together: an upper bound for either
    node.feature = node.planned_cut.feature
    n_rows_left = mark_sides(&state.table, &state.slots, node, &node.planned_cut)
    node.cut = node.lower
    partition_rows(
        &state.table, &state.slots, node.first, node.last, n_rows_left,
        threads_for(node.last - node.first, n_threads),
    )
    make_children(state.nodes, index, n_rows_left, 0, left, left + 1)
    if n_threads > 1 and node.last - node.first < MIN_SHARED_ROWS:
        for side in prange(2, num_threads=2, schedule="static", chunksize=1):
            _plan_child(state, bins, left + side, &scratches[side], 1, cost)
    else:
        for side in range(2):
            _plan_child(state, bins, left + side, scratches, n_threads, cost)


cdef void _expand(
    State* state, const CoarseBins* bins, SurrogateScratch* scratches, int n_threads, int n_leaves, int* leaves
) noexcept nogil:
    """Split leaves until there are n_leaves, or no cut lowers the cost. `leaves` is kept oldest first."""
    cdef int n_found = _list_leaves(state.nodes, 0, leaves), n_places = 2 * state.table.n_centers - 1, i, best, index
    cdef double cost, unpolled = 0.0
    cdef Node* node
    for i in range(n_found):
        node = &state.nodes[leaves[i]]
        cost = cheapest_cost(&state.table, &state.slots, node, scratches)
        plan_cut(
            &state.table, &state.slots, bins, node, scratches, threads_for(node.last - node.first, n_threads), cost,
            n_found > 1,
        )
    while n_found < n_leaves and not state.progress.stopped:
        best = 0
        for i in range(1, n_found):
            if state.nodes[leaves[i]].gain > state.nodes[leaves[best]].gain:
                best = i
        index = leaves[best]
        node = &state.nodes[index]
        if not node.gain > 0.0:
            return
        for i in range(best, n_found - 1):
            leaves[i] = leaves[i + 1]
        _split_leaf(state, bins, scratches, n_threads, index, n_places)
        leaves[n_found - 1] = n_places
        leaves[n_found] = n_places + 1
        n_places += 2
        n_found += 1
        if is_poll_due(&unpolled, <double>(node.last - node.first) * state.table.n_features):
            poll_interrupts(&state.progress, <double>n_found / n_leaves)


def grow_exkmc(inputs, int n_leaves, *, assigned=None, int n_threads=1, progress=None):
    """Grow ExKMC's tree: split the leaf whose best cut lowers the surrogate cost most.

    Parameters
    ----------
    n_leaves : int
        Stop at this number of leaves, at least 1, or where no cut lowers the cost.
    assigned : ndarray of int32, shape (r,), optional
        If given, start from IMM's tree, see `grow_imm`; else from one leaf.
    inputs, n_threads, progress
        As for `grow_tree`, which also describes the result.
    """
    cdef Py_ssize_t k = len(inputs.cluster_centers)
    cdef Workspace workspace = Workspace(
        inputs, 2 * k + 2 * n_leaves, n_threads=n_threads, progress=progress,
        assigned=assigned,
    )
    cdef State* state = &workspace.state
    cdef SurrogateScratch* scratches
    cdef CoarseBins bins
    cdef int* leaves
    n_threads = workspace.n_threads
    if assigned is None:
        state.nodes[0].feature = LEAF
    else:
        workspace.allocate_scratches(False)
        grow_nodes(workspace, 0.0)
    _set_bins(workspace, &bins)
    scratches = _allocate_scratches(workspace, bins.n_bins)
    workspace.keep(allocate([(<size_t>&leaves, max(n_leaves, k) + 1, np.int32)]))
    with nogil:
        _expand(state, &bins, scratches, n_threads, n_leaves, leaves)
    return workspace.finish()
