"""What all rows add exactly to the cuts before a few runs."""

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.state cimport CenterOrder, Node, RowBuffers, ScanBuffers, Slots, Table
from shallowrules._kernel.shared.threads cimport Share

cdef void sum_before_runs(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows,
    const FixedPoint* fixed, ScanBuffers* scan, Share share,
) noexcept nogil
