"""Finding the cut of a node: sweep its rows into histograms, scan the features, apply the tie rule.

Three sweeps fill the histograms (`cut_scan` reads them alike):

- IMM counts mistakes (`imm`).
- A node of many centers keeps a list of nearest centers for each row; one sweep sums all features exactly
  (`list_sweep`).
- A node of few centers is dense: a first sweep bounds all cuts of all features in 32-bit integers (`dense_sweep`).
  Nearly every node's cut is certain from these bounds and the rows of a few runs of cuts. If not, single features are
  summed exactly, the likeliest first, until no bound leaves room for a lower objective.

All find the same cut: of those that tie with the lowest objective the first one, by feature and then by threshold.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from shallowrules._kernel.growth.cut_scan cimport (
    ALL_CUTS, BIN_ENDS, FIRST_CUT, LIST_RUNS, LOWER_BOUND, Candidate, Search, list_candidates, scan_feature, search_run
)
from shallowrules._kernel.growth.dense_sweep cimport bound_rows, bound_scale, sum_rows, to_differences
from shallowrules._kernel.growth.fixed_point cimport FixedPoint, first_point, llrint, refine_point, within_reach
from shallowrules._kernel.growth.histograms cimport add_histograms, clear_histograms, counted_weight
from shallowrules._kernel.growth.imm cimport count_mistakes
from shallowrules._kernel.growth.list_sweep cimport sweep_rows
from shallowrules._kernel.growth.nearest_lists cimport fill_lists, filter_lists, list_members, sum_costs
from shallowrules._kernel.growth.objective cimport (
    RUNS_SHIFT, Objective, excludes, highest_tie_limit, lowest_tie_limit, objective_error, objective_of_feature,
    price_of, tie_limit
)
from shallowrules._kernel.growth.state cimport (
    MAX_RUNS, Cut, CutRun, FeatureResults, Node, Scratch, State, chunk_place, is_dense, is_imm
)
from shallowrules._kernel.shared.threads cimport CHUNK

# Objectives that are less certain from bounds seldom lead to a choice: it is not tried then.
cdef double MAX_UNCERTAINTY = 1e-3


cdef void mark_path_sides(const Node* nodes, int index, int n_features, unsigned char* path_sides) noexcept nogil:
    """Say for each feature which edges the path to a node has: bit 0 for a left one, bit 1 for a right one."""
    cdef const Node* node = &nodes[index]
    memset(path_sides, 0, n_features)
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


cdef Objective _objective_of_node(const State* state, const Node* node) noexcept nogil:
    """Return what the cuts of a node cost, but for the trade-off and the weight in the histograms."""
    cdef Objective objective
    memset(&objective, 0, sizeof(Objective))
    objective.counts_mistakes = is_imm(&state.slots)
    objective.cost = node.cost
    objective.n_centers = node.last_center - node.first_center
    return objective


cdef void prepare_node(State* state, Node* node, Scratch* scratches, int n_threads, bint fill) noexcept nogil:
    """Fill or filter the lists of a node and sum its cost. Dense nodes have none, and sum as they sweep."""
    cdef Py_ssize_t n_chunks = (node.last - node.first + CHUNK - 1) // CHUNK, t
    if is_dense(&state.table, node):
        return
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _prepare_chunks(state, node, &scratches[t], n_chunks * t // n_threads, n_chunks * (t + 1) // n_threads, fill)
    _sum_chunks(state, node)


cdef void _prepare_chunks(
    State* state, Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last, bint fill
) noexcept nogil:
    cdef Py_ssize_t begin = node.first + first * CHUNK, end = min(node.first + last * CHUNK, node.last), chunk
    list_members(&state.centers, node, scratch.rows.members)
    if fill:
        fill_lists(state, node, &scratch.rows, begin, end)
    else:
        filter_lists(state, node, &scratch.rows, begin, end)
    for chunk in range(first, last):
        chunk_place(state, node)[chunk] = sum_costs(&state.slots, &state.lists, node, chunk)


cdef void _sum_chunks(const State* state, Node* node) noexcept nogil:
    """Sum the node's current cost, always in the same order."""
    cdef Py_ssize_t chunk
    node.cost = 0.0
    for chunk in range((node.last - node.first + CHUNK - 1) // CHUNK):
        node.cost += chunk_place(state, node)[chunk]


cdef void _scan_features(
    const State* state, const Node* node, Scratch* scratches, const FixedPoint* fixed, const Objective* of_node,
    int n_threads, int part, Search search, double limit,
) noexcept nogil:
    """Find the lowest objective of every n_threads-th feature."""
    cdef int f = part
    cdef Cut cut
    cdef double* best = scratches[0].features.best
    while f < state.table.n_features:
        cut.objective = INFINITY
        scan_feature(
            state, node, &scratches[part], &scratches[0].histograms, fixed, of_node, f, tie_limit(limit), search, &cut
        )
        best[f] = cut.objective if search == BIN_ENDS else min(best[f], cut.objective)
        f += n_threads


cdef void _search_swept(
    State* state, Node* node, Scratch* scratches, int n_threads, bint added, const FixedPoint* fixed,
    Objective* of_node,
) noexcept nogil:
    """Find the lowest objective of every feature once the histograms are full.

    added: whether those of the threads are added up already.
    """
    cdef int t, f
    cdef int64_t weight = 0
    cdef double lowest
    if not added:
        for t in range(n_threads):
            weight += counted_weight(&state.table, &state.centers, node, &scratches[t].histograms)
        of_node.total_weight = <double>weight
        for f in prange(state.table.n_features, num_threads=n_threads, schedule="static"):
            for t in range(1, n_threads):
                add_histograms(
                    &state.table, &state.centers, node, &scratches.histograms, &scratches[t].histograms, f
                )
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _scan_features(state, node, scratches, fixed, of_node, n_threads, t, BIN_ENDS, INFINITY)
    lowest = _lowest(state.table.n_features, &scratches.features)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _scan_features(state, node, scratches, fixed, of_node, n_threads, t, ALL_CUTS, lowest)


cdef void _search_mistakes(
    State* state, Node* node, Scratch* scratches, int n_threads, FixedPoint* fixed, Objective* of_node
) noexcept nogil:
    """Find the fewest mistakes of every feature (IMM)."""
    cdef Py_ssize_t n = node.last_counted - node.first
    cdef int t
    fixed.scale = state.table.weight_scale if state.table.weighted else 1.0
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        clear_histograms(&state.table, &state.centers, node, &scratches[t].histograms)
        count_mistakes(
            state, node, &scratches[t].histograms,
            node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads,
        )
    _search_swept(state, node, scratches, n_threads, False, fixed, of_node)


cdef void _search_lists(
    State* state, Node* node, Scratch* scratches, int n_threads, bint swept, FixedPoint* fixed, Objective* of_node
) noexcept nogil:
    """Find the lowest objective of every feature of a node that keeps lists; `swept` if another trade-off did."""
    cdef Py_ssize_t n = node.last - node.first
    cdef int t
    while True:
        for t in prange(n_threads if not swept else 0, num_threads=n_threads, schedule="static", chunksize=1):
            clear_histograms(&state.table, &state.centers, node, &scratches[t].histograms)
            sweep_rows(
                state, node, &scratches[t], fixed,
                node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads,
            )
        _search_swept(state, node, scratches, n_threads, swept, fixed, of_node)
        if not refine_point(state, node, _lowest(state.table.n_features, &scratches.features), fixed):
            break
        swept = False


cdef void _bound_features(
    State* state, Node* node, Scratch* scratches, int n_threads, Objective* of_node
) noexcept nogil:
    """Fill the histograms that bound every feature's cuts, and sum the node's cost."""
    cdef Py_ssize_t n_chunks = (node.last - node.first + CHUNK - 1) // CHUNK
    cdef int t, f
    cdef int64_t weight = 0
    cdef double scale = bound_scale(state, node, &scratches.rows)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        bound_rows(state, node, &scratches[t], scale, n_chunks * t // n_threads, n_chunks * (t + 1) // n_threads)
    _sum_chunks(state, node)
    of_node.cost = node.cost
    for t in range(n_threads):
        weight += counted_weight(&state.table, &state.centers, node, &scratches[t].histograms)
    of_node.total_weight = <double>weight
    for f in prange(state.table.n_features, num_threads=n_threads, schedule="static"):
        for t in range(1, n_threads):
            add_histograms(&state.table, &state.centers, node, &scratches.histograms, &scratches[t].histograms, f)
        to_differences(&state.table, &state.centers, node, &scratches.histograms, f)
        scratches.features.unit_scale[f] = scale
        scratches.features.exact[f] = False
    for t in range(1, n_threads):
        scratches.dense.capped |= scratches[t].dense.capped


cdef void _sum_feature(
    State* state, Node* node, Scratch* scratches, int n_threads, const FixedPoint* fixed, int feature
) noexcept nogil:
    """Fill the histograms of a feature anew, exactly, unless they are exact already."""
    cdef Py_ssize_t n = node.last - node.first
    cdef int t
    if scratches.features.exact[feature] and scratches.features.unit_scale[feature] == fixed.scale:
        return
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        sum_rows(
            state, node, &scratches[t], fixed, feature,
            node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads,
        )
    for t in range(1, n_threads):
        add_histograms(&state.table, &state.centers, node, &scratches.histograms, &scratches[t].histograms, feature)
    to_differences(&state.table, &state.centers, node, &scratches.histograms, feature)
    scratches.features.unit_scale[feature] = fixed.scale
    scratches.features.exact[feature] = True


cdef void _bound_part(
    const State* state, const Node* node, Scratch* scratches, const Objective* of_node, int n_threads, int part
) noexcept nogil:
    """Bound the objective of every n_threads-th feature."""
    cdef int f = part
    cdef Cut cut
    cdef FixedPoint units
    while f < state.table.n_features:
        cut.objective = INFINITY
        units.scale = scratches.features.unit_scale[f]
        scan_feature(
            state, node, &scratches[part], &scratches.histograms, &units, of_node, f, INFINITY, LOWER_BOUND, &cut
        )
        scratches.features.bound[f] = cut.objective
        f += n_threads


cdef void _bound_objectives(
    const State* state, const Node* node, Scratch* scratches, int n_threads, const Objective* of_node
) noexcept nogil:
    """Find a lower bound of each feature's objectives."""
    cdef int t, f
    if node.cost == 0.0:  # objectives are costs in units there, and bounds have other units
        for f in range(state.table.n_features):
            scratches.features.bound[f] = 0.0
    else:
        for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            _bound_part(state, node, scratches, of_node, n_threads, t)


cdef bint _list_runs(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, const Objective* of_node,
    double* error,
) noexcept nogil:
    """List the runs of cuts that may be the node's best, by bounding sums; False if that is not possible.

    error: the result, by how much an objective by bounding sums is off at most.
    """
    cdef Py_ssize_t n = node.last - node.first
    cdef FeatureResults* features = &scratch.features
    cdef int f, likeliest = 0
    cdef double limit
    cdef FixedPoint units
    cdef Cut found
    for f in range(state.table.n_features):
        if features.bound[f] < features.bound[likeliest]:
            likeliest = f
    units.scale = features.unit_scale[likeliest]
    error[0] = objective_error(of_node, (n + 1) * (1.0 / units.scale + 2.0 / fixed.scale))
    if not error[0] < MAX_UNCERTAINTY:
        return False
    found.objective = INFINITY
    scan_feature(
        state, node, scratch, &scratch.histograms, &units, of_node, likeliest, INFINITY, BIN_ENDS, &found
    )
    limit = highest_tie_limit(found.objective + error[0])
    if not within_reach(limit, fixed):
        return False
    scratch.scan.n_runs = 0
    for f in range(state.table.n_features):
        if features.bound[f] > limit:
            continue
        if features.exact[f]:  # in other units, for another trade-off
            return False
        found.objective = INFINITY
        scan_feature(state, node, scratch, &scratch.histograms, &units, of_node, f, limit, LIST_RUNS, &found)
    return scratch.scan.n_runs <= MAX_RUNS


cdef bint _choose_if_certain(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, const Objective* of_node,
    Cut* cut, int* feature,
) noexcept nogil:
    """Choose the node's cut by the bounding sums; False if the exact sums might choose another.

    A bounding sum falls short of the true one by less than a unit for each row, if no row was capped; the exact sum
    is off by at most one of its own units for each row. So an exact objective lies in an interval of length `error`,
    and only cuts whose interval reaches down to the least upper end matter. Those of a feature between two
    neighboring centers, a run, differ by the rows between them alone: these are added up exactly, on top of the most
    that may lie before. All objectives of a run are then too high by the same amount, from 0 to `error`. The choice is
    certain if those of all other runs are higher by more than that, and none of its own is so near the limit of a tie
    that this amount, or how doubles are rounded, matters.

    Exact sums may be capped, too. Where one is, its cut is beyond reach and thus no choice; but it would not be in
    the interval, so that no run may begin there.
    """
    cdef Py_ssize_t n = node.last - node.first
    cdef int r
    cdef double error, scale, value, lowest = INFINITY, second = INFINITY
    cdef Cut found
    cdef const CutRun* run
    cdef Objective objective
    if not RUNS_SHIFT or scratch.dense.capped or node.cost == 0.0:
        return False
    if not _list_runs(state, node, scratch, fixed, of_node, &error):
        return False
    for r in range(scratch.scan.n_runs):
        run = &scratch.scan.runs[r]
        scale = scratch.features.unit_scale[run.feature]
        objective = objective_of_feature(of_node, scale, 0)
        value = price_of(&objective, run.before.induced) + error
        if run.n_rows > scratch.scan.capacity or not within_reach(value, fixed):
            return False
        value = search_run(
            state, node, scratch, fixed, of_node, run,
            llrint(((<double>run.before.induced + n + 1) / scale) * fixed.scale + n + 1), &found,
        )
        if value < lowest:
            second = lowest
            lowest = value
            cut[0] = found
            feature[0] = run.feature
        else:
            second = min(second, value)
    return second - error > highest_tie_limit(lowest) and cut.objective <= lowest_tie_limit(lowest, error)


cdef int _likeliest(const FeatureResults* features, int n_features) noexcept nogil:
    """Return the feature of the lowest bound that was not searched yet, or -1."""
    cdef int f, likeliest = -1
    for f in range(n_features):
        if not features.searched[f] and (likeliest < 0 or features.bound[f] < features.bound[likeliest]):
            likeliest = f
    return likeliest


cdef void _search_dense(
    State* state, Node* node, Scratch* scratches, int n_threads, FixedPoint* fixed, const Objective* of_node
) noexcept nogil:
    """Find the lowest objective of the features that may have the node's lowest: the likeliest first."""
    cdef FeatureResults* features = &scratches.features
    cdef int f, pass_
    cdef double lowest
    cdef Cut cut
    while True:
        lowest = INFINITY
        for f in range(state.table.n_features):
            features.best[f] = INFINITY
            features.searched[f] = False
        while True:
            f = _likeliest(features, state.table.n_features)
            if f < 0 or features.bound[f] == INFINITY or excludes(features.bound[f], lowest):
                break
            _sum_feature(state, node, scratches, n_threads, fixed, f)
            for pass_ in range(2):
                cut.objective = INFINITY
                scan_feature(
                    state, node, scratches, &scratches.histograms, fixed, of_node, f,
                    tie_limit(lowest) if pass_ else INFINITY, ALL_CUTS if pass_ else BIN_ENDS, &cut,
                )
                features.best[f] = min(features.best[f], cut.objective)
                lowest = min(lowest, cut.objective)
            features.searched[f] = True
        if not refine_point(state, node, lowest, fixed):
            break


cdef bint _first_near_lowest(
    State* state, const Node* node, Scratch* scratches, const FixedPoint* fixed, const Objective* of_node, Cut* cut,
    int* feature,
) noexcept nogil:
    """Apply the tie rule: the first feature's first threshold with an objective near the lowest."""
    cdef double limit = _lowest(state.table.n_features, &scratches.features)
    cdef int f
    if limit == INFINITY:
        return False
    limit = tie_limit(limit)
    for f in range(state.table.n_features):
        if scratches.features.best[f] <= limit:
            cut.objective = INFINITY
            feature[0] = f
            return scan_feature(
                state, node, scratches, &scratches.histograms, fixed, of_node, f, limit, FIRST_CUT, cut
            )
    return False


cdef bint choose_cuts(
    State* state, int index, Scratch* scratches, int n_threads,
    const double* tradeoffs, const int* wanted, int n_wanted, Cut* cuts, int* features,
) noexcept nogil:
    """Find a node's cut for each of some trade-offs; False if no cut is valid.

    One sweep of the rows serves all: neither Price nor DExp depends on the trade-off.

    Parameters
    ----------
    tradeoffs : all trade-offs
    wanted : which of them
    cuts, features : the result, in the order of `wanted`
    """
    cdef Node* node = &state.nodes[index]
    cdef FixedPoint fixed
    cdef int i, t
    cdef bint dense = not is_imm(&state.slots) and is_dense(&state.table, node)
    cdef Objective of_node = _objective_of_node(state, node)
    for t in range(n_threads):
        mark_path_sides(state.nodes, index, state.table.n_features, scratches[t].scan.path_sides)
    if dense:
        _bound_features(state, node, scratches, n_threads, &of_node)
    fixed = first_point(state, node)
    for i in range(n_wanted):
        of_node.tradeoff = tradeoffs[wanted[i]]
        if dense:
            _bound_objectives(state, node, scratches, n_threads, &of_node)
            if _choose_if_certain(state, node, scratches, &fixed, &of_node, &cuts[i], &features[i]):
                continue
            _search_dense(state, node, scratches, n_threads, &fixed, &of_node)
        elif is_imm(&state.slots):
            _search_mistakes(state, node, scratches, n_threads, &fixed, &of_node)
        else:
            _search_lists(state, node, scratches, n_threads, i > 0, &fixed, &of_node)
        if not _first_near_lowest(state, node, scratches, &fixed, &of_node, &cuts[i], &features[i]):
            return False
    return True


cdef int choose_candidates(
    State* state, int index, Scratch* scratches, int n_threads, double tradeoff, Candidate* candidates,
    int max_candidates,
) noexcept nogil:
    """Find a node's best cuts that separate its centers differently, at ends of bins; return how many.

    Objectives are as exact as the bounding sweep: enough to choose what is tried. If it cut off what a row adds, or
    if the node costs nothing, they are exact.
    """
    cdef Node* node = &state.nodes[index]
    cdef FixedPoint fixed
    cdef int t, f, n_candidates = 0
    cdef bint dense = is_dense(&state.table, node)
    cdef Objective of_node = _objective_of_node(state, node)
    of_node.tradeoff = tradeoff
    for t in range(n_threads):
        mark_path_sides(state.nodes, index, state.table.n_features, scratches[t].scan.path_sides)
    if dense:
        _bound_features(state, node, scratches, n_threads, &of_node)
    fixed = first_point(state, node)
    if dense and (scratches.dense.capped or node.cost == 0.0):
        _bound_objectives(state, node, scratches, n_threads, &of_node)
        _search_dense(state, node, scratches, n_threads, &fixed, &of_node)
        for f in range(state.table.n_features):
            _sum_feature(state, node, scratches, n_threads, &fixed, f)
    elif not dense:
        _search_lists(state, node, scratches, n_threads, False, &fixed, &of_node)
    for f in range(state.table.n_features):
        list_candidates(
            state, node, scratches, &of_node, scratches.features.unit_scale[f] if dense else fixed.scale, f,
            candidates, &n_candidates, max_candidates,
        )
    return n_candidates
