"""A finished tree that is being improved, and the table that it is improved on.

A slot is a place in the arrays of the rows; `order` lists the slots so that those of a node are contiguous.
"""

from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from shallowrules._kernel.shared.interrupts cimport Progress
from shallowrules._kernel.shared.matrix cimport Matrix, entry, values_of_row

cdef enum:
    BIN_SHIFT = 20

cdef extern from "refinement/code_sums.h" nogil:
    const int GROUP "SR_GROUP"      # features whose codes are scanned side by side
    void sr_widen_ranges(const uint16_t* codes, Py_ssize_t n_features, uint16_t* low, uint16_t* high) noexcept

cdef extern from *:
    """
    #define SR_MIN_GAIN 1e-9    /* of the objective: less is not worth a change */
    """
    const double MIN_GAIN "SR_MIN_GAIN"


cdef struct Rows:
    # Constant: the table.
    Matrix X_explain
    Matrix X_cluster
    Py_ssize_t n_features, n_columns        # of these
    int n_codes
    const uint16_t* codes                   # [r, d]
    const unsigned char* single_valued      # [d, n_codes] whether all rows of a code have the same value
    const int* row                          # row of the table, by slot
    const double* weight                    # by slot, or NULL
    double condition_penalty                # what a condition costs for a unit of weight


cdef struct Tree:
    int n_nodes
    int n_clusters              # 0: each leaf is a cluster; otherwise leaves of one center form one, around one mean
    # By node.
    int* feature                # -1: a leaf
    int* left
    int* right
    int* parent
    int* center                 # of leaves
    double* cut
    Py_ssize_t* first           # a node's rows are those of order[first:last]
    Py_ssize_t* last
    double* mean                # [n_nodes, m] of leaves, that of their cluster
    double* mass                # weight of leaves
    double* sum_of_squares      # of the distances of a leaf's rows to this mean
    unsigned char* is_measured  # of leaves: 0 if rows came or went since their mean was found
    # By row.
    int* order                  # slots
    int* leaf                   # by slot
    double* own_distance        # by slot: squared distance to the mean of the cluster
    # Between these places of `order` rows may have changed: their order, leaves and distances.
    Py_ssize_t changed_first
    Py_ssize_t changed_last


cdef struct Stale:
    # [n_nodes] whether something changed since an inner node was recut; for a leaf, since the cost of removing it and
    # its best split were found.
    unsigned char* cut
    unsigned char* removal
    unsigned char* split


cdef struct Walk:
    # Buffers for walking in the tree.
    int* leaves                 # [n_nodes]
    int* stack                  # [n_nodes + 1]
    unsigned char* is_seen      # [2 d] by feature and direction; all 0 between uses


cdef struct CodeRange:
    # [n_groups * GROUP] codes of a node's rows.
    uint16_t* low
    uint16_t* high
    int64_t* bins_per_code      # where they are put into equal bins, times 2^BIN_SHIFT


cdef struct Buffers:
    # Shared by recutting and moving leaves.
    int* swap                   # [r]
    double* delta               # [r] by place in `order`
    int* n_conditions           # [n_nodes] of a leaf's explanation
    int64_t* count              # [n_nodes]
    double* point               # [n_threads, m]
    CodeRange codes


cdef struct Terms:
    # [n_groups, n_codes, GROUP] extra cost of the rows of a code on the left; all 0 between uses.
    double* as_is
    double* swapped             # the same for swapped subtrees; for free features it is as_is, negated


cdef struct Move:
    double objective
    int feature                 # -1: none
    int code                    # rows up to it go left
    bint swapped                # the subtrees change sides
    double value                # rows up to it go left, once it is known


cdef struct TermAt:
    double value
    double term


cdef struct EdgePenalty:
    # [n_nodes, d] penalty that an edge of a node would have at a leaf below, as a left edge and as a right one.
    double* left
    double* right


cdef struct RecutBuffers:
    int* other                  # [r] leaf of a row through the subtree that it is not in, by place in `order`
    EdgePenalty penalty
    double* mass_left           # [n_nodes] weight of a node's rows by their leaf through the left subtree
    double* mass_right
    int64_t* is_charged         # [n_groups * GROUP] -1 where a leaf below has a condition on the feature, else 0
    int* free                   # [d] the features on which none has: all leaves pay the same for the node's edge
    int* charged                # [d] the others
    int n_free
    int n_charged
    Terms terms
    double* base                # [n_groups, 2, GROUP] cost of a node's rows if all go right, as is and swapped
    double* lowest              # [n_groups, 2, GROUP] and the lowest with a cut of the feature
    TermAt* items               # [r]


cdef struct MoveBuffers:
    double* removal             # [n_nodes] by how much the objective rises if the leaf goes
    Move* split                 # [n_nodes] the same, usually below 0, if the leaf is cut in two
    double* sums                # [n_sums]
    Py_ssize_t n_sums
    double* axis                # [2, m]
    double* difference          # [m]
    double* terms               # [r, m + 1 + n_clusters] of the rows of a leaf that may be cut for two clusters
    double* score               # [d]
    int* picked                 # [d]
    int* ranked                 # [n_nodes]


cdef enum:
    # The figure that a goal bounds; the other one is minimized.
    NO_GOAL = 0
    BOUNDED_LENGTH = 1
    BOUNDED_COST = 2


cdef struct Goal:
    int kind
    double bound                # of the bounded figure: conditions per row, or cost / reference cost
    double cost_unit            # the reference cost, as it is summed here
    double weight_unit          # the weight of all rows


cdef struct GoalBuffers:
    double* terms               # [d, n_codes, 3] what the rows of a code add on the left: cost, conditions, and swapped
    double* lowest              # [d] the lowest objective with a cut of a feature
    int* code                   # [d] where it is
    unsigned char* swapped      # [d] and whether the subtrees change sides


cdef struct Effort:
    double rows_visited
    double max_rows
    double unpolled             # rows x features since interrupts were polled
    Progress progress


cdef struct Work:
    # It goes whole to the functions that drive all passes, recut a node or move a leaf.
    Rows rows
    Tree tree
    Stale stale
    Walk walk
    int n_threads
    Effort effort
    Buffers buffers
    RecutBuffers recut
    MoveBuffers moves
    Goal goal
    GoalBuffers within


cdef inline Py_ssize_t n_groups(const Rows* rows) noexcept nogil:
    """Return how many groups of `GROUP` features there are."""
    return (rows.n_features + GROUP - 1) // GROUP


cdef inline void clear_ranges(const Rows* rows, CodeRange* codes) noexcept nogil:
    """Make the range of codes empty, for all features and the unused places of the last group."""
    memset(codes.low, 0xFF, n_groups(rows) * GROUP * sizeof(uint16_t))
    memset(codes.high, 0, n_groups(rows) * GROUP * sizeof(uint16_t))


cdef inline const uint16_t* codes_at(const Rows* rows, const Tree* tree, Py_ssize_t at) noexcept nogil:
    """Return the codes of the row at a place of the order."""
    return rows.codes + tree.order[at] * rows.n_features


cdef inline void find_ranges(const Rows* rows, const Tree* tree, int node, CodeRange* codes) noexcept nogil:
    """Find the range of codes of a node's rows, by feature."""
    cdef Py_ssize_t at
    clear_ranges(rows, codes)
    for at in range(tree.first[node], tree.last[node]):
        sr_widen_ranges(codes_at(rows, tree, at), rows.n_features, codes.low, codes.high)


cdef inline double weight_of(const Rows* rows, int slot) noexcept nogil:
    return 1.0 if rows.weight == NULL else rows.weight[slot]


cdef inline bint goes_left(const Rows* rows, const Tree* tree, int node, int slot) noexcept nogil:
    return entry(&rows.X_explain, rows.row[slot], tree.feature[node]) <= tree.cut[node]


cdef inline int descend(const Rows* rows, const Tree* tree, int node, int slot) noexcept nogil:
    while tree.feature[node] >= 0:
        node = tree.left[node] if goes_left(rows, tree, node, slot) else tree.right[node]
    return node


cdef inline double squared_distance(const double* point, const double* mean, Py_ssize_t m) noexcept nogil:
    """Sum squared differences, four sums side by side."""
    cdef Py_ssize_t j = 0
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, gap
    while j + 4 <= m:
        gap = point[j] - mean[j]
        a += gap * gap
        gap = point[j + 1] - mean[j + 1]
        b += gap * gap
        gap = point[j + 2] - mean[j + 2]
        c += gap * gap
        gap = point[j + 3] - mean[j + 3]
        d += gap * gap
        j += 4
    while j < m:
        gap = point[j] - mean[j]
        a += gap * gap
        j += 1
    return (a + b) + (c + d)


cdef inline const double* point_of(const Rows* rows, int slot, double* buffer) noexcept nogil:
    """Return a row in the clustered space: in place, or copied to `buffer`."""
    return values_of_row(&rows.X_cluster, rows.row[slot], buffer)
