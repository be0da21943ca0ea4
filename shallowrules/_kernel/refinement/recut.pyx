"""Improving the cut of a node of a finished tree (tree alternating optimization, aware of redundant conditions).

With all other cuts and the leaf means held fixed, a row of a node costs what the leaf costs that it reaches through the
left subtree, or through the right one: its squared distance to the mean and the penalty of the leaf's explanation, to
which the node's own edge adds a condition unless the path has it already. So the best feature and threshold of the node
are those of the least prefix sum, for the subtrees as they are and for swapped ones. New means only lower the objective
further. A cut is taken if the true objective falls and no leaf loses all its rows.
"""

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from shallowrules._kernel.refinement.finished_tree cimport (
    count_visit, enter, forget_path, gather_leaves, list_leaves, mark_path, mark_stale, objective_below,
    route_to_leaves, threads_for_node
)
from shallowrules._kernel.refinement.leaf_cost cimport leaf_cost
from shallowrules._kernel.refinement.state cimport (
    GROUP, Buffers, CodeRange, EdgePenalty, Move, RecutBuffers, Rows, TermAt, Tree,
    Walk, Work, clear_ranges, codes_at, descend, n_groups, point_of, squared_distance,
    sr_widen_ranges, weight_of
)
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.threads cimport CHUNK

cdef extern from "refinement/code_sums.h" nogil:
    Py_ssize_t sr_first_sum(Py_ssize_t feature, Py_ssize_t n_codes) noexcept
    void sr_lowest_totals(
        const double* sums, const double* other, const int64_t* is_other, const uint16_t* low,
        const uint16_t* high, const double* base, double* lowest
    ) noexcept

cdef enum:
    MAX_TRIED_CUTS = 4      # cuts of a node that are tried until one empties no leaf


cdef inline Py_ssize_t _total_at(int feature, bint swapped) noexcept nogil:
    """Return where a feature's entry in recut.base and recut.lowest is."""
    return feature // GROUP * 2 * GROUP + swapped * GROUP + feature % GROUP


cdef void _weigh_rows(
    const Rows* rows, const Tree* tree, const int* n_conditions, int node, Py_ssize_t begin, Py_ssize_t end,
    double max_cost, int* other, double* delta, double* buffer
) noexcept nogil:
    """Find how much more some of a node's rows cost through its left subtree, its own edge not counted.

    A cut that sends a row where it costs more than all rows do now is never chosen. So a row costs at most `max_cost`
    there: one far away would leave sums no digits for the costs of the others.
    """
    cdef Py_ssize_t i
    cdef int slot, own
    cdef double w, cost, penalty = rows.condition_penalty
    for i in range(begin, end):
        slot = tree.order[i]
        own = tree.leaf[slot]
        w = weight_of(rows, slot)
        cost = tree.own_distance[slot] + penalty * n_conditions[own]
        if i < tree.last[tree.left[node]]:
            other[i] = descend(rows, tree, tree.right[node], slot)
        else:
            other[i] = descend(rows, tree, tree.left[node], slot)
        cost -= squared_distance(point_of(rows, slot, buffer), tree.mean + other[i] * rows.n_columns, rows.n_columns)
        cost -= penalty * n_conditions[other[i]]
        cost = max(w * cost, -max_cost)
        delta[i] = cost if i < tree.last[tree.left[node]] else -cost


cdef void _tally_terms(
    const Rows* rows, const Tree* tree, const double* delta, const RecutBuffers* recut, int node, int part, int n_parts,
    CodeRange* codes,
) noexcept nogil:
    """Add up by code the extra costs of a node's rows on the left, for one of equal parts of the features."""
    cdef Py_ssize_t i, last = tree.last[node], middle = tree.last[tree.left[node]], j
    cdef Py_ssize_t d = rows.n_features, n_codes = rows.n_codes, left, right, place
    cdef Py_ssize_t first_free = recut.n_free * part // n_parts, last_free = recut.n_free * (part + 1) // n_parts
    cdef Py_ssize_t first_charged = recut.n_charged * part // n_parts
    cdef Py_ssize_t last_charged = recut.n_charged * (part + 1) // n_parts
    cdef int f
    cdef double w
    cdef const uint16_t* of_row
    cdef const EdgePenalty* penalty = &recut.penalty
    for i in range(tree.first[node], last):
        of_row = codes_at(rows, tree, i)
        if part == 0:  # for all features: threads that widen adjacent ranges would wait for cache lines
            sr_widen_ranges(of_row, d, codes.low, codes.high)
        for j in range(first_free, last_free):
            f = recut.free[j]
            recut.terms.as_is[sr_first_sum(f, n_codes) + of_row[f] * GROUP] += delta[i]
        if first_charged == last_charged:
            continue
        left = (tree.leaf[tree.order[i]] if i < middle else recut.other[i]) * d
        right = (recut.other[i] if i < middle else tree.leaf[tree.order[i]]) * d
        w = weight_of(rows, tree.order[i])
        for j in range(first_charged, last_charged):
            f = recut.charged[j]
            place = sr_first_sum(f, n_codes) + of_row[f] * GROUP
            recut.terms.as_is[place] += delta[i] + w * (penalty.left[left + f] - penalty.right[right + f])
            recut.terms.swapped[place] += w * (penalty.left[right + f] - penalty.right[left + f]) - delta[i]


cdef void _scan_terms(const Rows* rows, const CodeRange* codes, RecutBuffers* recut, double limit) noexcept nogil:
    """Find the lowest cost with a cut of each feature at the end of a bin, below a limit, to recut.lowest."""
    cdef Py_ssize_t g, j, sums
    for g in range(n_groups(rows)):
        for j in range(2 * GROUP):
            recut.lowest[g * 2 * GROUP + j] = limit
        sums = g * GROUP * rows.n_codes
        sr_lowest_totals(
            recut.terms.as_is + sums, recut.terms.swapped + sums, recut.is_charged + g * GROUP,
            codes.low + g * GROUP, codes.high + g * GROUP, recut.base + g * 2 * GROUP, recut.lowest + g * 2 * GROUP,
        )


cdef void _clear_terms(const Rows* rows, const CodeRange* codes, RecutBuffers* recut) noexcept nogil:
    """Set all terms to 0 again."""
    cdef Py_ssize_t g, f, first, size
    cdef int low, high
    cdef bint is_charged
    for g in range(n_groups(rows)):
        low, high, is_charged = rows.n_codes, 0, False
        for f in range(g * GROUP, (g + 1) * GROUP):
            low, high = min(low, codes.low[f]), max(high, codes.high[f])
            is_charged |= recut.is_charged[f] != 0
        first, size = (g * rows.n_codes + low) * GROUP, (high - low + 1) * GROUP * sizeof(double)
        memset(recut.terms.as_is + first, 0, size)
        if is_charged:
            memset(recut.terms.swapped + first, 0, size)


cdef bint _take_lowest(
    const Rows* rows, const CodeRange* codes, RecutBuffers* recut, double limit, Move* move
) noexcept nogil:
    """Take the cut at the end of a bin that costs least out of recut.lowest; False if none costs less than a limit."""
    cdef Py_ssize_t best = -1, sum
    cdef int f, code, low, high, swapped
    cdef double total, lowest = INFINITY
    move.objective = limit
    for f in range(<int>rows.n_features):
        for swapped in range(2):
            if recut.lowest[_total_at(f, swapped)] < move.objective:
                best = _total_at(f, swapped)
                move.objective, move.feature, move.swapped = recut.lowest[best], f, swapped
    if best < 0:
        return False
    recut.lowest[best] = INFINITY
    f, total = move.feature, recut.base[best]
    low, high = codes.low[f], codes.high[f]
    for code in range(low, high):
        sum = sr_first_sum(f, rows.n_codes) + code * GROUP
        if not move.swapped:
            total += recut.terms.as_is[sum]
        else:
            total += recut.terms.swapped[sum] if recut.is_charged[f] else -recut.terms.as_is[sum]
        if total < lowest:
            lowest = total
            move.code = code
    return True


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double one = (<const TermAt*>a).value, two = (<const TermAt*>b).value
    return -1 if one < two else (1 if one > two else 0)


cdef inline double _term_of(
    const Rows* rows, const Tree* tree, int other, double delta, const EdgePenalty* penalty, int node, Py_ssize_t i,
    int f, bint swapped,
) noexcept nogil:
    """Return the extra cost of a row of a node on the left of a cut of a feature."""
    cdef int slot = tree.order[i], own = tree.leaf[slot]
    cdef int left = own if i < tree.last[tree.left[node]] else other
    cdef int right = other if i < tree.last[tree.left[node]] else own
    cdef Py_ssize_t d = rows.n_features
    cdef double w = weight_of(rows, slot)
    if swapped:
        return w * (penalty.left[right * d + f] - penalty.right[left * d + f]) - delta
    return delta + w * (penalty.left[left * d + f] - penalty.right[right * d + f])


cdef void _place_threshold(
    const Rows* rows, const Tree* tree, const int* other, const double* delta, const EdgePenalty* penalty, int node,
    int highest, Move* move, TermAt* items,
) noexcept nogil:
    """Find the value of a move's cut: at the end of its bin, or at a better place inside it or the next.

    `highest` is the highest code that the node's rows have on the feature; `items` [r] is written to.
    """
    cdef Py_ssize_t i, n, d = rows.n_features, count = 0
    cdef int f = move.feature, code, above = highest
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
            items[count].value = entry(&rows.X_explain, rows.row[tree.order[i]], f)
            items[count].term = _term_of(rows, tree, other[i], delta[i], penalty, node, i, f, move.swapped)
            if code == move.code:
                objective -= items[count].term
            count += 1
    qsort(items, count, sizeof(TermAt), by_value)
    for n in range(count - 1):
        objective += items[n].term
        if objective < move.objective and items[n].value < items[n + 1].value:
            move.objective = objective
            move.value = items[n].value


cdef bint keeps_leaves(
    const Rows* rows, Tree* tree, Walk* walk, const int* other, int node, const Move* move, int64_t* count
) noexcept nogil:
    """Enter every row of a node at its leaf after a move; False, and nothing entered, if a leaf would lose all."""
    cdef Py_ssize_t i, middle = tree.last[tree.left[node]]
    cdef int slot, n_leaves = list_leaves(tree, walk, node), j, pass_
    cdef bint goes
    for j in range(n_leaves):
        count[walk.leaves[j]] = 0
    for pass_ in range(2):
        for i in range(tree.first[node], tree.last[node]):
            slot = tree.order[i]
            goes = entry(&rows.X_explain, rows.row[slot], move.feature) <= move.value
            if (i < middle) != (goes != move.swapped):
                if pass_ == 0:
                    count[other[i]] += 1
                else:
                    enter(tree, slot, other[i])
            elif pass_ == 0:
                count[tree.leaf[slot]] += 1
        for j in range(n_leaves if pass_ == 0 else 0):
            if count[walk.leaves[j]] == 0:
                return False
    return True


cdef void set_cut(Tree* tree, int node, int feature, double cut, bint swapped) noexcept nogil:
    """Give a node another cut, its subtrees swapped or not."""
    tree.feature[node] = feature
    tree.cut[node] = cut
    if swapped:
        tree.left[node], tree.right[node] = tree.right[node], tree.left[node]


cdef void _charge_edges(
    const Rows* rows, const Tree* tree, Walk* walk, int node, int* n_conditions, RecutBuffers* recut
) noexcept nogil:
    """Record for the leaves below a node the conditions that explain them, and the penalty that the node's edge would
    add."""
    cdef int n_leaves = list_leaves(tree, walk, node), i, leaf
    cdef Py_ssize_t f, d = rows.n_features
    cdef EdgePenalty* penalty = &recut.penalty
    memset(recut.is_charged, 0, d * sizeof(int64_t))
    for i in range(n_leaves):
        leaf = walk.leaves[i]
        n_conditions[leaf] = mark_path(tree, walk.is_seen, leaf, node)
        for f in range(d):
            penalty.left[leaf * d + f] = 0.0 if walk.is_seen[2 * f + 1] else rows.condition_penalty
            penalty.right[leaf * d + f] = 0.0 if walk.is_seen[2 * f] else rows.condition_penalty
            recut.is_charged[f] |= -<int64_t>(walk.is_seen[2 * f] | walk.is_seen[2 * f + 1])
        forget_path(tree, walk.is_seen, leaf)
    recut.n_free = recut.n_charged = 0
    for f in range(d):
        if recut.is_charged[f]:
            recut.charged[recut.n_charged] = <int>f
            recut.n_charged += 1
        else:
            recut.free[recut.n_free] = <int>f
            recut.n_free += 1


cdef void _find_bases(
    const Rows* rows, const Tree* tree, Walk* walk, const int* n_conditions, const double* delta, int node,
    RecutBuffers* recut,
) noexcept nogil:
    """Sum for every feature the cost of a node's rows if all go right, to recut.base."""
    cdef Py_ssize_t i, f, d = rows.n_features, middle = tree.last[tree.left[node]]
    cdef int n_leaves = list_leaves(tree, walk, node), slot, own, other, j
    cdef double w, all_right = 0.0, all_left = 0.0
    for j in range(n_leaves):
        recut.mass_left[walk.leaves[j]] = recut.mass_right[walk.leaves[j]] = 0.0
    for i in range(tree.first[node], tree.last[node]):
        slot = tree.order[i]
        own = tree.leaf[slot]
        other = recut.other[i]
        w = weight_of(rows, slot)
        if i < middle:
            all_right -= delta[i]
            recut.mass_left[own] += w
            recut.mass_right[other] += w
        else:
            all_left += delta[i]
            recut.mass_right[own] += w
            recut.mass_left[other] += w
    for j in range(n_leaves):
        own = walk.leaves[j]
        w = leaf_cost(tree.sum_of_squares[own], tree.mass[own], n_conditions[own], rows.condition_penalty)
        all_left += w
        all_right += w
    for f in range(d):
        recut.base[_total_at(f, False)] = all_right
        recut.base[_total_at(f, True)] = all_left
    for j in range(n_leaves):
        own = walk.leaves[j]
        for f in range(d):
            recut.base[_total_at(f, False)] += recut.mass_right[own] * recut.penalty.right[own * d + f]
            recut.base[_total_at(f, True)] += recut.mass_left[own] * recut.penalty.right[own * d + f]


cdef double _take_cut(Work* work, int node, double current, double least) noexcept nogil:
    """Give a node the best cut that was found, if it gains more than `least`; return the gain."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Walk* walk = &work.walk
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef int whole = 0 if tree.n_clusters else node  # nodes that a changed mean of a cluster may affect
    cdef double gain, cut = tree.cut[node], before = current
    cdef int feature = tree.feature[node], _tries
    cdef Move move
    if tree.n_clusters:
        before = objective_below(tree, walk, rows.condition_penalty, whole)
    for _tries in range(MAX_TRIED_CUTS):
        if not _take_lowest(rows, &buffers.codes, recut, current - least, &move):
            return 0.0
        _place_threshold(
            rows, tree, recut.other, buffers.delta, &recut.penalty, node, buffers.codes.high[move.feature], &move,
            recut.items,
        )
        if keeps_leaves(rows, tree, walk, recut.other, node, &move, buffers.count):
            set_cut(tree, node, move.feature, move.value, move.swapped)
            gather_leaves(rows, tree, &work.stale, walk, buffers, work.n_threads, node)
            gain = before - objective_below(tree, walk, rows.condition_penalty, whole)
            if gain > least:
                mark_stale(tree, &work.stale, walk, node, move.feature != feature or move.swapped)
                return gain
            # Sums of many rows, or of much larger costs elsewhere, were rounded by more than it.
            set_cut(tree, node, feature, cut, move.swapped)
            route_to_leaves(rows, tree, node, tree.first[node], tree.last[node])
            gather_leaves(rows, tree, &work.stale, walk, buffers, work.n_threads, node)
            return 0.0
    return 0.0


cdef double improve_cut(Work* work, int node, double least) noexcept nogil:
    """Give a node a cut that gains more than `least` if there is one; return the gain."""
    cdef const Rows* rows = &work.rows
    cdef Tree* tree = &work.tree
    cdef Walk* walk = &work.walk
    cdef Buffers* buffers = &work.buffers
    cdef RecutBuffers* recut = &work.recut
    cdef Py_ssize_t first = tree.first[node], last = tree.last[node], n_chunks = (last - first + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk
    cdef int n_threads = threads_for_node(rows, tree, work.n_threads, node), t
    cdef double current = objective_below(tree, walk, rows.condition_penalty, node), gain
    count_visit(&work.effort, last - first, rows.n_features)
    _charge_edges(rows, tree, walk, node, buffers.n_conditions, recut)
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static"):
        _weigh_rows(
            rows, tree, buffers.n_conditions, node, first + chunk * CHUNK, min(first + (chunk + 1) * CHUNK, last),
            2.0 * current, recut.other, buffers.delta, buffers.point + threadid() * rows.n_columns,
        )
    _find_bases(rows, tree, walk, buffers.n_conditions, buffers.delta, node, recut)
    clear_ranges(rows, &buffers.codes)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _tally_terms(rows, tree, buffers.delta, recut, node, t, n_threads, &buffers.codes)
    _scan_terms(rows, &buffers.codes, recut, current - least)
    gain = _take_cut(work, node, current, least)
    _clear_terms(rows, &buffers.codes, recut)
    return gain
