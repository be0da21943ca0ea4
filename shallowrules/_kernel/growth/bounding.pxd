"""A lower bound on what each cut of each feature would cost."""

from shallowrules._kernel.growth.state cimport (
    CenterOrder, DenseBuffers, Histograms, Node, RowBuffers, Slots, Table
)
from shallowrules._kernel.shared.threads cimport Share

cdef enum:
    MAX_BLOCK_UNITS = 1 << 15   # of the rows that are swept together: more would not stay in the cache

cdef double bound_scale(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, RowBuffers* rows
) noexcept nogil
cdef void bound_rows(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    RowBuffers* rows, DenseBuffers* dense, double scale, Share chunks, double* chunk_cost,
) noexcept nogil
