"""Finding the cut of a node: sweep its rows into histograms, scan the features, apply the tie rule.

IMM counts mistakes (`imm`). Other methods sweep all of a node's centers for each row: a first sweep bounds all cuts of
all features in 32-bit integers (`bounding`). Nearly every node's cut is certain from these bounds and the rows of a few
runs of cuts. If not, single features are summed exactly (`dense_sweep`), the likeliest first, until no bound leaves
room for a lower objective. `cut_scan` reads all histograms alike.

All find the same cut: the first one, by feature and then by threshold, of those that tie with the lowest objective.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.bounding cimport bound_rows, bound_scale
from shallowrules._kernel.growth.cut_scan cimport (
    ALL_CUTS, BIN_ENDS, FIRST_CUT, LIST_RUNS, LOWER_BOUND, Candidates, CutSearch, Goal, RowSource, list_candidates,
    scan_feature, search_run
)
from shallowrules._kernel.growth.dense_sweep cimport sum_rows, to_differences
from shallowrules._kernel.growth.fixed_point cimport FixedPoint, first_point, llrint, refine_point, within_reach
from shallowrules._kernel.growth.histograms cimport add_histograms, clear_histograms, counted_weight
from shallowrules._kernel.growth.imm cimport count_mistakes
from shallowrules._kernel.growth.objective cimport (
    RUNS_SHIFT, Objective, excludes, highest_tie_limit, lowest_tie_limit, objective_error, objective_of_feature,
    price_of, tie_limit
)
from shallowrules._kernel.growth.state cimport (
    MAX_RUNS, CenterOrder, Cut, CutRun, FeatureResults, Node, ScanBuffers, Scratch, Slots,
    State, Table, chunks_of, costs_of_node, is_imm, keeps_distances
)
from shallowrules._kernel.shared.threads cimport share_of

# Objectives that are less certain from bounds seldom lead to a choice, so none is tried.
cdef double MAX_UNCERTAINTY = 1e-3


cdef struct NodeSearch:
    # The search for the cut of a node.
    Node* node
    FixedPoint fixed        # of exact sums
    Objective of_node
    Scratch* scratches      # one per thread; the first has the histograms of all, and the results
    int n_threads


cdef void mark_path_sides(const Table* table, const Node* nodes, int index, unsigned char* path_sides) noexcept nogil:
    """Record for each feature which edges the path to a node has: bit 0 for a left one, bit 1 for a right one."""
    cdef const Node* node = &nodes[index]
    if table.path_sides == NULL:
        memset(path_sides, 0, table.n_features)
    else:
        memcpy(path_sides, table.path_sides, table.n_features)
    while node.parent >= 0:
        path_sides[nodes[node.parent].feature] |= 1 if node.is_left else 2
        node = &nodes[node.parent]


cdef double _lowest(int n_features, const FeatureResults* features) noexcept nogil:
    """Return the lowest objective of all features."""
    cdef double lowest = INFINITY
    cdef int f
    for f in range(n_features):
        lowest = min(lowest, features.best[f])
    return lowest


cdef NodeSearch _search_of_node(State* state, int index, Scratch* scratches, int n_threads) noexcept nogil:
    """Return a search that has not begun: neither the fixed point nor the trade-off is set, nor the node's cost."""
    cdef NodeSearch search
    cdef int t
    memset(&search, 0, sizeof(NodeSearch))
    search.node = &state.nodes[index]
    search.scratches, search.n_threads = scratches, n_threads
    search.of_node.counts_mistakes = is_imm(&state.slots)
    search.of_node.cost = search.node.cost
    search.of_node.n_centers = search.node.last_center - search.node.first_center
    for t in range(n_threads):
        mark_path_sides(&state.table, state.nodes, index, scratches[t].scan.path_sides)
    return search


cdef inline Objective _objective_of(const NodeSearch* search, int feature, double unit_scale) noexcept nogil:
    """Return the objective of a feature's cuts, whose sums have `unit_scale` units per unit of cost."""
    return objective_of_feature(&search.of_node, unit_scale, search.scratches.scan.path_sides[feature])


cdef inline RowSource _rows_of(
    const Slots* slots, const NodeSearch* search, int thread
) noexcept nogil:
    """Return the source from which a thread reads the rows of opened bins."""
    return RowSource(slots, &search.fixed, &search.scratches[thread].rows, NULL, 0)


cdef void restore_node(State* state, Node* node) noexcept nogil:
    """Restore the order of the centers of a node that was cut, so that it can be cut differently.

    Each side of the cut keeps only the distances to its own centers; the nodes below compute them again.
    """
    node.has_distances = False
    _sort_centers(&state.table, &state.centers, node)


cdef void _sort_centers(const Table* table, const CenterOrder* centers, const Node* node) noexcept nogil:
    """Put the node's centers in every feature's order again."""
    cdef Py_ssize_t k = table.n_centers, f
    cdef int i, place
    memset(centers.side, 0, k)
    for i in range(node.first_center, node.last_center):
        centers.side[centers.order[i]] = 1
    for f in range(table.n_features):
        place = node.first_center
        for i in range(table.n_centers):
            if centers.side[centers.sorted[f * k + i]]:
                centers.order[f * k + place] = centers.sorted[f * k + i]
                place += 1


cdef void _sum_chunks(Node* node, const double* costs) noexcept nogil:
    """Sum the node's current cost, always in the same order."""
    cdef Py_ssize_t chunk
    node.cost = 0.0
    for chunk in range(chunks_of(node)):
        node.cost += costs[chunk]


cdef void _scan_features(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search,
    int part, Goal goal, double limit,
) noexcept nogil:
    """Find the lowest objective of every n_threads-th feature."""
    cdef RowSource rows = _rows_of(slots, search, part)
    cdef Objective objective
    cdef Cut cut
    cdef int f = part
    cdef double* best = search.scratches.features.best
    while f < table.n_features:
        cut.objective = INFINITY
        objective = _objective_of(search, f, search.fixed.scale)
        scan_feature(
            table, centers, search.node, &search.scratches.histograms, &rows, &search.scratches[part].scan, &objective,
            CutSearch(f, goal, tie_limit(limit)), &cut,
        )
        best[f] = cut.objective if goal == BIN_ENDS else min(best[f], cut.objective)
        f += search.n_threads


cdef void _search_swept(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search
) noexcept nogil:
    """Find the lowest objective of every feature once the histograms of the threads are full."""
    cdef const Node* node = search.node
    cdef Scratch* scratches = search.scratches
    cdef int t, f, n_threads = search.n_threads
    cdef int64_t weight = 0
    cdef double lowest
    for t in range(n_threads):
        weight += counted_weight(table, centers, node, &scratches[t].histograms)
    search.of_node.total_weight = <double>weight
    for f in prange(table.n_features, num_threads=n_threads, schedule="static"):
        for t in range(1, n_threads):
            add_histograms(table, centers, node, &scratches.histograms, &scratches[t].histograms, f)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _scan_features(table, slots, centers, search, t, BIN_ENDS, INFINITY)
    lowest = _lowest(table.n_features, &scratches.features)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _scan_features(table, slots, centers, search, t, ALL_CUTS, lowest)


cdef void _search_mistakes(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search
) noexcept nogil:
    """Find the fewest mistakes of every feature (IMM)."""
    cdef const Node* node = search.node
    cdef Scratch* scratches = search.scratches
    cdef int t, n_threads = search.n_threads
    search.fixed.scale = table.weight_scale if table.weighted else 1.0
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        clear_histograms(table, centers, node, &scratches[t].histograms)
        count_mistakes(
            table, slots, centers, node, &scratches[t].histograms,
            share_of(node.first, node.last_counted, t, n_threads),
        )
    _search_swept(table, slots, centers, search)


cdef void _bound_features(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search, double* costs
) noexcept nogil:
    """Fill the histograms that bound every feature's cuts, and sum the node's cost, by chunks to `costs` first."""
    cdef Node* node = search.node
    cdef Scratch* scratches = search.scratches
    cdef int t, f, n_threads = search.n_threads, place
    cdef int64_t weight = 0
    cdef double scale = bound_scale(table, slots, centers, node, &scratches.rows)
    cdef bint keeps = keeps_distances(slots, node)
    for place in range(search.of_node.n_centers if keeps else 0):
        slots.distance_place[centers.order[node.first_center + place]] = place
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        bound_rows(
            table, slots, centers, node, &scratches[t].histograms, &scratches[t].rows, &scratches[t].dense, scale,
            share_of(0, chunks_of(node), t, n_threads), costs,
        )
    node.has_distances |= keeps
    _sum_chunks(node, costs)
    search.of_node.cost = node.cost
    for t in range(n_threads):
        weight += counted_weight(table, centers, node, &scratches[t].histograms)
    search.of_node.total_weight = <double>weight
    for f in prange(table.n_features, num_threads=n_threads, schedule="static"):
        for t in range(1, n_threads):
            add_histograms(table, centers, node, &scratches.histograms, &scratches[t].histograms, f)
        to_differences(table, centers, node, &scratches.histograms, f)
        scratches.features.unit_scale[f] = scale
        scratches.features.exact[f] = False
    for t in range(1, n_threads):
        scratches.dense.capped |= scratches[t].dense.capped


cdef void _sum_feature(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search, int feature
) noexcept nogil:
    """Fill the histograms of a feature again, exactly, unless they are exact already."""
    cdef const Node* node = search.node
    cdef Scratch* scratches = search.scratches
    cdef int t, n_threads = search.n_threads
    if scratches.features.exact[feature] and scratches.features.unit_scale[feature] == search.fixed.scale:
        return
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        sum_rows(
            table, slots, centers, node, &scratches[t].histograms, &scratches[t].rows, &scratches[t].dense,
            &search.fixed, feature, share_of(node.first, node.last, t, n_threads),
        )
    for t in range(1, n_threads):
        add_histograms(table, centers, node, &scratches.histograms, &scratches[t].histograms, feature)
    to_differences(table, centers, node, &scratches.histograms, feature)
    scratches.features.unit_scale[feature] = search.fixed.scale
    scratches.features.exact[feature] = True


cdef void _bound_part(
    const Table* table, const CenterOrder* centers, const NodeSearch* search, int part
) noexcept nogil:
    """Bound the objective of every n_threads-th feature."""
    cdef FeatureResults* features = &search.scratches.features
    cdef Objective objective
    cdef Cut cut
    cdef int f = part
    while f < table.n_features:
        cut.objective = INFINITY
        objective = _objective_of(search, f, features.unit_scale[f])
        scan_feature(
            table, centers, search.node, &search.scratches.histograms, NULL, &search.scratches[part].scan, &objective,
            CutSearch(f, LOWER_BOUND, INFINITY), &cut,
        )
        features.bound[f] = cut.objective
        f += search.n_threads


cdef void _bound_objectives(
    const Table* table, const CenterOrder* centers, const NodeSearch* search
) noexcept nogil:
    """Find a lower bound of each feature's objectives."""
    cdef int t, f
    if search.node.cost == 0.0:  # objectives are costs in units there, and bounds have other units
        for f in range(table.n_features):
            search.scratches.features.bound[f] = 0.0
    else:
        for t in prange(search.n_threads, num_threads=search.n_threads, schedule="static", chunksize=1):
            _bound_part(table, centers, search, t)


cdef int _of_lowest_bound(int n_features, const FeatureResults* features) noexcept nogil:
    cdef int f, likeliest = 0
    for f in range(n_features):
        if features.bound[f] < features.bound[likeliest]:
            likeliest = f
    return likeliest


cdef inline double _error_of_bounds(const NodeSearch* search, double unit_scale) noexcept nogil:
    """Return the largest error that bounding sums cause in an objective."""
    cdef Py_ssize_t n_rows = search.node.last - search.node.first
    return objective_error(&search.of_node, (n_rows + 1) * (1.0 / unit_scale + 2.0 / search.fixed.scale))


cdef double _limit_of_best(
    const Table* table, const CenterOrder* centers, const NodeSearch* search, double* error
) noexcept nogil:
    """Return the limit of the bounding sum of the node's best cut; infinity if bounds are too uncertain.

    error: a second result, the largest error of an objective by bounding sums.
    """
    cdef const Node* node = search.node
    cdef Scratch* scratch = search.scratches
    cdef FeatureResults* features = &scratch.features
    cdef int likeliest = _of_lowest_bound(table.n_features, features)
    cdef double unit_scale = features.unit_scale[likeliest]
    cdef Objective objective
    cdef Cut found
    error[0] = _error_of_bounds(search, unit_scale)
    if not error[0] < MAX_UNCERTAINTY:
        return INFINITY
    found.objective = INFINITY
    objective = _objective_of(search, likeliest, unit_scale)
    scan_feature(
        table, centers, node, &scratch.histograms, NULL, &scratch.scan, &objective,
        CutSearch(likeliest, BIN_ENDS, INFINITY), &found,
    )
    return highest_tie_limit(found.objective + error[0])


cdef bint _list_runs(const Table* table, const CenterOrder* centers, const NodeSearch* search) noexcept nogil:
    """List the runs of cuts that may be the node's best, by bounding sums; False if they cannot be searched."""
    cdef Scratch* scratch = search.scratches
    cdef FeatureResults* features = &scratch.features
    cdef double unit_scale = features.unit_scale[_of_lowest_bound(table.n_features, features)]
    cdef double error, limit = _limit_of_best(table, centers, search, &error)
    cdef const CutRun* run
    cdef Objective objective
    cdef Cut found
    cdef int f, r
    if limit == INFINITY or not within_reach(limit, &search.fixed):
        return False
    scratch.scan.n_runs = 0
    for f in range(table.n_features):
        if features.bound[f] > limit:
            continue
        found.objective = INFINITY
        objective = _objective_of(search, f, unit_scale)
        scan_feature(
            table, centers, search.node, &scratch.histograms, NULL, &scratch.scan, &objective,
            CutSearch(f, LIST_RUNS, limit), &found,
        )
    if not 0 < scratch.scan.n_runs <= MAX_RUNS:
        return False
    objective = objective_of_feature(&search.of_node, unit_scale, 0)
    for r in range(scratch.scan.n_runs):
        run = &scratch.scan.runs[r]
        if run.n_rows > scratch.scan.capacity or not within_reach(
            price_of(&objective, run.before.induced) + error, &search.fixed
        ):
            return False
    return True


cdef bint _choose_if_certain(
    const Table* table, const Slots* slots, const CenterOrder* centers,
    const NodeSearch* search, Cut* cut,
) noexcept nogil:
    """Choose the node's cut among the listed runs by the bounding sums; False if the exact sums might choose another.

    A bounding sum falls short of the true one by less than a unit for each row that adds something, if none was
    capped; the exact sum is off by at most one of its own units for each of these rows. So an exact objective lies in
    an interval of length `_error_of_bounds`, and only cuts whose interval reaches down to the least upper end matter.
    Those of a feature between two neighboring centers, a run, differ by the rows between them alone: these are added
    up exactly, on top of the most that may lie before. All objectives of a run are then too high by the same amount,
    from 0 to the error. The choice is certain if those of all other runs, less the error, are higher, and none of its
    own is so near the limit of a tie that this amount, or how doubles are rounded, matters.

    Exact sums may be capped, too. Where one is, its cut is beyond reach and thus no choice; but it would not be in
    the interval, so that no run may begin there.
    """
    cdef const Node* node = search.node
    cdef ScanBuffers* scan = &search.scratches.scan
    cdef Py_ssize_t n = node.last - node.first
    cdef int r, chosen = 0, n_left = 0
    cdef double scale = search.scratches.features.unit_scale[scan.runs[0].feature]
    cdef double limit, error = _error_of_bounds(search, scale)
    cdef double values[MAX_RUNS]
    cdef Cut found
    cdef const CutRun* run
    cdef Objective objective
    cdef RowSource rows = _rows_of(slots, search, 0)
    for r in range(scan.n_runs):
        run = &scan.runs[r]
        objective = _objective_of(search, run.feature, search.fixed.scale)
        values[r] = search_run(
            table, centers, node, &rows, scan, &objective, run,
            llrint((run.before.induced + n + 1) / scale * search.fixed.scale + n + 1),
            &found,
        )
        if r == 0 or values[r] < values[chosen]:
            chosen = r
            cut[0] = found
    limit = highest_tie_limit(values[chosen])
    for r in range(scan.n_runs):
        n_left += r == chosen or values[r] - error <= limit
    return n_left == 1 and cut.objective <= lowest_tie_limit(values[chosen], error)


cdef bint _choose_by_runs(
    const Table* table, const Slots* slots, const CenterOrder* centers,
    const NodeSearch* search, Cut* cut,
) noexcept nogil:
    """Choose the node's cut from bounding sums and the other rows that matter; False if these do not settle it."""
    if not RUNS_SHIFT or search.scratches.dense.capped or search.node.cost == 0.0:
        return False
    return _list_runs(table, centers, search) and _choose_if_certain(table, slots, centers, search, cut)


cdef int _likeliest(const FeatureResults* features, int n_features) noexcept nogil:
    """Return the feature of the lowest bound that was not searched yet, or -1."""
    cdef int f, likeliest = -1
    for f in range(n_features):
        if not features.searched[f] and (likeliest < 0 or features.bound[f] < features.bound[likeliest]):
            likeliest = f
    return likeliest


cdef void _search_dense(
    const Table* table, const Slots* slots, const CenterOrder* centers, NodeSearch* search
) noexcept nogil:
    """Find the lowest objective of the features that may have the node's lowest: the likeliest first."""
    cdef Scratch* scratch = search.scratches
    cdef FeatureResults* features = &scratch.features
    cdef RowSource rows = _rows_of(slots, search, 0)
    cdef Objective objective
    cdef int f, pass_
    cdef double lowest
    cdef Cut cut
    while True:
        lowest = INFINITY
        for f in range(table.n_features):
            features.best[f] = INFINITY
            features.searched[f] = False
        while True:
            f = _likeliest(features, table.n_features)
            if f < 0 or features.bound[f] == INFINITY or excludes(features.bound[f], lowest):
                break
            _sum_feature(table, slots, centers, search, f)
            objective = _objective_of(search, f, search.fixed.scale)
            for pass_ in range(2):
                cut.objective = INFINITY
                scan_feature(
                    table, centers, search.node, &scratch.histograms, &rows, &scratch.scan, &objective,
                    CutSearch(f, ALL_CUTS if pass_ else BIN_ENDS, tie_limit(lowest) if pass_ else INFINITY), &cut,
                )
                features.best[f] = min(features.best[f], cut.objective)
                lowest = min(lowest, cut.objective)
            features.searched[f] = True
        if not refine_point(table, centers, search.node, lowest, &search.fixed):
            break


cdef bint _first_near_lowest(
    const Table* table, const Slots* slots, const CenterOrder* centers,
    const NodeSearch* search, Cut* cut,
) noexcept nogil:
    """Apply the tie rule: the first feature's first threshold with an objective near the lowest."""
    cdef Scratch* scratch = search.scratches
    cdef RowSource rows = _rows_of(slots, search, 0)
    cdef double limit = _lowest(table.n_features, &scratch.features)
    cdef Objective objective
    cdef int f
    if limit == INFINITY:
        return False
    limit = tie_limit(limit)
    for f in range(table.n_features):
        if scratch.features.best[f] <= limit:
            cut.objective = INFINITY
            objective = _objective_of(search, f, search.fixed.scale)
            return scan_feature(
                table, centers, search.node, &scratch.histograms, &rows, &scratch.scan, &objective,
                CutSearch(f, FIRST_CUT, limit), cut,
            )
    return False


cdef bint choose_cut(
    State* state, int index, Scratch* scratches, int n_threads, double tradeoff, Cut* cut
) noexcept nogil:
    """Find a node's cut; False if none is valid."""
    cdef const Table* table = &state.table
    cdef const Slots* slots = &state.slots
    cdef const CenterOrder* centers = &state.centers
    cdef NodeSearch search = _search_of_node(state, index, scratches, n_threads)
    if is_imm(slots):
        _search_mistakes(table, slots, centers, &search)
    else:
        search.of_node.tradeoff = tradeoff
        _bound_features(table, slots, centers, &search, costs_of_node(state.chunk_cost, search.node))
        search.fixed = first_point(table, centers, search.node)
        _bound_objectives(table, centers, &search)
        if _choose_by_runs(table, slots, centers, &search, cut):
            return True
        _search_dense(table, slots, centers, &search)
    return _first_near_lowest(table, slots, centers, &search, cut)


cdef void choose_candidates(
    State* state, int index, Scratch* scratches, int n_threads, double tradeoff, Candidates* candidates
) noexcept nogil:
    """Find a node's best cuts that separate its centers differently, at ends of bins.

    Objectives are as exact as the bounding sweep: enough to choose the cuts to try. If it capped the amount that a row
    adds, or if the node costs nothing, they are exact.
    """
    cdef const Table* table = &state.table
    cdef const Slots* slots = &state.slots
    cdef const CenterOrder* centers = &state.centers
    cdef NodeSearch search = _search_of_node(state, index, scratches, n_threads)
    cdef Objective objective
    cdef int f
    search.of_node.tradeoff = tradeoff
    candidates.count = 0
    _bound_features(table, slots, centers, &search, costs_of_node(state.chunk_cost, search.node))
    search.fixed = first_point(table, centers, search.node)
    if scratches.dense.capped or search.node.cost == 0.0:
        _bound_objectives(table, centers, &search)
        _search_dense(table, slots, centers, &search)
        for f in range(table.n_features):
            _sum_feature(table, slots, centers, &search, f)
    for f in range(table.n_features):
        objective = _objective_of(&search, f, scratches.features.unit_scale[f])
        list_candidates(
            table, centers, search.node, &scratches.histograms, &scratches.scan.plan, &objective, f, candidates
        )
