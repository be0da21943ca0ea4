"""What each cut would cost (InducedCost) at a node: distances of its rows to all of its centers, and exact sums of one
feature or, for a table in parts, of all.

Exact sums, in 64 bits, are taken for the features whose lower bound (`bounding`) leaves room for the lowest objective,
and only if bounds do not choose the cut.

Distances are read from `slots.distance` if they are there. If not, they are computed again; and of a node of few
centers on wide rows they are written there (`Workspace.keep_distances`), for the nodes below.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset

from shallowrules._kernel.growth.fixed_point cimport ExactCost, FixedPoint, add_cost, in_units, llrint
from shallowrules._kernel.growth.histograms cimport clear_feature, clear_histograms
from shallowrules._kernel.growth.state cimport (
    BLOCK, LANES, CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table, Tally, distances_to
)
from shallowrules._kernel.shared.lanes cimport sr_lane_distances
from shallowrules._kernel.shared.matrix cimport load_block, prefetch_rows
from shallowrules._kernel.shared.threads cimport Share


cdef extern from "growth/dense_sweep.h" nogil:
    void sr_dense_exact_units(
        const double* distances, Py_ssize_t n_centers, const double* weight, double scale, double cap,
        int64_t* units) noexcept
    void sr_dense_places(
        const uint16_t* codes, Py_ssize_t count, int low, int high, int* place) noexcept
    void sr_dense_exact(
        const int64_t* units, Py_ssize_t n_groups, Py_ssize_t n_centers, const int* at, const int* q,
        const int* place, int64_t* right, int64_t* sums, int64_t* own) noexcept


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


cdef void measure_slots(
    const Table* table, const Slots* slots, const Node* node, Py_ssize_t first, Py_ssize_t last, Py_ssize_t end,
    RowBuffers* rows,
) noexcept nogil:
    """Write the distances of up to 16 slots to the node's centers to rows.lane_distance; the next go on to `end`."""
    cdef int n_members = node.last_center - node.first_center, j
    cdef Py_ssize_t r
    cdef const double* kept
    cdef double* lanes = rows.lane_distance
    if not node.has_distances:
        prefetch_rows(&table.X_cluster, slots.row + last, min(end - last, <Py_ssize_t>LANES))
        load_block(&table.X_cluster, slots.row + first, last - first, rows.lanes, LANES)
        _measure_lanes(table, n_members, rows)
        return
    for j in range(n_members):
        kept = distances_to(table, slots, rows.members[j]) + first
        if last - first == LANES:
            memcpy(lanes, kept, LANES * sizeof(double))
        else:
            for r in range(LANES):  # lanes beyond the last row repeat it
                lanes[r] = kept[min(r, last - first - 1)]
        lanes += LANES


cdef void keep_measured(
    const Table* table, const Slots* slots, const RowBuffers* rows, int n_members, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    """Copy the distances of up to 16 slots from rows.lane_distance to where the nodes below find them."""
    cdef int j
    for j in range(n_members):
        memcpy(
            distances_to(table, slots, rows.members[j]) + first, rows.lane_distance + j * LANES,
            (last - first) * sizeof(double),
        )


cdef void _measure_lanes(const Table* table, int n_members, RowBuffers* rows) noexcept nogil:
    """Write the distances of the rows in rows.lanes to the centers in rows.members to rows.lane_distance."""
    sr_lane_distances(
        rows.lanes, table.X_cluster.n_columns, table.cluster_centers, rows.members, n_members,
        rows.lane_distance,
    )


cdef const double* weights_of(const Slots* slots, Py_ssize_t first, Py_ssize_t last, double* buffer) noexcept nogil:
    """Return the weights of up to 16 slots, lanes beyond them 0; NULL if there are none."""
    cdef Py_ssize_t r
    if slots.weight == NULL:
        return NULL
    for r in range(LANES):
        buffer[r] = slots.weight[first + r] if first + r < last else 0.0
    return buffer


cdef void line_up(
    const Table* table, const CenterOrder* centers, const Node* node, DenseBuffers* dense, Py_ssize_t feature
) noexcept nogil:
    """Write the node's centers in the order of a feature: dense.at, places in `members`; dense.edge, codes."""
    cdef Py_ssize_t k = table.n_centers, j
    cdef int n_members = node.last_center - node.first_center, center
    for j in range(n_members):
        center = centers.order[feature * k + node.first_center + j]
        dense.at[feature * n_members + j] = dense.member_place[center]
        dense.edge[feature * n_members + j] = table.center_codes[feature * k + center]


cdef void place_members(
    const CenterOrder* centers, const Node* node, int* members, DenseBuffers* dense
) noexcept nogil:
    """List the node's centers, and the place of each in the list."""
    cdef int j
    list_members(centers, node, members)
    for j in range(node.last_center - node.first_center):
        dense.member_place[members[j]] = j


cdef void _take_exact_units(
    const Table* table, const Slots* slots, const Node* node, Share block, RowBuffers* rows, const FixedPoint* fixed,
    int64_t* units, ExactCost* cost,
) noexcept nogil:
    """Write to `units` the amounts that a block's rows add with each center, 0 in lanes beyond the last row; add their
    costs."""
    cdef Py_ssize_t begin = block.first, end, r, j
    cdef int n_members = node.last_center - node.first_center
    cdef const double* weight
    cdef double buffer[LANES]
    cdef double nearest[LANES]
    while begin < block.last:
        end = min(begin + LANES, block.last)
        measure_slots(table, slots, node, begin, end, block.last, rows)
        weight = weights_of(slots, begin, end, buffer)
        sr_dense_exact_units(rows.lane_distance, n_members, weight, fixed.scale, fixed.cap, units)
        for r in range(LANES):
            nearest[r] = rows.lane_distance[r]
        for j in range(1, n_members):
            for r in range(LANES):
                nearest[r] = min(nearest[r], rows.lane_distance[j * LANES + r])
        for r in range(end - begin):
            add_cost(cost, nearest[r] if weight == NULL else weight[r] * nearest[r], fixed.scale)
        for r in range(end - begin, LANES):
            for j in range(n_members):
                units[j * LANES + r] = 0
        units += n_members * LANES
        begin = end


cdef void _add_own(
    const int* place, const int64_t* own, Py_ssize_t count, Tally* tally
) noexcept nogil:
    """Count rows, and add their own steps."""
    cdef Py_ssize_t r
    for r in range(count):
        tally[place[r]].rows += 1
        if own[r] > 0:
            tally[place[r]].step_up += own[r]
        else:
            tally[place[r]].step_down -= own[r]


cdef void _add_weights(
    const Table* table, const Slots* slots, Py_ssize_t begin, const int* place, Py_ssize_t count, int64_t* weights
) noexcept nogil:
    """Add the rows' weights, in fixed point."""
    cdef Py_ssize_t r
    for r in range(count):
        weights[place[r]] += llrint(slots.weight[begin + r] * table.weight_scale)


cdef void _set_center_steps(
    const CenterOrder* centers, const Node* node, const int64_t* sums, int64_t* center_step, Py_ssize_t first_place
) noexcept nogil:
    """Write the lanes' sums of a feature; first_place: of the node's centers in the order of the feature."""
    cdef Py_ssize_t j, r
    cdef int64_t sum
    for j in range(node.last_center - node.first_center - 1):
        sum = 0
        for r in range(LANES):
            sum += sums[j * LANES + r]
        center_step[centers.order[first_place + j]] = sum


cdef void sum_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, int feature, Share share,
) noexcept nogil:
    """Add up exactly the amounts that some slots add to every cut of one feature."""
    cdef Py_ssize_t begin = share.first, last = share.last, end, r, j, k = table.n_centers
    cdef int n_members = node.last_center - node.first_center
    cdef const uint16_t* codes = slots.codes + feature * table.n_rows
    cdef Tally* tally = histograms.tally + feature * table.n_codes
    cdef double buffer[LANES]
    cdef int64_t own[LANES]
    cdef int* place = dense.place
    cdef const int* edge = dense.edge + feature * n_members
    place_members(centers, node, rows.members, dense)
    clear_feature(table, centers, node, histograms, feature)
    line_up(table, centers, node, dense, feature)
    memset(dense.exact_sums, 0, n_members * LANES * sizeof(int64_t))
    while begin < last:
        end = min(begin + LANES, last)
        measure_slots(table, slots, node, begin, end, last, rows)
        sr_dense_exact_units(
            rows.lane_distance, n_members, weights_of(slots, begin, end, buffer), fixed.scale, fixed.cap,
            dense.exact_units,
        )
        for r in range(end - begin, LANES):
            for j in range(n_members):
                dense.exact_units[j * LANES + r] = 0
        sr_dense_places(codes + begin, end - begin, edge[0], edge[n_members - 1], place)
        sr_dense_exact(
            dense.exact_units, 1, n_members, dense.at + feature * n_members, edge, place, dense.exact_right,
            dense.exact_sums, own,
        )
        _add_own(place, own, end - begin, tally)
        if table.weighted:
            _add_weights(table, slots, begin, place, end - begin, histograms.weight + feature * table.n_codes)
        begin = end
    _set_center_steps(
        centers, node, dense.exact_sums, histograms.center_step + feature * k, feature * k + node.first_center
    )


cdef void sum_all_features(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, const AllFeatures* all_features, ExactCost* cost,
) noexcept nogil:
    """Add up exactly the amounts that the node's rows add to every cut of every feature, and their costs."""
    cdef Py_ssize_t f, k = table.n_centers, n_groups
    cdef int n_members = node.last_center - node.first_center
    cdef int* place = dense.place
    cdef const int* edge
    cdef Share block = Share(node.first, node.first)
    place_members(centers, node, rows.members, dense)
    clear_histograms(table, centers, node, histograms)
    for f in range(table.n_features):
        line_up(table, centers, node, dense, f)
    while block.first < node.last:
        block.last = min(block.first + BLOCK, node.last)
        _take_exact_units(table, slots, node, block, rows, fixed, all_features.units, cost)
        n_groups = (block.last - block.first + LANES - 1) // LANES
        for f in range(table.n_features):
            edge = dense.edge + f * n_members
            sr_dense_places(
                slots.codes + f * table.n_rows + block.first, block.last - block.first, edge[0],
                edge[n_members - 1], place,
            )
            sr_dense_exact(
                all_features.units, n_groups, n_members, dense.at + f * n_members, edge,
                place, dense.exact_right, all_features.sums + f * n_members * LANES, all_features.own,
            )
            _add_own(place, all_features.own, block.last - block.first, histograms.tally + f * table.n_codes)
            if table.weighted:
                _add_weights(
                    table, slots, block.first, place, block.last - block.first, histograms.weight + f * table.n_codes
                )
        block.first = block.last
    for f in range(table.n_features):
        _set_center_steps(
            centers, node, all_features.sums + f * n_members * LANES, histograms.center_step + f * k,
            f * k + node.first_center,
        )


cdef void to_differences(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil:
    """Turn the amounts added to the cuts next to each center into steps, as `cut_scan` expects them."""
    cdef Py_ssize_t k = table.n_centers
    cdef const int* order = centers.order + f * k
    cdef const int* center_codes = table.center_codes + f * k
    cdef int64_t* center_step = histograms.center_step + f * k
    cdef const Tally* tally = histograms.tally + f * table.n_codes
    cdef int code = center_codes[order[node.first_center]], j
    cdef int64_t before = tally[code].step_up - tally[code].step_down, after
    for j in range(node.first_center, node.last_center):
        while code < center_codes[order[j]]:
            code += 1
            before += tally[code].step_up - tally[code].step_down
        after = center_step[order[j]]
        center_step[order[j]] = after - before
        before = after


cdef void _measure_picked(
    const Table* table, const Slots* slots, const Node* node, const Py_ssize_t* picked, int count, RowBuffers* rows
) noexcept nogil:
    """Write the distances of up to 16 slots to the centers in rows.members, the node's, to rows.lane_distance."""
    cdef int n_members = node.last_center - node.first_center, r, j
    cdef int here[LANES]
    cdef const double* kept
    if node.has_distances:
        for j in range(n_members):
            kept = distances_to(table, slots, rows.members[j])
            for r in range(count):
                rows.lane_distance[j * LANES + r] = kept[picked[r]]
    else:
        for r in range(count):
            here[r] = slots.row[picked[r]]
        load_block(&table.X_cluster, here, count, rows.lanes, LANES)
        _measure_lanes(table, n_members, rows)


cdef void dense_steps(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, const FixedPoint* fixed,
    int feature, const Py_ssize_t* picked, int count, RowBuffers* rows, int64_t* steps,
) noexcept nogil:
    """Write for some rows the distance to the nearest of the node's centers left of the row's value, less that on the
    right.

    picked: the slots of the rows, at most LANES.
    """
    cdef const int* center_codes = table.center_codes + feature * table.n_centers
    cdef const uint16_t* codes = slots.codes + feature * table.n_rows
    cdef int n_members = node.last_center - node.first_center, code, r, j
    cdef double weight, d, left, right, nearest
    list_members(centers, node, rows.members)
    _measure_picked(table, slots, node, picked, count, rows)
    for r in range(count):
        code = codes[picked[r]]
        left = right = INFINITY
        for j in range(n_members):
            d = rows.lane_distance[j * LANES + r]
            if center_codes[rows.members[j]] <= code:
                left = min(left, d)
            else:
                right = min(right, d)
        nearest = min(left, right)
        weight = 1.0 if slots.weight == NULL else slots.weight[picked[r]]
        steps[r] = in_units(weight * (left - nearest), fixed) - in_units(weight * (right - nearest), fixed)
