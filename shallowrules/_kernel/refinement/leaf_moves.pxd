"""Moving leaves of a finished tree."""

from shallowrules._kernel.refinement.state cimport Work

cdef enum:
    SPLIT_BINS = 64     # bins between which a leaf may be cut


cdef double move_leaf(Work* work, double total) noexcept nogil
