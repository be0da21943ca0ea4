"""What rows add to the cuts before a few runs."""

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.state cimport CenterOrder, Node, RowBuffers, ScanBuffers, Slots, Table
from shallowrules._kernel.shared.threads cimport Share

cdef void count_parted(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    ScanBuffers* scan, Share share,
) noexcept nogil
cdef void sum_before_runs(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    const FixedPoint* fixed, ScanBuffers* scan, Share share,
) noexcept nogil
