"""The induced cost of all cuts at nodes of few centers: a bound for every feature, exact sums for one."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport ExactCost, FixedPoint
from shallowrules._kernel.growth.state cimport (
    CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table
)
from shallowrules._kernel.shared.threads cimport Share

cdef extern from "growth/dense_sweep.h":
    int instructions_of_machine "sr_instructions"() noexcept nogil
    int default_dense_limit "sr_dense_limit"(int instructions) noexcept nogil
    enum: MAX_DENSE "SR_MAX_DENSE"

cdef enum:
    MAX_BLOCK_UNITS = 1 << 15   # of the rows that are swept together: more would not stay in the cache


cdef struct AllFeatures:
    # What `sum_all_features` needs besides: K is the number of the node's centers.
    int* at                     # [d, K] place in `members` of each center in the order of each feature
    int* edge                   # [d, K] its code
    int64_t* units              # [BLOCK / LANES, K, LANES] added cost of each center
    int64_t* sums               # [d, K, LANES] zeros
    int64_t* own                # [BLOCK] a row's own step


cdef double bound_scale(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows
) noexcept nogil
cdef void bound_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, double scale, Share chunks, double* chunk_cost,
) noexcept nogil
cdef void sum_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, int feature, Share share,
) noexcept nogil
cdef void sum_all_features(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, const FixedPoint* fixed, const AllFeatures* all_features, ExactCost* cost,
) noexcept nogil
cdef void to_differences(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil
cdef void dense_steps(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, const FixedPoint* fixed,
    int feature, const Py_ssize_t* picked, int count, RowBuffers* rows, int64_t* steps,
) noexcept nogil
