"""Improving a finished tree: recut its nodes, and move leaves where no node can be recut (`recut`, `leaf_moves`).

The objective of a tree is the sum of its leaves' costs (`leaf_cost`): the squared distances of their rows to their
mean, plus a penalty for each row and condition that explains it. No leaf ever loses all its rows, and no step makes the
objective rise.
"""

import numpy as np

from cython.parallel cimport prange

from shallowrules._kernel.refinement.finished_tree cimport (
    count_conditions, gather_leaves, list_leaves, mark_stale, objective_below, route_to_leaves, threads_for_node
)
from shallowrules._kernel.refinement.leaf_moves cimport SPLIT_BINS, move_leaf
from shallowrules._kernel.refinement.recut cimport improve_cut
from shallowrules._kernel.refinement.state cimport Effort, Move, Rows, Stale, Term, TermAt, Tree, Walk, Work
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.matrix cimport entry, matrix_of
from shallowrules._kernel.shared.threads cimport CHUNK, HAS_OPENMP, MIN_SHARED_ROWS

cdef enum:
    SUM_BUFFER = 32768      # numbers that are summed into together: 256 KiB stay in a cache


cdef (double, double) _figures(const Tree* tree, Walk* walk) noexcept nogil:
    """Return the squared distances of all rows to the mean of their leaf, and their conditions, both by weight."""
    cdef int i, leaf, n_leaves = list_leaves(tree, walk, 0)
    cdef double squares = 0.0, conditions = 0.0
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        squares += tree.sum_of_squares[leaf]
        conditions += tree.mass[leaf] * count_conditions(tree, walk.is_seen, leaf, -1)
    return squares, conditions


cdef bint _is_over(const Effort* effort) noexcept nogil:
    return effort.rows_visited >= effort.max_rows or effort.progress.stopped


cdef void _improve(Work* work, bint moves_leaves) noexcept nogil:
    """Recut nodes, and move a leaf where none can be recut, until nothing pays or the work is enough."""
    cdef double total = objective_below(&work.tree, &work.walk, work.rows.condition_penalty, 0)
    cdef int node
    cdef bint changed = True
    while changed and not _is_over(&work.effort):
        changed = False
        for node in range(work.tree.n_nodes - 1, -1, -1):
            if work.tree.feature[node] < 0 or not work.stale.cut[node] or _is_over(&work.effort):
                continue
            work.stale.cut[node] = 0
            if improve_cut(work, node, total) > 0.0:
                mark_stale(&work.tree, &work.stale, work.walk.stack, node)
                changed = True
        if not changed and moves_leaves and not _is_over(&work.effort):
            changed = move_leaf(work, total) > 0.0


cdef void _find_gaps(const Rows* rows, const Tree* tree, double* lower, double* upper) noexcept nogil:
    """Find the gap of each cut: the largest value that goes left, the smallest that goes right."""
    cdef int node
    cdef Py_ssize_t i
    cdef double value
    for node in range(tree.n_nodes):
        if tree.feature[node] < 0:
            continue
        for i in range(tree.first[node], tree.last[node]):
            value = entry(&rows.X_explain, rows.row[tree.order[i]], tree.feature[node])
            if i < tree.last[tree.left[node]]:
                lower[node] = max(lower[node], value)
            else:
                upper[node] = min(upper[node], value)


cdef list _set_rows(Rows* table, inputs):
    """Say where the arrays of the table are, which are the caller's."""
    cdef const int[::1] rows = inputs.rows
    table.X_explain, table.X_cluster = matrix_of(inputs.X_explain), matrix_of(inputs.X_cluster)
    table.n_features, table.n_columns = inputs.X_explain.shape[1], inputs.X_cluster.shape[1]
    table.n_codes = inputs.single_valued.shape[1]
    table.codes = <const int*><size_t>address_of(inputs.codes)
    table.single_valued = <const unsigned char*><size_t>address_of(inputs.single_valued)
    table.row = &rows[0]
    table.weight = NULL if inputs.weight is None else <const double*><size_t>address_of(inputs.weight)
    return [inputs]


cdef list _set_tree(Tree* tree, Stale* stale, dict arrays, Py_ssize_t n_rows, Py_ssize_t m):
    """Say where the arrays of the tree are, and allocate what is kept of it: by node, then by row."""
    cdef Py_ssize_t n_nodes = len(arrays["feature"]), i
    cdef int node
    tree.n_nodes = <int>n_nodes
    tree.feature = <int*><size_t>address_of(arrays["feature"])
    tree.left = <int*><size_t>address_of(arrays["left"])
    tree.right = <int*><size_t>address_of(arrays["right"])
    tree.center = <int*><size_t>address_of(arrays["center"])
    tree.cut = <double*><size_t>address_of(arrays["cut"])
    kept = allocate([
        (<size_t>&tree.parent, n_nodes, np.int32),
        (<size_t>&tree.first, n_nodes, np.intp),
        (<size_t>&tree.last, n_nodes, np.intp),
        (<size_t>&tree.mean, (n_nodes, m), np.float64),
        (<size_t>&tree.mass, n_nodes, np.float64),
        (<size_t>&tree.sum_of_squares, n_nodes, np.float64),
        (<size_t>&stale.cut, n_nodes, np.uint8),
        (<size_t>&stale.moves, n_nodes, np.uint8),
        (<size_t>&tree.order, n_rows, np.int32),
        (<size_t>&tree.leaf, n_rows, np.int32),
        (<size_t>&tree.own_distance, n_rows, np.float64),
    ])
    for node in range(n_nodes):
        tree.parent[node] = -1
        stale.cut[node] = stale.moves[node] = 1
    for node in range(n_nodes):
        if tree.feature[node] >= 0:
            tree.parent[tree.left[node]] = tree.parent[tree.right[node]] = node
    for i in range(n_rows):
        tree.order[i] = <int>i
    tree.last[0] = n_rows
    return [arrays, kept]


cdef list _allocate_buffers(Work* work, Py_ssize_t r):
    """Allocate what recutting and moving leaves write to."""
    cdef Py_ssize_t n_nodes = work.tree.n_nodes, d = work.rows.n_features, m = work.rows.n_columns
    work.moves.n_sums = max(SUM_BUFFER, 2 * SPLIT_BINS * (m + 1))
    return allocate([
        (<size_t>&work.buffers.swap, r, np.int32),
        (<size_t>&work.buffers.delta, r, np.float64),
        (<size_t>&work.buffers.n_conditions, n_nodes, np.int32),
        (<size_t>&work.buffers.count, n_nodes, np.int64),
        (<size_t>&work.walk.leaves, n_nodes, np.int32),
        (<size_t>&work.walk.stack, n_nodes + 1, np.int32),
        (<size_t>&work.walk.is_seen, 2 * d, np.uint8),
        (<size_t>&work.buffers.point, (work.n_threads, m), np.float64),
        (<size_t>&work.buffers.codes.low, d, np.int32),
        (<size_t>&work.buffers.codes.high, d, np.int32),
        (<size_t>&work.recut.other, r, np.int32),
        (<size_t>&work.recut.penalty.left, (n_nodes, d), np.float64),
        (<size_t>&work.recut.penalty.right, (n_nodes, d), np.float64),
        (<size_t>&work.recut.mass_left, n_nodes, np.float64),
        (<size_t>&work.recut.mass_right, n_nodes, np.float64),
        (<size_t>&work.recut.terms, d * work.rows.n_codes, <Py_ssize_t>sizeof(Term)),
        (<size_t>&work.recut.base, (d, 2), np.float64),
        (<size_t>&work.recut.moves, 2 * d, <Py_ssize_t>sizeof(Move)),
        (<size_t>&work.recut.items, r, <Py_ssize_t>sizeof(TermAt)),
        (<size_t>&work.moves.removal, n_nodes, np.float64),
        (<size_t>&work.moves.split, n_nodes, <Py_ssize_t>sizeof(Move)),
        (<size_t>&work.moves.sums, work.moves.n_sums, np.float64),
        (<size_t>&work.moves.axis, (2, m), np.float64),
        (<size_t>&work.moves.score, d, np.float64),
        (<size_t>&work.moves.picked, d, np.int32),
        (<size_t>&work.moves.ranked, n_nodes, np.int32),
    ])


def improve_tree(
    inputs, tree, *, double condition_penalty, double max_passes, bint moves_leaves, int n_threads=1, progress=None
):
    """Improve a finished tree: give its nodes better cuts, and move leaves, until nothing pays or the work is enough.

    Parameters
    ----------
    inputs : CodedRows
    tree : dict of ndarray
        feature, left, right, center (int32), cut (float64), the root first; feature -1 at leaves. Every leaf has rows.
    condition_penalty : float
        What a condition costs for a unit of weight, in squared units of `X_cluster`.
    max_passes : float
        At most this number of times all rows are visited.
    moves_leaves : bool
        Whether leaves may move elsewhere in the tree; their centers move with them.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called now and then with the share of the most work that is done. If it raises, or on an interrupt, the work
        ends and the exception is raised.

    Returns
    -------
    dict
        The improved tree, the root first, other nodes in no order: `feature`, `left`, `right`, `center` (int32), `cut`,
        `lower`, `upper` (float64). What it is like, and was like before, as pairs `after` and `before`: the sum of
        squared distances of rows to the mean of their leaf, and of their conditions, by weight. And `ended`,
        whether it was the most work that ended it.
    """
    cdef Work work
    cdef Py_ssize_t r = len(inputs.rows), i
    cdef int n_nodes = len(tree["feature"]), n_shared
    failures = []
    work.n_threads = n_threads if HAS_OPENMP and r >= MIN_SHARED_ROWS else 1
    work.effort.rows_visited, work.effort.unpolled, work.effort.max_rows = 0.0, 0.0, max_passes * r
    work.effort.progress.callback, work.effort.progress.failures = <void*>progress, <void*>failures
    work.effort.progress.stopped = False
    tree = {name: tree[name].copy() for name in ("feature", "left", "right", "center", "cut")}
    tree["lower"], tree["upper"] = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
    cdef double[::1] lower = tree["lower"], upper = tree["upper"]
    keep = _set_rows(&work.rows, inputs)
    work.rows.condition_penalty = condition_penalty
    keep += _set_tree(&work.tree, &work.stale, tree, r, work.rows.n_columns)
    keep += _allocate_buffers(&work, r)
    with nogil:
        n_shared = threads_for_node(&work.tree, work.n_threads, 0)
        for i in prange((r + CHUNK - 1) // CHUNK, num_threads=n_shared, schedule="static"):
            route_to_leaves(&work.rows, &work.tree, 0, i * CHUNK, min((i + 1) * CHUNK, r))
        gather_leaves(&work.rows, &work.tree, &work.walk, &work.buffers, work.n_threads, 0)
    before = _figures(&work.tree, &work.walk)
    with nogil:
        _improve(&work, moves_leaves and n_nodes > 3)
        _find_gaps(&work.rows, &work.tree, &lower[0], &upper[0])
    if failures:
        raise failures[0]
    ended = work.effort.rows_visited >= work.effort.max_rows
    return tree | {"before": before, "after": _figures(&work.tree, &work.walk), "ended": ended}
