"""A node's histograms: its rows, and the steps by which the cost of a cut changes from one cut to the next, by code and
by center.

The induced cost of the cuts of a feature is a prefix sum of steps. A step at a row's own value is kept by code, up and
down apart, so that sums bound what happens inside a bin; a step at a center is kept by center. A node uses the codes
from its lowest to its highest center only: rows outside this range are counted at its ends.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from shallowrules._kernel.growth.state cimport CenterOrder, Histograms, Node, Table, Tally, highest_code, lowest_code


cdef void clear_feature(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms, Py_ssize_t f
) noexcept nogil:
    """Zero the part of a feature's histograms that the node uses."""
    cdef Py_ssize_t n_codes = table.n_codes, k = table.n_centers
    cdef int low = lowest_code(table, centers, node, f), high = highest_code(table, centers, node, f), j
    memset(histograms.tally + f * n_codes + low, 0, (high - low + 1) * sizeof(Tally))
    if table.weighted:
        memset(histograms.weight + f * n_codes + low, 0, (high - low + 1) * sizeof(int64_t))
    for j in range(node.first_center, node.last_center):
        histograms.center_step[f * k + centers.order[f * k + j]] = 0


cdef void clear_histograms(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* histograms
) noexcept nogil:
    """Zero the part of the histograms that the node uses."""
    cdef Py_ssize_t f
    for f in range(table.n_features):
        clear_feature(table, centers, node, histograms, f)


cdef void add_histograms(
    const Table* table, const CenterOrder* centers, const Node* node, Histograms* total, const Histograms* part,
    Py_ssize_t f,
) noexcept nogil:
    """Add one thread's histograms of a feature to another's."""
    cdef Py_ssize_t k = table.n_centers, base = f * table.n_codes, code
    cdef int low = lowest_code(table, centers, node, f), high = highest_code(table, centers, node, f), j, center
    for code in range(base + low, base + high + 1):
        total.tally[code].step_up += part.tally[code].step_up
        total.tally[code].step_down += part.tally[code].step_down
        total.tally[code].rows += part.tally[code].rows
    if table.weighted:
        for code in range(base + low, base + high + 1):
            total.weight[code] += part.weight[code]
    for j in range(node.first_center, node.last_center):
        center = centers.order[f * k + j]
        total.center_step[f * k + center] += part.center_step[f * k + center]


cdef int64_t counted_weight(
    const Table* table, const CenterOrder* centers, const Node* node, const Histograms* histograms
) noexcept nogil:
    """Return the weight in the histograms, in fixed point, or the number of rows if there are no weights."""
    cdef int64_t total = 0
    cdef int code
    for code in range(lowest_code(table, centers, node, 0), highest_code(table, centers, node, 0) + 1):
        total += histograms.weight[code] if table.weighted else histograms.tally[code].rows
    return total
