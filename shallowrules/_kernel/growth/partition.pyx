"""Parting a node's rows and centers once its cut is chosen: each side ends up in contiguous places."""

from cython.parallel cimport prange
from libc.math cimport INFINITY

from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.growth.state cimport LIST, Cut, Node, Scratch, State

cdef extern from "growth/code_scan.h" nogil:
    const int SCANNED "SR_SCANNED"
    bint sr_any_equal(const int* codes, Py_ssize_t count, int first, int second) noexcept
    Py_ssize_t sr_take_sides(
        const int* codes, Py_ssize_t count, int below, int above, unsigned char* side, int* highest, int* lowest
    ) noexcept


cdef Py_ssize_t take_sides(State* state, Node* node, const Cut* cut) noexcept nogil:
    """Decide where each row goes and where the gap is; return the number of rows that go left."""
    cdef const int* codes = state.codes + node.feature * state.n_rows + node.first
    cdef unsigned char* side = state.side + node.first
    cdef const int* row = state.row + node.first
    cdef Py_ssize_t count = node.last - node.first, begin, end, i
    cdef int highest, lowest
    cdef double value
    cdef Py_ssize_t n_left = sr_take_sides(
        codes, count, cut.code - 1 if cut.inside else cut.code, cut.code + 1, side, &highest, &lowest
    )
    end = 0 if cut.inside else count
    while end < count:
        begin = end
        end = min(begin + SCANNED, count)
        if not sr_any_equal(codes + begin, end - begin, cut.code, cut.code):
            continue
        for i in range(begin, end):
            if codes[i] != cut.code:
                continue
            side[i] = entry(&state.explained, row[i], node.feature) <= cut.value
            n_left += side[i]
            if side[i]:
                highest = cut.code
            else:
                lowest = cut.code
    node.lower = -INFINITY
    node.upper = INFINITY
    end = 0
    while end < count:
        begin = end
        end = min(begin + SCANNED, count)
        if not sr_any_equal(codes + begin, end - begin, highest, lowest):
            continue
        for i in range(begin, end):
            if codes[i] == highest or codes[i] == lowest:
                value = entry(&state.explained, row[i], node.feature)
                if side[i]:
                    node.lower = max(node.lower, value)
                else:
                    node.upper = min(node.upper, value)
    return n_left


cdef int split_centers(State* state, Node* node, const Cut* cut, Scratch* scratch) noexcept nogil:
    """Part the node's centers in every feature's order; return how many go left."""
    cdef Py_ssize_t k = state.n_centers, f
    cdef const int* center_codes = state.center_codes + node.feature * k
    cdef int i, center, left, right, n_left = 0
    cdef int* order = state.order + node.feature * k
    cdef double coordinate
    node.cut = node.lower
    for i in range(node.first_center, node.last_center):
        center = order[i]
        state.center_side[center] = center_codes[center] <= cut.code
        if state.center_side[center]:
            n_left += 1
            coordinate = state.explained_centers[center * state.n_features + node.feature]
            node.cut = max(node.cut, coordinate)
    for f in range(state.n_features):
        order = state.order + f * k
        left = node.first_center
        right = 0
        for i in range(node.first_center, node.last_center):
            center = order[i]
            if state.center_side[center]:
                order[left] = center
                left += 1
            else:
                scratch.members[right] = center
                right += 1
        for i in range(right):
            order[left + i] = scratch.members[i]
    return n_left


cdef Py_ssize_t _pair_rows(State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left) noexcept nogil:
    """List the slots to exchange so that those of side 1 come first; return how many pairs."""
    cdef int* left = state.swap_left + first // 2
    cdef int* right = state.swap_right + first // 2
    cdef Py_ssize_t slot, n_pairs = 0, n_found = 0
    for slot in range(first, first + n_left):
        if not state.side[slot]:
            left[n_pairs] = <int>slot
            n_pairs += 1
    for slot in range(first + n_left, last):
        if state.side[slot]:
            right[n_found] = <int>slot
            n_found += 1
    return n_pairs


cdef void _swap_rows(State* state, Py_ssize_t first, Py_ssize_t n_pairs, Py_ssize_t what) noexcept nogil:
    """Exchange the paired slots in the codes of a feature, or in what is kept by slot."""
    cdef const int* left = state.swap_left + first // 2
    cdef const int* right = state.swap_right + first // 2
    cdef Py_ssize_t i, j, a, b, p, q
    cdef int* codes
    if what < state.n_features:
        codes = state.codes + what * state.n_rows
        for i in range(n_pairs):
            codes[left[i]], codes[right[i]] = codes[right[i]], codes[left[i]]
        return
    for i in range(n_pairs):
        a = left[i]
        b = right[i]
        state.row[a], state.row[b] = state.row[b], state.row[a]
        if state.weight != NULL:
            state.weight[a], state.weight[b] = state.weight[b], state.weight[a]
        if state.assigned != NULL:
            state.assigned[a], state.assigned[b] = state.assigned[b], state.assigned[a]
        if state.near != NULL:
            state.length[a], state.length[b] = state.length[b], state.length[a]
            for j in range(LIST):
                p = a * LIST + j
                q = b * LIST + j
                state.near[p], state.near[q] = state.near[q], state.near[p]
                state.distance[p], state.distance[q] = state.distance[q], state.distance[p]


cdef void part_rows(
    State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left, int n_threads
) noexcept nogil:
    """Move the slots of state.side 1, of which there are n_left, before the others."""
    cdef Py_ssize_t n_pairs = _pair_rows(state, first, last, n_left), what
    for what in prange(state.n_features + 1, num_threads=n_threads, schedule="dynamic", chunksize=1):
        _swap_rows(state, first, n_pairs, what)


cdef void drop_mistakes(State* state, Node* child, int n_threads) noexcept nogil:
    """Put the rows that a cut separated from their center, now or before, behind the others of a child (IMM)."""
    cdef Py_ssize_t slot, n_counted = 0
    cdef int center
    for slot in range(child.first, child.last):
        center = state.assigned[slot]
        if center >= 0 and state.center_side[center] != child.is_left:
            state.assigned[slot] = center = -1
        state.side[slot] = center >= 0
        n_counted += center >= 0
    part_rows(state, child.first, child.last, n_counted, n_threads)
    child.counted = child.first + n_counted
