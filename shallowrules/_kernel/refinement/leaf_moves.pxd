"""Moving leaves of a finished tree."""

from shallowrules._kernel.refinement.state cimport Work

cdef enum:
    SPLIT_BINS = 64     # bins between which a leaf may be cut


cdef void evaluate_moves(Work* work) noexcept nogil
cdef bint exchange_leaves(Work* work, int gone, int cut) noexcept nogil
cdef double move_leaf(Work* work, double least) noexcept nogil
