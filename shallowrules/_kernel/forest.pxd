"""The trees of many trade-offs at once."""

from shallowrules._kernel.state cimport Cut, Scratch, State

cdef void grow_forest(
    State* state, Scratch* scratches, int n_threads, int n_tradeoffs, int* wanted, Cut* cuts, int* features
) noexcept nogil
