"""Clusters of several leaves: cut a leaf so that one part of it goes to another cluster, or pass a whole leaf on.

The objective is that of other finished trees, except that rows are measured around the mean of their cluster, whichever
leaf they are in. The change when a part of a cluster goes to another one is exact. With s the sum of the part's
differences from its own mean, by weight, w its weight, and q its extra cost around the other mean, it is

    q - |s|^2 / (W - w) - (|s|^2 + w q) / (V + w)

where W and V are the weights of the two clusters before. A cluster that has no leaf has V = 0 and q = 0.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memset

from shallowrules._kernel.refinement.differences cimport sr_add_and_square, sr_add_to, sr_difference
from shallowrules._kernel.refinement.finished_tree cimport (
    count_visit, figures_of, forget_path, gather_leaves, is_over, list_leaves, mark_path, mark_stale, objective_below,
    place_rows
)
from shallowrules._kernel.refinement.leaf_moves cimport (
    SPLIT_BINS, cut_in_two, find_codes, is_below, split_bin, take_away
)
from shallowrules._kernel.refinement.state cimport (
    MIN_GAIN, Rows, Tree, Walk, Work, point_of, squared_distance, weight_of
)
from shallowrules._kernel.refinement.workspace cimport prepare_work
from shallowrules._kernel.shared.matrix cimport entry


cdef struct Cut:
    double change               # of the objective
    int feature                 # -1: none
    int bin                     # rows up to it go left
    double value                # the largest of these
    int center                  # of the part that goes to another cluster
    bint left_goes              # whether that is the left one


cdef int _leaf_of(const Tree* tree, Walk* walk, int n_leaves, int center, double* mass) noexcept nogil:
    """Return a leaf of a cluster among walk.leaves, -1 if it has none, and its weight."""
    cdef int i, found = -1
    mass[0] = 0.0
    for i in range(n_leaves):
        if tree.center[walk.leaves[i]] == center:
            found = walk.leaves[i]
            mass[0] += tree.mass[found]
    return found


cdef inline double _change(double squares, double w, double dearer, double own_mass, double other_mass) noexcept nogil:
    """Return by how much the cost changes when a part of a cluster goes to another one."""
    return dearer - squares / (own_mass - w) - (squares + w * dearer) / (other_mass + w)


cdef void _find_terms(Work* work, int leaf, int n_leaves, double* masses, double* total) noexcept nogil:
    """Find the terms that the rows of a leaf add to sums over its parts, to moves.terms, and their total.

    For each row: its difference from the mean of its cluster, its weight, and its extra cost in each other cluster.
    The weights of all clusters go to `masses`.
    """
    cdef const Rows* rows = &work.rows
    cdef const Tree* tree = &work.tree
    cdef Py_ssize_t m = rows.n_columns, width = m + 1 + tree.n_clusters, at
    cdef int t, slot, other, own = tree.center[leaf]
    cdef double w
    cdef const double* point
    cdef double* terms
    memset(total, 0, width * sizeof(double))
    for at in range(tree.first[leaf], tree.last[leaf]):
        slot = tree.order[at]
        w = weight_of(rows, slot)
        point = point_of(rows, slot, work.buffers.point)
        terms = work.moves.terms + (at - tree.first[leaf]) * width
        sr_difference(point, tree.mean + leaf * m, w, m, terms)
        terms[m] = w
    for t in range(tree.n_clusters):
        other = _leaf_of(tree, &work.walk, n_leaves, t, &masses[t])
        for at in range(tree.first[leaf], tree.last[leaf]):
            terms = work.moves.terms + (at - tree.first[leaf]) * width
            if other < 0 or t == own:
                terms[m + 1 + t] = 0.0
                continue
            slot = tree.order[at]
            point = point_of(rows, slot, work.buffers.point)
            terms[m + 1 + t] = terms[m] * (squared_distance(point, tree.mean + other * m, m) - tree.own_distance[slot])
    for at in range(tree.last[leaf] - tree.first[leaf]):
        sr_add_to(total, work.moves.terms + at * width, width)


cdef void _scan_feature(
    Work* work, int leaf, int feature, int missing, const double* masses, const double* total, double* left,
    double* right, const double* sums, Cut* best
) noexcept nogil:
    """Find the best cut of a leaf between the bins of a feature, of whose rows `sums` are, better than the best."""
    cdef const Rows* rows = &work.rows
    cdef const Tree* tree = &work.tree
    cdef Py_ssize_t m = rows.n_columns, width = m + 1 + tree.n_clusters, j
    cdef int bin, t, own = tree.center[leaf]
    cdef double left_squares, right_squares, conditions, change
    cdef double penalty_left = 0.0 if work.walk.is_seen[2 * feature + 1] else rows.condition_penalty
    cdef double penalty_right = 0.0 if work.walk.is_seen[2 * feature] else rows.condition_penalty
    memset(left, 0, width * sizeof(double))
    for bin in range(SPLIT_BINS - 1):
        if sums[m] == 0.0:
            sums += width
            continue
        left_squares = sr_add_and_square(left, sums, m)
        sr_add_to(left + m, sums + m, width - m)
        sums += width
        right_squares = 0.0
        for j in range(width):
            right[j] = total[j] - left[j]
        if not right[m] > MIN_GAIN * left[m]:
            break
        for j in range(m):
            right_squares += right[j] * right[j]
        conditions = penalty_left * left[m] + penalty_right * right[m]
        for t in range(tree.n_clusters):
            if t == own or (masses[t] == 0.0 if missing < 0 else t != missing):
                continue
            change = conditions + _change(left_squares, left[m], left[m + 1 + t], masses[own], masses[t])
            if change < best.change:
                best.change, best.feature, best.bin, best.center, best.left_goes = change, feature, bin, t, True
            change = conditions + _change(right_squares, right[m], right[m + 1 + t], masses[own], masses[t])
            if change < best.change:
                best.change, best.feature, best.bin, best.center, best.left_goes = change, feature, bin, t, False


cdef void _find_cut(Work* work, int leaf, int missing, Cut* best) noexcept nogil:
    """Find the cut of a leaf, and the other cluster of one part, that leave the lowest objective.

    That is the cluster `missing`, which has no leaf, if there is one (not -1).
    """
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Py_ssize_t m = rows.n_columns, width = m + 1 + tree.n_clusters, at, first = tree.first[leaf], f
    cdef int n_leaves = list_leaves(tree, &work.walk, 0)
    cdef double* sums = work.moves.sums
    cdef double* total = sums + SPLIT_BINS * width
    cdef double* left = total + width
    cdef double* right = left + width
    cdef double* masses = right + width
    best.change, best.feature = INFINITY, -1
    if tree.last[leaf] - first < 2:
        return
    count_visit(&work.effort, tree.last[leaf] - first, rows.n_features)
    _find_terms(work, leaf, n_leaves, masses, total)
    find_codes(rows, tree, leaf, &work.buffers.codes)
    mark_path(tree, work.walk.is_seen, leaf, -1)
    for f in range(rows.n_features):
        if work.buffers.codes.low[f] == work.buffers.codes.high[f]:
            continue
        memset(sums, 0, SPLIT_BINS * width * sizeof(double))
        for at in range(first, tree.last[leaf]):
            sr_add_to(
                sums + split_bin(rows, &work.buffers.codes, tree.order[at], f) * width,
                work.moves.terms + (at - first) * width, width
            )
        _scan_feature(work, leaf, <int>f, missing, masses, total, left, right, sums, best)
    forget_path(tree, work.walk.is_seen, leaf)
    if best.feature < 0:
        return
    best.value = -INFINITY
    for at in range(first, tree.last[leaf]):
        if split_bin(rows, &work.buffers.codes, tree.order[at], best.feature) <= best.bin:
            best.value = max(best.value, entry(&rows.X_explain, rows.row[tree.order[at]], best.feature))


cdef void _take_cut(Work* work, int leaf, const Cut* cut, int left, int right) noexcept nogil:
    """Cut a leaf in two, for two clusters; `left` and `right` are nodes that are free."""
    cdef Tree* tree = &work.tree
    tree.center[left] = cut.center if cut.left_goes else tree.center[leaf]
    tree.center[right] = tree.center[leaf] if cut.left_goes else cut.center
    _forget_cluster(tree, &work.walk, cut.center)
    cut_in_two(
        &work.rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, leaf, cut.feature, cut.value, left,
        right,
    )
    mark_stale(tree, &work.stale, &work.walk, leaf, True)


cdef void _forget_cluster(Tree* tree, Walk* walk, int center) noexcept nogil:
    """Mark a cluster to be measured with the next leaves that are gathered."""
    cdef int n_leaves = list_leaves(tree, walk, 0), i
    for i in range(n_leaves):
        if tree.center[walk.leaves[i]] == center:
            tree.is_measured[walk.leaves[i]] = 0


cdef double pass_on_leaf(Work* work, double least) noexcept nogil:
    """Pass a leaf of a cluster that has others on to another one, where that gains over `least`; return the gain."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Py_ssize_t m = rows.n_columns, at, j
    cdef int n_leaves = list_leaves(tree, &work.walk, 0), i, leaf, t, own, slot, other, best = -1, best_center = -1
    cdef double* sums = work.moves.sums
    cdef double best_change = -least, change, squares, w, gap, along, apart, own_mass, other_mass
    count_visit(&work.effort, tree.last[0], 1)
    for i in range(n_leaves):
        leaf = work.walk.leaves[i]
        own, w = tree.center[leaf], tree.mass[leaf]
        _leaf_of(tree, &work.walk, n_leaves, own, &own_mass)
        if own_mass == w:
            continue
        memset(sums, 0, m * sizeof(double))
        for at in range(tree.first[leaf], tree.last[leaf]):
            slot = tree.order[at]
            sr_difference(
                point_of(rows, slot, work.buffers.point), tree.mean + leaf * m,
                weight_of(rows, slot), m, work.moves.difference
            )
            sr_add_to(sums, work.moves.difference, m)
        squares = 0.0
        for j in range(m):
            squares += sums[j] * sums[j]
        for t in range(tree.n_clusters):
            other = -1 if t == own else _leaf_of(tree, &work.walk, n_leaves, t, &other_mass)
            if other < 0:
                continue
            along = apart = 0.0
            for j in range(m):
                gap = tree.mean[leaf * m + j] - tree.mean[other * m + j]
                along += sums[j] * gap
                apart += gap * gap
            change = _change(squares, w, 2.0 * along + w * apart, own_mass, other_mass)
            if change < best_change:
                best_change, best, best_center = change, leaf, t
    if best < 0:
        return 0.0
    _forget_cluster(tree, &work.walk, tree.center[best])
    _forget_cluster(tree, &work.walk, best_center)
    tree.center[best] = best_center
    gather_leaves(rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, best)
    mark_stale(tree, &work.stale, &work.walk, best, False)
    return -best_change


cdef bint exchange_parts(Work* work, int gone, int cut) noexcept nogil:
    """Remove one leaf, and cut another in two for the best pair of clusters; return whether this is possible."""
    cdef Tree* tree = &work.tree
    cdef int parent = tree.parent[gone], center = tree.center[gone], n_leaves
    cdef int sibling = tree.right[parent] if tree.left[parent] == gone else tree.left[parent]
    cdef double mass
    cdef Cut best
    if is_below(tree, cut, parent):
        return False
    _forget_cluster(tree, &work.walk, center)
    take_away(&work.rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, gone)
    mark_stale(tree, &work.stale, &work.walk, sibling, True)
    n_leaves = list_leaves(tree, &work.walk, 0)
    _find_cut(work, cut, center if _leaf_of(tree, &work.walk, n_leaves, center, &mass) < 0 else -1, &best)
    if best.feature < 0:
        return False
    _take_cut(work, cut, &best, parent, gone)
    return True


def split_leaves(
    inputs, tree, *, int n_clusters, int n_leaves, double condition_penalty, progress=None
):
    """Cut leaves of a finished tree in two, one after another, where that lowers the objective most.

    One part of the leaf goes to another cluster: a cluster is all leaves of one center.

    Parameters
    ----------
    inputs, tree, condition_penalty, progress
        As for `improve_tree`. Each of the centers 0 to n_clusters - 1 has a leaf.
    n_clusters : int
    n_leaves : int
        To stop at.

    Returns
    -------
    list of dict
        As `perturb_tree` returns them: the tree after each cut, with more nodes than are in it. Fewer where no cut
        lowers the objective.
    """
    cdef Work work
    cdef Cut found, best
    cdef int n_given = len(tree["feature"]), n_nodes = max(n_given, 2 * n_leaves - 1), n_free = n_given, leaf, at
    cdef int n_now = (n_given + 1) // 2
    cdef double least
    failures = []
    grown = {name: np.full(n_nodes, -1, np.int32) for name in ("feature", "left", "right", "center")}
    grown["cut"] = np.zeros(n_nodes)
    for name, array in grown.items():
        array[:n_given] = tree[name]
    _keep = prepare_work(
        &work, inputs, grown, n_clusters, condition_penalty, INFINITY, 1, progress, failures
    )  # alive until the work is done
    with nogil:
        place_rows(&work)
        least = MIN_GAIN * objective_below(&work.tree, &work.walk, condition_penalty, 0)
    before = figures_of(&work.tree, &work.walk)
    trees = []
    while n_now < n_leaves and not is_over(&work.effort):
        best.change, best.feature, at = -least, -1, -1
        with nogil:
            for leaf in range(n_free):
                if work.tree.feature[leaf] < 0:
                    _find_cut(&work, leaf, -1, &found)
                    if found.change < best.change:
                        best, at = found, leaf
            if at >= 0:
                _take_cut(&work, at, &best, n_free, n_free + 1)
        if at < 0:
            break
        n_free += 2
        n_now += 1
        after = figures_of(&work.tree, &work.walk)
        trees.append({name: array.copy() for name, array in grown.items()} | {"before": before, "after": after})
    if failures:
        raise failures[0]
    return trees
