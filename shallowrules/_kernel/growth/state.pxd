"""The state that the parts of growing share: the table in codes, the data of slots, the nodes, a thread's scratch
memory.

A slot is a place in the arrays that have an entry per row. Rows move between slots when a node is partitioned, so that
the slots of a node are contiguous. Centers are kept alike: per feature, those of a node are contiguous and ascending.
"""

from libc.stdint cimport int64_t, uint16_t

from shallowrules._kernel.growth.depth cimport DepthPlan
from shallowrules._kernel.shared.interrupts cimport Progress
from shallowrules._kernel.shared.matrix cimport Matrix
from shallowrules._kernel.shared.threads cimport CHUNK

cdef enum:
    BLOCK = 256             # rows that are swept together
    DENSE_BLOCK = 1024      # the same for bounds, at most: each reads the histograms of all features once
    LANES = 16              # rows whose distances are taken together, SR_LANES of lanes.h
    MAX_RUNS = 16           # runs of cuts listed at a node; if there are more, its rows are summed exactly instead
    LEAF = -1               # as a node's feature
    UNUSED_PLACE = -2
    NOT_CUT_YET = -3


cdef struct Table:
    # Constant: what is cut, and the centers.
    Matrix X_explain
    Matrix X_cluster
    Py_ssize_t n_rows           # distinct rows of positive weight: the number of slots
    int n_features
    int n_centers
    int n_codes
    const double* cluster_centers       # [k, m]
    const double* explain_centers       # [k, d]
    const int* center_codes             # [d, k]
    const unsigned char* single_valued  # [d, n_codes] whether all rows with this code have the same value
    const unsigned char* path_sides     # [d] of the path to the root, see `ScanBuffers`; NULL if it has no edge
    bint weighted
    double total_weight
    double weight_scale         # fixed point of the weights


cdef struct Slots:
    # By slot.
    int* row                    # row of the table
    uint16_t* codes             # [d, n]
    double* weight              # NULL if all are equal
    int* assigned               # each row's center, -1 once a cut separated them; NULL unless the tree is IMM's
    double* distance            # [n_distances, n] squared distances to some centers, see `keeps_distances`
    int* distance_place         # [k] which of them a center's are
    int n_distances             # 0: none are kept
    unsigned char* side         # where the cut being made sends the row: 1 is left
    int* swap_left              # [n / 2 + 1] slots to exchange when a node's rows are partitioned
    int* swap_right


cdef struct CenterOrder:
    const int* sorted           # [d, k] all centers by coordinate
    int* order                  # [d, k] the same, but a node's are contiguous
    unsigned char* side         # [k] where the last cut sent the center: 1 is left


cdef struct Cut:
    double objective
    int feature
    int code                    # rows and centers up to this code go left
    bint inside                 # of this code only rows up to `value`
    double value


cdef struct Node:
    int parent
    bint is_left
    Py_ssize_t first, last      # its rows: slots first .. last - 1
    Py_ssize_t last_counted     # rows from here on are not counted in costs: IMM leaves out mistaken rows
    int first_center, last_center
    double cost                 # CurrentCost
    bint has_distances          # its rows' distances to its centers stand in slots.distance
    int feature                 # LEAF, UNUSED_PLACE, NOT_CUT_YET or what it is cut by
    int left, right
    int center                  # a leaf's
    double cut, lower, upper
    Cut planned_cut             # ExKMC: chosen but not made
    double gain                 # ExKMC: by how much the planned cut lowers the surrogate cost


cdef struct State:
    # The whole state of a growth. It goes to the functions that drive a node: choosing its cuts, cutting it, preparing
    # it. The functions that those call get only the parts that they read.
    Table table
    Slots slots
    CenterOrder centers
    Node* nodes
    double* chunk_cost          # [n / CHUNK + k + 1] current costs of a node's chunks, see `costs_of_node`
    Progress progress


cdef inline bint keeps_distances(const Slots* slots, const Node* node) noexcept nogil:
    """Return whether a node's distances should be stored as they are computed, for the nodes below it."""
    return not node.has_distances and node.last_center - node.first_center <= slots.n_distances


cdef inline double* distances_to(const Table* table, const Slots* slots, int center) noexcept nogil:
    """Return where the distances of all slots to a center are kept."""
    return slots.distance + slots.distance_place[center] * table.n_rows


cdef inline bint is_imm(const Slots* slots) noexcept nogil:
    return slots.assigned != NULL


cdef inline double* costs_of_node(double* chunk_cost, const Node* node) noexcept nogil:
    """Return where the costs of the node's chunks go: no two nodes without a common row share a place."""
    return chunk_cost + node.first // CHUNK + node.first_center


cdef inline Py_ssize_t chunks_of(const Node* node) noexcept nogil:
    """Return the number of chunks that a node's rows are in."""
    return (node.last - node.first + CHUNK - 1) // CHUNK


cdef inline int lowest_code(
    const Table* table, const CenterOrder* centers, const Node* node, Py_ssize_t f
) noexcept nogil:
    """Return the code of the node's lowest center on a feature. Rows below it are counted there."""
    cdef Py_ssize_t k = table.n_centers
    return table.center_codes[f * k + centers.order[f * k + node.first_center]]


cdef inline int highest_code(
    const Table* table, const CenterOrder* centers, const Node* node, Py_ssize_t f
) noexcept nogil:
    """Return the code of the node's highest center on a feature. Rows above it are counted there."""
    cdef Py_ssize_t k = table.n_centers
    return table.center_codes[f * k + centers.order[f * k + node.last_center - 1]]


cdef extern from "growth/dense_sweep.h" nogil:
    ctypedef struct Tally "sr_tally":
        # The rows of one code.
        int64_t step_up         # what they add to the induced cost of the cuts from their own value on
        int64_t step_down       # what they subtract from it
        int64_t rows


cdef struct Item:
    # A row of a bin whose cuts are evaluated one by one.
    double value                # in the explained column
    int64_t step                # what it adds to the induced cost of the cuts from its value on
    int64_t weight
    int64_t rows                # distinct rows of this value; those of a table in parts are one item
    int code


cdef struct Prefix:
    # The sums left of a cut, or before a bin.
    int code
    int n_left                  # centers
    Py_ssize_t rows_left
    int64_t weight_left
    int64_t induced             # sum of the steps


cdef struct CutRun:
    # Cuts of a feature between two neighboring centers, the best of which may be the node's best.
    int feature
    Prefix before               # what lies left of them all: rows up to its code
    bint starts_with_cut        # and whether that is the first of them
    int last                    # code of the last
    Py_ssize_t n_rows           # between the first and the last


cdef struct Histograms:
    # Sums of rows, and of the steps of the induced cost, by code and by center.
    Tally* tally                # [d, n_codes]
    int64_t* weight             # [d, n_codes]; NULL if all weights are equal
    int64_t* center_step        # [d, k]


cdef struct RowBuffers:
    # The distances of a few rows to the node's centers.
    double* point               # [m] one row
    double* lanes               # [m, LANES]
    double* lane_distance       # [k, LANES]
    int* members                # [k] the node's centers, in the order of the first feature


cdef struct DenseBuffers:
    # K is the number of the node's centers.
    int* place                  # [DENSE_BLOCK] code of each row, clipped to the node's centers
    int* member_place           # [k] place of a center in `members`
    int* at                     # [d, K] place in `members` of each center in the order of each feature
    int* edge                   # [d, K] its code
    int* units                  # [rows of a block / LANES, k, LANES] added cost of each center, for bounds
    int* right                  # [k, LANES] scratch of the sweep
    int* sums                   # [d, k, LANES]
    int* own                    # [DENSE_BLOCK] a row's own step
    bint capped                 # some row's added cost was cut off at what a bound can hold
    int64_t* exact_units        # [k, LANES]
    int64_t* exact_right        # [k, LANES] scratch of the sweep
    int64_t* exact_sums         # [k, LANES]


cdef struct ScanBuffers:
    unsigned char* path_sides   # [d] bit 0: the path has a left edge of the feature; bit 1: a right one
    Item* items                 # [capacity]
    Py_ssize_t capacity
    Prefix* bins                # [n_codes] bins to open, and what lies before each
    int* opened                 # [n_codes] 1 + place of the code in `bins`, or 0
    CutRun runs[MAX_RUNS]
    int n_runs                  # MAX_RUNS + 1: not all were listed
    DepthPlan plan


cdef struct FeatureResults:
    # By feature.
    double* unit_scale          # units per unit of cost in the feature's histograms
    unsigned char* exact        # whether they are exact
    double* bound               # no cut of the feature has a lower objective
    unsigned char* searched     # whether the lowest objective of the feature is known
    double* best                # lowest objective of the feature, infinity if it was not searched for


cdef struct Worker:
    int* stack                  # nodes to do
    double done                 # work of this thread, see `nodes.work_below`
    double unpolled             # codes visited since it last polled interrupts


cdef struct Scratch:
    # A thread's.
    Histograms histograms
    RowBuffers rows
    DenseBuffers dense
    ScanBuffers scan
    FeatureResults features
    Worker worker
