"""Looking ahead: of a node's best cuts, the one whose finished subtree is best."""

from shallowrules._kernel.growth.cut_scan cimport Offer
from shallowrules._kernel.growth.state cimport Node, Scratch, State

cdef struct Ahead:
    int levels              # of the tree on which several cuts are tried
    int width               # how many
    double price            # of a condition, per unit of weight
    double most             # rows x features of the nodes that are cut until no other cut is tried
    double spent            # of these
    Offer* offers           # [levels, width]
    Node* saved             # [levels, 2 k]


cdef double look_ahead(
    State* state, int index, Scratch* scratches, int n_threads, Ahead* ahead, int level
) noexcept nogil
