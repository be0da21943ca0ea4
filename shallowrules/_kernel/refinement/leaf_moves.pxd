"""Moving leaves of a finished tree."""

from shallowrules._kernel.refinement.state cimport BIN_SHIFT, Buffers, CodeRange, Rows, Stale, Tree, Walk, Work

cdef enum:
    SPLIT_BINS = 64     # bins between which a leaf may be cut


cdef inline int split_bin(const Rows* rows, const CodeRange* codes, int slot, Py_ssize_t f) noexcept nogil:
    """Return which of SPLIT_BINS equal parts of the range of codes a row is in."""
    return <int>((rows.codes[slot * rows.n_features + f] - codes.low[f]) * codes.bins_per_code[f] >> BIN_SHIFT)


cdef void find_codes(const Rows* rows, const Tree* tree, int leaf, CodeRange* codes) noexcept nogil
cdef bint is_below(const Tree* tree, int node, int above) noexcept nogil
cdef void take_away(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int leaf
) noexcept nogil
cdef void cut_in_two(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int leaf, int feature,
    double value, int left, int right,
) noexcept nogil
cdef void evaluate_moves(Work* work) noexcept nogil
cdef bint exchange_leaves(Work* work, int gone, int cut) noexcept nogil
cdef double move_leaf(Work* work, double least) noexcept nogil
