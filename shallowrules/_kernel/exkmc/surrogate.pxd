"""The best cut of a leaf by surrogate cost: what ExKMC minimises."""

from shallowrules._kernel.growth.state cimport Node, Scratch, State

cdef double cheapest_cost(const State* state, const Node* node, Scratch* scratch) noexcept nogil
cdef void price_leaf(
    State* state, Node* node, Scratch* scratches, int n_threads, double cost, bint keeps_center
) noexcept nogil
