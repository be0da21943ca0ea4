"""The best cut of a leaf by surrogate cost: what ExKMC minimizes."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport Item, Node, RowBuffers, Slots, Table

cdef struct CoarseBins:
    # Codes are grouped into bins, in order.
    int n_bins
    const int* bin_of                   # [d, n_codes] bin of a code
    const unsigned char* single_valued  # [d, n_bins] whether all rows in this bin have the same value


cdef struct SurrogateScratch:
    # A thread's.
    RowBuffers rows
    Item* items             # [n]
    int64_t* bin_costs      # [d, n_bins, k] cost of a bin's rows with each center
    int* bin_rows           # [d, n_bins]
    int64_t* center_costs   # [LANES, k] of a few rows
    int64_t* left_costs     # [k]
    int64_t* inside_costs   # [k]
    int64_t* all_costs      # [k]
    double* cost_of         # [k]
    double* best            # [d] lowest cost of the feature


cdef double cheapest_cost(
    const Table* table, const Slots* slots, const Node* node, SurrogateScratch* scratch
) noexcept nogil
cdef void plan_cut(
    const Table* table, const Slots* slots, const CoarseBins* bins, Node* node, SurrogateScratch* scratches,
    int n_threads, double cost, bint keeps_center,
) noexcept nogil
