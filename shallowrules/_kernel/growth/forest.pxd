"""The trees of many trade-offs at once."""

from shallowrules._kernel.growth.state cimport Cut, Node, Scratch, State

cdef void grow_forest(
    State* state, Scratch* scratches, int n_threads, int n_tradeoffs, int* wanted, Cut* cuts, int* features
) noexcept nogil
cdef void sort_centers(State* state, const Node* node) noexcept nogil
