"""Iterated local search: change a finished tree at random, improve what the change made stale, keep what is better.

A tree that no recut and no leaf move improves is often near a better one. A change is drawn: a random cut for a node,
or a leaf removed and another one cut in two. Recuts and leaf moves repair the tree around it. If the objective fell,
the tree is kept; otherwise everything is restored, and nothing is computed again.

Draws are of nodes and leaves from left to right, of features, and of codes, never of rows; work is counted in rows
visited, never in time. So the trees found depend on the seed and on the values of the rows.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.refinement.finished_tree cimport (
    count_visit, figures_of, gather_leaves, is_over, list_leaves, mark_changed, mark_stale, mark_unchanged,
    place_rows, route_to_leaves
)
from shallowrules._kernel.refinement.goals cimport objective_of
from shallowrules._kernel.refinement.improving cimport improve, move_some_leaf, sweep
from shallowrules._kernel.refinement.leaf_moves cimport evaluate_moves, exchange_leaves
from shallowrules._kernel.refinement.state cimport MIN_GAIN, Move, Rows, Stale, Tree, Work
from shallowrules._kernel.refinement.unions cimport exchange_parts
from shallowrules._kernel.refinement.workspace cimport allocate_tree, prepare_work
from shallowrules._kernel.shared.allocation cimport address_of, allocate
from shallowrules._kernel.shared.matrix cimport entry


cdef struct Saved:
    # The tree to go back to, with all that is known of it.
    Tree tree
    Stale stale
    double* removal
    Move* split


cdef struct Kept:
    # Trees that are returned: the best so far, each after another equal part of the work.
    int n_trees
    int n_kept
    int* feature                # [n_trees, n_nodes], and alike below
    int* left
    int* right
    int* center
    double* cut
    double* figures             # [n_trees, 2]


cdef struct Search:
    bint moves_leaves
    double leaf_share           # of the changes that move a leaf
    double min_gain             # share of the objective that a step of a repair gains, at least
    void* no_callback           # None
    double last_passes          # visits of all rows at which improving the last tree ends
    double max_rise             # share of the objective by which it rises with a change that is repaired, at most
    uint64_t random             # state of the stream of numbers


cdef inline uint64_t _next_number(uint64_t* state) noexcept nogil:
    """Return the next of a stream of 64 random bits (splitmix64)."""
    cdef uint64_t z
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline Py_ssize_t _draw_below(uint64_t* state, Py_ssize_t n) noexcept nogil:
    """Return a number from 0 to n - 1."""
    return <Py_ssize_t>(((_next_number(state) >> 32) * <uint64_t>n) >> 32)


cdef void _copy_nodes(const Tree* source, Tree* target, Py_ssize_t m) noexcept nogil:
    """Copy the data of the nodes."""
    cdef Py_ssize_t n = source.n_nodes
    memcpy(target.feature, source.feature, n * sizeof(int))
    memcpy(target.left, source.left, n * sizeof(int))
    memcpy(target.right, source.right, n * sizeof(int))
    memcpy(target.parent, source.parent, n * sizeof(int))
    memcpy(target.center, source.center, n * sizeof(int))
    memcpy(target.cut, source.cut, n * sizeof(double))
    memcpy(target.first, source.first, n * sizeof(Py_ssize_t))
    memcpy(target.last, source.last, n * sizeof(Py_ssize_t))
    memcpy(target.mean, source.mean, n * m * sizeof(double))
    memcpy(target.mass, source.mass, n * sizeof(double))
    memcpy(target.sum_of_squares, source.sum_of_squares, n * sizeof(double))
    memcpy(target.is_measured, source.is_measured, n)


cdef void _copy_rows(const Tree* source, Tree* target, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Copy the data of the rows at some places of the order; both trees have the same rows there."""
    cdef Py_ssize_t i
    cdef int slot
    if first >= last:  # nothing changed
        return
    memcpy(target.order + first, source.order + first, (last - first) * sizeof(int))
    for i in range(first, last):
        slot = source.order[i]
        target.leaf[slot] = source.leaf[slot]
        target.own_distance[slot] = source.own_distance[slot]


cdef void _save(Work* work, Saved* saved) noexcept nogil:
    """Save the tree as the one to go back to."""
    cdef Py_ssize_t n = work.tree.n_nodes
    _copy_nodes(&work.tree, &saved.tree, work.rows.n_columns)
    _copy_rows(&work.tree, &saved.tree, work.tree.changed_first, work.tree.changed_last)
    memcpy(saved.stale.cut, work.stale.cut, n)
    memcpy(saved.stale.removal, work.stale.removal, n)
    memcpy(saved.stale.split, work.stale.split, n)
    memcpy(saved.removal, work.moves.removal, n * sizeof(double))
    memcpy(saved.split, work.moves.split, n * sizeof(Move))
    mark_unchanged(&work.tree)


cdef void _put_back(Work* work, const Saved* saved) noexcept nogil:
    """Make the tree the saved one again."""
    cdef Py_ssize_t n = work.tree.n_nodes
    _copy_nodes(&saved.tree, &work.tree, work.rows.n_columns)
    _copy_rows(&saved.tree, &work.tree, work.tree.changed_first, work.tree.changed_last)
    memcpy(work.stale.cut, saved.stale.cut, n)
    memcpy(work.stale.removal, saved.stale.removal, n)
    memcpy(work.stale.split, saved.stale.split, n)
    memcpy(work.moves.removal, saved.removal, n * sizeof(double))
    memcpy(work.moves.split, saved.split, n * sizeof(Move))
    mark_unchanged(&work.tree)


cdef int _list_inner(const Tree* tree, int* stack, int* inner) noexcept nogil:
    """List the inner nodes, parents first and left before right; return how many."""
    cdef int n_stacked = 1, n_found = 0, node
    stack[0] = 0
    while n_stacked:
        n_stacked -= 1
        node = stack[n_stacked]
        if tree.feature[node] >= 0:
            inner[n_found] = node
            n_found += 1
            stack[n_stacked] = tree.right[node]
            stack[n_stacked + 1] = tree.left[node]
            n_stacked += 2
    return n_found


cdef bint _cut_at_random(Work* work, uint64_t* random) noexcept nogil:
    """Give a node a random cut; return whether there is one that empties no leaf."""
    cdef Tree* tree = &work.tree
    cdef const Rows* rows = &work.rows
    cdef int* inner = work.buffers.n_conditions  # not in use now
    cdef int n_inner = _list_inner(tree, work.walk.stack, inner), node, f, code, low, high, last_left, i, n_leaves
    cdef Py_ssize_t at, d = rows.n_features
    cdef double value = -INFINITY
    node = inner[_draw_below(random, n_inner)]
    f = <int>_draw_below(random, d)
    count_visit(&work.effort, tree.last[node] - tree.first[node], 1)
    low, high = rows.n_codes, -1
    for at in range(tree.first[node], tree.last[node]):
        code = rows.codes[tree.order[at] * d + f]
        low = min(low, code)
        high = max(high, code)
    if low == high:
        return False
    last_left = low + <int>_draw_below(random, high - low)
    for at in range(tree.first[node], tree.last[node]):
        if rows.codes[tree.order[at] * d + f] <= last_left:
            value = max(value, entry(&rows.X_explain, rows.row[tree.order[at]], f))
    tree.feature[node] = f
    tree.cut[node] = value
    if _next_number(random) & 1:
        tree.left[node], tree.right[node] = tree.right[node], tree.left[node]
    mark_changed(tree, tree.first[node], tree.last[node])
    route_to_leaves(rows, tree, node, tree.first[node], tree.last[node])
    n_leaves = list_leaves(tree, &work.walk, node)
    for i in range(n_leaves):
        work.buffers.count[work.walk.leaves[i]] = 0
    for at in range(tree.first[node], tree.last[node]):
        work.buffers.count[tree.leaf[tree.order[at]]] += 1
    for i in range(n_leaves):
        if work.buffers.count[work.walk.leaves[i]] == 0:
            return False
    gather_leaves(rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, node)
    mark_stale(tree, &work.stale, &work.walk, node, True)
    return True


cdef bint _move_at_random(Work* work, uint64_t* random) noexcept nogil:
    """Remove a leaf and cut another in two where it is best, both drawn; return whether this is possible."""
    cdef int n_leaves, gone, cut
    if not work.tree.n_clusters:
        evaluate_moves(work)
    count_visit(&work.effort, 1, 1)  # the draw itself, so that draws come to an end
    n_leaves = list_leaves(&work.tree, &work.walk, 0)
    gone = work.walk.leaves[_draw_below(random, n_leaves)]
    cut = work.walk.leaves[_draw_below(random, n_leaves)]
    return exchange_parts(work, gone, cut) if work.tree.n_clusters else exchange_leaves(work, gone, cut)


cdef void _repair(Work* work, bint moves_leaves, double least) noexcept nogil:
    """Recut nodes and move leaves in turn until no step gains more than `least`.

    A leaf move often brings what many small recuts do not: it is not put off until there are none.
    """
    cdef bint changed = True
    while changed and not is_over(&work.effort):
        changed = sweep(work, least)
        if moves_leaves and not is_over(&work.effort):
            changed |= move_some_leaf(work, least) > 0.0


cdef void _keep(const Work* work, Kept* kept, int n_trees) noexcept nogil:
    """Fill the remaining slots of the first `n_trees` with this tree."""
    cdef const Tree* tree = &work.tree
    cdef Py_ssize_t n = tree.n_nodes, at
    while kept.n_kept < n_trees:
        at = kept.n_kept * n
        memcpy(kept.feature + at, tree.feature, n * sizeof(int))
        memcpy(kept.left + at, tree.left, n * sizeof(int))
        memcpy(kept.right + at, tree.right, n * sizeof(int))
        memcpy(kept.center + at, tree.center, n * sizeof(int))
        memcpy(kept.cut + at, tree.cut, n * sizeof(double))
        kept.figures[2 * kept.n_kept], kept.figures[2 * kept.n_kept + 1] = figures_of(tree, &work.walk)
        kept.n_kept += 1


cdef void _search(Work* work, Saved* saved, Search* search, Kept* kept) noexcept nogil:
    """Change the tree and repair it until the work is enough; then improve it to the end."""
    cdef double objective
    cdef double total = objective_of(work)
    cdef double least = search.min_gain * total
    cdef bint changed
    cdef int node
    _repair(work, search.moves_leaves, least)
    total = objective_of(work)
    memcpy(saved.tree.order, work.tree.order, work.tree.last[0] * sizeof(int))
    mark_changed(&work.tree, 0, work.tree.last[0])
    _save(work, saved)
    while not is_over(&work.effort):
        _keep(work, kept, <int>(kept.n_trees * work.effort.rows_visited / work.effort.max_rows))
        if search.moves_leaves and _draw_below(&search.random, 1 << 20) < search.leaf_share * (1 << 20):
            changed = _move_at_random(work, &search.random)
        else:
            changed = _cut_at_random(work, &search.random)
        if changed and objective_of(work) <= (1.0 + search.max_rise) * total:
            _repair(work, search.moves_leaves, least)
            objective = objective_of(work)
            if objective < total * (1.0 - MIN_GAIN):
                total = objective
                _save(work, saved)
                continue
        _put_back(work, saved)
    _keep(work, kept, kept.n_trees - 1)
    if not work.effort.progress.stopped:
        work.effort.max_rows = work.effort.rows_visited + search.last_passes * work.tree.last[0]
        for node in range(work.tree.n_nodes):
            work.stale.cut[node] = 1  # for steps that gain little, too
        work.effort.progress.callback = search.no_callback  # all but this little of the work is done
        improve(work, search.moves_leaves)
    _keep(work, kept, kept.n_trees)


cdef list _allocate_saved(Saved* saved, const Work* work):
    """Allocate the arrays that the saved tree is copied to."""
    cdef Py_ssize_t n_nodes = work.tree.n_nodes, r = work.tree.last[0]
    saved.tree.n_nodes = work.tree.n_nodes
    return allocate_tree(&saved.tree, &saved.stale, r, work.rows.n_columns) + allocate([
        (<size_t>&saved.tree.feature, n_nodes, np.int32),
        (<size_t>&saved.tree.left, n_nodes, np.int32),
        (<size_t>&saved.tree.right, n_nodes, np.int32),
        (<size_t>&saved.tree.center, n_nodes, np.int32),
        (<size_t>&saved.tree.cut, n_nodes, np.float64),
        (<size_t>&saved.removal, n_nodes, np.float64),
        (<size_t>&saved.split, n_nodes, <Py_ssize_t>sizeof(Move)),
    ])


def perturb_tree(
    inputs, tree, *, double condition_penalty, double max_passes, bint moves_leaves, seed, settings, int n_clusters=0,
    int n_trees=1, progress=None, goal=None
):
    """Search for a better tree by iterated local search, with one thread.

    Parameters
    ----------
    inputs, tree, condition_penalty, moves_leaves, n_clusters, progress
        As for `improve_tree`.
    max_passes : float
        The search ends once all rows were visited this many times; a change that is not better at that point is
        dropped. Then the tree is improved to the end, in at most as many visits again.
    seed : int
        Below 2**64. With it and the same rows the search is the same.
    n_trees : int
        Trees to return: the best one after each of this many equal parts of the work.
    settings : tuple of three floats
        (leaf_share, min_gain, max_rise): the share of changes that move a leaf; the least gain of a step of a repair,
        and the largest rise of the objective with a change that is repaired, both as shares of it.
    goal : tuple of (str, float, float, float), optional
        The bounded figure, "length" (conditions per row) or "cost" (cost / reference cost); its bound; the reference
        cost; the weight of all rows. The other figure is then minimized, in place of the objective.

    Returns
    -------
    list of dict
        As `improve_tree` returns them but without gaps, from the first part of the work to the last.
    """
    cdef Work work
    cdef Saved saved
    cdef Search search
    cdef Kept kept
    cdef Py_ssize_t n_nodes = len(tree["feature"])
    failures = []
    tree = {name: tree[name].copy() for name in ("feature", "left", "right", "center", "cut")}
    keep = prepare_work(
        &work, inputs, tree, n_clusters, condition_penalty, max_passes * len(inputs.rows), 1, progress, failures,
        goal,
    )  # alive until the work is done
    keep += _allocate_saved(&saved, &work)
    found = {name: np.empty((n_trees, n_nodes), array.dtype) for name, array in tree.items()}
    figures = np.empty((n_trees, 2))
    kept.n_trees, kept.n_kept = n_trees, 0
    kept.feature, kept.left = <int*><size_t>address_of(found["feature"]), <int*><size_t>address_of(found["left"])
    kept.right, kept.center = <int*><size_t>address_of(found["right"]), <int*><size_t>address_of(found["center"])
    kept.cut, kept.figures = <double*><size_t>address_of(found["cut"]), <double*><size_t>address_of(figures)
    search.moves_leaves = moves_leaves and n_nodes > 3
    search.leaf_share, search.min_gain, search.max_rise = settings
    search.last_passes, search.no_callback = max_passes, <void*>None
    search.random = seed
    with nogil:
        place_rows(&work)
    before = figures_of(&work.tree, &work.walk)
    with nogil:
        _search(&work, &saved, &search, &kept)
    if failures:
        raise failures[0]
    return [
        {name: arrays[i] for name, arrays in found.items()} | {"before": before, "after": tuple(figures[i].tolist())}
        for i in range(n_trees)
    ]
