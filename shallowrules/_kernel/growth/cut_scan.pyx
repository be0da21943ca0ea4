"""The best cut of a feature at a node, from its histograms: Price + tradeoff * DExp.

A cut at the end of a bin is as exact as the histograms: its induced cost is a prefix sum. For the cuts
inside a bin the sums bound the objective from below (all that is taken away, nothing added); only bins
whose bound reaches the best objective found so far are opened: their rows are gathered, sorted by raw
value and evaluated one by one. EvalWAD, too, is computed only where the rest of the objective leaves room.
"""

from libc.math cimport ldexp, frexp, INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from shallowrules._kernel.growth.dense_sweep cimport dense_event
from shallowrules._kernel.growth.depth cimport bound_depth, estimate_depth, plan_depth
from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.growth.imm cimport own_mistake
from shallowrules._kernel.growth.state cimport (
    BITS_OF_ROW, BITS_OF_SUM, MOST_STRETCHES, Bin, Cut, FixedPoint, Item, Node, Scratch, State, Stretch, Tally,
    is_dense
)
from shallowrules._kernel.growth.list_sweep cimport listed_event

cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef extern from "growth/code_scan.h" nogil:
    const int SCANNED "SR_SCANNED"
    bint sr_any_within(const int* codes, Py_ssize_t count, int first, int second) noexcept

cdef double TIE = 1e-9
cdef double REACH = 4.0
cdef double FARTHER = 16.0
cdef double PRECISE = 2.0 ** 40
cdef double NEVER_FREE = 1e280      # per unit of induced cost where the current cost is 0


cdef struct Pricing:
    bint mistakes           # the objective is their weight, IMM's; else Price + tradeoff * DExp
    double cost
    double unit             # cost of one step of the fixed point
    double tradeoff
    unsigned char killer
    int n_centers
    double total_weight


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    """Return 64 bits that look random, the same ones for the same number (SplitMix64)."""
    number += <uint64_t>0x9E3779B97F4A7C15
    number = (number ^ (number >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    number = (number ^ (number >> 27)) * <uint64_t>0x94D049BB133111EB
    return number ^ (number >> 31)


cdef double power_for(double most, int bits) noexcept nogil:
    """Return the power of two that brings numbers of up to `most` into so many bits."""
    cdef int exponent
    frexp(most, &exponent)
    return ldexp(1.0, min(max(bits - exponent, -1000), 1000))


cdef double _largest_sum(const State* state, const Node* node) noexcept nogil:
    """Return a bound of every sum of the node's events.

    A row's distance to any center of the node is at most 2 d1 + 2 D^2, D the largest distance
    between two of them, which the diagonal of the box around them bounds.
    """
    cdef Py_ssize_t m = state.clustered.n_columns, j, i
    cdef double low, high, value, spread = 0.0
    for j in range(m):
        low = INFINITY
        high = -INFINITY
        for i in range(node.first_center, node.last_center):
            value = state.centers[state.order[i] * m + j]
            low = min(low, value)
            high = max(high, value)
        spread += (high - low) * (high - low)
    return 2.0 * node.cost + 2.0 * state.total_weight * spread


cdef void _cap(const State* state, const Node* node, double most, FixedPoint* fixed) noexcept nogil:
    """Let one row add no more than `most`, and make the units as fine as that allows."""
    cdef double total = _largest_sum(state, node), all_rows = <double>(node.last - node.first) * most
    fixed.scale = min(power_for(min(all_rows, total), BITS_OF_SUM), power_for(min(most, total), BITS_OF_ROW))
    if most < total:
        fixed.cap = most * fixed.scale
    else:
        fixed.cap = INFINITY
        fixed.reach = INFINITY


cdef FixedPoint first_point(const State* state, const Node* node) noexcept nogil:
    """Choose how costs become integers: so that no sum overflows, and as fine as that allows.

    A center far away would leave no digits for what the others cost. So a row adds at most
    `REACH` times the current cost: a cut to which some row adds as much has a price above
    1 + `REACH`, and does not matter as long as a better one is found; else see `refine_point`.
    """
    cdef FixedPoint fixed
    fixed.reach = REACH
    _cap(state, node, REACH * node.cost if node.cost > 0.0 else INFINITY, &fixed)
    return fixed


cdef bint within_reach(double objective, const FixedPoint* fixed) noexcept nogil:
    """Return whether a cut is not so dear that a row at the cap could be part of it."""
    return objective < 1.0 + 0.999 * fixed.reach


cdef bint refine_point(const State* state, const Node* node, double lowest, FixedPoint* fixed) noexcept nogil:
    """Choose again, now that the lowest objective is known; False if it is exact as it is."""
    cdef double n = <double>(node.last - node.first), before = fixed.scale, induced
    if lowest == INFINITY:
        return False
    if node.cost > 0.0:
        if within_reach(lowest, fixed):
            return False
        fixed.reach *= FARTHER
        _cap(state, node, fixed.reach * node.cost, fixed)
        return True
    induced = lowest / NEVER_FREE  # in units
    if induced < 0.5 or induced > PRECISE:
        return False
    _cap(state, node, 2.0 * (induced + n) / before, fixed)
    return fixed.scale > before


cdef int64_t weight_of(const State* state, const Node* node, const Scratch* sums) noexcept nogil:
    """Return the weight in the histograms in fixed point, or the number of rows where there are no weights."""
    cdef int64_t total = 0
    cdef int code, low, high
    low = state.center_codes[state.order[node.first_center]]
    high = state.center_codes[state.order[node.last_center - 1]]
    for code in range(low, high + 1):
        total += sums.weight[code] if state.weighted else sums.tally[code].rows
    return total


cdef inline double _price(const Pricing* pricing, int64_t induced) noexcept nogil:
    """Return Price for `induced` units above the current cost; of IMM, the mistakes."""
    cdef double price
    if pricing.mistakes:
        return <double>induced * pricing.unit
    if pricing.cost == 0.0:
        return 1.0 if induced <= 0 else NEVER_FREE * <double>induced
    price = (pricing.cost + <double>induced * pricing.unit) / pricing.cost
    return price if price > 1.0 else 1.0


cdef inline double _objective(
    const Pricing* pricing, Scratch* scratch, int64_t induced, int n_left, double share, double reach
) noexcept nogil:
    """Return Price + tradeoff * DExp of a cut, or infinity if it is above `reach` for certain."""
    cdef double price = _price(pricing, induced), least, killed
    if pricing.tradeoff == 0.0 or pricing.mistakes:
        return price
    killed = (share if pricing.killer & 1 else 0.0) + (1.0 - share if pricing.killer & 2 else 0.0)
    least = 1.0 + (share if n_left > 1 else 0.0) + (1.0 - share if pricing.n_centers - n_left > 1 else 0.0)
    if price + pricing.tradeoff * (least - killed) > reach:
        return INFINITY
    plan_depth(&scratch.plan, pricing.n_centers, n_left)
    return price + pricing.tradeoff * (estimate_depth(&scratch.plan, share) - killed)


cdef inline double _bound(
    const Pricing* pricing, Scratch* scratch, int64_t induced, int n_left, double low, double high, double reach
) noexcept nogil:
    """Return a lower bound of the objective of all cuts with shares from `low` to `high`."""
    cdef double price = _price(pricing, induced), killed
    if pricing.tradeoff == 0.0 or pricing.mistakes:
        return price
    killed = 1.0 if pricing.killer == 3 else (
        high if pricing.killer == 1 else (1.0 - low if pricing.killer == 2 else 0.0)
    )
    if price + pricing.tradeoff * (1.0 - killed) > reach:
        return INFINITY
    plan_depth(&scratch.plan, pricing.n_centers, n_left)
    return price + pricing.tradeoff * (bound_depth(&scratch.plan, low, high) - killed)


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef const Item* one = <const Item*>a
    cdef const Item* two = <const Item*>b
    if one.code != two.code:
        return -1 if one.code < two.code else 1
    return -1 if one.value < two.value else (1 if one.value > two.value else 0)


cdef int64_t _own_event(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil:
    """Return what a row adds to the sum that is minimised, at the cuts from its own value on."""
    if state.assigned != NULL:
        return own_mistake(state, feature, slot)
    if is_dense(state, node):
        return dense_event(state, node, scratch, fixed, feature, slot)
    return listed_event(state, node, scratch, fixed, feature, slot)


cdef Pricing _pricing(
    const State* state, const Node* node, const Scratch* scratch, double scale, int64_t total_weight, int feature
) noexcept nogil:
    cdef Pricing pricing
    pricing.mistakes = state.assigned != NULL
    pricing.cost = node.cost
    pricing.unit = 1.0 / scale
    pricing.tradeoff = state.tradeoff
    pricing.killer = scratch.killer[feature]
    pricing.n_centers = node.last_center - node.first_center
    pricing.total_weight = <double>total_weight
    return pricing


cdef Py_ssize_t _gather(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, int low, int high
) noexcept nogil:
    """Write the rows of the codes in scratch.opened to scratch.items, in the order of values; return how many.

    These codes lie from `low` to `high`.
    """
    cdef Py_ssize_t count = 0, begin, end, slot
    cdef const int* codes = state.codes + feature * state.n_rows
    cdef Item* items = scratch.items
    end = node.first
    while end < node.counted:
        begin = end
        end = min(begin + SCANNED, node.counted)
        if not sr_any_within(codes + begin, end - begin, low, high):
            continue
        for slot in range(begin, end):
            if not scratch.opened[codes[slot]]:
                continue
            items[count].code = codes[slot]
            items[count].value = entry(&state.explained, state.row[slot], feature)
            items[count].event = _own_event(state, node, scratch, fixed, feature, slot)
            items[count].weight = (
                llrint(state.weight[slot] * state.weight_scale) if state.weighted else 1
            )
            count += 1
    qsort(items, count, sizeof(Item), by_value)
    return count


cdef bint _try_cuts(
    const Node* node, Scratch* scratch, const Pricing* pricing, const Bin* before, const Item* items, Py_ssize_t count,
    double limit, bint stop_at_first, Cut* best,
) noexcept nogil:
    """Evaluate the cuts after each of some rows in order; True if one is at most `limit` and that ends it."""
    cdef Py_ssize_t i, rows = before.rows_left, n = node.counted - node.first
    cdef int64_t induced = before.induced, weight = before.weight_left
    cdef double objective
    cdef bint inside
    for i in range(count):
        rows += 1
        weight += items[i].weight
        induced += items[i].event
        inside = i + 1 < count and items[i + 1].code == items[i].code
        if inside and items[i + 1].value == items[i].value:     # rows that no cut parts
            continue
        if rows < before.n_left or n - rows < pricing.n_centers - before.n_left:
            continue
        objective = _objective(
            pricing, scratch, induced, before.n_left, <double>weight / pricing.total_weight,
            min(best.objective, limit),
        )
        if objective < best.objective and objective <= limit:
            best.objective = objective
            best.code = items[i].code
            best.inside = inside
            best.value = items[i].value
            if stop_at_first:
                return True
    return False


cdef bint _open(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, const Pricing* pricing,
    int feature, int n_bins, double limit, bint stop_at_first, Cut* best,
) noexcept nogil:
    """Evaluate the cuts in scratch.bins[:n_bins]; True if one is at most `limit` and that ends it."""
    cdef Py_ssize_t count, i = 0, j
    cdef int b
    cdef bint found = False
    cdef Item* items = scratch.items
    for b in range(n_bins):
        scratch.opened[scratch.bins[b].code] = b + 1
    count = _gather(
        state, node, scratch, fixed, feature, scratch.bins[0].code, scratch.bins[n_bins - 1].code
    )
    while i < count and not found:
        j = i
        while j < count and items[j].code == items[i].code:
            j += 1
        b = scratch.opened[items[i].code] - 1
        found = _try_cuts(node, scratch, pricing, &scratch.bins[b], items + i, j - i, limit, stop_at_first, best)
        i = j
    for b in range(n_bins):
        scratch.opened[scratch.bins[b].code] = 0
    return found


cdef void _list_stretch(
    Scratch* scratch, int feature, const Bin* before, int last, Py_ssize_t rows_left
) noexcept nogil:
    """List the cuts beyond `before` up to code `last`; cuts between the same two centers are one stretch.

    before.code == last: the cut at the end of that code alone. rows_left: of the last cut.
    """
    cdef Stretch* stretch
    if scratch.n_stretches > MOST_STRETCHES:
        return
    if scratch.n_stretches:
        stretch = &scratch.stretches[scratch.n_stretches - 1]
        if stretch.feature == feature and stretch.before.n_left == before.n_left:
            stretch.last = last
            stretch.n_rows = rows_left - stretch.before.rows_left
            return
    scratch.n_stretches += 1
    if scratch.n_stretches > MOST_STRETCHES:
        return
    stretch = &scratch.stretches[scratch.n_stretches - 1]
    stretch.feature = feature
    stretch.before = before[0]
    stretch.starts_with_cut = before.code == last
    stretch.last = last
    stretch.n_rows = rows_left - before.rows_left


cdef double open_stretch(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int64_t total_weight,
    const Stretch* stretch, int64_t induced, double tolerance, Cut* first,
) noexcept nogil:
    """Evaluate the cuts of a stretch: the rows between them are added up exactly.

    Parameters
    ----------
    induced : what the rows add before the first cut
    tolerance : relative
    first : the result, the first cut whose objective is that close to the lowest

    Returns the lowest objective.
    """
    cdef Pricing pricing = _pricing(state, node, scratch, fixed.scale, total_weight, stretch.feature)
    cdef Py_ssize_t count = 0
    cdef Bin before = stretch.before
    cdef Cut begin, lowest
    cdef int code
    before.induced = induced
    begin.objective = INFINITY
    begin.code = before.code
    begin.inside = False
    if stretch.starts_with_cut:
        begin.objective = _objective(
            &pricing, scratch, induced, before.n_left, <double>before.weight_left / pricing.total_weight, INFINITY
        )
    if stretch.n_rows:
        for code in range(before.code + 1, stretch.last + 1):
            scratch.opened[code] = 1
        count = _gather(state, node, scratch, fixed, stretch.feature, before.code + 1, stretch.last)
        for code in range(before.code + 1, stretch.last + 1):
            scratch.opened[code] = 0
    lowest = begin
    _try_cuts(node, scratch, &pricing, &before, scratch.items, count, INFINITY, False, &lowest)
    first[0] = begin
    if begin.objective > lowest.objective * (1.0 + tolerance):
        first.objective = INFINITY
        _try_cuts(
            node, scratch, &pricing, &before, scratch.items, count, lowest.objective * (1.0 + tolerance), True, first
        )
    return lowest.objective


cdef bint examine(
    const State* state, const Node* node, Scratch* scratch, const Scratch* sums, const FixedPoint* fixed,
    int64_t total_weight, int feature, double limit, Search search, Cut* best,
) noexcept nogil:
    """Find a cut of one feature, in the order of thresholds.

    Parameters
    ----------
    sums : the histograms; `scratch` gives the room to work in (they may be the same)
    limit : objectives above it do not count
    search : what to look for; bins whose bound reaches the limit are opened where cuts inside them count
    best : the result; objective infinity on entry. For `BOUNDS` only the objective is set, for `CLOSE` nothing.

    Returns whether there is a cut within the limit.
    """
    cdef Py_ssize_t k = state.n_centers, base = <Py_ssize_t>feature * state.n_codes
    cdef const int* order = state.order + feature * k
    cdef const int* center_codes = state.center_codes + feature * k
    cdef const Tally* tally = sums.tally + base
    cdef const int64_t* weights = sums.weight + base
    cdef const int64_t* event = sums.event + feature * k
    cdef const unsigned char* single = state.single + base
    cdef int low = center_codes[order[node.first_center]], high = center_codes[order[node.last_center - 1]]
    cdef int code, j = node.first_center, n_bins = 0
    cdef Py_ssize_t n = node.counted - node.first, gathered = 0
    cdef int64_t weight
    cdef bint is_center, stop_at_first = search == FIRST
    cdef double objective, reach, bound
    cdef Pricing pricing = _pricing(state, node, scratch, fixed.scale, total_weight, feature)
    cdef Bin left
    memset(&left, 0, sizeof(Bin))
    for code in range(low, high):
        is_center = center_codes[order[j]] == code
        if tally[code].rows == 0 and not is_center:
            continue
        weight = weights[code] if state.weighted else tally[code].rows
        if (
            search != ENDS and tally[code].rows > 1 and not single[code] and not is_center
            and left.rows_left + tally[code].rows > left.n_left
            and n - left.rows_left > pricing.n_centers - left.n_left
        ):
            reach = min(limit, best.objective)
            bound = _bound(
                &pricing, scratch, left.induced - tally[code].removed, left.n_left,
                <double>left.weight_left / total_weight, <double>(left.weight_left + weight) / total_weight, reach,
            )
            if search == BOUNDS:
                best.objective = min(best.objective, bound)
            elif bound <= reach * (1.0 + TIE):
                if search == CLOSE:
                    left.code = code - 1
                    _list_stretch(scratch, feature, &left, code, left.rows_left + tally[code].rows)
                else:
                    if gathered + tally[code].rows > scratch.capacity:
                        if _open(state, node, scratch, fixed, &pricing, feature, n_bins, limit, stop_at_first, best):
                            return True
                        n_bins = 0
                        gathered = 0
                    left.code = code
                    scratch.bins[n_bins] = left
                    n_bins += 1
                    gathered += tally[code].rows
        while center_codes[order[j]] == code:   # ends before the node's last center, whose code is `high`
            left.induced += event[order[j]]
            left.n_left += 1
            j += 1
        left.induced += tally[code].added - tally[code].removed
        left.rows_left += tally[code].rows
        left.weight_left += weight
        if left.rows_left < left.n_left or n - left.rows_left < pricing.n_centers - left.n_left:
            continue
        objective = _objective(
            &pricing, scratch, left.induced, left.n_left, <double>left.weight_left / total_weight,
            min(limit, best.objective),
        )
        if objective < best.objective and objective <= limit:
            if search == CLOSE:
                left.code = code
                _list_stretch(scratch, feature, &left, code, left.rows_left)
                continue
            if stop_at_first and n_bins:
                if _open(state, node, scratch, fixed, &pricing, feature, n_bins, limit, True, best):
                    return True
            best.objective = objective
            best.code = code
            best.inside = False
            if stop_at_first:
                return True
    if n_bins:
        if _open(state, node, scratch, fixed, &pricing, feature, n_bins, limit, stop_at_first, best):
            return True
    return best.objective <= limit and best.objective < INFINITY


cdef void offer_cuts(
    const State* state, const Node* node, Scratch* scratch, double unit_scale, int64_t total_weight, int feature,
    Offer* offers, int* n_offers, int most,
) noexcept nogil:
    """Enter the best cuts of one feature that part the centers differently among the best of a node.

    Only ends of bins count. `offers` is sorted by objective, has `n_offers` entries and room for `most`.
    """
    cdef Py_ssize_t k = state.n_centers, base = <Py_ssize_t>feature * state.n_codes
    cdef const int* order = state.order + feature * k
    cdef const int* center_codes = state.center_codes + feature * k
    cdef const Tally* tally = scratch.tally + base
    cdef const int64_t* weights = scratch.weight + base
    cdef const int64_t* event = scratch.event + feature * k
    cdef int low = center_codes[order[node.first_center]], high = center_codes[order[node.last_center - 1]]
    cdef int code, j = node.first_center, n_left = 0, i
    cdef Py_ssize_t rows_left = 0, n = node.counted - node.first
    cdef int64_t weight_left = 0, induced = 0
    cdef uint64_t left = 0, all_of_them = 0, split = 0
    cdef double objective, reach
    cdef Pricing pricing = _pricing(state, node, scratch, unit_scale, total_weight, feature)
    for i in range(node.first_center, node.last_center):
        all_of_them += mixed(<uint64_t>order[i])
    for code in range(low, high):
        while center_codes[order[j]] == code:
            induced += event[order[j]]
            left += mixed(<uint64_t>order[j])
            split = min(left, all_of_them - left)
            n_left += 1
            j += 1
        induced += tally[code].added - tally[code].removed
        rows_left += tally[code].rows
        weight_left += weights[code] if state.weighted else tally[code].rows
        if rows_left < n_left or n - rows_left < pricing.n_centers - n_left:
            continue
        reach = offers[most - 1].cut.objective if n_offers[0] == most else INFINITY
        objective = _objective(&pricing, scratch, induced, n_left, <double>weight_left / total_weight, reach)
        if not objective < reach:
            continue
        for i in range(n_offers[0]):
            if offers[i].split == split:
                break
        else:
            i = n_offers[0]
            if n_offers[0] < most:
                n_offers[0] += 1
            else:
                i = most - 1
            offers[i].cut.objective = INFINITY
        if objective < offers[i].cut.objective:
            while i > 0 and offers[i - 1].cut.objective > objective:
                offers[i] = offers[i - 1]
                i -= 1
            offers[i].split = split
            offers[i].feature = feature
            offers[i].cut.objective = objective
            offers[i].cut.code = code
            offers[i].cut.inside = False
