"""The memory of refinement."""

from shallowrules._kernel.refinement.state cimport Work

cdef list prepare_work(
    Work* work, inputs, dict tree, double condition_penalty, double max_rows, int n_threads, progress, list failures
)
