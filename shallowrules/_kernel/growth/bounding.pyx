"""A lower bound of the induced cost of all cuts of all features at a node of few centers, many rows at once.

What a row adds is rounded down, to 32 bits or, at nodes of many rows, to 16 bits (`narrow_sweep.h`). Both are enough to
choose a cut at nearly every node (`cut_search._choose_if_certain`). 16 bits take half of the time; where they leave a
doubt between a few runs of cuts, these are summed exactly (`run_sums`), for which each row's nearest center is written
down here. Where the doubt is between many, the features that may have the best cut are bounded again in 32. 32 bits
also tell good cuts from better ones, and take rows that are far from everything.

Units of 16 bits are so coarse that distances in single precision tell them, less by what these may be off. Of each row
the distance to its nearest center alone is taken in double precision then, for the node's cost.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int16_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.dense_sweep cimport (
    keep_measured, line_up, load_slots, measure_slots, place_members, weights_of
)
from shallowrules._kernel.growth.fixed_point cimport llrint
from shallowrules._kernel.growth.histograms cimport clear_histograms
from shallowrules._kernel.growth.nearest_lists cimport list_members
from shallowrules._kernel.growth.state cimport (
    BLOCK, DENSE_BLOCK, LANES, CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table,
    Tally, highest_code, keeps_distances, lowest_code
)
from shallowrules._kernel.shared.estimates cimport Estimates, estimates_of
from shallowrules._kernel.shared.lanes cimport instructions_of_machine
from shallowrules._kernel.shared.threads cimport CHUNK, Share

cdef extern from "growth/dense_sweep.h" nogil:
    void sr_dense_units(
        int instructions, const double* distances, Py_ssize_t n_centers, const double* weight, double scale,
        int* units, double* first, int* largest) noexcept
    void sr_dense_places(
        int instructions, const uint16_t* codes, Py_ssize_t count, int low, int high, int* place) noexcept
    void sr_dense_sweep(
        int instructions, const int* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int* place, int* sums, int* own) noexcept
    void sr_dense_tally(const int* place, const int* own, Py_ssize_t count, Tally* tally) noexcept
    const int UNIT_CAP "SR_UNIT_CAP"

cdef extern from "growth/narrow_sweep.h" nogil:
    void sr_narrow_units(
        int instructions, const double* distances, Py_ssize_t n_centers, const double* weight, double scale,
        int16_t* units, double* first, double* beyond, unsigned char* nearest) noexcept
    bint sr_estimated_units(
        int instructions, const float* estimates, Py_ssize_t n_centers, const double* weight, double scale, float share,
        float margin, float most, float slack, int16_t* units, double* beyond, unsigned char* nearest) noexcept
    void sr_nearest_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        const unsigned char* nearest, double* first) noexcept
    void sr_narrow_places(
        int instructions, const uint16_t* codes, Py_ssize_t count, uint16_t low, uint16_t high,
        int16_t* place) noexcept
    void sr_narrow_sweep(
        int instructions, const int16_t* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int16_t* place, int* sums, uint16_t* own, uint16_t* cell) noexcept
    void sr_narrow_tally(const uint16_t* cell, const uint16_t* own, Py_ssize_t count, uint64_t* words) noexcept
    void sr_unpack(uint64_t* words, Py_ssize_t count, Tally* tally) noexcept
    const int NARROW_CAP "SR_NARROW_CAP"
    const int NARROW_ZERO "SR_NARROW_ZERO"
    enum: PAIRS "SR_PAIRS"

cdef extern from "shared/estimates.h" nogil:
    void sr_estimate_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* origin, double scale,
        const float* centers, const int* ids, Py_ssize_t n_centers, float* floats, float* out) noexcept

cdef enum:
    SAMPLE_GROUPS = 8           # groups of rows that tell the scale of a node's distances
    MAX_GROUPS = 127            # groups of rows whose units fit in 32 bits together
    MAX_NARROW_GROUPS = 16384   # the same of 16-bit units, two of a group in a sum

# What one row may add to a bound before it is capped, in mean distances to the nearest center: at least MIN_ROW_CAP, at
# most MAX_ROW_CAP where the sample has rows that need more. Capping any scale is right, only slower: a node with a
# capped row is summed exactly.
cdef double MIN_ROW_CAP = 64.0
cdef double MAX_ROW_CAP = 1024.0
# With 16 bits what is cut off of a row makes a cut less certain, and so does a coarse unit: what a row may add is
# NARROW_ROOM times the most that a row of the sample adds, and at most NARROW_ROW_CAP mean distances; if that is not
# enough, a node has 32 bits.
cdef double NARROW_ROOM = 1.5
cdef double NARROW_ROW_CAP = 40.0
# Where distances are estimated, bounds fall short by more units: by this many more at most, besides 0.1 for how units
# are rounded. What is said of the cap of 16 bits holds for as much coarser units.
cdef double MAX_ESTIMATE_ERROR = 3.0


cdef BoundUnits bound_units(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    bint may_be_narrow,
) noexcept nogil:
    """Choose the units of the bounds, from the distances of a few rows and the largest weight.

    Any scale is right. The best is the finest that holds what every row adds.
    """
    cdef Py_ssize_t n = node.last - node.first, begin, end, slot, g, r, c, count = 0
    cdef int n_members = node.last_center - node.first_center
    cdef double nearest, far, total = 0.0, farthest = 0.0, farthest_distance = 0.0, weight, heaviest = 1.0
    cdef BoundUnits units
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
            farthest_distance = max(farthest_distance, far)
            count += 1
    if slots.weight != NULL:
        heaviest = 0.0
        for slot in range(node.first, node.last):
            heaviest = max(heaviest, slots.weight[slot])
    farthest *= heaviest
    may_be_narrow = may_be_narrow and n >= table.narrow_rows
    if may_be_narrow and 0.0 < NARROW_ROOM * farthest <= NARROW_ROW_CAP * total / count:
        units = BoundUnits(NARROW_CAP / (NARROW_ROOM * farthest), True, 1.0, 0.0, 0.0)
        if n_members >= MIN_ESTIMATED and not node.has_distances and not keeps_distances(slots, node):
            _allow_estimates(
                table, NARROW_ROOM * farthest_distance, heaviest,
                NARROW_ROW_CAP * total / count / (NARROW_ROOM * farthest), &units,
            )
        return units
    if total > 0.0:
        farthest = min(max(2.0 * farthest, MIN_ROW_CAP * total / count), MAX_ROW_CAP * total / count)
    return BoundUnits(UNIT_CAP / min(farthest, 1e300) if farthest > 1e-290 else 1.0, False, 1.0, 0.0, 0.0)


cdef void _allow_estimates(
    const Table* table, double farthest, double heaviest, double most_slack, BoundUnits* units
) noexcept nogil:
    """Let distances be estimated, of rows not farther than `farthest`, if that is near enough.

    The least and another estimate, off by `share` of them and by `margin`, are both cut off by as much, and so by at
    most four times that of the other.
    """
    cdef const Estimates* estimates = &table.estimates
    cdef double scale = units.scale / estimates.scale / estimates.scale, error
    farthest *= estimates.scale * estimates.scale
    error = 4.0 * (estimates.share * farthest + estimates.margin) * scale * heaviest
    if estimates.centers != NULL and error <= MAX_ESTIMATE_ERROR and 1.1 + error <= most_slack:
        units.estimate_scale = scale
        units.farthest = farthest
        units.slack = 1.1 + error


cdef bint _take_estimated(
    const Table* table, int n_members, RowBuffers* rows, const double* weight, BoundUnits units, int16_t* taken,
    double* beyond, unsigned char* nearest, double* first,
) noexcept nogil:
    """Write what the rows in rows.lanes add with each center, from estimates of distances.

    False if one is too far, or its nearest center is not known from these.

    Parameters
    ----------
    taken, beyond, nearest : as `sr_narrow_units` writes them
    first : the result, the distance to the nearest center, not as an estimate
    """
    cdef const Estimates* estimates = &table.estimates
    cdef Py_ssize_t m = table.X_cluster.n_columns
    sr_estimate_distances(
        table.instructions, rows.lanes, m, estimates.origin, estimates.scale, estimates.centers, rows.members,
        n_members, rows.floats, rows.estimate,
    )
    if not sr_estimated_units(
        table.instructions, rows.estimate, n_members, weight, units.estimate_scale, estimates.share,
        estimates.margin, units.farthest, units.slack, taken, beyond, nearest,
    ):
        return False
    sr_nearest_distances(table.instructions, rows.lanes, m, table.cluster_centers, rows.members, nearest, first)
    return True


cdef void _flush_sums(
    const Table* table, const CenterOrder* centers, const Node* node, int* sums, int n_lanes, int64_t less,
    int64_t* center_step, const unsigned char* wanted,
) noexcept nogil:
    """Move the lanes' sums of the wanted features to `center_step`; by `less` each cut's sum is too small."""
    cdef Py_ssize_t k = table.n_centers, f, j, r
    cdef int n_members = node.last_center - node.first_center
    cdef int64_t sum
    cdef int* here
    for f in range(table.n_features):
        for j in range(n_members if wanted[f] else 0):
            here = sums + (f * n_members + j) * n_lanes
            sum = less
            for r in range(n_lanes):
                sum += here[r]
                here[r] = 0
            if j < n_members - 1:
                center_step[f * k + centers.order[f * k + node.first_center + j]] += sum


cdef void _unpack_tallies(
    const Table* table, const CenterOrder* centers, const Node* node, uint64_t* packed, Tally* tally,
    const unsigned char* wanted,
) noexcept nogil:
    """Move the packed tallies of the codes that the node uses to its histograms, of the wanted features."""
    cdef Py_ssize_t f, first
    for f in range(table.n_features):
        if not wanted[f]:
            continue
        first = lowest_code(table, centers, node, f)
        sr_unpack(
            packed + 2 * (f * table.n_codes + first), highest_code(table, centers, node, f) + 1 - first,
            tally + f * table.n_codes + first,
        )


cdef double _take_units(
    const Table* table, const Slots* slots, const Node* node, RowBuffers* rows, DenseBuffers* dense, BoundUnits units,
    Share block, Py_ssize_t last, int* largest, double* beyond, double cost,
) noexcept nogil:
    """Write what the rows of a block add with each center to dense.units; return `cost` with theirs added in order.

    With units of 16 bits, also write the rows' nearest centers to slots.nearest.

    last: where the blocks end; largest: by lane, raised to the largest of the units; beyond: of 16-bit units, by lane,
    raised by what is cut off.
    """
    cdef Py_ssize_t begin = block.first, end = block.last
    cdef Py_ssize_t n_groups = (end - begin + LANES - 1) // LANES, g, r, j, slot, place
    cdef int n_members = node.last_center - node.first_center
    cdef bint keeps = keeps_distances(slots, node), estimated
    cdef const double* weight
    cdef double buffer[LANES]
    cdef double distance[LANES]
    cdef unsigned char nearest[LANES]
    for g in range(n_groups):
        slot = begin + g * LANES
        weight = weights_of(slots, slot, end, buffer)
        place = g * n_members * LANES
        estimated = False
        if units.farthest > 0.0:
            load_slots(table, slots, slot, min(slot + LANES, end), last, rows)
            estimated = _take_estimated(
                table, n_members, rows, weight, units, dense.narrow_units + place, beyond, nearest, distance
            )
        if not estimated:
            measure_slots(table, slots, node, slot, min(slot + LANES, end), last, rows)
            if keeps:
                keep_measured(table, slots, rows, n_members, slot, min(slot + LANES, end))
            if units.narrow:
                sr_narrow_units(
                    table.instructions, rows.lane_distance, n_members, weight, units.scale, dense.narrow_units + place,
                    distance, beyond, nearest,
                )
            else:
                sr_dense_units(
                    table.instructions, rows.lane_distance, n_members, weight, units.scale, dense.units + place,
                    distance, largest,
                )
        if units.narrow:
            memcpy(slots.nearest + slot, nearest, min(LANES, end - slot))
        for r in range(min(LANES, end - slot)):
            cost += distance[r] if weight == NULL else weight[r] * distance[r]
    for g in range(end - begin, n_groups * LANES):  # lanes beyond the last row add nothing
        for j in range(n_members):
            place = ((n_groups - 1) * n_members + j) * LANES + g % LANES
            if units.narrow:
                dense.narrow_units[place] = NARROW_ZERO
            else:
                dense.units[place] = 0
    return cost


cdef void _sweep_block(
    const Table* table, const Slots* slots, const Node* node, Histograms* histograms, DenseBuffers* dense, bint narrow,
    const unsigned char* wanted, Share block,
) noexcept nogil:
    """Add a block of rows, whose units are taken, to the histograms of the wanted features."""
    cdef Py_ssize_t begin = block.first, end = block.last
    cdef Py_ssize_t n_groups = (end - begin + LANES - 1) // LANES, f, i, n_codes = table.n_codes
    cdef int n_members = node.last_center - node.first_center
    cdef int* place = dense.place
    cdef const int* at
    cdef const int* edge
    cdef const uint16_t* codes
    cdef int64_t weight_units[DENSE_BLOCK]
    for i in range(end - begin if table.weighted else 0):
        weight_units[i] = llrint(slots.weight[begin + i] * table.weight_scale)
    for f in range(table.n_features):
        if not wanted[f]:
            continue
        at, edge = dense.at + f * n_members, dense.edge + f * n_members
        codes = slots.codes + f * table.n_rows + begin
        if narrow:
            sr_narrow_places(
                table.instructions, codes, end - begin, edge[0], edge[n_members - 1], dense.narrow_place
            )
            sr_narrow_sweep(
                table.instructions, dense.narrow_units, n_groups, n_members, at, edge, dense.narrow_place,
                dense.sums + f * n_members * PAIRS, dense.narrow_own, dense.cell,
            )
            sr_narrow_tally(dense.cell, dense.narrow_own, end - begin, dense.packed + 2 * f * n_codes)
        else:
            sr_dense_places(
                table.instructions, codes, end - begin, edge[0], edge[n_members - 1], place
            )
            sr_dense_sweep(
                table.instructions, dense.units, n_groups, n_members, at, edge, place,
                dense.sums + f * n_members * LANES, dense.own,
            )
            sr_dense_tally(place, dense.own, end - begin, histograms.tally + f * n_codes)
        if table.weighted:
            for i in range(end - begin):
                histograms.weight[f * n_codes + (dense.narrow_place[i] if narrow else place[i])] += weight_units[i]


cdef inline Py_ssize_t _block_rows(int n_members) noexcept nogil:
    """Return how many rows of a node are swept together: a part of a chunk."""
    cdef Py_ssize_t n_rows = DENSE_BLOCK
    while n_rows > BLOCK and n_rows * n_members > MAX_BLOCK_UNITS:
        n_rows //= 2
    return n_rows


cdef void bound_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, BoundUnits units, const unsigned char* wanted, Share chunks,
    double* chunk_cost,
) noexcept nogil:
    """Add up what the rows of some chunks of the node add at least to every cut of the wanted features.

    Also sums the current costs of these chunks, to `chunk_cost`, the node's.
    """
    cdef Py_ssize_t last = min(node.first + chunks.last * CHUNK, node.last), r, f, chunk = chunks.first
    cdef Share block
    cdef int n_members = node.last_center - node.first_center, n_unflushed = 0
    cdef int n_lanes = PAIRS if units.narrow else LANES, most = MAX_NARROW_GROUPS if units.narrow else MAX_GROUPS
    cdef Py_ssize_t n_rows = _block_rows(n_members)
    cdef int largest[LANES]
    cdef double beyond[LANES]
    cdef double cost = 0.0
    place_members(centers, node, rows.members, dense)
    for f in range(table.n_features):
        if wanted[f]:
            line_up(table, centers, node, dense, f)
    clear_histograms(table, centers, node, histograms, wanted)
    memset(largest, 0, LANES * sizeof(int))
    memset(beyond, 0, LANES * sizeof(double))
    memset(dense.sums, 0, table.n_features * n_members * n_lanes * sizeof(int))
    block.first = node.first + chunks.first * CHUNK
    while block.first < last:
        block.last = min(block.first + n_rows, last)
        cost = _take_units(table, slots, node, rows, dense, units, block, last, largest, beyond, cost)
        _sweep_block(table, slots, node, histograms, dense, units.narrow, wanted, block)
        n_unflushed += (block.last - block.first + LANES - 1) // LANES
        block.first = block.last
        if n_unflushed + n_rows // LANES > most or block.first == last:
            _flush_sums(
                table, centers, node, dense.sums, n_lanes,
                -<int64_t>NARROW_ZERO * LANES * n_unflushed if units.narrow else 0, histograms.center_step, wanted,
            )
            if units.narrow:
                _unpack_tallies(table, centers, node, dense.packed, histograms.tally, wanted)
            n_unflushed = 0
        if (block.first - node.first) % CHUNK == 0 or block.first == last:
            chunk_cost[chunk] = cost
            cost = 0.0
            chunk += 1
    dense.capped = False
    dense.beyond = 0.0
    for r in range(LANES):
        dense.capped |= largest[r] == UNIT_CAP
        dense.beyond += beyond[r] / units.scale


def estimated_units(
    const double[:, ::1] lanes, const double[:, ::1] centers, weight, double scale, double farthest, *,
    int instructions=2,
):
    """Return what 16 rows add with each center, from estimates of distances. For tests: growing bounds so.

    Parameters
    ----------
    lanes : ndarray of float64, shape (m, 16)
        The rows, a column each.
    centers : ndarray of float64, shape (k, m)
    weight : ndarray of float64, shape (16,), or None
    scale : float
        Units per unit of squared distance.
    farthest : float
        Squared distance up to which estimates have to be good.
    instructions : int
        As for `grow_tree`.

    Returns
    -------
    tuple, or None where that is not good enough
        units : ndarray of int16, shape (k, 16), less 2**15; nearest : ndarray of uint8, shape (16,); first : ndarray of
        float64, shape (16,), the squared distance to the nearest center; beyond : float, the units that were cut off;
        slack : float, by how many a row's may fall short besides, less than that.
    """
    cdef Py_ssize_t k = centers.shape[0], m = centers.shape[1]
    cdef Table table
    cdef RowBuffers rows
    cdef BoundUnits units = BoundUnits(scale, True, 1.0, 0.0, 0.0)
    cdef double[::1] weights = np.ones(LANES) if weight is None else weight
    cdef double[::1] beyond = np.zeros(LANES), first = np.empty(LANES)
    cdef int[::1] members = np.arange(k, dtype=np.int32)
    cdef float[:, ::1] floats = np.empty((m, LANES), dtype=np.float32), estimates = np.empty((k, LANES), np.float32)
    cdef int16_t[:, ::1] taken = np.empty((k, LANES), dtype=np.int16)
    cdef unsigned char[::1] nearest = np.empty(LANES, dtype=np.uint8)
    cdef list keep = []
    memset(&table, 0, sizeof(Table))
    memset(&rows, 0, sizeof(RowBuffers))
    table.instructions = min(instructions_of_machine(), instructions)
    table.X_cluster.n_columns, table.cluster_centers = m, &centers[0, 0]
    table.estimates = estimates_of(np.asarray(centers), keep)
    rows.lanes, rows.members = <double*>&lanes[0, 0], &members[0]
    rows.floats, rows.estimate = &floats[0, 0], &estimates[0, 0]
    _allow_estimates(&table, farthest, np.asarray(weights).max(), INFINITY, &units)
    if units.farthest == 0.0 or not _take_estimated(
        &table, <int>k, &rows, NULL if weight is None else &weights[0], units, &taken[0, 0], &beyond[0], &nearest[0],
        &first[0],
    ):
        return None
    return np.asarray(taken), np.asarray(nearest), np.asarray(first), float(np.sum(beyond)), units.slack
