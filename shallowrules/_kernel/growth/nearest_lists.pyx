"""Short lists: the nearest of a node's centers, for every row.

Every row keeps its `LIST` nearest centers among those of its node, with squared distances. When a
node is split a list loses the centers of the other side; a list that gets short, or is that of a
node with few centers, is filled again, so that a list is either complete or long enough for most
cuts. Distances are summed directly, column by column, never as |x|^2 - 2xc + |c|^2: that loses the
tight clusters.
"""

import numpy as np

from libc.stdint cimport uint16_t

from shallowrules._kernel.shared.matrix cimport Matrix, load_block, matrix_of
from shallowrules._kernel.growth.state cimport LANES, LIST, SHORTEST, Node, Scratch, State
from shallowrules._kernel.shared.threads cimport CHUNK


cdef extern from "shared/lanes.h" nogil:
    void sr_lane_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        Py_ssize_t n_centers, double* out) noexcept
    void sr_lane_nearest(int instructions, const double* distances, Py_ssize_t n_centers, double* keys) noexcept
    Py_ssize_t sr_place_of(double key) noexcept
    int sr_instructions() noexcept


cdef double distance_to(const State* state, const double* point, int center) noexcept nogil:
    """Return the squared distance of a row (as doubles) to a center: the bits of `sr_lane_distances`."""
    cdef Py_ssize_t j, m = state.clustered.n_columns
    cdef const double* c = state.centers + center * m
    cdef double gap, total = 0.0
    for j in range(m):
        gap = point[j] - c[j]
        total += gap * gap
    return total


cdef void list_members(const State* state, const Node* node, Scratch* scratch) noexcept nogil:
    """Write the node's centers to scratch.members, in the order of the first feature."""
    cdef int j
    for j in range(node.first_center, node.last_center):
        scratch.members[j - node.first_center] = state.order[j]


cdef void _fill_batch(State* state, int n_members, Scratch* scratch, int count) noexcept nogil:
    """Fill the lists of the slots in scratch.pending."""
    cdef int rows[LANES]
    cdef int r, j, length, place
    cdef Py_ssize_t slot, member
    cdef double keys[LIST * LANES]
    cdef double d
    cdef double* distance
    cdef uint16_t* near
    for r in range(count):
        rows[r] = state.row[scratch.pending[r]]
    load_block(&state.clustered, rows, count, scratch.lanes, LANES)
    sr_lane_distances(
        state.instructions, scratch.lanes, state.clustered.n_columns, state.centers, scratch.members, n_members,
        scratch.lane_distance,
    )
    sr_lane_nearest(state.instructions, scratch.lane_distance, n_members, keys)
    length = min(n_members, LIST)
    for r in range(count):
        slot = scratch.pending[r]
        distance = state.distance + slot * LIST
        near = state.near + slot * LIST
        for j in range(length):
            member = sr_place_of(keys[j * LANES + r])
            d = scratch.lane_distance[member * LANES + r]
            place = j
            while place > 0 and distance[place - 1] > d:
                distance[place] = distance[place - 1]
                near[place] = near[place - 1]
                place -= 1
            distance[place] = d
            near[place] = <uint16_t>scratch.members[member]
        state.length[slot] = <unsigned char>length
        for place in range(length, LIST):
            distance[place] = distance[0]
            near[place] = near[0]


cdef void fill_lists(
    State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Fill the lists of slots first .. last - 1 from the node's centers (scratch.members)."""
    cdef Py_ssize_t slot
    cdef int count = 0
    for slot in range(first, last):
        scratch.pending[count] = <int>slot
        count += 1
        if count == LANES:
            _fill_batch(state, node.last_center - node.first_center, scratch, count)
            count = 0
    if count:
        _fill_batch(state, node.last_center - node.first_center, scratch, count)


cdef void filter_lists(
    State* state, const Node* node, Scratch* scratch, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Take the centers of the other side out of the lists, and fill those that get short.

    Expects state.center_side to tell the node's side, and scratch.members its centers.
    """
    cdef int n_members = node.last_center - node.first_center
    cdef unsigned char side = 1 if node.is_left else 0
    cdef Py_ssize_t slot
    cdef int count = 0, kept, j, length
    cdef double* distance
    cdef uint16_t* near
    for slot in range(first, last):
        distance = state.distance + slot * LIST
        near = state.near + slot * LIST
        kept = 0
        length = state.length[slot]
        for j in range(length):
            near[kept] = near[j]
            distance[kept] = distance[j]
            kept += state.center_side[near[j]] == side
        if kept < n_members and (kept < SHORTEST or n_members <= LIST):
            scratch.pending[count] = <int>slot
            count += 1
            if count == LANES:
                _fill_batch(state, n_members, scratch, count)
                count = 0
            continue
        state.length[slot] = <unsigned char>kept
        for j in range(kept, LIST):
            near[j] = near[0]
            distance[j] = distance[0]
    if count:
        _fill_batch(state, n_members, scratch, count)


cdef double sum_costs(const State* state, const Node* node, Py_ssize_t chunk) noexcept nogil:
    """Return weight times squared distance to the nearest center, summed over one chunk of the node's rows."""
    cdef Py_ssize_t first = node.first + chunk * CHUNK, slot
    cdef Py_ssize_t last = min(first + CHUNK, node.last)
    cdef double total = 0.0
    for slot in range(first, last):
        if state.weight != NULL:
            total += state.weight[slot] * state.distance[slot * LIST]
        else:
            total += state.distance[slot * LIST]
    return total


def nearest_centers(clustered, const int[::1] rows, const double[:, ::1] centers):
    """Return the nearest center of each of some rows, the first of equally near ones.

    Parameters
    ----------
    clustered : ndarray of float32 or float64, shape (n, m)
    rows : ndarray of int32, shape (r,)
    centers : ndarray of float64, shape (k, m)

    Returns
    -------
    ndarray of int32, shape (r,)
    """
    cdef Matrix matrix = matrix_of(clustered)
    cdef Py_ssize_t n = rows.shape[0], k = centers.shape[0], begin, r, c, count
    cdef int instructions = sr_instructions(), best
    nearest_array = np.empty(n, dtype=np.int32)
    cdef int[::1] nearest = nearest_array, ids = np.arange(k, dtype=np.int32)
    cdef double[::1] lanes = np.empty(matrix.n_columns * LANES), distance = np.empty(k * LANES)
    with nogil:
        begin = 0
        while begin < n:
            count = min(<Py_ssize_t>LANES, n - begin)
            load_block(&matrix, &rows[begin], count, &lanes[0], LANES)
            sr_lane_distances(instructions, &lanes[0], matrix.n_columns, &centers[0, 0], &ids[0], k, &distance[0])
            for r in range(count):
                best = 0
                for c in range(1, k):
                    if distance[c * LANES + r] < distance[best * LANES + r]:
                        best = <int>c
                nearest[begin + r] = best
            begin += count
    return nearest_array
