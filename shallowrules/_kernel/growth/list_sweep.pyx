"""What each cut of each feature would cost (InducedCost), from one pass over a node's rows and their lists of nearest
centers.

A row contributes the distance to its nearest center c1 to every cut, except on the run of cuts that separates it from
c1: there it contributes the distance to the nearest center on its own side, a step function that changes only where a
nearer center changes side (Laber et al., section 4.2, do the same sum in O(k) per row). Only these steps are written,
as differences; a prefix sum over the codes then gives the induced cost of every cut. There are 1.02 to 1.3 steps per
row and feature on real and synthetic tables.

- A step at the row's own value goes to `tally`, by code, up and down apart, so that they bound what happens inside a
  bin. A step at a center goes to `center_step`, by center.
- Steps are integers, see `fixed_point`. Sums are then exact whatever their order, so that neither cancellation nor
  threads can change a tree.
- A row left of c1 and a row right of it are mirror images: codes are complemented for the latter (``~code`` reverses
  the order), so that one walk serves both.
- The first step of the walk over a row's list is taken without branches (`list_sweep.h`): a bit per listed center, set
  where the center is on the row's side of c1. Most rows need no other. Centers beyond a list are considered only if
  it is exhausted.
"""

from libc.stdint cimport int64_t, uint16_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint, in_units, llrint
from shallowrules._kernel.growth.nearest_lists cimport distance_to
from shallowrules._kernel.growth.state cimport (
    BLOCK, LIST_LENGTH, CenterOrder, Histograms, ListBuffers, NearestLists, Node, Slots, Table, Tally, highest_code,
    lowest_code
)
from shallowrules._kernel.shared.matrix cimport load_point
from shallowrules._kernel.shared.threads cimport Share

cdef extern from "growth/list_sweep.h" nogil:
    void sr_sides(
        const uint16_t* near, const uint16_t* codes, Py_ssize_t count, const int* center_codes,
        int low, int high, int* place, unsigned char* bits) noexcept
    Py_ssize_t sr_first_steps(
        const uint16_t* near, Py_ssize_t count, const int* center_codes, const int* place,
        const unsigned char* bits, const int64_t* values, Tally* tally, int64_t* center_step, int* rest) noexcept
    int sr_lowest_bit(unsigned int bits) noexcept


cdef struct Walk:
    # From a row's value towards its nearest center, codes complemented if that lies on the left.
    int feature
    int at              # code of the row
    int mirror          # 0, or -1 if codes are complemented
    int until           # code of `nearest`
    int nearest         # the center that changes side next


cdef int64_t _walk_beyond_list(
    const Table* table, const CenterOrder* centers, const Node* node, const FixedPoint* fixed, double weight,
    double first_distance, const double* point, const Walk* walk, int64_t* center_step,
) noexcept nogil:
    """Finish the walk of a row whose list is exhausted: the centers beyond the list, by coordinate.

    weight, first_distance: the row's, and its distance to its nearest center.

    Returns the row's own step, unsigned; writes the steps at centers to `center_step` unless it is NULL.
    """
    cdef Py_ssize_t k = table.n_centers, j
    cdef const int* codes = table.center_codes + walk.feature * k
    cdef const int* order = centers.order + walk.feature * k
    cdef Py_ssize_t direction = 1 if walk.mirror == 0 else -1
    cdef int center, code
    cdef double d, least = -1.0
    cdef int64_t value = 0, own = 0, next_value, sign = 1 if walk.mirror == 0 else -1
    cdef bint started = False
    j = node.first_center if walk.mirror == 0 else node.last_center - 1
    while True:
        center = order[j]
        code = codes[center] ^ walk.mirror
        if not code < walk.until:
            break
        if code > walk.at and not started:
            own = value = in_units(weight * (least - first_distance), fixed)
            started = True
        d = distance_to(table, point, center)
        if least < 0 or d < least:
            least = d
            if started:
                next_value = in_units(weight * (d - first_distance), fixed)
                if center_step != NULL:
                    center_step[center] += sign * (next_value - value)
                value = next_value
        j += direction
    if not started:
        own = value = in_units(weight * (least - first_distance), fixed)
    if center_step != NULL:
        center_step[walk.nearest] -= sign * value
    return own


cdef inline double _weight_of(const Slots* slots, Py_ssize_t slot) noexcept nogil:
    return 1.0 if slots.weight == NULL else slots.weight[slot]


cdef void _load_values(
    const Table* table, const Slots* slots, const NearestLists* lists, const FixedPoint* fixed, int64_t* value,
    Py_ssize_t begin, Py_ssize_t end,
) noexcept nogil:
    """Write the amount that each listed center of a block's rows adds. The first center adds 0; the row's weight is
    written in its place."""
    cdef Py_ssize_t slot
    cdef int j
    cdef double weight
    cdef const double* distance
    for slot in range(begin, end):
        distance = lists.distance + slot * LIST_LENGTH
        weight = _weight_of(slots, slot)
        value[0] = llrint(weight * table.weight_scale) if table.weighted else 0
        for j in range(1, LIST_LENGTH):
            value[j] = in_units(weight * (distance[j] - distance[0]), fixed)
        value += LIST_LENGTH


cdef inline int64_t _walk_list(
    const int* center_codes, const uint16_t* near, unsigned int bits, const int64_t* value, Walk* walk,
    int64_t* center_step,
) noexcept nogil:
    """Walk over a row's list and write the steps at centers; return the row's own step, -1 if the list ends before."""
    cdef int j, center, code
    cdef int64_t signed_value
    while bits:
        j = sr_lowest_bit(bits)
        bits &= bits - 1
        center = near[j]
        code = center_codes[center] ^ walk.mirror
        if not code < walk.until:
            continue
        signed_value = (value[j] ^ walk.mirror) - walk.mirror
        center_step[walk.nearest] -= signed_value
        if code <= walk.at:
            return value[j]
        center_step[center] += signed_value
        walk.nearest = center
        walk.until = code
    return -1


cdef void sweep_rows(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    Histograms* histograms, ListBuffers* buffers, const FixedPoint* fixed, Share share,
) noexcept nogil:
    """Add the steps of some slots to the histograms, block by block, feature by feature."""
    cdef Py_ssize_t n = table.n_rows, k = table.n_centers, n_codes = table.n_codes
    cdef Py_ssize_t begin = share.first, end, slot, f, i, r, n_rest, m = table.X_cluster.n_columns
    cdef int place
    cdef int64_t value
    cdef const int* center_codes
    cdef const uint16_t* near
    cdef Tally* tally
    cdef int64_t* weights
    cdef int64_t* center_step
    cdef int64_t* values = buffers.value
    cdef bint weighted = table.weighted, loaded
    cdef Walk walk
    while begin < share.last:
        end = min(begin + BLOCK, share.last)
        loaded = False  # the block's points: only walks beyond the lists need them
        _load_values(table, slots, lists, fixed, values, begin, end)
        for f in range(table.n_features):
            center_codes = table.center_codes + f * k
            tally = histograms.tally + f * n_codes
            weights = histograms.weight + f * n_codes
            center_step = histograms.center_step + f * k
            sr_sides(
                lists.near + begin * LIST_LENGTH, slots.codes + f * n + begin,
                end - begin, center_codes, lowest_code(table, centers, node, f),
                highest_code(table, centers, node, f), buffers.place, buffers.sides,
            )
            if weighted:
                for i in range(end - begin):
                    weights[buffers.place[i]] += values[i * LIST_LENGTH]
            n_rest = sr_first_steps(
                lists.near + begin * LIST_LENGTH, end - begin, center_codes, buffers.place,
                buffers.sides, values, tally, center_step, buffers.rest,
            )
            for r in range(n_rest):
                i = buffers.rest[r]
                place = buffers.place[i]
                near = lists.near + (begin + i) * LIST_LENGTH
                walk.feature = <int>f
                walk.nearest = near[0]
                walk.mirror = -(place > center_codes[near[0]])
                walk.at = place ^ walk.mirror
                walk.until = center_codes[near[0]] ^ walk.mirror
                value = _walk_list(
                    center_codes, near, buffers.sides[i], values + i * LIST_LENGTH, &walk, center_step
                )
                if value < 0:
                    if not loaded:
                        for slot in range(begin, end):
                            load_point(&table.X_cluster, slots.row[slot], buffers.points + (slot - begin) * m)
                        loaded = True
                    value = _walk_beyond_list(
                        table, centers, node, fixed, _weight_of(slots, begin + i),
                        lists.distance[(begin + i) * LIST_LENGTH], buffers.points + i * m, &walk, center_step,
                    )
                if walk.mirror:
                    tally[place].step_down += value
                else:
                    tally[place].step_up += value
        begin = end


cdef int64_t listed_step(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    const FixedPoint* fixed, int feature, Py_ssize_t slot, double* point,
) noexcept nogil:
    """Return the amount that a row adds to the induced cost of the cuts from its value on; point: [m], of the row."""
    cdef const int* center_codes = table.center_codes + feature * table.n_centers
    cdef const uint16_t* near = lists.near + slot * LIST_LENGTH
    cdef const double* distance = lists.distance + slot * LIST_LENGTH
    cdef int place = slots.codes[feature * table.n_rows + slot], j, code
    cdef double weight = _weight_of(slots, slot)
    cdef int64_t value
    cdef Walk walk
    walk.feature = feature
    walk.nearest = near[0]
    walk.mirror = -(place > center_codes[near[0]])
    walk.at = place ^ walk.mirror
    walk.until = center_codes[near[0]] ^ walk.mirror
    if walk.at == walk.until:
        return 0
    for j in range(1, LIST_LENGTH):
        code = center_codes[near[j]] ^ walk.mirror
        if code < walk.until:
            if code <= walk.at:
                value = in_units(weight * (distance[j] - distance[0]), fixed)
                return (value ^ walk.mirror) - walk.mirror
            walk.until = code
            walk.nearest = near[j]
    load_point(&table.X_cluster, slots.row[slot], point)
    value = _walk_beyond_list(table, centers, node, fixed, weight, distance[0], point, &walk, NULL)
    return (value ^ walk.mirror) - walk.mirror
