"""Short lists: the nearest of a node's centers, for every row.

Every row keeps its `LIST_LENGTH` nearest centers among those of its node, with squared distances. When a node is cut,
a list loses the centers of the other side. It is filled again if it gets shorter than `MIN_LIST_LENGTH`, or if the
node has so few centers that the list holds them all. So a list is either complete or long enough for most cuts: lists
of 8 run out for 7% to 11% of (row, feature) pairs. Distances are summed directly, column by column, never as
|x|^2 - 2xc + |c|^2: that loses tight clusters.
"""

from libc.stdint cimport uint16_t

from shallowrules._kernel.growth.state cimport (
    LANES, LIST_LENGTH, MIN_LIST_LENGTH, CenterOrder, NearestLists, Node, RowBuffers, Slots, Table
)
from shallowrules._kernel.shared.lanes cimport sr_lane_distances
from shallowrules._kernel.shared.matrix cimport load_block
from shallowrules._kernel.shared.threads cimport CHUNK, Share


cdef extern from "shared/lanes.h" nogil:
    void sr_lane_nearest(const double* distances, Py_ssize_t n_centers, double* keys) noexcept
    Py_ssize_t sr_place_of(double key) noexcept


cdef double distance_to(const Table* table, const double* point, int center) noexcept nogil:
    """Return the squared distance of a row (as doubles) to a center: the bits of `sr_lane_distances`."""
    cdef Py_ssize_t j, m = table.X_cluster.n_columns
    cdef const double* c = table.cluster_centers + center * m
    cdef double gap, total = 0.0
    for j in range(m):
        gap = point[j] - c[j]
        total += gap * gap
    return total


cdef void list_members(const CenterOrder* centers, const Node* node, int* members) noexcept nogil:
    """Write the node's centers to `members`, in the order of the first feature."""
    cdef int j
    for j in range(node.first_center, node.last_center):
        members[j - node.first_center] = centers.order[j]


cdef void _fill_batch(
    const Table* table, const Slots* slots, const NearestLists* lists, RowBuffers* buffers, int n_members,
    const int* pending, int count,
) noexcept nogil:
    """Fill the lists of the slots in `pending`, at most LANES of them."""
    cdef int rows[LANES]
    cdef int r, j, length, place
    cdef Py_ssize_t slot, member
    cdef double keys[LIST_LENGTH * LANES]
    cdef double d
    cdef double* distance
    cdef uint16_t* near
    for r in range(count):
        rows[r] = slots.row[pending[r]]
    load_block(&table.X_cluster, rows, count, buffers.lanes, LANES)
    sr_lane_distances(
        buffers.lanes, table.X_cluster.n_columns, table.cluster_centers,
        buffers.members, n_members, buffers.lane_distance,
    )
    sr_lane_nearest(buffers.lane_distance, n_members, keys)
    length = min(n_members, LIST_LENGTH)
    for r in range(count):
        slot = pending[r]
        distance = lists.distance + slot * LIST_LENGTH
        near = lists.near + slot * LIST_LENGTH
        for j in range(length):
            member = sr_place_of(keys[j * LANES + r])
            d = buffers.lane_distance[member * LANES + r]
            place = j
            while place > 0 and distance[place - 1] > d:
                distance[place] = distance[place - 1]
                near[place] = near[place - 1]
                place -= 1
            distance[place] = d
            near[place] = <uint16_t>buffers.members[member]
        lists.length[slot] = <unsigned char>length
        for place in range(length, LIST_LENGTH):
            distance[place] = distance[0]
            near[place] = near[0]


cdef void fill_lists(
    const Table* table, const Slots* slots, const NearestLists* lists, const Node* node, RowBuffers* buffers,
    Share share,
) noexcept nogil:
    """Fill the lists of some slots from the node's centers (buffers.members)."""
    cdef Py_ssize_t slot
    cdef int pending[LANES]
    cdef int count = 0, n_members = node.last_center - node.first_center
    for slot in range(share.first, share.last):
        pending[count] = <int>slot
        count += 1
        if count == LANES:
            _fill_batch(table, slots, lists, buffers, n_members, pending, count)
            count = 0
    if count:
        _fill_batch(table, slots, lists, buffers, n_members, pending, count)


cdef void filter_lists(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    RowBuffers* buffers, Share share,
) noexcept nogil:
    """Take the centers of the other side out of the lists of some slots, and fill those that get short.

    Expects centers.side to tell which centers are on the node's side, and buffers.members the node's centers.
    """
    cdef int n_members = node.last_center - node.first_center
    cdef unsigned char side = 1 if node.is_left else 0
    cdef Py_ssize_t slot
    cdef int pending[LANES]
    cdef int count = 0, kept, j, length
    cdef double* distance
    cdef uint16_t* near
    for slot in range(share.first, share.last):
        distance = lists.distance + slot * LIST_LENGTH
        near = lists.near + slot * LIST_LENGTH
        kept = 0
        length = lists.length[slot]
        for j in range(length):
            near[kept] = near[j]
            distance[kept] = distance[j]
            kept += centers.side[near[j]] == side
        if kept < n_members and (kept < MIN_LIST_LENGTH or n_members <= LIST_LENGTH):
            pending[count] = <int>slot
            count += 1
            if count == LANES:
                _fill_batch(table, slots, lists, buffers, n_members, pending, count)
                count = 0
            continue
        lists.length[slot] = <unsigned char>kept
        for j in range(kept, LIST_LENGTH):
            near[j] = near[0]
            distance[j] = distance[0]
    if count:
        _fill_batch(table, slots, lists, buffers, n_members, pending, count)


cdef double sum_costs(
    const Slots* slots, const NearestLists* lists, const Node* node, Py_ssize_t chunk
) noexcept nogil:
    """Return weight times squared distance to the nearest center, summed over one chunk of the node's rows."""
    cdef Py_ssize_t first = node.first + chunk * CHUNK, slot
    cdef Py_ssize_t last = min(first + CHUNK, node.last)
    cdef double total = 0.0
    for slot in range(first, last):
        if slots.weight != NULL:
            total += slots.weight[slot] * lists.distance[slot * LIST_LENGTH]
        else:
            total += lists.distance[slot * LIST_LENGTH]
    return total
