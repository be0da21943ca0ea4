"""What rows add to the cuts before a few runs, where bounds of 16 bits leave a doubt between these.

A row adds nothing to a cut that leaves it with its nearest center, and which that is the bounding sweep has written
down (`Slots.nearest`). So the bound of a cut is off by the rows alone that it parts from theirs, and by the few whose
nearest center is not known: to count them often ends the doubt. To sum exactly, only they are measured. The sums are
those of `dense_sweep.sum_rows`, unit for unit.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from shallowrules._kernel.growth.dense_sweep cimport MAX_DENSE, measure_picked
from shallowrules._kernel.growth.fixed_point cimport FixedPoint, in_units
from shallowrules._kernel.growth.nearest_lists cimport list_members
from shallowrules._kernel.growth.state cimport (
    BLOCK, LANES, CenterOrder, CutRun, Node, RowBuffers, ScanBuffers, Slots, Table
)
from shallowrules._kernel.shared.matrix cimport prefetch_one
from shallowrules._kernel.shared.threads cimport Share

cdef extern from "growth/code_scan.h" nogil:
    void sr_mark_left(const uint16_t* codes, Py_ssize_t count, uint16_t last, uint16_t mark, uint16_t* left) noexcept
    Py_ssize_t sr_count_bits(const uint16_t* sets, Py_ssize_t count, int bit) noexcept

cdef extern from "growth/narrow_sweep.h" nogil:
    enum: UNSURE "SR_UNSURE"

cdef enum:
    ALL_RUNS = 0xFFFF       # sets of runs are bits, MAX_RUNS of them


cdef struct Parted:
    # Rows that a cut parts from their nearest center, or may part.
    Py_ssize_t slots[LANES]
    uint16_t left[LANES]        # the runs on whose left side the row is
    uint16_t runs[LANES]        # those whose cuts part it
    int count


cdef void _add_parted(
    const Table* table, const Slots* slots, const Node* node, RowBuffers* rows, const FixedPoint* fixed,
    ScanBuffers* scan, const uint16_t* center_left, const Parted* parted,
) noexcept nogil:
    """Add what up to 16 rows add to the cuts that part them; center_left: the runs on whose left side a center is."""
    cdef int n_members = node.last_center - node.first_center, run, r, j
    cdef uint16_t concerned = 0
    cdef double weight
    cdef double sides[2][LANES]
    cdef double* side
    cdef const double* distance
    measure_picked(table, slots, node, parted.slots, parted.count, rows)
    for r in range(parted.count):
        concerned |= parted.runs[r]
    for run in range(scan.n_runs):
        if not concerned >> run & 1:
            continue
        for r in range(LANES):
            sides[0][r] = sides[1][r] = INFINITY
        for j in range(n_members):
            distance = rows.lane_distance + j * LANES
            side = sides[center_left[j] >> run & 1]
            for r in range(LANES):
                side[r] = distance[r] if distance[r] < side[r] else side[r]
        for r in range(parted.count):
            if parted.runs[r] >> run & 1:
                weight = 1.0 if slots.weight == NULL else slots.weight[parted.slots[r]]
                scan.run_sums[run] += in_units(
                    weight * (sides[parted.left[r] >> run & 1][r] - min(sides[0][r], sides[1][r])), fixed
                )


cdef void _mark_centers(
    const Table* table, const CenterOrder* centers, const Node* node, RowBuffers* rows, const ScanBuffers* scan,
    uint16_t* center_left,
) noexcept nogil:
    """List the node's centers in rows.members, and write the runs on whose left side each is to `center_left`."""
    cdef Py_ssize_t k = table.n_centers
    cdef int run, j
    cdef const CutRun* of_run
    list_members(centers, node, rows.members)
    memset(center_left, 0, MAX_DENSE * sizeof(uint16_t))
    for run in range(scan.n_runs):
        of_run = &scan.runs[run]
        for j in range(node.last_center - node.first_center):
            if table.center_codes[of_run.feature * k + rows.members[j]] <= of_run.before.code:
                center_left[j] |= 1 << run


cdef void _mark_rows(
    const Table* table, const Slots* slots, const ScanBuffers* scan, const uint16_t* center_left, Share block,
    uint16_t* left, uint16_t* runs,
) noexcept nogil:
    """Write to `left` the runs on whose left side each row of a block is, to `runs` those whose cuts may part it."""
    cdef Py_ssize_t n = block.last - block.first, i
    cdef int run
    cdef const CutRun* of_run
    memset(left, 0, n * sizeof(uint16_t))
    for run in range(scan.n_runs):
        of_run = &scan.runs[run]
        sr_mark_left(
            slots.codes + of_run.feature * table.n_rows + block.first, n, of_run.before.code, 1 << run, left
        )
    for i in range(n):
        runs[i] = ALL_RUNS
        if slots.nearest[block.first + i] != UNSURE:
            runs[i] = left[i] ^ center_left[slots.nearest[block.first + i]]


cdef void count_parted(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    ScanBuffers* scan, Share share,
) noexcept nogil:
    """Write how many rows of some slots the cuts before scan.runs may part from their nearest center to scan.n_parted.

    share: the slots. Their nearest centers are known, see `bounding`.
    """
    cdef int run
    cdef uint16_t center_left[MAX_DENSE]
    cdef uint16_t left[BLOCK]
    cdef uint16_t runs[BLOCK]
    cdef Share block = Share(share.first, share.first)
    _mark_centers(table, centers, node, rows, scan, center_left)
    memset(scan.n_parted, 0, scan.n_runs * sizeof(Py_ssize_t))
    while block.first < share.last:
        block.last = min(block.first + BLOCK, share.last)
        _mark_rows(table, slots, scan, center_left, block, left, runs)
        for run in range(scan.n_runs):
            scan.n_parted[run] += sr_count_bits(runs, block.last - block.first, run)
        block.first = block.last


cdef void sum_before_runs(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    const FixedPoint* fixed, ScanBuffers* scan, Share share,
) noexcept nogil:
    """Write what some slots add to the cuts before scan.runs, of a dense node, to scan.run_sums.

    share: the slots. Their nearest centers are known, see `bounding`.
    """
    cdef Py_ssize_t slot
    cdef uint16_t center_left[MAX_DENSE]
    cdef uint16_t left[BLOCK]
    cdef uint16_t runs[BLOCK]
    cdef Share block = Share(share.first, share.first)
    cdef Parted parted
    _mark_centers(table, centers, node, rows, scan, center_left)
    memset(scan.run_sums, 0, scan.n_runs * sizeof(int64_t))
    parted.count = 0
    while block.first < share.last:
        block.last = min(block.first + BLOCK, share.last)
        _mark_rows(table, slots, scan, center_left, block, left, runs)
        for slot in range(block.first, block.last):
            if not runs[slot - block.first]:
                continue
            if not node.has_distances:
                prefetch_one(&table.X_cluster, slots.row[slot])
            parted.slots[parted.count] = slot
            parted.left[parted.count], parted.runs[parted.count] = left[slot - block.first], runs[slot - block.first]
            parted.count += 1
            if parted.count == LANES:
                _add_parted(table, slots, node, rows, fixed, scan, center_left, &parted)
                parted.count = 0
        block.first = block.last
    if parted.count:
        _add_parted(table, slots, node, rows, fixed, scan, center_left, &parted)
