"""Improving a finished tree under a bound for its cost or its length."""

from shallowrules._kernel.refinement.state cimport Work

cdef double objective_of(Work* work) noexcept nogil
cdef double improve_cut_within(Work* work, int node, double least) noexcept nogil
