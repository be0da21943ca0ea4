"""Improving a finished tree whose clusters may have several leaves."""

from shallowrules._kernel.refinement.state cimport Work

cdef double pass_on_leaf(Work* work, double least) noexcept nogil
cdef bint exchange_parts(Work* work, int gone, int cut) noexcept nogil
