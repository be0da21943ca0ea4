"""The memory of refinement."""

from shallowrules._kernel.refinement.state cimport Stale, Tree, Work

cdef list allocate_tree(Tree* tree, Stale* stale, Py_ssize_t n_rows, Py_ssize_t m)
cdef list prepare_work(
    Work* work, inputs, dict tree, int n_clusters, double condition_penalty, double max_rows, int n_threads, progress,
    list failures, goal=*
)
