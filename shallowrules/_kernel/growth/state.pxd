"""What the parts of the builder share: the table in codes, the tree so far, a thread's scratch."""

from libc.stdint cimport int64_t, uint16_t, uint64_t

from shallowrules._kernel.growth.depth cimport DepthPlan
from shallowrules._kernel.shared.matrix cimport Matrix
from shallowrules._kernel.shared.threads cimport CHUNK

cdef enum:
    LIST = 8            # nearest centers that a row keeps
    SHORTEST = 3        # a list below this is filled again
    BLOCK = 256         # rows resolved together
    LANES = 16
    MOST_STRETCHES = 16     # listed at a node; where there are more, its rows are summed exactly instead
    UNUSED = -2         # features of places that hold no node, or one that is not cut yet
    TO_DO = -3
    BITS_OF_SUM = 61    # of costs in fixed point
    BITS_OF_ROW = 50    # so that doubles round what one row adds


cdef struct Item:
    # A row in a bin that is looked at exactly.
    double value        # in the explained column
    int64_t event       # what it adds to the induced cost of the cuts from its value on
    int64_t weight
    int code


cdef struct FixedPoint:
    # How costs become integers at a node.
    double scale                # units per unit of cost
    double cap                  # most units that one row may add
    double reach                # prices up to 1 + reach are exact; infinity where nothing is capped


cdef struct Bin:
    # A bin that may hold the best cut, and what lies before it.
    int code
    int n_left                  # centers
    Py_ssize_t rows_left
    int64_t weight_left
    int64_t induced             # events so far


cdef struct Stretch:
    # Cuts of a feature between two neighboring centers, the best of which may be the node's best.
    int feature
    Bin before                  # what lies left of them all: rows up to its code
    bint starts_with_cut        # and whether that is the first of them
    int last                    # code of the last
    Py_ssize_t n_rows           # between the first and the last


cdef struct Cut:
    double objective
    int code                    # rows and centers up to this code go left
    bint inside                 # of this code only rows up to `value`
    double value


cdef struct Node:
    int parent
    bint is_left
    Py_ssize_t first, last      # its rows: slots first .. last - 1
    Py_ssize_t counted          # of which those before `counted` are priced: IMM leaves out mistaken rows
    int first_center, last_center
    double cost                 # CurrentCost
    int feature                 # -1: a leaf; -2: an unused place; -3: not done yet
    int left, right
    int center                  # a leaf's
    double cut, lower, upper
    Cut offer                   # a cut that is chosen but not made, of feature `offered`
    int offered
    uint64_t tradeoffs          # of a forest: whose trees have this node, a bit for each
    int sibling                 # the same rows and centers, cut differently; -1: no more
    double gain                 # by how much it lowers the surrogate cost


cdef struct State:
    # Constant: the table.
    Matrix explained
    Matrix clustered
    Py_ssize_t n_rows           # distinct rows of positive weight: the slots
    int n_features
    int n_centers
    int n_codes
    const double* centers       # [k, m] in the space of the distances
    const double* explained_centers     # [k, d]
    const int* center_codes     # [d, k]
    const unsigned char* single         # [d, n_codes] all rows with this code have one value
    int n_bins                  # ExKMC's
    const int* bin_of           # [d, n_codes] bin of a code: bins keep the order of codes
    const unsigned char* single_bin     # [d, B] all rows in this bin have one value
    bint weighted
    double total_weight
    double weight_scale         # fixed point of the weights
    const double* tradeoffs
    double tradeoff             # the one that is priced at the moment
    int instructions            # which version of the vectorised code to use
    int dense_limit             # nodes of at most so many centers keep no lists
    # By slot; rows move when a node is split, so that a node's rows are contiguous.
    int* row                    # row of the table
    int* codes                  # [d, n]
    double* weight              # or NULL
    int* assigned               # [n] each row's center, -1 once a cut separated them; NULL: not IMM
    uint16_t* near              # [n, LIST] nearest centers of the row's node, then the first; NULL: no lists
    double* distance            # [n, LIST] squared distances, alike
    unsigned char* length       # [n] how many are listed
    unsigned char* side         # [n] where the cut being made sends the row: 1 is left
    double* chunk_cost          # [n / CHUNK + k + 1] current costs of a node's chunks, see `chunk_place`
    # The tree.
    Node* nodes
    const int* sorted_centers   # [d, k] all centers by coordinate
    int* order                  # [d, k] the same, but a node's contiguous
    unsigned char* center_side  # [k] where the last cut sent the center: 1 is left
    # Watching: see `builder._watch`.
    void* report                # a Python callable or None
    void* failures              # a list, of the exception that ends the work
    bint stopped
    int* swap_left              # [n / 2 + 1] slots to exchange when a node's rows are partitioned
    int* swap_right


cdef inline bint is_dense(const State* state, const Node* node) noexcept nogil:
    return node.last_center - node.first_center <= state.dense_limit


cdef inline double* chunk_place(const State* state, const Node* node) noexcept nogil:
    """Return where the costs of the node's chunks go: no two nodes without a common row share a place."""
    return state.chunk_cost + node.first // CHUNK + node.first_center


cdef extern from "growth/list_sweep.h" nogil:
    ctypedef struct Tally "sr_tally":
        # The rows of one code.
        int64_t added           # what they add to the cuts from their own value on
        int64_t removed         # what they take away there
        int64_t rows


cdef struct Scratch:
    Tally* tally                # [d, n_codes] rows by code
    int64_t* weight             # [d, n_codes] or NULL
    int64_t* event              # [d, k] events at centers
    int64_t* value              # [BLOCK, LIST] added cost of each listed center, fixed point
    int* place                  # [BLOCK] code of each row, clipped to the node's centers
    unsigned char* sides        # [BLOCK] which listed centers are on the row's side of its nearest
    int* rest                   # [BLOCK] rows whose walk takes more than a step
    double* point               # [m] one row
    double* points              # [BLOCK, m] a block's rows
    double* lanes               # [m, LANES]
    double* lane_distance       # [k, LANES]
    int* members                # [k] the node's centers by number
    int* pending                # [LANES] slots whose lists wait to be filled
    unsigned char* killer       # [d] bit 0: a left edge of the feature is on the path; bit 1: a right one
    double* unit_scale          # [d] units per unit of cost in the feature's histograms
    unsigned char* exact        # [d] whether they are exact
    double* bound               # [d] no cut of the feature has a lower objective
    unsigned char* searched     # [d] whether the lowest objective of the feature is known
    double* best                # [d] lowest objective of the feature, infinity where it was not looked for
    Item* items                 # [capacity]
    Py_ssize_t capacity
    Bin* bins                   # [n_codes]
    int* opened                 # [n_codes] 1 + place of the code in `bins`, or 0
    Stretch stretches[MOST_STRETCHES]
    int n_stretches             # more than there is room for: not all were listed
    int* stack                  # [2 k] nodes to do
    double done                 # work of this thread, see `builder._work`
    double unreported           # codes that it swept since it last looked up
    # For dense nodes, M their largest number of centers.
    int* member_place           # [k] place of a center in `members`
    int* at                 # [M] place in `members` of each center in the order of a feature
    int* edge               # [M] its code
    int* units              # [BLOCK / LANES, M, LANES] added cost of each center, for bounds
    int* sums               # [d, M, LANES]
    int* own                # [BLOCK] what a row adds from its own value on
    bint capped             # some row's added cost was cut off at what a bound can hold
    int64_t* exact_units        # [M, LANES]
    int64_t* exact_sums         # [M, LANES]
    # For ExKMC, B the number of its bins.
    int64_t* bin_costs          # [d, B, k] cost of a bin's rows with each center
    int* bin_rows               # [d, B]
    int64_t* center_costs       # [LANES, k] of a few rows
    int64_t* left_costs         # [k]
    int64_t* inside_costs       # [k]
    double* cost_of             # [k]
    int64_t* all_costs          # [k]
    DepthPlan plan
