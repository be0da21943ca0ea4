"""The best cuts of a feature at a node, from its histograms."""

from libc.stdint cimport int64_t, uint64_t

from shallowrules._kernel.growth.depth cimport DepthPlan
from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.objective cimport Objective
from shallowrules._kernel.growth.state cimport (
    CenterOrder, Cut, CutRun, Histograms, Item, Node, RowBuffers, ScanBuffers, Slots, Table
)

cdef enum Goal:
    LOWER_BOUND     # a lower bound of all cuts' objectives
    BIN_ENDS        # the lowest objective of the cuts at the ends of bins
    ALL_CUTS        # the lowest objective of all cuts
    FIRST_CUT       # the first cut within the limit
    LIST_RUNS       # the runs of cuts that may be within the limit
    LIST_BINS       # the bins inside which cuts may be within the limit, marked in `opened`


cdef struct CutSearch:
    # What to look for among the cuts of a feature.
    int feature
    Goal goal
    double limit        # objectives above it do not count


cdef struct RowSource:
    # The source from which the rows of an opened bin are read.
    const Slots* slots
    const FixedPoint* fixed     # the units of their steps
    RowBuffers* buffers
    # For a table in parts, the rows of the feature's bins as they were gathered, by value; otherwise NULL.
    const Item* items
    Py_ssize_t n_items


cdef struct Candidate:
    # One of a node's best cuts.
    Cut cut
    uint64_t split      # which centers it separates from which


cdef struct Candidates:
    Candidate* best     # [capacity] by objective
    int count
    int capacity


cdef int by_value(const void* a, const void* b) noexcept nogil
cdef Py_ssize_t gather_rows(
    const Table* table, const CenterOrder* centers, const Node* node, const RowSource* rows, ScanBuffers* scan,
    int feature,
) noexcept nogil
cdef bint scan_feature(
    const Table* table, const CenterOrder* centers, const Node* node, const Histograms* sums, const RowSource* rows,
    ScanBuffers* scan, const Objective* objective, CutSearch search, Cut* best,
) noexcept nogil
cdef double search_run(
    const Table* table, const CenterOrder* centers, const Node* node, const RowSource* rows, ScanBuffers* scan,
    const Objective* objective, const CutRun* run, int64_t induced, Cut* first,
) noexcept nogil
cdef void list_candidates(
    const Table* table, const CenterOrder* centers, const Node* node, const Histograms* histograms, DepthPlan* plan,
    const Objective* objective, int feature, Candidates* candidates,
) noexcept nogil
