"""Finding the cut of a node: the sweeps that price cuts, the features that they leave, the tie rule."""

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from shallowrules._kernel.growth.cut_scan cimport (
    BOUNDS, CLOSE, ENDS, FIRST, INSIDE, Offer, Search, examine, first_point, offer_cuts, open_stretch, refine_point,
    weight_of, within_reach,
)
from shallowrules._kernel.growth.dense_sweep cimport bound_rows, bound_scale, settle_events, sum_rows
from shallowrules._kernel.growth.histograms cimport add_histograms, clear_histograms
from shallowrules._kernel.growth.imm cimport count_mistakes
from shallowrules._kernel.growth.nearest_lists cimport fill_lists, filter_lists, list_members, sum_costs
from shallowrules._kernel.growth.state cimport (
    MOST_STRETCHES, Cut, FixedPoint, Node, Scratch, State, Stretch, chunk_place, is_dense
)
from shallowrules._kernel.growth.list_sweep cimport sweep_rows
from shallowrules._kernel.shared.threads cimport CHUNK

cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef double TIE = 1e-9
cdef double SLACK = 1e-7        # of bounds: more than sums are rounded by
cdef double ROUNDING = 1e-12    # more than doubles round an objective by
cdef double MOST_DOUBT = 1e-3   # about an objective: more seldom leads to a choice


cdef void mark_killers(const State* state, int index, Scratch* scratch) noexcept nogil:
    """Set scratch.killer from the path to a node: an edge kills an earlier one of its feature and direction."""
    cdef const Node* node = &state.nodes[index]
    memset(scratch.killer, 0, state.n_features)
    while node.parent >= 0:
        scratch.killer[state.nodes[node.parent].feature] |= 1 if node.is_left else 2
        node = &state.nodes[node.parent]


cdef double _lowest(const State* state, const Scratch* scratch) noexcept nogil:
    cdef double lowest = INFINITY
    cdef int f
    for f in range(state.n_features):
        lowest = min(lowest, scratch.best[f])
    return lowest


cdef void prepare(State* state, Node* node, Scratch* scratches, int n_threads, bint fill) noexcept nogil:
    """Fill or filter the lists of a node and sum its cost. Dense nodes have none, and sum as they sweep."""
    cdef Py_ssize_t n_chunks = (node.last - node.first + CHUNK - 1) // CHUNK, t
    if is_dense(state, node):
        return
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _prepare_part(state, node, &scratches[t], n_chunks * t // n_threads, n_chunks * (t + 1) // n_threads, fill)
    _sum_chunks(state, node)


cdef void _prepare_part(
    State* state, Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last, bint fill
) noexcept nogil:
    cdef Py_ssize_t begin = node.first + first * CHUNK, end = min(node.first + last * CHUNK, node.last), chunk
    list_members(state, node, scratch)
    if fill:
        fill_lists(state, node, scratch, begin, end)
    else:
        filter_lists(state, node, scratch, begin, end)
    for chunk in range(first, last):
        chunk_place(state, node)[chunk] = sum_costs(state, node, chunk)


cdef void _sum_chunks(const State* state, Node* node) noexcept nogil:
    """Sum the node's current cost, always in the same order."""
    cdef Py_ssize_t chunk
    node.cost = 0.0
    for chunk in range((node.last - node.first + CHUNK - 1) // CHUNK):
        node.cost += chunk_place(state, node)[chunk]


cdef void _examine_part(
    const State* state, const Node* node, Scratch* scratches, const FixedPoint* fixed, int64_t total_weight,
    int n_threads, int part, Search search, double limit,
) noexcept nogil:
    """Find the lowest objective of every n_threads-th feature."""
    cdef int f = part
    cdef Cut cut
    while f < state.n_features:
        cut.objective = INFINITY
        examine(
            state, node, &scratches[part], &scratches[0], fixed, total_weight, f, limit * (1.0 + TIE), search, &cut
        )
        if search == ENDS:
            scratches[0].best[f] = cut.objective
        else:
            scratches[0].best[f] = min(scratches[0].best[f], cut.objective)
        f += n_threads


cdef void _search_swept(
    State* state, Node* node, Scratch* scratches, int n_threads, bint added, const FixedPoint* fixed,
    int64_t* total_weight,
) noexcept nogil:
    """Find the lowest objective of every feature once the histograms are full; `added` if the threads' are added."""
    cdef int t, f
    cdef double lowest
    if not added:
        total_weight[0] = 0
        for t in range(n_threads):
            total_weight[0] += weight_of(state, node, &scratches[t])
        for f in prange(state.n_features, num_threads=n_threads, schedule="static"):
            for t in range(1, n_threads):
                add_histograms(state, node, scratches, &scratches[t], f)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _examine_part(state, node, scratches, fixed, total_weight[0], n_threads, t, ENDS, INFINITY)
    lowest = _lowest(state, scratches)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _examine_part(state, node, scratches, fixed, total_weight[0], n_threads, t, INSIDE, lowest)


cdef void _search_mistakes(
    State* state, Node* node, Scratch* scratches, int n_threads, FixedPoint* fixed, int64_t* total_weight
) noexcept nogil:
    """Find the fewest mistakes of every feature (IMM)."""
    cdef Py_ssize_t n = node.counted - node.first
    cdef int t
    fixed.scale = state.weight_scale if state.weighted else 1.0
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        clear_histograms(state, node, &scratches[t])
        count_mistakes(
            state, node, &scratches[t], node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads
        )
    _search_swept(state, node, scratches, n_threads, False, fixed, total_weight)


cdef void _search_lists(
    State* state, Node* node, Scratch* scratches, int n_threads, bint swept, FixedPoint* fixed, int64_t* total_weight
) noexcept nogil:
    """Find the lowest objective of every feature of a node that keeps lists; `swept` if another trade-off did."""
    cdef Py_ssize_t n = node.last - node.first
    cdef int t
    while True:
        for t in prange(n_threads if not swept else 0, num_threads=n_threads, schedule="static", chunksize=1):
            clear_histograms(state, node, &scratches[t])
            sweep_rows(
                state, node, &scratches[t], fixed,
                node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads,
            )
        _search_swept(state, node, scratches, n_threads, swept, fixed, total_weight)
        if not refine_point(state, node, _lowest(state, scratches), fixed):
            break
        swept = False


cdef void _bound_features(
    State* state, Node* node, Scratch* scratches, int n_threads, int64_t* total_weight
) noexcept nogil:
    """Fill the histograms that bound every feature's cuts, and sum the node's cost."""
    cdef Py_ssize_t n_chunks = (node.last - node.first + CHUNK - 1) // CHUNK
    cdef int t, f
    cdef double scale = bound_scale(state, node, &scratches[0])
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        bound_rows(state, node, &scratches[t], scale, n_chunks * t // n_threads, n_chunks * (t + 1) // n_threads)
    _sum_chunks(state, node)
    total_weight[0] = 0
    for t in range(n_threads):
        total_weight[0] += weight_of(state, node, &scratches[t])
    for f in prange(state.n_features, num_threads=n_threads, schedule="static"):
        for t in range(1, n_threads):
            add_histograms(state, node, scratches, &scratches[t], f)
        settle_events(state, node, scratches, f)
        scratches.unit_scale[f] = scale
        scratches.exact[f] = False
    for t in range(1, n_threads):
        scratches.capped |= scratches[t].capped


cdef void _sum_feature(
    State* state, Node* node, Scratch* scratches, int n_threads, const FixedPoint* fixed, int feature
) noexcept nogil:
    """Fill the histograms of a feature anew, exactly."""
    cdef Py_ssize_t n = node.last - node.first
    cdef int t
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        sum_rows(
            state, node, &scratches[t], fixed, feature,
            node.first + n * t // n_threads, node.first + n * (t + 1) // n_threads,
        )
    for t in range(1, n_threads):
        add_histograms(state, node, scratches, &scratches[t], feature)
    settle_events(state, node, scratches, feature)
    scratches.unit_scale[feature] = fixed.scale


cdef void _bound_part(
    const State* state, const Node* node, Scratch* scratches, int64_t total_weight, int n_threads, int part
) noexcept nogil:
    """Bound the objective of every n_threads-th feature."""
    cdef int f = part
    cdef Cut cut
    cdef FixedPoint units
    while f < state.n_features:
        cut.objective = INFINITY
        units.scale = scratches.unit_scale[f]
        examine(state, node, &scratches[part], scratches, &units, total_weight, f, INFINITY, BOUNDS, &cut)
        scratches.bound[f] = cut.objective
        f += n_threads


cdef void _bound_objectives(
    const State* state, const Node* node, Scratch* scratches, int n_threads, int64_t total_weight
) noexcept nogil:
    """Write a lower bound of each feature's objectives to scratch.bound."""
    cdef int t, f
    if node.cost == 0.0:  # objectives are costs in units there, which a bound has others of
        for f in range(state.n_features):
            scratches.bound[f] = 0.0
    else:
        for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
            _bound_part(state, node, scratches, total_weight, n_threads, t)


cdef bint _settle(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int64_t total_weight,
    Cut* cut, int* feature,
) noexcept nogil:
    """Choose the node's cut from the bounding sums; False if the exact ones might choose another.

    A bounding sum falls short of the true one by less than a unit for each row, if no row was capped; the exact sum
    is off by at most one of its own units for each row. So an exact objective lies in an interval of length
    `doubt`, and only cuts whose interval reaches down to the least upper end matter. Those of a feature between two
    neighboring centers, a stretch, differ by the rows between them alone: these are added up exactly, on top of the
    most that may lie before. All objectives of a stretch are then too high by the same amount, from 0 to `doubt`.
    The choice is certain if those of all other stretches are higher by more than that, and none of its own is so
    near the limit of a tie that this amount, or how doubles are rounded, matters.

    Exact sums may be capped, too. Where one is, its cut is beyond reach and thus no choice; but it would not be in
    the interval, so that no stretch may begin there.
    """
    cdef Py_ssize_t n = node.last - node.first
    cdef int f, s, likeliest = 0
    cdef double doubt, limit, scale, objective, lowest = INFINITY, second = INFINITY
    cdef FixedPoint units
    cdef Cut found
    cdef const Stretch* stretch
    if scratch.capped or node.cost == 0.0:
        return False
    for f in range(state.n_features):
        if scratch.bound[f] < scratch.bound[likeliest]:
            likeliest = f
    scale = units.scale = scratch.unit_scale[likeliest]
    doubt = (n + 1) * (1.0 / scale + 2.0 / fixed.scale) / node.cost
    if not doubt < MOST_DOUBT:
        return False
    found.objective = INFINITY
    examine(state, node, scratch, scratch, &units, total_weight, likeliest, INFINITY, ENDS, &found)
    limit = (found.objective + doubt) * (1.0 + TIE + ROUNDING)
    if not within_reach(limit, fixed):
        return False
    scratch.n_stretches = 0
    for f in range(state.n_features):
        if scratch.bound[f] <= limit:
            if scratch.exact[f]:  # in other units, for another trade-off
                return False
            found.objective = INFINITY
            examine(state, node, scratch, scratch, &units, total_weight, f, limit, CLOSE, &found)
    if scratch.n_stretches > MOST_STRETCHES:
        return False
    for s in range(scratch.n_stretches):
        stretch = &scratch.stretches[s]
        objective = 1.0 + <double>stretch.before.induced / scale / node.cost + doubt
        if stretch.n_rows > scratch.capacity or not within_reach(objective, fixed):
            return False
        objective = open_stretch(
            state, node, scratch, fixed, total_weight, stretch,
            llrint(((<double>stretch.before.induced + n + 1) / scale) * fixed.scale + n + 1), TIE + ROUNDING, &found,
        )
        if objective < lowest:
            second = lowest
            lowest = objective
            cut[0] = found
            feature[0] = stretch.feature
        else:
            second = min(second, objective)
    return (
        second - doubt > lowest * (1.0 + TIE + ROUNDING)
        and cut.objective <= lowest * (1.0 + TIE - ROUNDING) - doubt * TIE
    )


cdef void _search_dense(
    State* state, Node* node, Scratch* scratches, int n_threads, FixedPoint* fixed, int64_t total_weight
) noexcept nogil:
    """Find the lowest objective of the features that may have the node's lowest: the likeliest first."""
    cdef int f, likeliest
    cdef double lowest
    cdef Cut cut
    while True:
        lowest = INFINITY
        for f in range(state.n_features):
            scratches.best[f] = INFINITY
            scratches.searched[f] = False
        while True:
            likeliest = -1
            for f in range(state.n_features):
                if not scratches.searched[f] and (likeliest < 0 or scratches.bound[f] < scratches.bound[likeliest]):
                    likeliest = f
            if likeliest < 0 or scratches.bound[likeliest] == INFINITY:
                break
            if scratches.bound[likeliest] > lowest * (1.0 + SLACK):
                break
            if scratches.unit_scale[likeliest] != fixed.scale or not scratches.exact[likeliest]:
                _sum_feature(state, node, scratches, n_threads, fixed, likeliest)
                scratches.exact[likeliest] = True
            cut.objective = INFINITY
            examine(state, node, scratches, scratches, fixed, total_weight, likeliest, INFINITY, ENDS, &cut)
            scratches.best[likeliest] = cut.objective
            lowest = min(lowest, cut.objective)
            cut.objective = INFINITY
            examine(
                state, node, scratches, scratches, fixed, total_weight, likeliest, lowest * (1.0 + TIE), INSIDE, &cut
            )
            scratches.best[likeliest] = min(scratches.best[likeliest], cut.objective)
            lowest = min(lowest, cut.objective)
            scratches.searched[likeliest] = True
        if not refine_point(state, node, lowest, fixed):
            break


cdef bint _first_near_lowest(
    State* state, const Node* node, Scratch* scratches, const FixedPoint* fixed, int64_t total_weight,
    Cut* cut, int* feature,
) noexcept nogil:
    """Apply the tie rule: the first feature's first threshold with an objective near the lowest."""
    cdef double lowest = _lowest(state, scratches)
    cdef int f
    if lowest == INFINITY:
        return False
    for f in range(state.n_features):
        if scratches.best[f] <= lowest * (1.0 + TIE):
            cut.objective = INFINITY
            feature[0] = f
            return examine(
                state, node, scratches, scratches, fixed, total_weight, f, lowest * (1.0 + TIE), FIRST, cut
            )
    return False


cdef bint choose(
    State* state, int index, Scratch* scratches, int n_threads,
    const double* tradeoffs, const int* wanted, int n_wanted, Cut* cuts, int* features,
) noexcept nogil:
    """Find a node's cut for each of some trade-offs; False if no cut is valid.

    One sweep of the rows serves all: neither Price nor DExp depends on the trade-off.

    Parameters
    ----------
    tradeoffs : all trade-offs there are
    wanted : which of them
    cuts, features : the result, in the order of `wanted`
    """
    cdef Node* node = &state.nodes[index]
    cdef FixedPoint fixed
    cdef int64_t total_weight = 0
    cdef int i, t
    cdef bint dense = state.assigned == NULL and is_dense(state, node)
    for t in range(n_threads):
        mark_killers(state, index, &scratches[t])
    if dense:
        _bound_features(state, node, scratches, n_threads, &total_weight)
    fixed = first_point(state, node)
    for i in range(n_wanted):
        state.tradeoff = tradeoffs[wanted[i]]
        if dense:
            _bound_objectives(state, node, scratches, n_threads, total_weight)
            if _settle(state, node, scratches, &fixed, total_weight, &cuts[i], &features[i]):
                continue
            _search_dense(state, node, scratches, n_threads, &fixed, total_weight)
        elif state.assigned != NULL:
            _search_mistakes(state, node, scratches, n_threads, &fixed, &total_weight)
        else:
            _search_lists(state, node, scratches, n_threads, i > 0, &fixed, &total_weight)
        if not _first_near_lowest(state, node, scratches, &fixed, total_weight, &cuts[i], &features[i]):
            return False
    return True


cdef int choose_several(
    State* state, int index, Scratch* scratches, int n_threads, Offer* offers, int most
) noexcept nogil:
    """Find a node's best cuts that part its centers differently, at ends of bins; return how many.

    Objectives are as exact as the bounding sweep: enough to choose what is tried. Where it cut off what a row adds,
    or nothing would cost anything, they are exact.
    """
    cdef Node* node = &state.nodes[index]
    cdef FixedPoint fixed
    cdef int64_t total_weight = 0
    cdef int t, f, n_offers = 0
    cdef bint dense = is_dense(state, node)
    for t in range(n_threads):
        mark_killers(state, index, &scratches[t])
    if dense:
        _bound_features(state, node, scratches, n_threads, &total_weight)
    fixed = first_point(state, node)
    if dense and (scratches.capped or node.cost == 0.0):
        _bound_objectives(state, node, scratches, n_threads, total_weight)
        _search_dense(state, node, scratches, n_threads, &fixed, total_weight)
        for f in range(state.n_features):
            if scratches.unit_scale[f] != fixed.scale or not scratches.exact[f]:
                _sum_feature(state, node, scratches, n_threads, &fixed, f)
    elif not dense:
        _search_lists(state, node, scratches, n_threads, False, &fixed, &total_weight)
    for f in range(state.n_features):
        offer_cuts(
            state, node, scratches, scratches.unit_scale[f] if dense else fixed.scale, total_weight, f, offers,
            &n_offers, most,
        )
    return n_offers
