"""Partitioning a node's rows and centers once its cut is chosen.

Each side ends up in contiguous places, rows in the slots and centers in every feature's order, so that the next sweep
streams. Rows are exchanged in pairs, so that as few as possible move.
"""

from cython.parallel cimport prange
from libc.limits cimport INT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport uint16_t

from shallowrules._kernel.shared.matrix cimport entry
from shallowrules._kernel.shared.orders cimport partition_orders
from shallowrules._kernel.growth.state cimport (
    CenterOrder, Cut, Node, Slots, Table, distances_to
)


cdef Py_ssize_t mark_sides(const Table* table, const Slots* slots, Node* node, const Cut* cut) noexcept nogil:
    """Decide where each row goes and where the gap is; return the number of rows that go left."""
    cdef const uint16_t* codes = slots.codes + node.feature * table.n_rows
    cdef unsigned char* side = slots.side
    cdef Py_ssize_t n_left = 0, slot
    cdef int highest = -1, lowest = INT_MAX, code
    cdef double value
    for slot in range(node.first, node.last):
        code = codes[slot]
        side[slot] = code <= cut.code
        if cut.inside and code == cut.code:
            side[slot] = entry(&table.X_explain, slots.row[slot], node.feature) <= cut.value
        n_left += side[slot]
        if side[slot]:
            highest = max(highest, code)
        else:
            lowest = min(lowest, code)
    node.lower = -INFINITY
    node.upper = INFINITY
    for slot in range(node.first, node.last):
        if codes[slot] != (highest if side[slot] else lowest):
            continue
        value = entry(&table.X_explain, slots.row[slot], node.feature)
        if side[slot]:
            node.lower = max(node.lower, value)
        else:
            node.upper = min(node.upper, value)
    return n_left


cdef int partition_centers(
    const Table* table, const CenterOrder* centers, Node* node, const Cut* cut, int* buffer
) noexcept nogil:
    """Partition the node's centers in every feature's order; return how many go left."""
    cdef Py_ssize_t k = table.n_centers
    cdef const int* center_codes = table.center_codes + node.feature * k
    cdef int i, center, n_left = 0
    cdef int* order = centers.order + node.feature * k
    cdef double coordinate
    node.cut = node.lower
    for i in range(node.first_center, node.last_center):
        center = order[i]
        centers.side[center] = center_codes[center] <= cut.code
        if centers.side[center]:
            n_left += 1
            coordinate = table.explain_centers[center * table.n_features + node.feature]
            node.cut = max(node.cut, coordinate)
    partition_orders(centers.order, table.n_features, k, node.first_center, node.last_center, centers.side, buffer)
    return n_left


cdef Py_ssize_t _pair_rows(const Slots* slots, Py_ssize_t first, Py_ssize_t last, Py_ssize_t n_left) noexcept nogil:
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


cdef void _swap_rows(
    const Table* table, const Slots* slots, Py_ssize_t first, Py_ssize_t n_pairs,
    Py_ssize_t what,
) noexcept nogil:
    """Exchange the paired slots in the codes of feature `what`, or in all else if `what` is the number of features."""
    cdef const int* left = slots.swap_left + first // 2
    cdef const int* right = slots.swap_right + first // 2
    cdef Py_ssize_t i, a, b
    cdef uint16_t* codes
    if what < table.n_features:
        codes = slots.codes + what * table.n_rows
        for i in range(n_pairs):
            codes[left[i]], codes[right[i]] = codes[right[i]], codes[left[i]]
        return
    for i in range(n_pairs):
        a = left[i]
        b = right[i]
        slots.row[a], slots.row[b] = slots.row[b], slots.row[a]
        if slots.weight != NULL:
            slots.weight[a], slots.weight[b] = slots.weight[b], slots.weight[a]
        if slots.assigned != NULL:
            slots.assigned[a], slots.assigned[b] = slots.assigned[b], slots.assigned[a]


cdef Py_ssize_t partition_rows(
    const Table* table, const Slots* slots, Py_ssize_t first, Py_ssize_t last,
    Py_ssize_t n_left, int n_threads,
) noexcept nogil:
    """Move the slots of side 1, of which there are n_left, before the others; return how many pairs changed places."""
    cdef Py_ssize_t n_pairs = _pair_rows(slots, first, last, n_left), what
    for what in prange(table.n_features + 1, num_threads=n_threads, schedule="dynamic", chunksize=1):
        _swap_rows(table, slots, first, n_pairs, what)
    return n_pairs


cdef void _move_distances(
    const Slots* slots, double* distance, Py_ssize_t first, Py_ssize_t n_pairs, bint to_left
) noexcept nogil:
    """Move the distances to a center of rows that changed places and came to its side."""
    cdef const int* left = slots.swap_left + first // 2
    cdef const int* right = slots.swap_right + first // 2
    cdef Py_ssize_t i
    if to_left:
        for i in range(n_pairs):
            distance[left[i]] = distance[right[i]]
    else:
        for i in range(n_pairs):
            distance[right[i]] = distance[left[i]]


cdef void partition_distances(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Py_ssize_t n_pairs,
    int n_threads,
) noexcept nogil:
    """Move the distances of rows as `partition_rows` did the rows: those to the centers of their own side."""
    cdef int i, center
    for i in prange(
        node.first_center, node.last_center, num_threads=n_threads, schedule="dynamic", chunksize=1
    ):
        center = centers.order[i]
        _move_distances(slots, distances_to(table, slots, center), node.first, n_pairs, centers.side[center])
