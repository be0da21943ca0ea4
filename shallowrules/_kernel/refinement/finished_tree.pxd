"""A finished tree: its leaves, their explanations and means, and the rows that they have."""

from shallowrules._kernel.refinement.state cimport Buffers, Effort, Rows, Stale, Tree, Walk, Work

cdef int list_leaves(const Tree* tree, Walk* walk, int node) noexcept nogil
cdef int mark_path(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil
cdef void forget_path(const Tree* tree, unsigned char* is_seen, int leaf) noexcept nogil
cdef int count_conditions(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil
cdef int threads_for_node(const Rows* rows, const Tree* tree, int n_threads, int node) noexcept nogil
cdef void enter(Tree* tree, int slot, int leaf) noexcept nogil
cdef void route_to_leaves(
    const Rows* rows, Tree* tree, int node, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil
cdef void mark_changed(Tree* tree, Py_ssize_t first, Py_ssize_t last) noexcept nogil
cdef void mark_unchanged(Tree* tree) noexcept nogil
cdef void gather_leaves(
    const Rows* rows, Tree* tree, Stale* stale, Walk* walk, Buffers* buffers, int n_threads, int node
) noexcept nogil
cdef double objective_below(const Tree* tree, Walk* walk, double condition_penalty, int node) noexcept nogil
cdef (double, double) figures_of(const Tree* tree, Walk* walk) noexcept nogil
cdef bint is_over(const Effort* effort) noexcept nogil
cdef void count_visit(Effort* effort, Py_ssize_t n_rows, Py_ssize_t n_features) noexcept nogil
cdef void mark_stale(const Tree* tree, Stale* stale, Walk* walk, int node, bint paths_changed) noexcept nogil
cdef void place_rows(Work* work) noexcept nogil
