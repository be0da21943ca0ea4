"""Improving a finished tree: recut its nodes, and move leaves where no node can be recut (`recut`, `leaf_moves`).

The objective of a tree is the sum of its leaves' costs (`leaf_cost`): the squared distances of their rows to their
mean, plus a penalty for each row and condition that explains it. No leaf ever loses all its rows, and no step makes the
objective rise.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY

from shallowrules._kernel.refinement.finished_tree cimport (
    figures_of, is_over, place_rows, threads_for_node
)
from shallowrules._kernel.refinement.goals cimport improve_cut_within, objective_of
from shallowrules._kernel.refinement.leaf_moves cimport move_leaf
from shallowrules._kernel.refinement.recut cimport improve_cut
from shallowrules._kernel.refinement.state cimport MIN_GAIN, Rows, Tree, Work
from shallowrules._kernel.refinement.unions cimport pass_on_leaf
from shallowrules._kernel.refinement.workspace cimport prepare_work
from shallowrules._kernel.shared.matrix cimport entry


cdef bint sweep(Work* work, double least) noexcept nogil:
    """Recut every node that something changed for; return whether any gained more than `least`."""
    cdef int node
    cdef bint changed = False
    cdef double gain
    for node in range(work.tree.n_nodes - 1, -1, -1):
        if work.tree.feature[node] < 0 or not work.stale.cut[node] or is_over(&work.effort):
            continue
        work.stale.cut[node] = 0
        gain = improve_cut_within(work, node, least) if work.goal.kind else improve_cut(work, node, least)
        if gain > 0.0:
            changed = True
    return changed


cdef double move_some_leaf(Work* work, double least) noexcept nogil:
    """Move a leaf to another place, or, if its cluster has several, to another cluster; return the gain, above `least`.

    Under a goal none is moved: its gain is not known in advance.
    """
    if work.goal.kind:
        return 0.0
    return pass_on_leaf(work, least) if work.tree.n_clusters else move_leaf(work, least)


cdef void improve(Work* work, bint moves_leaves) noexcept nogil:
    """Recut nodes, and move a leaf where none can be recut, until nothing gains or the work limit is reached."""
    cdef double least = MIN_GAIN * objective_of(work)
    while not is_over(&work.effort):
        if sweep(work, least):
            continue
        if not moves_leaves or is_over(&work.effort) or not move_some_leaf(work, least) > 0.0:
            return


cdef void _find_gap(const Rows* rows, const Tree* tree, int node, double* lower, double* upper) noexcept nogil:
    """Find the gap of a node's cut: the largest value that goes left, the smallest that goes right."""
    cdef Py_ssize_t i
    cdef double value
    lower[0], upper[0] = -INFINITY, INFINITY
    for i in range(tree.first[node], tree.last[node]):
        value = entry(&rows.X_explain, rows.row[tree.order[i]], tree.feature[node])
        if i < tree.last[tree.left[node]]:
            lower[0] = max(lower[0], value)
        else:
            upper[0] = min(upper[0], value)


def improve_tree(
    inputs, tree, *, double condition_penalty, double max_passes, bint moves_leaves, int n_clusters=0, int n_threads=1,
    progress=None
):
    """Improve a finished tree: give its nodes better cuts, and move leaves, until nothing gains or the work limit is
    reached.

    Parameters
    ----------
    inputs : CodedRows
    tree : dict of ndarray
        feature, left, right, center (int32), cut (float64), the root first; feature -1 at leaves. Every leaf has rows.
    condition_penalty : float
        The cost of a condition for a unit of weight, in squared units of `X_cluster`.
    max_passes : float
        All rows are visited at most this number of times.
    moves_leaves : bool
        Whether leaves may move elsewhere in the tree; their centers move with them.
    n_clusters : int
        The number of clusters, where one may have several leaves, all those of its center; each has at least one. 0
        where each leaf is a cluster.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called from time to time with the completed share of the maximum work. If it raises, or on an interrupt, the
        work ends and the exception is raised.

    Returns
    -------
    dict
        The improved tree, the root first, others in any order: `feature`, `left`, `right`, `center` (int32), `cut`,
        `lower`, `upper` (float64). Its figures now and before, as pairs `after` and `before`: the sum of
        squared distances of rows to the mean of their cluster, and of their conditions, by weight. And `ended`, whether
        the limit of the work ended it.
    """
    cdef Work work
    cdef Py_ssize_t r = len(inputs.rows)
    cdef int n_nodes = len(tree["feature"]), n_shared, node
    failures = []
    tree = {name: tree[name].copy() for name in ("feature", "left", "right", "center", "cut")}
    tree["lower"], tree["upper"] = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
    cdef double[::1] lower = tree["lower"], upper = tree["upper"]
    _keep = prepare_work(
        &work, inputs, tree, n_clusters, condition_penalty, max_passes * r, n_threads, progress, failures
    )  # alive until the work is done
    with nogil:
        place_rows(&work)
    before = figures_of(&work.tree, &work.walk)
    with nogil:
        improve(&work, moves_leaves and n_nodes > 3)
        n_shared = threads_for_node(&work.rows, &work.tree, work.n_threads, 0)
        for node in prange(n_nodes, num_threads=n_shared, schedule="dynamic", chunksize=1):
            if work.tree.feature[node] >= 0:
                _find_gap(&work.rows, &work.tree, node, &lower[node], &upper[node])
    if failures:
        raise failures[0]
    ended = work.effort.rows_visited >= work.effort.max_rows
    return tree | {"before": before, "after": figures_of(&work.tree, &work.walk), "ended": ended}
