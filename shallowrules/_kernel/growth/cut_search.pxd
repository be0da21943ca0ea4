"""Finding the cut of a node."""

from shallowrules._kernel.growth.cut_scan cimport Candidates
from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State, Table

cdef void mark_path_sides(const Table* table, const Node* nodes, int index, unsigned char* path_sides) noexcept nogil
cdef void restore_node(State* state, Node* node) noexcept nogil
cdef bint choose_cut(
    State* state, int index, Scratch* scratches, int n_threads, double tradeoff, Cut* cut
) noexcept nogil
cdef void choose_candidates(
    State* state, int index, Scratch* scratches, int n_threads, double tradeoff, Candidates* candidates
) noexcept nogil
