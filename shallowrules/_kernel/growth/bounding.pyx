"""A lower bound on what each cut of each feature would cost (InducedCost) at a node: a quick pass over the rows, which
settles nearly every node.

The amount that a row adds is rounded down to 32 bits: enough to choose a cut (`cut_search._choose_if_certain`), and to
tell good cuts from better ones.
"""

from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from shallowrules._kernel.growth.dense_sweep cimport (
    keep_measured, line_up, list_members, measure_slots, place_members, weights_of
)
from shallowrules._kernel.growth.fixed_point cimport llrint
from shallowrules._kernel.growth.histograms cimport clear_histograms
from shallowrules._kernel.growth.state cimport (
    BLOCK, DENSE_BLOCK, LANES, CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table, Tally,
    keeps_distances
)
from shallowrules._kernel.shared.threads cimport CHUNK, Share

cdef extern from "growth/dense_sweep.h" nogil:
    void sr_dense_units(
        const double* distances, Py_ssize_t n_centers, const double* weight, double scale,
        int* units, double* first, int* largest) noexcept
    void sr_dense_places(
        const uint16_t* codes, Py_ssize_t count, int low, int high, int* place) noexcept
    void sr_dense_sweep(
        const int* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int* place, int* right, int* sums, int* own) noexcept
    void sr_dense_tally(const int* place, const int* own, Py_ssize_t count, Tally* tally) noexcept
    const int UNIT_CAP "SR_UNIT_CAP"

cdef enum:
    SAMPLE_GROUPS = 8           # groups of rows that tell the scale of a node's distances
    MAX_GROUPS = 127            # groups of rows whose units fit in 32 bits together

# The amount that one row may add to a bound before it is capped, in mean distances to the nearest center: at least
# MIN_ROW_CAP, at most MAX_ROW_CAP where the sample has rows that need more. Capping is correct at any scale, only
# slower: a node with a capped row is summed exactly.
cdef double MIN_ROW_CAP = 64.0
cdef double MAX_ROW_CAP = 1024.0


cdef double bound_scale(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows
) noexcept nogil:
    """Choose the units of the bounds per unit of cost, from the distances of a few rows and the largest weight.

    Any scale is correct. The best is the finest in which the amount that any row adds still fits.
    """
    cdef Py_ssize_t n = node.last - node.first, begin, end, slot, g, r, c, count = 0
    cdef int n_members = node.last_center - node.first_center
    cdef double nearest, far, total = 0.0, farthest = 0.0, weight, heaviest = 1.0
    list_members(centers, node, rows.members)
    for g in range(SAMPLE_GROUPS):
        begin = node.first + n * g // SAMPLE_GROUPS
        end = min(begin + LANES, node.last)
        measure_slots(table, slots, node, begin, end, end, rows)
        for r in range(end - begin):
            weight = 1.0 if slots.weight == NULL else slots.weight[begin + r]
            nearest = far = rows.lane_distance[r]
            for c in range(n_members):
                nearest = min(nearest, rows.lane_distance[c * LANES + r])
                far = max(far, rows.lane_distance[c * LANES + r])
            total += weight * nearest
            farthest = max(farthest, far - nearest)
            count += 1
    if slots.weight != NULL:
        heaviest = 0.0
        for slot in range(node.first, node.last):
            heaviest = max(heaviest, slots.weight[slot])
    farthest *= heaviest
    if total > 0.0:
        farthest = min(max(2.0 * farthest, MIN_ROW_CAP * total / count), MAX_ROW_CAP * total / count)
    return UNIT_CAP / min(farthest, 1e300) if farthest > 1e-290 else 1.0


cdef void _flush_sums(
    const Table* table, const CenterOrder* centers, const Node* node, int* sums, int64_t* center_step
) noexcept nogil:
    """Move the lanes' sums to `center_step`."""
    cdef Py_ssize_t k = table.n_centers, f, j, r
    cdef int n_members = node.last_center - node.first_center
    cdef int64_t sum
    cdef int* here
    for f in range(table.n_features):
        for j in range(n_members):
            here = sums + (f * n_members + j) * LANES
            sum = 0
            for r in range(LANES):
                sum += here[r]
                here[r] = 0
            if j < n_members - 1:
                center_step[f * k + centers.order[f * k + node.first_center + j]] += sum


cdef double _take_units(
    const Table* table, const Slots* slots, const Node* node, RowBuffers* rows, DenseBuffers* dense, double scale,
    Share block, Py_ssize_t last, int* largest, double cost,
) noexcept nogil:
    """Write the amounts that a block's rows add with each center to dense.units; return `cost` with theirs added in
    order.

    last: where the blocks end; largest: by lane, raised to the largest of the units.
    """
    cdef Py_ssize_t begin = block.first, end = block.last
    cdef Py_ssize_t n_groups = (end - begin + LANES - 1) // LANES, g, r, j, slot
    cdef int n_members = node.last_center - node.first_center
    cdef bint keeps = keeps_distances(slots, node)
    cdef const double* weight
    cdef double buffer[LANES]
    cdef double distance[LANES]
    for g in range(n_groups):
        slot = begin + g * LANES
        weight = weights_of(slots, slot, end, buffer)
        measure_slots(table, slots, node, slot, min(slot + LANES, end), last, rows)
        if keeps:
            keep_measured(table, slots, rows, n_members, slot, min(slot + LANES, end))
        sr_dense_units(
            rows.lane_distance, n_members, weight, scale, dense.units + g * n_members * LANES,
            distance, largest,
        )
        for r in range(min(LANES, end - slot)):
            cost += distance[r] if weight == NULL else weight[r] * distance[r]
    for g in range(end - begin, n_groups * LANES):  # lanes beyond the last row add nothing
        for j in range(n_members):
            dense.units[((n_groups - 1) * n_members + j) * LANES + g % LANES] = 0
    return cost


cdef void _sweep_block(
    const Table* table, const Slots* slots, const Node* node, Histograms* histograms, DenseBuffers* dense, Share block
) noexcept nogil:
    """Add a block of rows, whose units are taken, to the histograms."""
    cdef Py_ssize_t begin = block.first, end = block.last
    cdef Py_ssize_t n_groups = (end - begin + LANES - 1) // LANES, f, i, n_codes = table.n_codes
    cdef int n_members = node.last_center - node.first_center
    cdef int* place = dense.place
    cdef const int* edge
    cdef int64_t weight_units[DENSE_BLOCK]
    for i in range(end - begin if table.weighted else 0):
        weight_units[i] = llrint(slots.weight[begin + i] * table.weight_scale)
    for f in range(table.n_features):
        edge = dense.edge + f * n_members
        sr_dense_places(
            slots.codes + f * table.n_rows + begin, end - begin, edge[0], edge[n_members - 1],
            place,
        )
        sr_dense_sweep(
            dense.units, n_groups, n_members, dense.at + f * n_members, edge, place, dense.right,
            dense.sums + f * n_members * LANES, dense.own,
        )
        sr_dense_tally(place, dense.own, end - begin, histograms.tally + f * n_codes)
        if table.weighted:
            for i in range(end - begin):
                histograms.weight[f * n_codes + place[i]] += weight_units[i]


cdef inline Py_ssize_t _block_rows(int n_members) noexcept nogil:
    """Return how many rows of a node are swept together: a part of a chunk."""
    cdef Py_ssize_t n_rows = DENSE_BLOCK
    while n_rows > BLOCK and n_rows * n_members > MAX_BLOCK_UNITS:
        n_rows //= 2
    return n_rows


cdef void bound_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, double scale, Share chunks, double* chunk_cost,
) noexcept nogil:
    """Add up lower bounds of the amounts that the rows of some chunks of the node add to every cut.

    Also sums the current costs of these chunks, to `chunk_cost`, the node's.
    """
    cdef Py_ssize_t last = min(node.first + chunks.last * CHUNK, node.last), r, f, chunk = chunks.first
    cdef Share block
    cdef int n_members = node.last_center - node.first_center, n_unflushed = 0
    cdef Py_ssize_t n_rows = _block_rows(n_members)
    cdef int largest[LANES]
    cdef double cost = 0.0
    place_members(centers, node, rows.members, dense)
    for f in range(table.n_features):
        line_up(table, centers, node, dense, f)
    clear_histograms(table, centers, node, histograms)
    memset(largest, 0, LANES * sizeof(int))
    memset(dense.sums, 0, table.n_features * n_members * LANES * sizeof(int))
    block.first = node.first + chunks.first * CHUNK
    while block.first < last:
        block.last = min(block.first + n_rows, last)
        cost = _take_units(table, slots, node, rows, dense, scale, block, last, largest, cost)
        _sweep_block(table, slots, node, histograms, dense, block)
        n_unflushed += (block.last - block.first + LANES - 1) // LANES
        block.first = block.last
        if n_unflushed + n_rows // LANES > MAX_GROUPS or block.first == last:
            _flush_sums(table, centers, node, dense.sums, histograms.center_step)
            n_unflushed = 0
        if (block.first - node.first) % CHUNK == 0 or block.first == last:
            chunk_cost[chunk] = cost
            cost = 0.0
            chunk += 1
    dense.capped = False
    for r in range(LANES):
        dense.capped |= largest[r] == UNIT_CAP
