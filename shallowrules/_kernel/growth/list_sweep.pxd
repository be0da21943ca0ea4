"""What each cut of each feature would cost, from one pass over a node's rows and their lists of nearest centers."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.fixed_point cimport FixedPoint
from shallowrules._kernel.growth.state cimport (
    CenterOrder, Histograms, ListBuffers, NearestLists, Node, Slots, Table
)
from shallowrules._kernel.shared.threads cimport Share

cdef void sweep_rows(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    Histograms* histograms, ListBuffers* buffers, const FixedPoint* fixed, Share share,
) noexcept nogil
cdef int64_t listed_step(
    const Table* table, const Slots* slots, const NearestLists* lists, const CenterOrder* centers, const Node* node,
    const FixedPoint* fixed, int feature, Py_ssize_t slot, double* point,
) noexcept nogil
