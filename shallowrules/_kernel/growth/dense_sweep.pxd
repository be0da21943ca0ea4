"""The induced cost of all cuts at nodes of few centers: a bound for every feature, exact sums for one."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport FixedPoint, Node, Scratch, State

cdef extern from "growth/dense_sweep.h":
    int instructions_of_machine "sr_instructions"() noexcept nogil
    int default_dense_limit "sr_dense_limit"(int instructions) noexcept nogil
    enum: MOST "SR_MOST"


cdef double bound_scale(const State* state, const Node* node, Scratch* scratch) noexcept nogil
cdef void bound_rows(
    State* state, const Node* node, Scratch* scratch, double scale, Py_ssize_t first_chunk, Py_ssize_t last_chunk
) noexcept nogil
cdef void sum_rows(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature,
    Py_ssize_t first, Py_ssize_t last
) noexcept nogil
cdef void settle_events(const State* state, const Node* node, Scratch* sums, int feature) noexcept nogil
cdef int64_t dense_event(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int feature, Py_ssize_t slot
) noexcept nogil
