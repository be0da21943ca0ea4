"""Improving the cut of a node of a finished tree (tree alternating optimisation, aware of redundant conditions).

With all other cuts and the leaf means held fixed, a row of a node costs what the leaf costs that it reaches through the
left subtree, or through the right one: its squared distance to the mean and the penalty of the leaf's explanation, to
which the node's own edge adds a condition unless the path has it already. So the best feature and threshold of the node
are those of the least prefix sum, for the subtrees as they are and for swapped ones. New means only lower the objective
further. A cut is taken if the true objective falls and no leaf loses all its rows.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdlib cimport qsort

from shallowrules._kernel.refinement.finished_tree cimport (
    count_visit, forget_path, gather_leaves, list_leaves, mark_path, objective_below, route_to_leaves, threads_for_node
)
from shallowrules._kernel.refinement.leaf_cost cimport leaf_cost
from shallowrules._kernel.refinement.state cimport (
    MIN_GAIN, PREFETCH_DISTANCE, Buffers, Move, RecutBuffers, Rows, Term, TermAt, Tree, Work, descend, point_of,
    prefetch_row, squared_distance, weight_of
)
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.threads cimport CHUNK

cdef extern from "shared/prefetch.h" nogil:
    void sr_prefetch(const void* place) noexcept

cdef enum:
    MAX_TRIED_CUTS = 4      # cuts of a node that are tried until one empties no leaf


cdef void _weigh_rows(
    Work* work, int node, Py_ssize_t begin, Py_ssize_t end, double max_cost, double* buffer
) noexcept nogil:
    """Find how much more some of a node's rows cost through its left subtree, its own edge not counted.

    A cut that sends a row where it costs more than all rows do now is never chosen. So a row costs at most `max_cost`
    there: one far away would leave sums no digits for what the others cost.
    """
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t i
    cdef int slot, own
    cdef double w, cost, penalty = rows.condition_penalty
    for i in range(begin, end):
        prefetch_row(rows, tree, i, end)
        slot = tree.order[i]
        own = tree.leaf[slot]
        w = weight_of(rows, slot)
        cost = tree.own_distance[slot] + penalty * buffers.n_conditions[own]
        if i < tree.last[tree.left[node]]:
            recut.other[i] = descend(rows, tree, tree.right[node], slot)
        else:
            recut.other[i] = descend(rows, tree, tree.left[node], slot)
        cost -= squared_distance(
            point_of(rows, slot, buffer), tree.mean + recut.other[i] * rows.n_columns, rows.n_columns
        )
        cost -= penalty * buffers.n_conditions[recut.other[i]]
        cost = max(w * cost, -max_cost)
        buffers.delta[i] = cost if i < tree.last[tree.left[node]] else -cost


cdef void _tally_terms(Work* work, int node, Py_ssize_t first_feature, Py_ssize_t last_feature) noexcept nogil:
    """Add up by code what a node's rows cost more on the left."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t i, f, d = rows.n_features, middle = tree.last[tree.left[node]]
    cdef int slot, left, right
    cdef double w, delta
    cdef const int* code
    cdef const double* left_as_left
    cdef const double* left_as_right
    cdef const double* right_as_left
    cdef const double* right_as_right
    cdef Term* term
    for f in range(first_feature, last_feature):
        buffers.low[f] = rows.n_codes
        buffers.high[f] = -1
    for i in range(tree.first[node], tree.last[node]):
        if i + PREFETCH_DISTANCE < tree.last[node]:
            sr_prefetch(rows.codes + tree.order[i + PREFETCH_DISTANCE] * d)
        slot = tree.order[i]
        left = tree.leaf[slot] if i < middle else recut.other[i]
        right = recut.other[i] if i < middle else tree.leaf[slot]
        delta = buffers.delta[i]
        w = weight_of(rows, slot)
        code = rows.codes + slot * d
        left_as_left = recut.penalty_left + left * d
        left_as_right = recut.penalty_right + left * d
        right_as_left = recut.penalty_left + right * d
        right_as_right = recut.penalty_right + right * d
        for f in range(first_feature, last_feature):
            buffers.low[f] = min(buffers.low[f], code[f])
            buffers.high[f] = max(buffers.high[f], code[f])
        for f in range(first_feature, last_feature):
            term = recut.terms + f * rows.n_codes + code[f]
            term.as_is += delta + w * (left_as_left[f] - right_as_right[f])
            term.swapped += w * (right_as_left[f] - left_as_right[f]) - delta


cdef void _scan_terms(Work* work, int f, double limit) noexcept nogil:
    """Find the best ends of bins of a feature, and clear its terms."""
    cdef const Rows* rows = &work.rows
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef double as_is = recut.base[2 * f], swapped = recut.base[2 * f + 1]
    cdef Move* move = recut.moves + 2 * f
    cdef Term* term = recut.terms + f * rows.n_codes
    cdef int code
    move[0].objective = move[1].objective = limit
    move[0].feature = move[1].feature = -1
    move[0].swapped = False
    move[1].swapped = True
    for code in range(buffers.low[f], buffers.high[f]):
        as_is += term[code].as_is
        swapped += term[code].swapped
        term[code].as_is = term[code].swapped = 0.0
        if as_is < move[0].objective:
            move[0].objective = as_is
            move[0].code = code
            move[0].feature = f
        if swapped < move[1].objective:
            move[1].objective = swapped
            move[1].code = code
            move[1].feature = f
    term[buffers.high[f]].as_is = term[buffers.high[f]].swapped = 0.0


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double one = (<const TermAt*>a).value, two = (<const TermAt*>b).value
    return -1 if one < two else (1 if one > two else 0)


cdef inline double _term_of(const Work* work, int node, Py_ssize_t i, int f, bint swapped) noexcept nogil:
    """Return what a row of a node costs more on the left of a cut of a feature."""
    cdef const Rows* rows = &work.rows
    cdef const Tree* tree = &work.tree
    cdef const Buffers* buffers = &work.buffers
    cdef const RecutBuffers* recut = &work.recut
    cdef int slot = tree.order[i], own = tree.leaf[slot], other = recut.other[i]
    cdef int left = own if i < tree.last[tree.left[node]] else other
    cdef int right = other if i < tree.last[tree.left[node]] else own
    cdef Py_ssize_t d = rows.n_features
    cdef double w = weight_of(rows, slot)
    if swapped:
        return w * (recut.penalty_left[right * d + f] - recut.penalty_right[left * d + f]) - buffers.delta[i]
    return buffers.delta[i] + w * (recut.penalty_left[left * d + f] - recut.penalty_right[right * d + f])


cdef void _place_threshold(Work* work, int node, Move* move) noexcept nogil:
    """Find the value of a move's cut: at the end of its bin, or at a better place inside it or the next."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t i, n, d = rows.n_features, count = 0
    cdef int f = move.feature, code, above = buffers.high[f]
    cdef const unsigned char* single_valued = rows.single_valued + f * rows.n_codes
    cdef double objective = move.objective
    move.value = -INFINITY
    for i in range(tree.first[node], tree.last[node]):
        code = rows.codes[tree.order[i] * d + f]
        if code == move.code:
            move.value = max(move.value, entry(&rows.X_explain, rows.row[tree.order[i]], f))
        elif code > move.code:
            above = min(above, code)
    if single_valued[move.code] and single_valued[above]:
        return
    for i in range(tree.first[node], tree.last[node]):
        code = rows.codes[tree.order[i] * d + f]
        if code == move.code or code == above:
            recut.items[count].value = entry(&rows.X_explain, rows.row[tree.order[i]], f)
            recut.items[count].term = _term_of(work, node, i, f, move.swapped)
            if code == move.code:
                objective -= recut.items[count].term
            count += 1
    qsort(recut.items, count, sizeof(TermAt), by_value)
    for n in range(count - 1):
        objective += recut.items[n].term
        if objective < move.objective and recut.items[n].value < recut.items[n + 1].value:
            move.objective = objective
            move.value = recut.items[n].value


cdef bint _keeps_leaves(Work* work, int node, const Move* move) noexcept nogil:
    """Enter every row of a node at its leaf after a move; False, and nothing entered, if a leaf would lose all."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t i, middle = tree.last[tree.left[node]]
    cdef int slot, n_leaves = list_leaves(tree, buffers, node), j, pass_
    cdef bint goes
    for j in range(n_leaves):
        buffers.count[buffers.leaves[j]] = 0
    for pass_ in range(2):
        for i in range(tree.first[node], tree.last[node]):
            slot = tree.order[i]
            goes = entry(&rows.X_explain, rows.row[slot], move.feature) <= move.value
            if (i < middle) != (goes != move.swapped):
                if pass_ == 0:
                    buffers.count[recut.other[i]] += 1
                else:
                    tree.leaf[slot] = recut.other[i]
            elif pass_ == 0:
                buffers.count[tree.leaf[slot]] += 1
        for j in range(n_leaves if pass_ == 0 else 0):
            if buffers.count[buffers.leaves[j]] == 0:
                return False
    return True


cdef void _set_cut(Work* work, int node, int feature, double cut, bint swapped) noexcept nogil:
    """Give a node another cut, its subtrees swapped or not."""
    cdef Tree* tree = &work.tree
    tree.feature[node] = feature
    tree.cut[node] = cut
    if swapped:
        tree.left[node], tree.right[node] = tree.right[node], tree.left[node]


cdef void _charge_edges(Work* work, int node) noexcept nogil:
    """Say for the leaves below a node what they are explained by, and what the node's own edge would cost them."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef int n_leaves = list_leaves(tree, buffers, node), i, leaf
    cdef Py_ssize_t f, d = rows.n_features
    for i in range(n_leaves):
        leaf = buffers.leaves[i]
        buffers.n_conditions[leaf] = mark_path(tree, buffers.is_seen, leaf, node)
        for f in range(d):
            recut.penalty_left[leaf * d + f] = 0.0 if buffers.is_seen[2 * f + 1] else rows.condition_penalty
            recut.penalty_right[leaf * d + f] = 0.0 if buffers.is_seen[2 * f] else rows.condition_penalty
        forget_path(tree, buffers.is_seen, leaf)
        recut.mass_left[leaf] = recut.mass_right[leaf] = 0.0


cdef void _find_bases(Work* work, int node) noexcept nogil:
    """Sum for every feature what a node's rows cost if all go right."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t i, f, d = rows.n_features, middle = tree.last[tree.left[node]]
    cdef int n_leaves = list_leaves(tree, buffers, node), slot, own, other, j
    cdef double w, all_right = 0.0, all_left = 0.0
    for i in range(tree.first[node], tree.last[node]):
        slot = tree.order[i]
        own = tree.leaf[slot]
        other = recut.other[i]
        w = weight_of(rows, slot)
        if i < middle:
            all_right -= buffers.delta[i]
            recut.mass_left[own] += w
            recut.mass_right[other] += w
        else:
            all_left += buffers.delta[i]
            recut.mass_right[own] += w
            recut.mass_left[other] += w
    for j in range(n_leaves):
        own = buffers.leaves[j]
        w = leaf_cost(tree.sum_of_squares[own], tree.mass[own], buffers.n_conditions[own], rows.condition_penalty)
        all_left += w
        all_right += w
    for f in range(d):
        recut.base[2 * f] = all_right
        recut.base[2 * f + 1] = all_left
    for j in range(n_leaves):
        own = buffers.leaves[j]
        for f in range(d):
            recut.base[2 * f] += recut.mass_right[own] * recut.penalty_right[own * d + f]
            recut.base[2 * f + 1] += recut.mass_left[own] * recut.penalty_right[own * d + f]


cdef Move* _best_move(Move* moves, int n_moves) noexcept nogil:
    """Return the move of the lowest objective, or NULL if none is left."""
    cdef int j
    cdef Move* best = NULL
    for j in range(n_moves):
        if moves[j].feature >= 0 and (best == NULL or moves[j].objective < best.objective):
            best = &moves[j]
    return best


cdef double improve_cut(Work* work, int node, double total) noexcept nogil:
    """Give a node a better cut if there is one; return by how much the objective falls."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t first = tree.first[node], last = tree.last[node], n_chunks = (last - first + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk, d = rows.n_features
    cdef int n_threads = threads_for_node(work, node), f, t, _tries
    cdef double current = objective_below(work, node), least = MIN_GAIN * total, gain, cut = tree.cut[node]
    cdef int feature = tree.feature[node]
    cdef Move* move
    count_visit(work, node)
    _charge_edges(work, node)
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static"):
        _weigh_rows(
            work, node, first + chunk * CHUNK, min(first + (chunk + 1) * CHUNK, last), 2.0 * current,
            buffers.point + threadid() * rows.n_columns,
        )
    _find_bases(work, node)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _tally_terms(work, node, d * t // n_threads, d * (t + 1) // n_threads)
    for f in range(rows.n_features):
        _scan_terms(work, f, current - least)
    for _tries in range(MAX_TRIED_CUTS):
        move = _best_move(recut.moves, <int>(2 * d))
        if move == NULL:
            return 0.0
        _place_threshold(work, node, move)
        if _keeps_leaves(work, node, move):
            _set_cut(work, node, move.feature, move.value, move.swapped)
            gather_leaves(work, node)
            gain = current - objective_below(work, node)
            if gain > least:
                return gain
            # Sums of many rows, or of much larger costs elsewhere, were rounded by more than it.
            _set_cut(work, node, feature, cut, move.swapped)
            route_to_leaves(work, node, first, last)
            gather_leaves(work, node)
            return 0.0
        move.feature = -1
    return 0.0
