"""The best cuts of a feature at a node, from its histograms."""

from libc.stdint cimport int64_t, uint64_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.objective cimport Objective
from shallowrules._kernel.growth.state cimport Cut, CutRun, Histograms, Node, Scratch, State

cdef enum Search:
    LOWER_BOUND     # a lower bound of all cuts' objectives
    BIN_ENDS        # the lowest objective of the cuts at the ends of bins
    ALL_CUTS        # the lowest objective of all cuts
    FIRST_CUT       # the first cut within the limit
    LIST_RUNS       # the runs of cuts that may be within the limit


cdef struct Candidate:
    # One of a node's best cuts.
    Cut cut
    int feature
    uint64_t split      # which centers it separates from which


cdef int by_value(const void* a, const void* b) noexcept nogil
cdef bint scan_feature(
    const State* state, const Node* node, Scratch* scratch, const Histograms* sums, const FixedPoint* fixed,
    const Objective* of_node, int feature, double limit, Search search, Cut* best,
) noexcept nogil
cdef double search_run(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, const Objective* of_node,
    const CutRun* run, int64_t induced, Cut* first,
) noexcept nogil
cdef void list_candidates(
    const State* state, const Node* node, Scratch* scratch, const Objective* of_node, double unit_scale, int feature,
    Candidate* candidates, int* n_candidates, int max_candidates,
) noexcept nogil
