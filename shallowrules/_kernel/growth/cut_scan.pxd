"""The best cut of a feature at a node, from its histograms."""

from libc.stdint cimport int64_t, uint64_t

from shallowrules._kernel.growth.state cimport Cut, FixedPoint, Node, Scratch, State, Stretch

cdef enum Search:
    BOUNDS      # a lower bound of all cuts' objectives
    ENDS        # the lowest objective of the cuts at the ends of bins
    INSIDE      # of all cuts
    FIRST       # the first cut within the limit
    CLOSE       # the stretches of cuts that may be within the limit


cdef struct Offer:
    # One of a node's best cuts.
    Cut cut
    int feature
    uint64_t split      # which centers it parts from which


cdef void offer_cuts(
    const State* state, const Node* node, Scratch* scratch, double unit_scale, int64_t total_weight, int feature,
    Offer* offers, int* n_offers, int most,
) noexcept nogil
cdef FixedPoint first_point(const State* state, const Node* node) noexcept nogil
cdef bint refine_point(const State* state, const Node* node, double lowest, FixedPoint* fixed) noexcept nogil
cdef bint within_reach(double objective, const FixedPoint* fixed) noexcept nogil
cdef int64_t weight_of(const State* state, const Node* node, const Scratch* sums) noexcept nogil
cdef int by_value(const void* a, const void* b) noexcept nogil
cdef double power_for(double most, int bits) noexcept nogil
cdef bint examine(
    const State* state, const Node* node, Scratch* scratch, const Scratch* sums, const FixedPoint* fixed,
    int64_t total_weight, int feature, double limit, Search search, Cut* best,
) noexcept nogil
cdef double open_stretch(
    const State* state, const Node* node, Scratch* scratch, const FixedPoint* fixed, int64_t total_weight,
    const Stretch* stretch, int64_t induced, double tolerance, Cut* first,
) noexcept nogil
