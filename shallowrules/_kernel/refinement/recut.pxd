"""Improving the cut of a node of a finished tree."""

from shallowrules._kernel.refinement.state cimport Work

cdef double improve_cut(Work* work, int node, double least) noexcept nogil
