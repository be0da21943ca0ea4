"""Improving a finished tree."""

from shallowrules._kernel.refinement.state cimport Effort, Tree, Walk, Work

cdef (double, double) figures_of(const Tree* tree, Walk* walk) noexcept nogil
cdef bint is_over(const Effort* effort) noexcept nogil
cdef void place_rows(Work* work) noexcept nogil
cdef bint sweep(Work* work, double least) noexcept nogil
cdef void improve(Work* work, bint moves_leaves) noexcept nogil
