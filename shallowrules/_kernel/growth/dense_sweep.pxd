"""The induced cost of all cuts at nodes of few centers: a bound for every feature, exact sums for one."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
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
cdef void to_differences(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil
cdef void dense_steps(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, const FixedPoint* fixed,
    int feature, const Py_ssize_t* picked, int count, RowBuffers* rows, int64_t* steps,
) noexcept nogil
