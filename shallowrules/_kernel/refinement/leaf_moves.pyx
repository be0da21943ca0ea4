"""Moving leaves of a finished tree: a leaf that saves little cost is removed, and another one is cut in two instead.

For each leaf two figures are kept: by how much the objective rises if the leaf goes and its sibling takes its parent's
place, and by how much it falls if the leaf is cut in two. The pair of leaves is taken whose sum is lowest, if it is
below 0. Figures that a change makes stale are computed again; the rest are kept.

The sums are taken around the means of leaves, so that no large numbers cancel.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from shallowrules._kernel.refinement.differences cimport (
    sr_add_and_square, sr_add_difference, sr_add_to, sr_along, sr_difference
)
from shallowrules._kernel.refinement.finished_tree cimport (
    count_conditions, count_visit, forget_path, gather_leaves, list_leaves, mark_path, mark_stale, route_to_leaves
)
from shallowrules._kernel.refinement.leaf_cost cimport explanation_cost
from shallowrules._kernel.refinement.state cimport (
    BIN_SHIFT, MIN_GAIN, Buffers, CodeRange, Move, MoveBuffers, Rows, Stale, Tree, Walk, Work,
    descend, find_ranges, point_of, weight_of
)
from shallowrules._kernel.shared.matrix cimport entry

cdef enum:
    # Features by which a leaf may be cut: of more, those that look best. Of 400, all take 82 s and 32 take 13 s, at a J
    # that is no higher; of 64 (digits) and 77 (mice), 32 gain no more than 8, and 4 less.
    MAX_SPLIT_FEATURES = 8
    SCORE_BINS = 16         # to pick them; SPLIT_BINS is a multiple
    POWER_ITERATIONS = 3    # roughly the direction is enough for it
    AXIS_ROWS = 64          # and so are some of the rows
    SCORED_TOGETHER = 8     # features whose bins stay in the fastest cache


cdef double _removal_cost(
    const Rows* rows, const Tree* tree, Walk* walk, Buffers* buffers, MoveBuffers* moves, int leaf
) noexcept nogil:
    """Return by how much the objective rises when a leaf goes and its sibling takes its parent's place."""
    cdef int parent = tree.parent[leaf], sibling, i, n_leaves, heir, slot, n_saved
    cdef Py_ssize_t j, m = rows.n_columns, at
    cdef double rise, w, mass, squares, apart, gap
    cdef double* sums
    cdef const double* mean = tree.mean + leaf * m
    cdef const double* other
    cdef const double* point
    sibling = tree.right[parent] if tree.left[parent] == leaf else tree.left[parent]
    rise = -explanation_cost(
        tree.mass[leaf], count_conditions(tree, walk.is_seen, leaf, -1), rows.condition_penalty
    )
    n_leaves = list_leaves(tree, walk, sibling)
    if n_leaves * (m + 1) > moves.n_sums:  # too many to inherit: such a leaf is at the top of the tree
        return INFINITY
    for i in range(n_leaves):
        heir = walk.leaves[i]
        buffers.n_conditions[heir] = count_conditions(tree, walk.is_seen, heir, parent)
        n_saved = count_conditions(tree, walk.is_seen, heir, -1) - buffers.n_conditions[heir]
        rise -= explanation_cost(tree.mass[heir], n_saved, rows.condition_penalty)
        buffers.count[heir] = i
    memset(moves.sums, 0, n_leaves * (m + 1) * sizeof(double))
    for at in range(tree.first[leaf], tree.last[leaf]):
        slot = tree.order[at]
        w = weight_of(rows, slot)
        sums = moves.sums + buffers.count[descend(rows, tree, sibling, slot)] * (m + 1)
        point = point_of(rows, slot, buffers.point)
        sr_add_difference(point, mean, w, m, sums)
        sums[m] += w
    # Sums of squares around the mean of the leaf, for each heir's share of it and for both together: no large ones
    # cancel.
    for i in range(n_leaves):
        heir = walk.leaves[i]
        sums = moves.sums + i * (m + 1)
        mass = sums[m]
        if mass == 0.0:
            continue
        other = tree.mean + heir * m
        squares = apart = 0.0
        for j in range(m):
            squares += sums[j] * sums[j]
            gap = mean[j] + sums[j] / mass - other[j]
            apart += gap * gap
        rise += apart * mass * (tree.mass[heir] / (mass + tree.mass[heir])) - squares / mass
        rise += explanation_cost(mass, buffers.n_conditions[heir], rows.condition_penalty)
    return rise


cdef void _find_axis(
    const Rows* rows, const Tree* tree, int leaf, double* axis, double* buffer
) noexcept nogil:
    """Find roughly the direction in which a leaf's rows vary most, by power iteration; axis: [2, m], the first."""
    cdef Py_ssize_t first = tree.first[leaf], last = tree.last[leaf], at, j, m = rows.n_columns
    cdef Py_ssize_t step = (last - first + AXIS_ROWS - 1) // AXIS_ROWS
    cdef const double* mean = tree.mean + leaf * m
    cdef const double* point
    cdef double* sums = axis + m
    cdef double length, along
    cdef int farthest = tree.order[first], _round
    for at in range(first, last):
        if tree.own_distance[tree.order[at]] > tree.own_distance[farthest]:
            farthest = tree.order[at]
    point = point_of(rows, farthest, buffer)
    for j in range(m):
        axis[j] = point[j] - mean[j]
    for _round in range(POWER_ITERATIONS):
        length = 0.0
        for j in range(m):
            length += axis[j] * axis[j]
        if not length > 0.0:
            return
        length = sqrt(length)
        for j in range(m):
            axis[j] /= length
            sums[j] = 0.0
        at = first
        while at < last:
            point = point_of(rows, tree.order[at], buffer)
            along = sr_along(point, mean, axis, m) * weight_of(rows, tree.order[at])
            sr_add_difference(point, mean, along, m, sums)
            at += step
        memcpy(axis, sums, m * sizeof(double))


cdef void _score_features(
    const Rows* rows, const Tree* tree, const unsigned char* is_seen, const Buffers* buffers, MoveBuffers* moves,
    int leaf, Py_ssize_t first_feature, Py_ssize_t last_feature
) noexcept nogil:
    """Measure how well the best cut of some features separates a leaf's rows in one direction, to moves.score.

    buffers.delta: how far the rows are from the mean in this direction.
    """
    cdef Py_ssize_t at, f
    cdef int slot, bin
    cdef double w, along, mass, rest, best, penalty_left, penalty_right
    cdef double* sums
    memset(moves.sums, 0, (last_feature - first_feature) * 2 * SCORE_BINS * sizeof(double))
    for at in range(tree.first[leaf], tree.last[leaf]):
        slot = tree.order[at]
        w = weight_of(rows, slot)
        along = buffers.delta[at]
        for f in range(first_feature, last_feature):
            bin = split_bin(rows, &buffers.codes, slot, f) // (SPLIT_BINS // SCORE_BINS)
            sums = moves.sums + 2 * ((f - first_feature) * SCORE_BINS + bin)
            sums[0] += along
            sums[1] += w
    for f in range(first_feature, last_feature):
        sums = moves.sums + 2 * (f - first_feature) * SCORE_BINS
        along = mass = best = 0.0
        penalty_left = 0.0 if is_seen[2 * f + 1] else rows.condition_penalty
        penalty_right = 0.0 if is_seen[2 * f] else rows.condition_penalty
        for bin in range(SCORE_BINS):
            if sums[2 * bin + 1] == 0.0:
                continue
            along += sums[2 * bin]
            mass += sums[2 * bin + 1]
            rest = tree.mass[leaf] - mass
            if not rest > MIN_GAIN * mass:
                break
            w = penalty_left * mass + penalty_right * rest
            best = max(best, along * along * (1.0 / mass + 1.0 / rest) - w)
        moves.score[f] = best


cdef Py_ssize_t _pick_features(
    const Rows* rows, const Tree* tree, const unsigned char* is_seen, Buffers* buffers, MoveBuffers* moves, int leaf
) noexcept nogil:
    """List the features by which a leaf may be cut, ascending, to moves.picked; return how many.

    Evaluating all cuts of a feature takes time for every clustered column. If there are many features, those are picked
    whose cuts separate the rows best in the direction of their largest variance.
    """
    cdef Py_ssize_t first = tree.first[leaf], last = tree.last[leaf], at, j, f, d = rows.n_features
    cdef Py_ssize_t m = rows.n_columns, n_picked = 0, best_feature
    cdef const double* mean = tree.mean + leaf * m
    cdef const double* point
    cdef int _pick
    if d <= MAX_SPLIT_FEATURES:
        for f in range(d):
            moves.picked[f] = <int>f
        return d
    _find_axis(rows, tree, leaf, moves.axis, buffers.point)
    for at in range(first, last):
        point = point_of(rows, tree.order[at], buffers.point)
        buffers.delta[at] = (
            sr_along(point, mean, moves.axis, m) * weight_of(rows, tree.order[at])
        )
    for j in range((d + SCORED_TOGETHER - 1) // SCORED_TOGETHER):
        f = j * SCORED_TOGETHER
        _score_features(rows, tree, is_seen, buffers, moves, leaf, f, min(f + SCORED_TOGETHER, d))
    for _pick in range(MAX_SPLIT_FEATURES):
        best_feature = 0
        for f in range(1, d):
            if moves.score[f] > moves.score[best_feature]:
                best_feature = f
        moves.score[best_feature] = -1.0
    for f in range(d):
        if moves.score[f] < 0.0:
            moves.picked[n_picked] = <int>f
            n_picked += 1
    return n_picked


cdef void find_codes(const Rows* rows, const Tree* tree, int leaf, CodeRange* codes) noexcept nogil:
    """Find the range of codes of a leaf's rows, by feature, and equal bins of it."""
    cdef Py_ssize_t f
    find_ranges(rows, tree, leaf, codes)
    for f in range(rows.n_features):
        codes.bins_per_code[f] = (<int64_t>SPLIT_BINS << BIN_SHIFT) // (codes.high[f] - codes.low[f] + 1)


cdef void _sum_bins(
    const Rows* rows, const Tree* tree, const CodeRange* codes, const int* features, Py_ssize_t n_features, int leaf,
    double* sums, double* difference, double* buffer,
) noexcept nogil:
    """Add up a leaf's rows, around its mean, in the bins of some features; sums: [n_features, SPLIT_BINS, m + 1]."""
    cdef Py_ssize_t at, p, m = rows.n_columns
    cdef int slot, bin
    cdef double w
    cdef double* sum
    cdef const double* mean = tree.mean + leaf * m
    memset(sums, 0, n_features * SPLIT_BINS * (m + 1) * sizeof(double))
    for at in range(tree.first[leaf], tree.last[leaf]):
        slot = tree.order[at]
        w = weight_of(rows, slot)
        sr_difference(point_of(rows, slot, buffer), mean, w, m, difference)
        for p in range(n_features):
            bin = split_bin(rows, codes, slot, features[p])
            sum = sums + (p * SPLIT_BINS + bin) * (m + 1)
            sr_add_to(sum, difference, m)
            sum[m] += w


cdef int _scan_bins(
    const Rows* rows, const unsigned char* is_seen, double leaf_mass, const double* sums, double* total,
    Py_ssize_t feature, Move* best,
) noexcept nogil:
    """Find the best cut between the bins of a feature; return the last bin on its left, -1 if none is better."""
    cdef double penalty_left = 0.0 if is_seen[2 * feature + 1] else rows.condition_penalty
    cdef double penalty_right = 0.0 if is_seen[2 * feature] else rows.condition_penalty
    cdef double squares, mass, rest, change
    cdef Py_ssize_t m = rows.n_columns
    cdef int bin, best_bin = -1
    memset(total, 0, (m + 1) * sizeof(double))
    for bin in range(SPLIT_BINS - 1):
        if sums[m] != 0.0:
            squares = sr_add_and_square(total, sums, m)
            total[m] += sums[m]
            mass = total[m]
            rest = leaf_mass - mass
            if not rest > MIN_GAIN * mass:
                break
            # Around the leaf's mean the sums of the two sides are the same except for the sign.
            change = penalty_left * mass + penalty_right * rest - squares / mass - squares / rest
            if change < best.objective:
                best.objective = change
                best.feature = <int>feature
                best_bin = bin
        sums += m + 1
    return best_bin


cdef void _find_split(
    const Rows* rows, const Tree* tree, unsigned char* is_seen, Buffers* buffers, MoveBuffers* moves, int leaf
) noexcept nogil:
    """Find the cut in two of a leaf, between bins, that leaves the lowest objective, to moves.split."""
    cdef Py_ssize_t at, p, m = rows.n_columns, begin = 0, end, n_picked
    cdef Py_ssize_t step = max(1, moves.n_sums // (SPLIT_BINS * (m + 1)) - 1)
    cdef int slot, bin, best_bin = -1
    cdef double* total = moves.sums + moves.n_sums - (m + 1)
    cdef Move* best = &moves.split[leaf]
    best.objective = INFINITY  # more expensive ones count: removing a leaf may save more
    best.feature = -1
    if tree.last[leaf] - tree.first[leaf] < 2:
        return
    find_codes(rows, tree, leaf, &buffers.codes)
    mark_path(tree, is_seen, leaf, -1)
    n_picked = _pick_features(rows, tree, is_seen, buffers, moves, leaf)
    while begin < n_picked:
        end = min(begin + step, n_picked)
        _sum_bins(
            rows, tree, &buffers.codes, moves.picked + begin, end - begin, leaf, moves.sums, moves.difference,
            buffers.point,
        )
        for p in range(begin, end):
            bin = _scan_bins(
                rows, is_seen, tree.mass[leaf], moves.sums + (p - begin) * SPLIT_BINS * (m + 1), total,
                moves.picked[p], best,
            )
            best_bin = bin if bin >= 0 else best_bin
        begin = end
    forget_path(tree, is_seen, leaf)
    if best.feature < 0:
        return
    best.value = -INFINITY
    for at in range(tree.first[leaf], tree.last[leaf]):
        slot = tree.order[at]
        if split_bin(rows, &buffers.codes, slot, best.feature) <= best_bin:
            best.value = max(best.value, entry(&rows.X_explain, rows.row[slot], best.feature))


cdef bint is_below(const Tree* tree, int node, int above) noexcept nogil:
    while node >= 0:
        if node == above:
            return True
        node = tree.parent[node]
    return False


cdef void _rank_splits(const Tree* tree, MoveBuffers* moves) noexcept nogil:
    """List the leaves in moves.ranked, those whose split gains most first."""
    cdef int node, n_ranked = 0, place
    for node in range(tree.n_nodes):
        if tree.feature[node] >= 0 or moves.split[node].feature < 0:
            continue
        place = n_ranked
        while place > 0 and moves.split[moves.ranked[place - 1]].objective > moves.split[node].objective:
            moves.ranked[place] = moves.ranked[place - 1]
            place -= 1
        moves.ranked[place] = node
        n_ranked += 1
    for place in range(n_ranked, tree.n_nodes):
        moves.ranked[place] = -1


cdef double _choose_move(const Tree* tree, const MoveBuffers* moves, double least, int* gone, int* cut) noexcept nogil:
    """Choose the leaf to remove and the one to cut in two; return the change of the objective, 0 if none gains."""
    cdef int node, j
    cdef double change, best = -least
    gone[0] = -1
    for node in range(tree.n_nodes):
        if tree.feature[node] >= 0:
            continue
        for j in range(tree.n_nodes):
            if moves.ranked[j] < 0:
                break
            change = moves.removal[node] + moves.split[moves.ranked[j]].objective
            if not change < best:
                break
            if not is_below(tree, moves.ranked[j], tree.parent[node]):
                best = change
                gone[0] = node
                cut[0] = moves.ranked[j]
                break
    return best if gone[0] >= 0 else 0.0


cdef void take_away(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int leaf
) noexcept nogil:
    """Remove a leaf: its sibling takes the place of their parent, and its rows."""
    cdef int parent = tree.parent[leaf]
    cdef int above = tree.parent[parent]  # there is one: if the root were the parent, no other leaf could be cut
    cdef int sibling = tree.right[parent] if tree.left[parent] == leaf else tree.left[parent]
    tree.first[sibling] = tree.first[parent]
    tree.last[sibling] = tree.last[parent]
    route_to_leaves(rows, tree, sibling, tree.first[leaf], tree.last[leaf])
    tree.parent[sibling] = above
    if tree.left[above] == parent:
        tree.left[above] = sibling
    else:
        tree.right[above] = sibling
    gather_leaves(rows, tree, stale, walk, buffers, n_threads, sibling)


cdef void cut_in_two(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int leaf,
    int feature, double value, int left, int right,
) noexcept nogil:
    """Cut a leaf in two; `left` and `right` are nodes that are free, and have their centers."""
    tree.feature[leaf] = feature
    tree.cut[leaf] = value
    tree.left[leaf] = left
    tree.right[leaf] = right
    tree.parent[left] = tree.parent[right] = leaf
    tree.feature[left] = tree.feature[right] = -1
    tree.center[leaf] = -1
    route_to_leaves(rows, tree, leaf, tree.first[leaf], tree.last[leaf])
    gather_leaves(rows, tree, stale, walk, buffers, n_threads, leaf)


cdef void evaluate_moves(Work* work) noexcept nogil:
    """Find by how much the objective changes if a leaf goes or is cut in two, for all leaves that changed."""
    cdef int node
    for node in range(work.tree.n_nodes):
        if work.tree.feature[node] >= 0:
            continue
        if work.stale.removal[node]:
            work.moves.removal[node] = _removal_cost(
                &work.rows, &work.tree, &work.walk, &work.buffers, &work.moves, node
            )
            work.stale.removal[node] = 0
        if work.stale.split[node]:
            count_visit(&work.effort, work.tree.last[node] - work.tree.first[node], work.rows.n_features)
            _find_split(&work.rows, &work.tree, work.walk.is_seen, &work.buffers, &work.moves, node)
            work.stale.split[node] = 0


cdef bint exchange_leaves(Work* work, int gone, int cut) noexcept nogil:
    """Remove one leaf, and cut another in two where that is best; return whether this is possible."""
    cdef Tree* tree = &work.tree
    cdef int parent = tree.parent[gone]
    cdef int sibling = tree.right[parent] if tree.left[parent] == gone else tree.left[parent]
    cdef const Move* split = &work.moves.split[cut]
    if split.feature < 0 or is_below(tree, cut, parent):
        return False
    take_away(&work.rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, gone)
    tree.center[parent] = tree.center[cut]
    cut_in_two(
        &work.rows, tree, &work.stale, &work.walk, &work.buffers, work.n_threads, cut, split.feature, split.value,
        parent, gone,
    )
    mark_stale(tree, &work.stale, &work.walk, sibling, True)
    mark_stale(tree, &work.stale, &work.walk, cut, True)
    return True


cdef double move_leaf(Work* work, double least) noexcept nogil:
    """Remove one leaf and cut another in two, where that gains more than `least`; return the gain."""
    cdef int gone = -1, cut = -1
    cdef double change
    evaluate_moves(work)
    _rank_splits(&work.tree, &work.moves)
    change = _choose_move(&work.tree, &work.moves, least, &gone, &cut)
    if gone < 0 or not exchange_leaves(work, gone, cut):
        return 0.0
    return -change
