"""Partitioning a node's rows and centers once its cut is chosen.

Each side ends up in contiguous places, rows in the slots and centers in every feature's order, so that the next sweep
streams. Rows are exchanged in pairs, so that as few as possible move.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY

from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.growth.state cimport LIST_LENGTH, Cut, Node, Slots, State

cdef extern from "growth/code_scan.h" nogil:
    const int SCAN_BLOCK "SR_SCAN_BLOCK"
    bint sr_any_equal(const int* codes, Py_ssize_t count, int first, int second) noexcept
    Py_ssize_t sr_mark_sides(
        const int* codes, Py_ssize_t count, int below, int above, unsigned char* side, int* highest, int* lowest
    ) noexcept


cdef Py_ssize_t mark_sides(State* state, Node* node, const Cut* cut) noexcept nogil:
    """Decide where each row goes and where the gap is; return the number of rows that go left."""
    cdef const int* codes = state.slots.codes + node.feature * state.table.n_rows + node.first
    cdef unsigned char* side = state.slots.side + node.first
    cdef const int* row = state.slots.row + node.first
    cdef Py_ssize_t count = node.last - node.first, begin, end, i
    cdef int highest, lowest
    cdef double value
    cdef Py_ssize_t n_left = sr_mark_sides(
        codes, count, cut.code - 1 if cut.inside else cut.code, cut.code + 1, side, &highest, &lowest
    )
    end = 0 if cut.inside else count
    while end < count:
        begin = end
        end = min(begin + SCAN_BLOCK, count)
        if not sr_any_equal(codes + begin, end - begin, cut.code, cut.code):
            continue
        for i in range(begin, end):
            if codes[i] != cut.code:
                continue
            side[i] = entry(&state.table.X_explain, row[i], node.feature) <= cut.value
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
        end = min(begin + SCAN_BLOCK, count)
        if not sr_any_equal(codes + begin, end - begin, highest, lowest):
            continue
        for i in range(begin, end):
            if codes[i] == highest or codes[i] == lowest:
                value = entry(&state.table.X_explain, row[i], node.feature)
                if side[i]:
                    node.lower = max(node.lower, value)
                else:
                    node.upper = min(node.upper, value)
    return n_left


cdef int partition_centers(State* state, Node* node, const Cut* cut, int* buffer) noexcept nogil:
    """Partition the node's centers in every feature's order; return how many go left."""
    cdef Py_ssize_t k = state.table.n_centers, f
    cdef const int* center_codes = state.table.center_codes + node.feature * k
    cdef int i, center, left, right, n_left = 0
    cdef int* order = state.centers.order + node.feature * k
    cdef double coordinate
    node.cut = node.lower
    for i in range(node.first_center, node.last_center):
        center = order[i]
        state.centers.side[center] = center_codes[center] <= cut.code
        if state.centers.side[center]:
            n_left += 1
            coordinate = state.table.explain_centers[center * state.table.n_features + node.feature]
            node.cut = max(node.cut, coordinate)
    for f in range(state.table.n_features):
        order = state.centers.order + f * k
        left = node.first_center
        right = 0
        for i in range(node.first_center, node.last_center):
            center = order[i]
            if state.centers.side[center]:
                order[left] = center
                left += 1
            else:
                buffer[right] = center
                right += 1
        for i in range(right):
            order[left + i] = buffer[i]
    return n_left


cdef Py_ssize_t _pair_rows(Slots* slots, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left) noexcept nogil:
    """List the slots to exchange so that rows that go left come first; return how many pairs."""
    cdef int* left = slots.swap_left + first // 2
    cdef int* right = slots.swap_right + first // 2
    cdef Py_ssize_t slot, n_pairs = 0, n_found = 0
    for slot in range(first, first + n_left):
        if not slots.side[slot]:
            left[n_pairs] = <int>slot
            n_pairs += 1
    for slot in range(first + n_left, last):
        if slots.side[slot]:
            right[n_found] = <int>slot
            n_found += 1
    return n_pairs


cdef void _swap_rows(State* state, Py_ssize_t first, Py_ssize_t n_pairs, Py_ssize_t what) noexcept nogil:
    """Exchange the paired slots in the codes of feature `what`, or in all else if `what` is the number of features."""
    cdef const int* left = state.slots.swap_left + first // 2
    cdef const int* right = state.slots.swap_right + first // 2
    cdef Py_ssize_t i, j, a, b, p, q
    cdef int* codes
    if what < state.table.n_features:
        codes = state.slots.codes + what * state.table.n_rows
        for i in range(n_pairs):
            codes[left[i]], codes[right[i]] = codes[right[i]], codes[left[i]]
        return
    for i in range(n_pairs):
        a = left[i]
        b = right[i]
        state.slots.row[a], state.slots.row[b] = state.slots.row[b], state.slots.row[a]
        if state.slots.weight != NULL:
            state.slots.weight[a], state.slots.weight[b] = state.slots.weight[b], state.slots.weight[a]
        if state.slots.assigned != NULL:
            state.slots.assigned[a], state.slots.assigned[b] = state.slots.assigned[b], state.slots.assigned[a]
        if state.lists.near != NULL:
            state.lists.length[a], state.lists.length[b] = state.lists.length[b], state.lists.length[a]
            for j in range(LIST_LENGTH):
                p = a * LIST_LENGTH + j
                q = b * LIST_LENGTH + j
                state.lists.near[p], state.lists.near[q] = state.lists.near[q], state.lists.near[p]
                state.lists.distance[p], state.lists.distance[q] = state.lists.distance[q], state.lists.distance[p]


cdef void partition_rows(
    State* state, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left, int n_threads
) noexcept nogil:
    """Move the slots of state.slots.side 1, of which there are n_left, before the others."""
    cdef Py_ssize_t n_pairs = _pair_rows(&state.slots, first, last, n_left), what
    for what in prange(state.table.n_features + 1, num_threads=n_threads, schedule="dynamic", chunksize=1):
        _swap_rows(state, first, n_pairs, what)
