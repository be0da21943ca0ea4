"""A lower bound of the induced cost of all cuts of all features at a node of few centers."""

from shallowrules._kernel.growth.state cimport (
    CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table
)
from shallowrules._kernel.shared.threads cimport Share

cdef enum:
    MAX_BLOCK_UNITS = 1 << 15   # of the rows that are swept together: more would not stay in the cache
    MIN_NARROW_ROWS = 1 << 13   # of a node that is bounded in 16 bits
    MIN_ESTIMATED = 8           # centers of a node from which on estimates of their distances are faster


cdef struct BoundUnits:
    double scale                # units per unit of cost
    bint narrow                 # whether they have 16 bits
    double slack                # a bound falls short of what a row adds by fewer units than this
    double farthest             # estimates of distances up to which that holds; 0: none are taken
    double estimate_scale       # units per unit of an estimate


cdef BoundUnits bound_units(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    bint may_be_narrow,
) noexcept nogil
cdef void bound_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, BoundUnits units, const unsigned char* wanted, Share chunks,
    double* chunk_cost,
) noexcept nogil
