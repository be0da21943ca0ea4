"""Improving a finished tree (tree alternating optimisation, aware of redundant conditions; and moving leaves).

The objective of a tree is the sum over its leaves of the squared distances of their rows to their mean, plus a
price for each row and condition that explains it. With all other cuts and the leaf means held fixed, a row of a
node costs what the leaf costs that it reaches through the left subtree, or through the right one; so the best
feature and threshold of the node are those of the least prefix sum. New means only lower the objective further.
Subtrees may change sides. Where no node can be improved, a leaf that is hardly missed may go and another be cut
in two instead. No leaf ever loses all its rows, and no step makes the objective rise.
"""

import numpy as np

from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from shallowrules._kernel.shared.matrix cimport Matrix, entry, load_point, matrix_of, prefetch_rows
from shallowrules._kernel.shared.allocation cimport address_of
from shallowrules._kernel.shared.interrupts cimport POLL_INTERVAL
from shallowrules._kernel.shared.threads cimport CHUNK, HAS_OPENMP, MIN_SHARED_ROWS

cdef enum:
    TRIED = 4           # cuts of a node that are tried until one empties no leaf
    SPLITS = 64         # bins between which a leaf may be cut
    PRICED = 32         # features of which cuts of a leaf are priced
    ROUNDS = 3          # of power iteration
    SUMS = 32768        # numbers that are summed into together: they stay in a cache
    AHEAD = 8           # rows between asking for one and using it

cdef double LEAST_GAIN = 1e-9       # of the objective: less is not worth a change

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "shared/prefetch.h" nogil:
    void sr_prefetch(const void* place) noexcept


cdef struct Term:
    # What the rows of a code cost more on the left, for the subtrees as they are and for swapped ones.
    double as_is
    double swapped


cdef struct Move:
    double objective
    int feature         # -1: none
    int code            # rows up to it go left
    bint swapped        # the subtrees change sides
    double value        # rows up to it go left, once it is known


cdef struct Item:
    double value
    double term


cdef struct Work:
    # Constant.
    Matrix explained
    Matrix clustered
    Py_ssize_t n_features, n_columns        # of these
    int n_codes
    int n_nodes
    int n_threads
    const int* codes        # [r, d]
    const unsigned char* single     # [d, n_codes]
    const int* row          # [r] row of the table, by slot
    const double* weight    # [r] by slot, or NULL
    double price            # of a condition, per unit of weight
    # The tree.
    int* feature
    int* left
    int* right
    int* parent
    int* center             # of leaves
    double* cut
    Py_ssize_t* first       # a node's rows are those of order[first:last]
    Py_ssize_t* last
    unsigned char* dirty    # [n_nodes] whether something changed since an inner node was looked at
    unsigned char* stale    # [n_nodes] whether something changed since it was priced to move a leaf
    double* removal         # [n_nodes] what the objective rises by if the leaf goes
    Move* split             # [n_nodes] what it rises by, mostly below 0, if the leaf is cut in two
    double* mean            # [n_nodes, m] of leaves
    double* mass            # [n_nodes] weight of leaves
    double* spread          # [n_nodes] sum of squared distances to the mean, of leaves
    int* order              # [r] slots
    int* leaf               # [r] by slot
    double* own             # [r] squared distance to the mean of the leaf, by slot
    double looked           # rows that were looked at
    double most             # at most so many
    double unreported       # rows x features since Python had a look
    void* report            # a Python callable or None
    void* failures          # a list, of the exception that ends the work
    bint stopped
    # Room.
    int* swap               # [r]
    int* other              # [r] leaf of a row through the subtree that it is not in, by place in `order`
    double* delta           # [r] what a row costs more on the left than on the right, likewise
    int* size               # [n_nodes] conditions of a leaf's explanation
    double* add_left        # [n_nodes, d] price of the edge of a node at a leaf below, were it a left one
    double* add_right
    double* mass_left       # [n_nodes] weight of a node's rows by their leaf through the left subtree
    double* mass_right
    int64_t* count          # [n_nodes]
    int* leaves             # [n_nodes]
    int* stack              # [n_nodes]
    unsigned char* seen     # [2 d]
    double* point           # [n_threads, m]
    Term* terms             # [d, n_codes] all 0 between uses
    int* low                # [d] codes of a node's rows
    int* high
    double* base            # [d, 2] cost of a node's rows if all go right
    Move* moves             # [d, 2]
    Item* items             # [r]
    double* sums            # [n_sums]
    Py_ssize_t n_sums
    double* axis            # [2, m]
    double* score           # [d]
    int* picked             # [d]
    int* ranked             # [n_nodes]


cdef inline double _weight_of(const Work* work, int slot) noexcept nogil:
    return 1.0 if work.weight == NULL else work.weight[slot]


cdef inline bint _goes_left(const Work* work, int node, int slot) noexcept nogil:
    return entry(&work.explained, work.row[slot], work.feature[node]) <= work.cut[node]


cdef inline int _descend(const Work* work, int node, int slot) noexcept nogil:
    while work.feature[node] >= 0:
        node = work.left[node] if _goes_left(work, node, slot) else work.right[node]
    return node


cdef inline double _distance(const double* point, const double* mean, Py_ssize_t m) noexcept nogil:
    """Sum squared differences, four sums side by side."""
    cdef Py_ssize_t j = 0
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, gap
    while j + 4 <= m:
        gap = point[j] - mean[j]
        a += gap * gap
        gap = point[j + 1] - mean[j + 1]
        b += gap * gap
        gap = point[j + 2] - mean[j + 2]
        c += gap * gap
        gap = point[j + 3] - mean[j + 3]
        d += gap * gap
        j += 4
    while j < m:
        gap = point[j] - mean[j]
        a += gap * gap
        j += 1
    return (a + b) + (c + d)


cdef inline const double* _point(const Work* work, int slot, double* room) noexcept nogil:
    """Return a row in the clustered space: in place, or copied to `room`."""
    if not work.clustered.is_float32 and work.clustered.column_stride == sizeof(double):
        return <const double*>(work.clustered.data + work.row[slot] * work.clustered.row_stride)
    load_point(&work.clustered, work.row[slot], room)
    return room


cdef inline void _ask_ahead(const Work* work, Py_ssize_t i, Py_ssize_t last) noexcept nogil:
    """Ask for the row that comes some places after one in work.order: rows of a node lie apart in the table."""
    if i + AHEAD < last:
        prefetch_rows(&work.clustered, work.row + work.order[i + AHEAD], 1)


cdef int _list_leaves(Work* work, int node) noexcept nogil:
    """List the leaves below a node from left to right, to work.leaves; return how many."""
    cdef int n_stacked = 1, n_found = 0
    work.stack[0] = node
    while n_stacked:
        n_stacked -= 1
        node = work.stack[n_stacked]
        if work.feature[node] >= 0:
            work.stack[n_stacked] = work.right[node]
            work.stack[n_stacked + 1] = work.left[node]
            n_stacked += 2
        else:
            work.leaves[n_found] = node
            n_found += 1
    return n_found


cdef int _mark_path(Work* work, int leaf, int without) noexcept nogil:
    """Mark the (feature, direction) of a leaf's path in work.seen, the edge of one node left out; return how many."""
    cdef int node = leaf, above = work.parent[leaf], size = 0
    cdef Py_ssize_t pair
    while above >= 0:
        if above != without:
            pair = 2 * work.feature[above] + (work.left[above] == node)
            size += not work.seen[pair]
            work.seen[pair] = 1
        node = above
        above = work.parent[node]
    return size


cdef void _forget_path(Work* work, int leaf) noexcept nogil:
    while work.parent[leaf] >= 0:
        leaf = work.parent[leaf]
        work.seen[2 * work.feature[leaf]] = work.seen[2 * work.feature[leaf] + 1] = 0


cdef int _path_size(Work* work, int leaf, int without) noexcept nogil:
    """Return the number of conditions that explain a leaf, the edge of one node not counted."""
    cdef int size = _mark_path(work, leaf, without)
    _forget_path(work, leaf)
    return size


cdef void _route(Work* work, int node, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Find the leaves of some of a node's rows."""
    cdef Py_ssize_t i
    for i in range(begin, end):
        work.leaf[work.order[i]] = _descend(work, node, work.order[i])


cdef void _gather(Work* work, int node) noexcept nogil:
    """Order a node's rows by their leaves, and find each leaf's mean and spread."""
    cdef int n_leaves = _list_leaves(work, node), n_stacked = 1, i, slot
    cdef Py_ssize_t first = work.first[node], last = work.last[node], place = first, at
    for i in range(n_leaves):
        work.count[work.leaves[i]] = 0
    for at in range(first, last):
        work.count[work.leaf[work.order[at]]] += 1
    for i in range(n_leaves):
        work.first[work.leaves[i]] = work.last[work.leaves[i]] = place
        place += work.count[work.leaves[i]]
    for at in range(first, last):
        slot = work.order[at]
        work.swap[work.last[work.leaf[slot]]] = slot
        work.last[work.leaf[slot]] += 1
    memcpy(work.order + first, work.swap + first, (last - first) * sizeof(int))
    for i in prange(n_leaves, num_threads=_threads_for(work, node), schedule="dynamic", chunksize=1):
        _measure_leaf(work, work.leaves[i], work.point + threadid() * work.n_columns)
    work.stack[0] = node
    while n_stacked:
        n_stacked -= 1
        node = work.stack[n_stacked]
        if work.feature[node] >= 0:
            i = work.left[node]
            while work.feature[i] >= 0:
                i = work.left[i]
            work.first[node] = work.first[i]
            i = work.right[node]
            while work.feature[i] >= 0:
                i = work.right[i]
            work.last[node] = work.last[i]
            work.stack[n_stacked] = work.right[node]
            work.stack[n_stacked + 1] = work.left[node]
            n_stacked += 2


cdef inline int _threads_for(const Work* work, int node) noexcept nogil:
    return work.n_threads if work.last[node] - work.first[node] >= MIN_SHARED_ROWS else 1


cdef void _measure_leaf(Work* work, int leaf, double* room) noexcept nogil:
    """Find the mean of a leaf's rows, their weight, and their squared distances to it."""
    cdef Py_ssize_t m = work.n_columns, i, j
    cdef double* mean = work.mean + leaf * m
    cdef double mass = 0.0, w, sum = 0.0
    cdef int slot, origin = work.row[work.order[work.first[leaf]]]
    cdef const double* point
    # Differences from a row of the leaf keep the digits that an offset would take.
    for j in range(m):
        mean[j] = 0.0
    for i in range(work.first[leaf], work.last[leaf]):
        _ask_ahead(work, i, work.last[leaf])
        slot = work.order[i]
        point = _point(work, slot, room)
        w = _weight_of(work, slot)
        mass += w
        for j in range(m):
            mean[j] += w * (point[j] - entry(&work.clustered, origin, j))
    for j in range(m):
        mean[j] = entry(&work.clustered, origin, j) + mean[j] / mass
    for i in range(work.first[leaf], work.last[leaf]):
        _ask_ahead(work, i, work.last[leaf])
        slot = work.order[i]
        work.own[slot] = _distance(_point(work, slot, room), mean, m)
        sum += _weight_of(work, slot) * work.own[slot]
    work.mass[leaf] = mass
    work.spread[leaf] = sum


cdef double _objective(Work* work, int node) noexcept nogil:
    """Return what the leaves below a node add to the objective."""
    cdef int i, leaf, n_leaves = _list_leaves(work, node)
    cdef double sum = 0.0
    for i in range(n_leaves):
        leaf = work.leaves[i]
        sum += work.spread[leaf] + work.price * work.mass[leaf] * _path_size(work, leaf, -1)
    return sum


cdef (double, double) _figures(Work* work) noexcept nogil:
    """Return the squared distances of all rows to the mean of their leaf, and their conditions, both by weight."""
    cdef int i, n_leaves = _list_leaves(work, 0)
    cdef double squares = 0.0, conditions = 0.0
    for i in range(n_leaves):
        squares += work.spread[work.leaves[i]]
        conditions += work.mass[work.leaves[i]] * _path_size(work, work.leaves[i], -1)
    return squares, conditions


cdef void _count(Work* work, int node) noexcept nogil:
    """Count a node as looked at; now and then let Python have a look."""
    cdef double rows = <double>(work.last[node] - work.first[node])
    work.looked += rows
    work.unreported += rows * work.n_features
    if work.unreported > POLL_INTERVAL:
        work.unreported = 0.0
        _look_up(work)


cdef void _look_up(Work* work) noexcept with gil:
    try:
        PyErr_CheckSignals()
        if <object>work.report is not None:
            (<object>work.report)(min(work.looked / work.most, 1.0))
    except BaseException as failure:
        (<list>work.failures).append(failure)
        work.stopped = True


cdef void _weigh(
    Work* work, int node, Py_ssize_t begin, Py_ssize_t end, double most, double* room
) noexcept nogil:
    """Find how much more some of a node's rows cost through its left subtree, its own edge not counted.

    A cut that sends a row where it costs more than all rows do now is none to choose. So a row costs `most` there
    at the most: one far away would leave sums no digits for what the others cost.
    """
    cdef Py_ssize_t i
    cdef int slot, own
    cdef double w, cost, price = work.price
    for i in range(begin, end):
        _ask_ahead(work, i, end)
        slot = work.order[i]
        own = work.leaf[slot]
        w = _weight_of(work, slot)
        cost = work.own[slot] + price * work.size[own]
        if i < work.last[work.left[node]]:
            work.other[i] = _descend(work, work.right[node], slot)
        else:
            work.other[i] = _descend(work, work.left[node], slot)
        cost -= _distance(_point(work, slot, room), work.mean + work.other[i] * work.n_columns, work.n_columns)
        cost -= price * work.size[work.other[i]]
        cost = max(w * cost, -most)
        work.delta[i] = cost if i < work.last[work.left[node]] else -cost


cdef void _tally(Work* work, int node, Py_ssize_t first_feature, Py_ssize_t last_feature) noexcept nogil:
    """Add up by code what a node's rows cost more on the left."""
    cdef Py_ssize_t i, f, d = work.n_features, middle = work.last[work.left[node]]
    cdef int slot, left, right
    cdef double w, delta
    cdef const int* code
    cdef const double* left_as_left
    cdef const double* left_as_right
    cdef const double* right_as_left
    cdef const double* right_as_right
    cdef Term* term
    for f in range(first_feature, last_feature):
        work.low[f] = work.n_codes
        work.high[f] = -1
    for i in range(work.first[node], work.last[node]):
        if i + AHEAD < work.last[node]:
            sr_prefetch(work.codes + work.order[i + AHEAD] * d)
        slot = work.order[i]
        left = work.leaf[slot] if i < middle else work.other[i]
        right = work.other[i] if i < middle else work.leaf[slot]
        delta = work.delta[i]
        w = _weight_of(work, slot)
        code = work.codes + slot * d
        left_as_left = work.add_left + left * d
        left_as_right = work.add_right + left * d
        right_as_left = work.add_left + right * d
        right_as_right = work.add_right + right * d
        for f in range(first_feature, last_feature):
            work.low[f] = min(work.low[f], code[f])
            work.high[f] = max(work.high[f], code[f])
        for f in range(first_feature, last_feature):
            term = work.terms + f * work.n_codes + code[f]
            term.as_is += delta + w * (left_as_left[f] - right_as_right[f])
            term.swapped += w * (right_as_left[f] - left_as_right[f]) - delta


cdef void _scan(Work* work, int f, double limit) noexcept nogil:
    """Find the best ends of bins of a feature, and clear its terms."""
    cdef double as_is = work.base[2 * f], swapped = work.base[2 * f + 1]
    cdef Move* move = work.moves + 2 * f
    cdef Term* term = work.terms + f * work.n_codes
    cdef int code
    move[0].objective = move[1].objective = limit
    move[0].feature = move[1].feature = -1
    move[0].swapped = False
    move[1].swapped = True
    for code in range(work.low[f], work.high[f]):
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
    term[work.high[f]].as_is = term[work.high[f]].swapped = 0.0


cdef int by_value(const void* a, const void* b) noexcept nogil:
    cdef double one = (<const Item*>a).value, two = (<const Item*>b).value
    return -1 if one < two else (1 if one > two else 0)


cdef inline double _term(const Work* work, int node, Py_ssize_t i, int f, bint swapped) noexcept nogil:
    """Return what a row of a node costs more on the left of a cut of a feature."""
    cdef int slot = work.order[i], own = work.leaf[slot], other = work.other[i]
    cdef int left = own if i < work.last[work.left[node]] else other
    cdef int right = other if i < work.last[work.left[node]] else own
    cdef Py_ssize_t d = work.n_features
    cdef double w = _weight_of(work, slot)
    if swapped:
        return w * (work.add_left[right * d + f] - work.add_right[left * d + f]) - work.delta[i]
    return work.delta[i] + w * (work.add_left[left * d + f] - work.add_right[right * d + f])


cdef void _settle(Work* work, int node, Move* move) noexcept nogil:
    """Find the value of a move's cut: at the end of its bin, or at a better place inside it or the next."""
    cdef Py_ssize_t i, n, d = work.n_features, count = 0
    cdef int f = move.feature, code, above = work.high[f]
    cdef const unsigned char* single = work.single + f * work.n_codes
    cdef double objective = move.objective
    move.value = -INFINITY
    for i in range(work.first[node], work.last[node]):
        code = work.codes[work.order[i] * d + f]
        if code == move.code:
            move.value = max(move.value, entry(&work.explained, work.row[work.order[i]], f))
        elif code > move.code:
            above = min(above, code)
    if single[move.code] and single[above]:
        return
    for i in range(work.first[node], work.last[node]):
        code = work.codes[work.order[i] * d + f]
        if code == move.code or code == above:
            work.items[count].value = entry(&work.explained, work.row[work.order[i]], f)
            work.items[count].term = _term(work, node, i, f, move.swapped)
            if code == move.code:
                objective -= work.items[count].term
            count += 1
    qsort(work.items, count, sizeof(Item), by_value)
    for n in range(count - 1):
        objective += work.items[n].term
        if objective < move.objective and work.items[n].value < work.items[n + 1].value:
            move.objective = objective
            move.value = work.items[n].value


cdef bint _keeps_leaves(Work* work, int node, const Move* move) noexcept nogil:
    """Enter every row of a node at its leaf after a move; False, and nothing entered, if a leaf would lose all."""
    cdef Py_ssize_t i, middle = work.last[work.left[node]]
    cdef int slot, n_leaves = _list_leaves(work, node), j, pass_
    cdef bint goes
    for j in range(n_leaves):
        work.count[work.leaves[j]] = 0
    for pass_ in range(2):
        for i in range(work.first[node], work.last[node]):
            slot = work.order[i]
            goes = entry(&work.explained, work.row[slot], move.feature) <= move.value
            if (i < middle) != (goes != move.swapped):
                if pass_ == 0:
                    work.count[work.other[i]] += 1
                else:
                    work.leaf[slot] = work.other[i]
            elif pass_ == 0:
                work.count[work.leaf[slot]] += 1
        for j in range(n_leaves if pass_ == 0 else 0):
            if work.count[work.leaves[j]] == 0:
                return False
    return True


cdef void _recut(Work* work, int node, int feature, double cut, bint swapped) noexcept nogil:
    """Give a node another cut, its subtrees swapped or not."""
    work.feature[node] = feature
    work.cut[node] = cut
    if swapped:
        work.left[node], work.right[node] = work.right[node], work.left[node]


cdef void _price_edges(Work* work, int node) noexcept nogil:
    """Say for the leaves below a node what they are explained by, and what the node's own edge would add to it."""
    cdef int n_leaves = _list_leaves(work, node), i, leaf
    cdef Py_ssize_t f, d = work.n_features
    for i in range(n_leaves):
        leaf = work.leaves[i]
        work.size[leaf] = _mark_path(work, leaf, node)
        for f in range(d):
            work.add_left[leaf * d + f] = 0.0 if work.seen[2 * f + 1] else work.price
            work.add_right[leaf * d + f] = 0.0 if work.seen[2 * f] else work.price
        _forget_path(work, leaf)
        work.mass_left[leaf] = work.mass_right[leaf] = 0.0


cdef void _find_bases(Work* work, int node) noexcept nogil:
    """Sum for every feature what a node's rows cost if all go right."""
    cdef Py_ssize_t i, f, d = work.n_features, middle = work.last[work.left[node]]
    cdef int n_leaves = _list_leaves(work, node), slot, own, other, j
    cdef double w, all_right = 0.0, all_left = 0.0
    for i in range(work.first[node], work.last[node]):
        slot = work.order[i]
        own = work.leaf[slot]
        other = work.other[i]
        w = _weight_of(work, slot)
        if i < middle:
            all_right -= work.delta[i]
            work.mass_left[own] += w
            work.mass_right[other] += w
        else:
            all_left += work.delta[i]
            work.mass_right[own] += w
            work.mass_left[other] += w
    for j in range(n_leaves):
        own = work.leaves[j]
        w = work.spread[own] + work.price * work.mass[own] * work.size[own]
        all_left += w
        all_right += w
    for f in range(d):
        work.base[2 * f] = all_right
        work.base[2 * f + 1] = all_left
    for j in range(n_leaves):
        own = work.leaves[j]
        for f in range(d):
            work.base[2 * f] += work.mass_right[own] * work.add_right[own * d + f]
            work.base[2 * f + 1] += work.mass_left[own] * work.add_right[own * d + f]


cdef double _improve(Work* work, int node, double total) noexcept nogil:
    """Give a node a better cut if there is one; return by how much the objective falls."""
    cdef Py_ssize_t first = work.first[node], last = work.last[node], n_chunks = (last - first + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk, d = work.n_features
    cdef int n_threads = _threads_for(work, node), f, t, _tries, j, chosen
    cdef double current = _objective(work, node), least = LEAST_GAIN * total, gain, cut = work.cut[node]
    cdef int feature = work.feature[node]
    cdef Move* move
    _count(work, node)
    _price_edges(work, node)
    for chunk in prange(n_chunks, num_threads=n_threads, schedule="static"):
        _weigh(
            work, node, first + chunk * CHUNK, min(first + (chunk + 1) * CHUNK, last), 2.0 * current,
            work.point + threadid() * work.n_columns,
        )
    _find_bases(work, node)
    for t in prange(n_threads, num_threads=n_threads, schedule="static", chunksize=1):
        _tally(work, node, d * t // n_threads, d * (t + 1) // n_threads)
    for f in range(work.n_features):
        _scan(work, f, current - least)
    for _tries in range(TRIED):
        chosen = -1
        for j in range(2 * work.n_features):
            if work.moves[j].feature >= 0 and (
                chosen < 0 or work.moves[j].objective < work.moves[chosen].objective
            ):
                chosen = j
        if chosen < 0:
            return 0.0
        move = &work.moves[chosen]
        _settle(work, node, move)
        if _keeps_leaves(work, node, move):
            _recut(work, node, move.feature, move.value, move.swapped)
            _gather(work, node)
            gain = current - _objective(work, node)
            if gain > least:
                return gain
            # Sums of many rows, or of much larger costs elsewhere, were rounded by more than it.
            _recut(work, node, feature, cut, move.swapped)
            _route(work, node, first, last)
            _gather(work, node)
            return 0.0
        move.feature = -1
    return 0.0


cdef double _removal(Work* work, int leaf) noexcept nogil:
    """Return by how much the objective rises when a leaf goes and its sibling takes its parent's place."""
    cdef int parent = work.parent[leaf], sibling, i, n_leaves, heir, slot
    cdef Py_ssize_t j, m = work.n_columns, at
    cdef double rise, w, mass, squares, apart, gap
    cdef double* sums
    cdef const double* mean = work.mean + leaf * m
    cdef const double* other
    cdef const double* point
    sibling = work.right[parent] if work.left[parent] == leaf else work.left[parent]
    rise = -work.price * work.mass[leaf] * _path_size(work, leaf, -1)
    n_leaves = _list_leaves(work, sibling)
    if n_leaves * (m + 1) > work.n_sums:  # too many to inherit: such a leaf is at the top of the tree
        return INFINITY
    for i in range(n_leaves):
        heir = work.leaves[i]
        work.size[heir] = _path_size(work, heir, parent)
        rise += work.price * work.mass[heir] * (work.size[heir] - _path_size(work, heir, -1))
        work.count[heir] = i
    memset(work.sums, 0, n_leaves * (m + 1) * sizeof(double))
    for at in range(work.first[leaf], work.last[leaf]):
        slot = work.order[at]
        w = _weight_of(work, slot)
        sums = work.sums + work.count[_descend(work, sibling, slot)] * (m + 1)
        point = _point(work, slot, work.point)
        for j in range(m):
            sums[j] += w * (point[j] - mean[j])
        sums[m] += w
    # Sums of squares around the mean of the leaf, of each heir's share of it, of both together: no large ones cancel.
    for i in range(n_leaves):
        heir = work.leaves[i]
        sums = work.sums + i * (m + 1)
        mass = sums[m]
        if mass == 0.0:
            continue
        other = work.mean + heir * m
        squares = apart = 0.0
        for j in range(m):
            squares += sums[j] * sums[j]
            gap = mean[j] + sums[j] / mass - other[j]
            apart += gap * gap
        rise += apart * mass * (work.mass[heir] / (mass + work.mass[heir])) - squares / mass
        rise += work.price * mass * work.size[heir]
    return rise


cdef void _find_axis(Work* work, int leaf) noexcept nogil:
    """Find roughly the direction in which a leaf's rows are spread most, to work.axis, by power iteration."""
    cdef Py_ssize_t first = work.first[leaf], last = work.last[leaf], at, j, m = work.n_columns
    cdef const double* mean = work.mean + leaf * m
    cdef const double* point
    cdef double* axis = work.axis
    cdef double* sums = work.axis + m
    cdef double length, along
    cdef int farthest = work.order[first], _round
    for at in range(first, last):
        if work.own[work.order[at]] > work.own[farthest]:
            farthest = work.order[at]
    point = _point(work, farthest, work.point)
    for j in range(m):
        axis[j] = point[j] - mean[j]
    for _round in range(ROUNDS):
        length = 0.0
        for j in range(m):
            length += axis[j] * axis[j]
        if not length > 0.0:
            return
        length = sqrt(length)
        for j in range(m):
            axis[j] /= length
            sums[j] = 0.0
        for at in range(first, last):
            point = _point(work, work.order[at], work.point)
            along = 0.0
            for j in range(m):
                along += (point[j] - mean[j]) * axis[j]
            along *= _weight_of(work, work.order[at])
            for j in range(m):
                sums[j] += along * (point[j] - mean[j])
        memcpy(axis, sums, m * sizeof(double))


cdef Py_ssize_t _pick_features(Work* work, int leaf) noexcept nogil:
    """List the features by which a leaf may be cut, ascending, to work.picked; return how many.

    Pricing all cuts of a feature takes time for every clustered column. Of many features those are picked whose cuts
    part the rows best in one direction, that in which they are spread most.
    """
    cdef Py_ssize_t first = work.first[leaf], last = work.last[leaf], at, j, f, d = work.n_features
    cdef Py_ssize_t m = work.n_columns, n_picked = 0, most
    cdef const double* mean = work.mean + leaf * m
    cdef const double* point
    cdef double* sums = work.sums
    cdef double w, along, mass, rest, best
    cdef int bin, _pick
    if d <= PRICED:
        for f in range(d):
            work.picked[f] = <int>f
        return d
    _find_axis(work, leaf)
    for at in range(first, last):
        point = _point(work, work.order[at], work.point)
        along = 0.0
        for j in range(m):
            along += (point[j] - mean[j]) * work.axis[j]
        work.delta[at] = along * _weight_of(work, work.order[at])
    for f in range(d):
        memset(sums, 0, 2 * SPLITS * sizeof(double))
        for at in range(first, last):
            bin = _split_bin(work, work.order[at], f)
            sums[2 * bin] += work.delta[at]
            sums[2 * bin + 1] += _weight_of(work, work.order[at])
        along = mass = best = 0.0
        for bin in range(SPLITS):
            along += sums[2 * bin]
            mass += sums[2 * bin + 1]
            rest = work.mass[leaf] - mass
            if mass > 0.0 and rest > LEAST_GAIN * mass:
                w = 0.0 if work.seen[2 * f + 1] else work.price * mass
                w += 0.0 if work.seen[2 * f] else work.price * rest
                best = max(best, along * along * (1.0 / mass + 1.0 / rest) - w)
        work.score[f] = best
    for _pick in range(PRICED):
        most = 0
        for f in range(1, d):
            if work.score[f] > work.score[most]:
                most = f
        work.score[most] = -1.0
    for f in range(d):
        if work.score[f] < 0.0:
            work.picked[n_picked] = <int>f
            n_picked += 1
    return n_picked


cdef void _best_split(Work* work, int leaf) noexcept nogil:
    """Find the cut in two of a leaf, between bins, that leaves the lowest objective."""
    cdef Py_ssize_t first = work.first[leaf], last = work.last[leaf], at, j, m = work.n_columns, d = work.n_features
    cdef Py_ssize_t f, p, begin = 0, end, n_picked, step = max(1, work.n_sums // (SPLITS * (m + 1)) - 1)
    cdef int code, slot, bin, best_bin = -1, best_feature
    cdef double w, squares, mass, rest, change, price_left, price_right
    cdef double* sums
    cdef double* total = work.sums + work.n_sums - (m + 1)
    cdef double* mean = work.mean + leaf * m
    cdef const double* point
    cdef Move* best = &work.split[leaf]
    best.objective = INFINITY  # dearer ones count: taking a leaf away may save more
    best.feature = -1
    if last - first < 2:
        return
    for f in range(d):
        work.low[f] = work.n_codes
        work.high[f] = -1
    for at in range(first, last):
        for f in range(d):
            code = work.codes[work.order[at] * d + f]
            work.low[f] = min(work.low[f], code)
            work.high[f] = max(work.high[f], code)
    _mark_path(work, leaf, -1)
    n_picked = _pick_features(work, leaf)
    while begin < n_picked:
        end = min(begin + step, n_picked)
        memset(work.sums, 0, (end - begin) * SPLITS * (m + 1) * sizeof(double))
        for at in range(first, last):
            slot = work.order[at]
            w = _weight_of(work, slot)
            point = _point(work, slot, work.point)
            for p in range(begin, end):
                bin = _split_bin(work, slot, work.picked[p])
                sums = work.sums + ((p - begin) * SPLITS + bin) * (m + 1)
                for j in range(m):
                    sums[j] += w * (point[j] - mean[j])
                sums[m] += w
        for p in range(begin, end):
            f = work.picked[p]
            price_left = 0.0 if work.seen[2 * f + 1] else work.price
            price_right = 0.0 if work.seen[2 * f] else work.price
            memset(total, 0, (m + 1) * sizeof(double))
            for bin in range(SPLITS - 1):
                sums = work.sums + ((p - begin) * SPLITS + bin) * (m + 1)
                if sums[m] == 0.0:
                    continue
                squares = 0.0
                for j in range(m):
                    total[j] += sums[j]
                    squares += total[j] * total[j]
                total[m] += sums[m]
                mass = total[m]
                rest = work.mass[leaf] - mass
                if not rest > LEAST_GAIN * mass:
                    break
                # Around the leaf's mean the sums of the two sides are the same but for the sign.
                change = price_left * mass + price_right * rest - squares / mass - squares / rest
                if change < best.objective:
                    best.objective = change
                    best.feature = <int>f
                    best_bin = bin
        begin = end
    _forget_path(work, leaf)
    if best.feature < 0:
        return
    best_feature = best.feature
    best.value = -INFINITY
    for at in range(first, last):
        slot = work.order[at]
        if _split_bin(work, slot, best_feature) <= best_bin:
            best.value = max(best.value, entry(&work.explained, work.row[slot], best_feature))


cdef inline int _split_bin(const Work* work, int slot, Py_ssize_t f) noexcept nogil:
    """Return which of SPLITS equal parts of the range of codes a row is in."""
    cdef int code = work.codes[slot * work.n_features + f] - work.low[f]
    return <int>(<int64_t>code * SPLITS // (work.high[f] - work.low[f] + 1))


cdef bint _is_below(const Work* work, int node, int above) noexcept nogil:
    while node >= 0:
        if node == above:
            return True
        node = work.parent[node]
    return False


cdef void _rank_splits(Work* work) noexcept nogil:
    """List the leaves in work.ranked, those first whose split pays most."""
    cdef int node, n_ranked = 0, place
    for node in range(work.n_nodes):
        if work.feature[node] >= 0 or work.split[node].feature < 0:
            continue
        place = n_ranked
        while place > 0 and work.split[work.ranked[place - 1]].objective > work.split[node].objective:
            work.ranked[place] = work.ranked[place - 1]
            place -= 1
        work.ranked[place] = node
        n_ranked += 1
    for place in range(n_ranked, work.n_nodes):
        work.ranked[place] = -1


cdef double _move_leaf(Work* work, double total) noexcept nogil:
    """Take away one leaf and cut another in two, where that pays; return by how much the objective falls."""
    cdef int node, gone = -1, cut = -1, j, parent, sibling, above
    cdef double change, best = -LEAST_GAIN * total
    for node in range(work.n_nodes):
        if work.feature[node] < 0 and work.stale[node]:
            _count(work, node)
            work.removal[node] = _removal(work, node)
            _best_split(work, node)
            work.stale[node] = 0
    _rank_splits(work)
    for node in range(work.n_nodes):
        if work.feature[node] >= 0:
            continue
        for j in range(work.n_nodes):
            if work.ranked[j] < 0:
                break
            change = work.removal[node] + work.split[work.ranked[j]].objective
            if not change < best:
                break
            if not _is_below(work, work.ranked[j], work.parent[node]):
                best = change
                gone = node
                cut = work.ranked[j]
                break
    if gone < 0:
        return 0.0
    parent = work.parent[gone]
    above = work.parent[parent]  # there is one: below the root are all leaves, and the one to cut is not
    sibling = work.right[parent] if work.left[parent] == gone else work.left[parent]
    work.first[sibling] = work.first[parent]
    work.last[sibling] = work.last[parent]
    _route(work, sibling, work.first[gone], work.last[gone])
    work.parent[sibling] = above
    if work.left[above] == parent:
        work.left[above] = sibling
    else:
        work.right[above] = sibling
    _gather(work, sibling)
    # The two nodes that have become free are the children of the leaf that is cut.
    work.feature[cut] = work.split[cut].feature
    work.cut[cut] = work.split[cut].value
    work.left[cut] = parent
    work.right[cut] = gone
    work.parent[parent] = work.parent[gone] = cut
    work.feature[parent] = work.feature[gone] = -1
    work.center[parent] = work.center[cut]
    work.center[cut] = -1
    _route(work, cut, work.first[cut], work.last[cut])
    _gather(work, cut)
    _mark(work, sibling)
    _mark(work, cut)
    return -best


cdef void _mark(Work* work, int node) noexcept nogil:
    """Mark what may have changed with a node: all below it, and all above it with the leaves next to them."""
    cdef int n_stacked = 1, below = node
    while work.parent[below] >= 0:
        below = work.parent[below]
        work.dirty[below] = work.stale[work.left[below]] = work.stale[work.right[below]] = 1
    work.stack[0] = node
    while n_stacked:
        n_stacked -= 1
        below = work.stack[n_stacked]
        work.dirty[below] = work.stale[below] = 1
        if work.feature[below] >= 0:
            work.stack[n_stacked] = work.left[below]
            work.stack[n_stacked + 1] = work.right[below]
            n_stacked += 2


cdef void _work_off(Work* work, bint moves) noexcept nogil:
    """Improve nodes, and where none can be improved move leaves, until nothing pays or the work is enough."""
    cdef double total = _objective(work, 0)
    cdef int node
    cdef bint changed = True
    while changed and work.looked < work.most and not work.stopped:
        changed = False
        for node in range(work.n_nodes - 1, -1, -1):
            if work.feature[node] < 0 or not work.dirty[node] or work.looked >= work.most or work.stopped:
                continue
            work.dirty[node] = 0
            if _improve(work, node, total) > 0.0:
                _mark(work, node)
                changed = True
        if not changed and moves and work.looked < work.most and not work.stopped:
            changed = _move_leaf(work, total) > 0.0


def improve_tree(
    inputs, tree, *, double condition_penalty, double max_passes, bint moves_leaves, int n_threads=1, progress=None
):
    """Improve a finished tree: give its nodes better cuts, and move leaves, until nothing pays or the work is enough.

    Parameters
    ----------
    inputs : CodedRows
    tree : dict of ndarray
        feature, left, right, center (int32), cut (float64), the root first; feature -1 at leaves. Every leaf has rows.
    condition_penalty : float
        What a condition costs for a unit of weight, in squared units of `X_cluster`.
    max_passes : float
        At most this number of times all rows are visited.
    moves_leaves : bool
        Whether leaves may move elsewhere in the tree; their centers move with them.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called now and then with the share of the most work that is done. If it raises, or on an interrupt, the work
        ends and the exception is raised.

    Returns
    -------
    dict
        The improved tree, the root first, other nodes in no order: `feature`, `left`, `right`, `center` (int32), `cut`,
        `lower`, `upper` (float64). What it is like, and was like before, as pairs `after` and `before`: the sum of
        squared distances of rows to the mean of their leaf, and of their conditions, by weight. And `ended`,
        whether it was the most work that ended it.
    """
    cdef Work work
    explained, clustered, rows_array, weight, codes, single = inputs
    cdef const int[::1] rows = rows_array
    cdef Py_ssize_t r = rows.shape[0], d = explained.shape[1], m = clustered.shape[1], i
    cdef Py_ssize_t n_nodes = len(tree["feature"])
    cdef int n_codes = single.shape[1]
    cdef int node
    cdef double value
    keep = []

    def room(shape, dtype):
        array = np.zeros(shape, dtype=dtype)
        keep.append(array)
        return array.__array_interface__["data"][0]

    if not HAS_OPENMP or r < MIN_SHARED_ROWS:
        n_threads = 1
    failures = []
    tree = {name: tree[name].copy() for name in ("feature", "left", "right", "center", "cut")}
    tree["lower"], tree["upper"] = np.full(n_nodes, -np.inf), np.full(n_nodes, np.inf)
    cdef double[::1] lower = tree["lower"], upper = tree["upper"]
    work.explained, work.clustered = matrix_of(explained), matrix_of(clustered)
    work.n_features, work.n_columns, work.n_codes = d, m, n_codes
    work.n_nodes, work.n_threads, work.price = <int>n_nodes, n_threads, condition_penalty
    work.looked, work.unreported, work.most, work.stopped = 0.0, 0.0, max_passes * r, False
    work.report, work.failures = <void*>progress, <void*>failures
    work.codes = <const int*><size_t>address_of(codes)
    work.single = <const unsigned char*><size_t>address_of(single)
    work.row = &rows[0]
    work.weight = NULL if weight is None else <const double*><size_t>address_of(weight)
    work.feature = <int*><size_t>address_of(tree["feature"])
    work.left = <int*><size_t>address_of(tree["left"])
    work.right = <int*><size_t>address_of(tree["right"])
    work.center = <int*><size_t>address_of(tree["center"])
    work.cut = <double*><size_t>address_of(tree["cut"])
    work.parent = <int*><size_t>room(n_nodes, np.int32)
    work.first = <Py_ssize_t*><size_t>room(n_nodes, np.intp)
    work.last = <Py_ssize_t*><size_t>room(n_nodes, np.intp)
    work.dirty = <unsigned char*><size_t>room(n_nodes, np.uint8)
    work.stale = <unsigned char*><size_t>room(n_nodes, np.uint8)
    work.removal = <double*><size_t>room(n_nodes, np.float64)
    work.split = <Move*><size_t>room((n_nodes, sizeof(Move)), np.uint8)
    work.mean = <double*><size_t>room((n_nodes, m), np.float64)
    work.mass = <double*><size_t>room(n_nodes, np.float64)
    work.spread = <double*><size_t>room(n_nodes, np.float64)
    work.order = <int*><size_t>room(r, np.int32)
    work.leaf = <int*><size_t>room(r, np.int32)
    work.own = <double*><size_t>room(r, np.float64)
    work.swap = <int*><size_t>room(r, np.int32)
    work.other = <int*><size_t>room(r, np.int32)
    work.delta = <double*><size_t>room(r, np.float64)
    work.size = <int*><size_t>room(n_nodes, np.int32)
    work.add_left = <double*><size_t>room((n_nodes, d), np.float64)
    work.add_right = <double*><size_t>room((n_nodes, d), np.float64)
    work.mass_left = <double*><size_t>room(n_nodes, np.float64)
    work.mass_right = <double*><size_t>room(n_nodes, np.float64)
    work.count = <int64_t*><size_t>room(n_nodes, np.int64)
    work.leaves = <int*><size_t>room(n_nodes, np.int32)
    work.stack = <int*><size_t>room(n_nodes + 1, np.int32)
    work.seen = <unsigned char*><size_t>room(2 * d, np.uint8)
    work.point = <double*><size_t>room((n_threads, m), np.float64)
    work.terms = <Term*><size_t>room((d * n_codes, sizeof(Term)), np.uint8)
    work.low = <int*><size_t>room(d, np.int32)
    work.high = <int*><size_t>room(d, np.int32)
    work.base = <double*><size_t>room((d, 2), np.float64)
    work.moves = <Move*><size_t>room((2 * d, sizeof(Move)), np.uint8)
    work.items = <Item*><size_t>room((r, sizeof(Item)), np.uint8)
    work.n_sums = max(SUMS, 2 * SPLITS * (m + 1))
    work.sums = <double*><size_t>room(work.n_sums, np.float64)
    work.axis = <double*><size_t>room((2, m), np.float64)
    work.score = <double*><size_t>room(d, np.float64)
    work.picked = <int*><size_t>room(d, np.int32)
    work.ranked = <int*><size_t>room(n_nodes, np.int32)
    for node in range(n_nodes):
        work.parent[node] = -1
        work.dirty[node] = work.stale[node] = 1
    for node in range(n_nodes):
        if work.feature[node] >= 0:
            work.parent[work.left[node]] = work.parent[work.right[node]] = node
    for i in range(r):
        work.order[i] = <int>i
    work.last[0] = r
    with nogil:
        for i in prange((r + CHUNK - 1) // CHUNK, num_threads=_threads_for(&work, 0), schedule="static"):
            _route(&work, 0, i * CHUNK, min((i + 1) * CHUNK, r))
        _gather(&work, 0)
    before = _figures(&work)
    with nogil:
        _work_off(&work, moves_leaves and n_nodes > 3)
        for node in range(work.n_nodes):
            if work.feature[node] < 0:
                continue
            for i in range(work.first[node], work.last[node]):
                value = entry(&work.explained, work.row[work.order[i]], work.feature[node])
                if i < work.last[work.left[node]]:
                    lower[node] = max(lower[node], value)
                else:
                    upper[node] = min(upper[node], value)
    if failures:
        raise failures[0]
    return tree | {"before": before, "after": _figures(&work), "ended": work.looked >= work.most}
