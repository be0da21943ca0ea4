"""A node's histograms: its rows, and the steps by which the cost of a cut changes, by code and by center."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.state cimport CenterOrder, Histograms, Node, Table

cdef void clear_feature(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil
cdef void clear_histograms(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms
) noexcept nogil
cdef void add_histograms(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* total, const Histograms* part,
    Py_ssize_t f,
) noexcept nogil
cdef int64_t counted_weight(
    const Table* table, const CenterOrder* centers, const Node* node, const Histograms* histograms
) noexcept nogil
