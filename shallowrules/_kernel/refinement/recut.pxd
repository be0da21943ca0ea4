"""Improving the cut of a node of a finished tree."""

from libc.stdint cimport int64_t

from shallowrules._kernel.refinement.state cimport Move, Rows, Tree, Walk, Work

cdef bint keeps_leaves(
    const Rows* rows, Tree* tree, Walk* walk, const int* other, int node, const Move* move, int64_t* count
) noexcept nogil
cdef void set_cut(Tree* tree, int node, int feature, double cut, bint swapped) noexcept nogil
cdef double improve_cut(Work* work, int node, double least) noexcept nogil
