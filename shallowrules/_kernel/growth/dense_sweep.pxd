"""The induced cost of all cuts at nodes of few centers: a bound for every feature, exact sums for one."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.state cimport CenterOrder, Histograms, Node, RowBuffers, Scratch, State, Table

cdef extern from "growth/dense_sweep.h":
    int instructions_of_machine "sr_instructions"() noexcept nogil
    int default_dense_limit "sr_dense_limit"(int instructions) noexcept nogil
    enum: MAX_DENSE "SR_MAX_DENSE"


cdef double bound_scale(const State* state, const Node* node, RowBuffers* rows) noexcept nogil
cdef void bound_rows(
    State* state, const Node* node, Scratch* scratch, double scale, Py_ssize_t first_chunk, Py_ssize_t last_chunk
) noexcept nogil
cdef void sum_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void to_differences(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil
cdef int64_t dense_step(
    const State* state, const Node* node, RowBuffers* rows, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil
