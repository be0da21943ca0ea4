"""Finding the cut of a node."""

from shallowrules._kernel.growth.cut_scan cimport Offer
from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State

cdef void mark_killers(const State* state, int index, Scratch* scratch) noexcept nogil
cdef void prepare(State* state, Node* node, Scratch* scratches, int n_threads, bint fill) noexcept nogil
cdef bint choose(
    State* state, int index, Scratch* scratches, int n_threads,
    const double* tradeoffs, const int* wanted, int n_wanted, Cut* cuts, int* features,
) noexcept nogil
cdef int choose_several(
    State* state, int index, Scratch* scratches, int n_threads, Offer* offers, int most
) noexcept nogil
