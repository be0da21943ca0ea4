"""The rows that cuts separate from their centers: what IMM minimizes."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport CenterOrder, Histograms, Node, Slots, Table
from shallowrules._kernel.shared.threads cimport Share

cdef void count_mistakes(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    Share share,
) noexcept nogil
cdef int64_t own_mistake(const Table* table, const Slots* slots, int feature, Py_ssize_t slot) noexcept nogil
cdef void set_aside_mistakes(
    const Table* table, const Slots* slots, const CenterOrder* centers, Node* child,
    int n_threads,
) noexcept nogil
