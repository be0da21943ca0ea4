"""A finished tree: its leaves, their explanations and means, and the rows that they have."""

from shallowrules._kernel.refinement.state cimport Buffers, Tree, Work

cdef int list_leaves(const Tree* tree, Buffers* buffers, int node) noexcept nogil
cdef int mark_path(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil
cdef void forget_path(const Tree* tree, unsigned char* is_seen, int leaf) noexcept nogil
cdef int count_conditions(const Tree* tree, unsigned char* is_seen, int leaf, int without) noexcept nogil
cdef int threads_for_node(const Work* work, int node) noexcept nogil
cdef void route_to_leaves(Work* work, int node, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
cdef void gather_leaves(Work* work, int node) noexcept nogil
cdef double objective_below(Work* work, int node) noexcept nogil
cdef void count_visit(Work* work, int node) noexcept nogil
cdef void mark_stale(Work* work, int node) noexcept nogil
