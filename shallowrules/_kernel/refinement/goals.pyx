"""Improving a finished tree under a bound: the cheapest one of a given length, or the shortest one of a given cost.

No price of a condition leads to every one of these trees: between two that are each the best at some price there are
others. So a node gets the cut that is best under the bound itself. Any excess over the bound counts many times, so a
tree above it gets below it first.

The costs and the conditions of a node's rows are added up by code, for every feature and for both ways in which its
subtrees may lie. Means and all other cuts are held fixed, as in `recut`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint16_t
from libc.string cimport memset

from shallowrules._kernel.refinement.finished_tree cimport (
    count_conditions, count_visit, figures_of, forget_path, gather_leaves, list_leaves, mark_path, mark_stale,
    objective_below, route_to_leaves
)
from shallowrules._kernel.refinement.recut cimport keeps_leaves, set_cut
from shallowrules._kernel.refinement.state cimport (
    BOUNDED_LENGTH, CodeRange, EdgePenalty, Goal, GoalBuffers, Move, RecutBuffers, Rows, Tree, Walk,
    Work, descend, find_ranges, point_of, squared_distance, weight_of
)
from shallowrules._kernel.shared.matrix cimport entry

cdef extern from *:
    """
    #define SR_EXCESS 10.0  /* what a figure above its bound counts for, in units of the other one */
    """
    const double EXCESS "SR_EXCESS"

cdef enum:
    MAX_TRIED_FEATURES = 4      # whose best cuts are tried until one empties no leaf


cdef double _objective(const Goal* goal, double cost, double conditions) noexcept nogil:
    cdef double share = cost / goal.cost_unit, length = conditions / goal.weight_unit
    if goal.kind == BOUNDED_LENGTH:
        return share + EXCESS * max(length - goal.bound, 0.0)
    return length + EXCESS * max(share - goal.bound, 0.0)


cdef double objective_of(Work* work) noexcept nogil:
    """Return the figure to minimize: under a goal a tree's cost or length, plus the other's excess over its bound."""
    cdef double cost, conditions
    if not work.goal.kind:
        return objective_below(&work.tree, &work.walk, work.rows.condition_penalty, 0)
    cost, conditions = figures_of(&work.tree, &work.walk)
    return _objective(&work.goal, cost, conditions)


cdef void _find_edges(
    const Rows* rows, const Tree* tree, Walk* walk, int node, int* n_conditions, EdgePenalty* edge
) noexcept nogil:
    """Record for the leaves below a node how many conditions explain them, and where its edge would add one."""
    cdef int n_leaves = list_leaves(tree, walk, node), i, leaf
    cdef Py_ssize_t f, d = rows.n_features
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        n_conditions[leaf] = mark_path(tree, walk.is_seen, leaf, node)
        for f in range(d):
            edge.left[leaf * d + f] = not walk.is_seen[2 * f + 1]
            edge.right[leaf * d + f] = not walk.is_seen[2 * f]
        forget_path(tree, walk.is_seen, leaf)


cdef void _add_rows(Work* work, int node, double* base, double* bases) noexcept nogil:
    """Add up the costs of a node's rows and their conditions: on the left by code, and all on the right.

    base: [2] cost as is and swapped; bases: [d, 2] conditions.
    """
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef RecutBuffers* recut = &work.recut
    cdef const int* n_conditions = work.buffers.n_conditions
    cdef const EdgePenalty* edge = &recut.penalty
    cdef Py_ssize_t i, f, d = rows.n_features, middle = tree.last[tree.left[node]], m = rows.n_columns
    cdef int slot, left, right
    cdef double w, here, there, on_left, on_right, counted
    cdef double* terms
    cdef const uint16_t* codes
    base[0] = base[1] = 0.0
    memset(bases, 0, 2 * d * sizeof(double))
    for i in range(tree.first[node], tree.last[node]):
        slot = tree.order[i]
        recut.other[i] = descend(rows, tree, tree.right[node] if i < middle else tree.left[node], slot)
        left = tree.leaf[slot] if i < middle else recut.other[i]
        right = recut.other[i] if i < middle else tree.leaf[slot]
        w = weight_of(rows, slot)
        here = w * tree.own_distance[slot]
        there = w * squared_distance(point_of(rows, slot, work.buffers.point), tree.mean + recut.other[i] * m, m)
        on_left, on_right = (here, there) if i < middle else (there, here)
        base[0] += on_right
        base[1] += on_left
        counted = w * (n_conditions[left] - n_conditions[right])
        codes = rows.codes + slot * d
        for f in range(d):
            terms = work.within.terms + (f * rows.n_codes + codes[f]) * 3
            terms[0] += on_left - on_right
            terms[1] += counted + w * (edge.left[left * d + f] - edge.right[right * d + f])
            terms[2] += w * (edge.left[right * d + f] - edge.right[left * d + f]) - counted
            bases[2 * f] += w * (n_conditions[right] + edge.right[right * d + f])
            bases[2 * f + 1] += w * (n_conditions[left] + edge.right[left * d + f])


cdef void _find_lowest(
    Work* work, double cost_elsewhere, double conditions_elsewhere, const double* base, const double* bases,
    double limit,
) noexcept nogil:
    """Find the best cut of each feature, to work.within; INFINITY where none is below a limit."""
    cdef GoalBuffers* within = &work.within
    cdef const CodeRange* codes = &work.buffers.codes
    cdef const double* terms
    cdef double cost, swapped_cost, conditions, swapped_conditions, objective
    cdef int f, code
    for f in range(<int>work.rows.n_features):
        within.lowest[f] = INFINITY
        cost, swapped_cost = base[0] + cost_elsewhere, base[1] + cost_elsewhere
        conditions, swapped_conditions = bases[2 * f] + conditions_elsewhere, bases[2 * f + 1] + conditions_elsewhere
        for code in range(codes.low[f], codes.high[f]):
            terms = within.terms + (f * work.rows.n_codes + code) * 3
            cost += terms[0]
            swapped_cost -= terms[0]
            conditions += terms[1]
            swapped_conditions += terms[2]
            objective = _objective(&work.goal, cost, conditions)
            if objective < min(limit, within.lowest[f]):
                within.lowest[f], within.code[f], within.swapped[f] = objective, code, False
            objective = _objective(&work.goal, swapped_cost, swapped_conditions)
            if objective < min(limit, within.lowest[f]):
                within.lowest[f], within.code[f], within.swapped[f] = objective, code, True


cdef bint _take_lowest(Work* work, int node, Move* move) noexcept nogil:
    """Take the best cut out of work.within; False if there is none."""
    cdef const Rows* rows = &work.rows
    cdef Py_ssize_t i
    cdef int f
    move.feature = -1
    for f in range(<int>rows.n_features):
        if work.within.lowest[f] < (INFINITY if move.feature < 0 else work.within.lowest[move.feature]):
            move.feature = f
    if move.feature < 0:
        return False
    work.within.lowest[move.feature] = INFINITY
    move.code, move.swapped = work.within.code[move.feature], work.within.swapped[move.feature]
    move.value = -INFINITY
    for i in range(work.tree.first[node], work.tree.last[node]):
        if rows.codes[work.tree.order[i] * rows.n_features + move.feature] <= move.code:
            move.value = max(move.value, entry(&rows.X_explain, rows.row[work.tree.order[i]], move.feature))
    return True


cdef double improve_cut_within(Work* work, int node, double least) noexcept nogil:
    """Give a node the cut that is best under the goal, if it gains more than `least`; return the gain."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef double before = objective_of(work), cost, conditions, gain, cut = tree.cut[node]
    cdef double base[2]
    cdef double* bases = work.recut.base
    cdef int feature = tree.feature[node], n_leaves, i, leaf, _tries
    cdef Py_ssize_t f
    cdef Move move
    count_visit(&work.effort, tree.last[node] - tree.first[node], rows.n_features)
    cost, conditions = figures_of(tree, &work.walk)
    n_leaves = list_leaves(tree, &work.walk, node)
    for i in range(n_leaves):
        leaf = work.walk.leaves[i]
        cost -= tree.sum_of_squares[leaf]
        conditions -= tree.mass[leaf] * count_conditions(tree, work.walk.is_seen, leaf, -1)
    _find_edges(rows, tree, &work.walk, node, work.buffers.n_conditions, &work.recut.penalty)
    find_ranges(rows, tree, node, &work.buffers.codes)
    for f in range(rows.n_features):
        memset(
            work.within.terms + (f * rows.n_codes + work.buffers.codes.low[f]) * 3, 0,
            (work.buffers.codes.high[f] - work.buffers.codes.low[f] + 1) * 3 * sizeof(double)
        )
    _add_rows(work, node, base, bases)
    _find_lowest(work, cost, conditions, base, bases, before - least)
    for _tries in range(MAX_TRIED_FEATURES):
        if not _take_lowest(work, node, &move):
            return 0.0
        if not keeps_leaves(rows, tree, &work.walk, work.recut.other, node, &move, work.buffers.count):
            continue
        set_cut(tree, node, move.feature, move.value, move.swapped)
        gather_leaves(rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, node)
        gain = before - objective_of(work)
        if gain > least:
            mark_stale(tree, &work.stale, &work.walk, node, move.feature != feature or move.swapped)
            return gain
        set_cut(tree, node, feature, cut, move.swapped)
        route_to_leaves(rows, tree, node, tree.first[node], tree.last[node])
        gather_leaves(rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, node)
        return 0.0
    return 0.0
