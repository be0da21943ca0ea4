"""The memory of refinement: the arrays that improving a finished tree reads and writes, allocated before any work."""

import numpy as np

from libc.stdint cimport uint16_t

from shallowrules._kernel.refinement.leaf_moves cimport SPLIT_BINS
from shallowrules._kernel.refinement.state cimport (
    BOUNDED_COST, BOUNDED_LENGTH, GROUP, NO_GOAL, Move, Rows, Stale, TermAt, Tree, Work, n_groups
)
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.matrix cimport matrix_of
from shallowrules._kernel.shared.threads cimport HAS_OPENMP

cdef enum:
    SUM_BUFFER = 32768      # numbers that one pass adds to: 256 KiB stay in a cache


cdef list _set_rows(Rows* table, inputs):
    """Point to the arrays of the table, which are the caller's."""
    cdef const int[::1] rows = inputs.rows
    table.X_explain, table.X_cluster = matrix_of(inputs.X_explain), matrix_of(inputs.X_cluster)
    table.n_features, table.n_columns = inputs.X_explain.shape[1], inputs.X_cluster.shape[1]
    table.n_codes = inputs.single_valued.shape[1]
    table.codes = <const uint16_t*><size_t>address_of(inputs.codes)
    table.single_valued = <const unsigned char*><size_t>address_of(inputs.single_valued)
    table.row = &rows[0]
    table.weight = NULL if inputs.weight is None else <const double*><size_t>address_of(inputs.weight)
    return [inputs]


cdef list allocate_tree(Tree* tree, Stale* stale, Py_ssize_t n_rows, Py_ssize_t m):
    """Allocate the data kept of a tree besides its cuts: by node, then by row; return it, to be kept alive."""
    cdef Py_ssize_t n_nodes = tree.n_nodes
    return allocate([
        (<size_t>&tree.parent, n_nodes, np.int32),
        (<size_t>&tree.first, n_nodes, np.intp),
        (<size_t>&tree.last, n_nodes, np.intp),
        (<size_t>&tree.mean, (n_nodes, m), np.float64),
        (<size_t>&tree.mass, n_nodes, np.float64),
        (<size_t>&tree.sum_of_squares, n_nodes, np.float64),
        (<size_t>&stale.cut, n_nodes, np.uint8),
        (<size_t>&tree.is_measured, n_nodes, np.uint8),
        (<size_t>&stale.removal, n_nodes, np.uint8),
        (<size_t>&stale.split, n_nodes, np.uint8),
        (<size_t>&tree.order, n_rows, np.int32),
        (<size_t>&tree.leaf, n_rows, np.int32),
        (<size_t>&tree.own_distance, n_rows, np.float64),
    ])


cdef list _set_tree(Tree* tree, Stale* stale, dict arrays, Py_ssize_t n_rows, Py_ssize_t m):
    """Point to the arrays of the tree, and allocate the data kept of it: by node, then by row."""
    cdef Py_ssize_t n_nodes = len(arrays["feature"]), i
    cdef int node
    tree.n_nodes = <int>n_nodes
    tree.feature = <int*><size_t>address_of(arrays["feature"])
    tree.left = <int*><size_t>address_of(arrays["left"])
    tree.right = <int*><size_t>address_of(arrays["right"])
    tree.center = <int*><size_t>address_of(arrays["center"])
    tree.cut = <double*><size_t>address_of(arrays["cut"])
    kept = allocate_tree(tree, stale, n_rows, m)
    for node in range(n_nodes):
        tree.parent[node] = -1
        stale.cut[node] = stale.removal[node] = stale.split[node] = 1
    for node in range(n_nodes):
        if tree.feature[node] >= 0:
            tree.parent[tree.left[node]] = tree.parent[tree.right[node]] = node
    for i in range(n_rows):
        tree.order[i] = <int>i
    tree.last[0] = n_rows
    tree.changed_first, tree.changed_last = 0, n_rows
    return [arrays, kept]


cdef list _allocate_buffers(Work* work, Py_ssize_t r):
    """Allocate the buffers for recutting and moving leaves."""
    cdef Py_ssize_t n_nodes = work.tree.n_nodes, d = work.rows.n_features, m = work.rows.n_columns
    cdef Py_ssize_t groups = n_groups(&work.rows), in_groups = groups * GROUP, k = work.tree.n_clusters
    work.moves.n_sums = max(SUM_BUFFER, 2 * SPLIT_BINS * (m + 1), (SPLIT_BINS + 3) * (m + 1 + k) + k)
    return allocate([
        (<size_t>&work.buffers.swap, r, np.int32),
        (<size_t>&work.buffers.delta, r, np.float64),
        (<size_t>&work.buffers.n_conditions, n_nodes, np.int32),
        (<size_t>&work.buffers.count, n_nodes, np.int64),
        (<size_t>&work.walk.leaves, n_nodes, np.int32),
        (<size_t>&work.walk.stack, n_nodes + 1, np.int32),
        (<size_t>&work.walk.is_seen, 2 * d, np.uint8),
        (<size_t>&work.buffers.point, (work.n_threads, m), np.float64),
        (<size_t>&work.buffers.codes.low, in_groups, np.uint16),
        (<size_t>&work.buffers.codes.high, in_groups, np.uint16),
        (<size_t>&work.buffers.codes.bins_per_code, d, np.int64),
        (<size_t>&work.recut.other, r, np.int32),
        (<size_t>&work.recut.penalty.left, (n_nodes, d), np.float64),
        (<size_t>&work.recut.penalty.right, (n_nodes, d), np.float64),
        (<size_t>&work.recut.mass_left, n_nodes, np.float64),
        (<size_t>&work.recut.mass_right, n_nodes, np.float64),
        (<size_t>&work.recut.is_charged, in_groups, np.int64),
        (<size_t>&work.recut.free, d, np.int32),
        (<size_t>&work.recut.charged, d, np.int32),
        (<size_t>&work.recut.terms.as_is, (in_groups, work.rows.n_codes), np.float64),
        (<size_t>&work.recut.terms.swapped, (in_groups, work.rows.n_codes), np.float64),
        (<size_t>&work.recut.base, (in_groups, 2), np.float64),
        (<size_t>&work.recut.lowest, (in_groups, 2), np.float64),
        (<size_t>&work.recut.items, r, <Py_ssize_t>sizeof(TermAt)),
        (<size_t>&work.moves.removal, n_nodes, np.float64),
        (<size_t>&work.moves.split, n_nodes, <Py_ssize_t>sizeof(Move)),
        (<size_t>&work.moves.sums, work.moves.n_sums, np.float64),
        (<size_t>&work.moves.axis, (2, m), np.float64),
        (<size_t>&work.moves.difference, m, np.float64),
        (<size_t>&work.moves.terms, (r if k else 0, m + 1 + k), np.float64),
        (<size_t>&work.moves.score, d, np.float64),
        (<size_t>&work.moves.picked, d, np.int32),
        (<size_t>&work.moves.ranked, n_nodes, np.int32),
        (<size_t>&work.within.terms, (d if work.goal.kind else 0, work.rows.n_codes, 3), np.float64),
        (<size_t>&work.within.lowest, d, np.float64),
        (<size_t>&work.within.code, d, np.int32),
        (<size_t>&work.within.swapped, d, np.uint8),
    ])


cdef list prepare_work(
    Work* work, inputs, dict tree, int n_clusters, double condition_penalty, double max_rows, int n_threads, progress,
    list failures, goal=None
):
    """Prepare the work on a finished tree, whose arrays are changed; return the arrays to keep alive meanwhile."""
    work.goal.kind = NO_GOAL
    if goal is not None:
        work.goal.kind = BOUNDED_LENGTH if goal[0] == "length" else BOUNDED_COST
        work.goal.bound, work.goal.cost_unit, work.goal.weight_unit = goal[1:]
    cdef Py_ssize_t r = len(inputs.rows)
    work.n_threads = n_threads if HAS_OPENMP else 1
    work.effort.rows_visited, work.effort.unpolled, work.effort.max_rows = 0.0, 0.0, max_rows
    work.effort.progress.callback, work.effort.progress.failures = <void*>progress, <void*>failures
    work.effort.progress.stopped = False
    keep = _set_rows(&work.rows, inputs)
    work.rows.condition_penalty = condition_penalty
    work.tree.n_clusters = n_clusters
    keep += _set_tree(&work.tree, &work.stale, tree, r, work.rows.n_columns)
    return [*keep, *_allocate_buffers(work, r), progress, failures]
