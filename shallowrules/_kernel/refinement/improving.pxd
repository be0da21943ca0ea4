"""Improving a finished tree."""

from shallowrules._kernel.refinement.state cimport Work

cdef bint sweep(Work* work, double least) noexcept nogil
cdef double move_some_leaf(Work* work, double least) noexcept nogil
cdef void improve(Work* work, bint moves_leaves) noexcept nogil
