"""Costs as integers: sums are then exact, whatever their order.

In doubles the differences that a sweep adds and subtracts cancel. In 4,000 tables of random values 36 trees were
wrong; with integers none was, and the number of threads cannot matter.

The scale is a power of two, as fine as the largest sum allows. A center far away would leave no digits for the costs of
the others. So a row adds at most `FIRST_REACH` times the current cost: a cut to which some row adds as much has a price
above 1 + `FIRST_REACH`, and does not matter as long as a better one is found. If none is found, the cap is raised and
the sums are taken again.
"""

from libc.math cimport INFINITY, frexp, ldexp

from shallowrules._kernel.growth.objective cimport units_where_free
from shallowrules._kernel.growth.state cimport CenterOrder, Node, Table

cdef double FIRST_REACH = 4.0
cdef double REACH_FACTOR = 16.0         # by which the cap is raised
cdef double MAX_UNITS_WHERE_FREE = 2.0 ** 40    # a lowest cost of more units is known precisely enough


cdef double power_for(double largest, int bits) noexcept nogil:
    """Return the power of two that brings numbers of up to `largest` into this number of bits."""
    cdef int exponent
    frexp(largest, &exponent)
    return ldexp(1.0, min(max(bits - exponent, -1000), 1000))


cdef double _largest_sum(const Table* table, const CenterOrder* centers, const Node* node) noexcept nogil:
    """Return a bound of every sum of the node's steps.

    A row's distance to any center of the node is at most 2 d1 + 2 D^2, d1 that to the nearest and D the largest
    distance between two centers, which the diagonal of the box around them bounds.
    """
    cdef Py_ssize_t m = table.X_cluster.n_columns, j, i
    cdef double low, high, value, diagonal = 0.0
    for j in range(m):
        low = INFINITY
        high = -INFINITY
        for i in range(node.first_center, node.last_center):
            value = table.cluster_centers[centers.order[i] * m + j]
            low = min(low, value)
            high = max(high, value)
        diagonal += (high - low) * (high - low)
    return 2.0 * node.cost + 2.0 * table.total_weight * diagonal


cdef void set_cap(
    const Table* table, const CenterOrder* centers, const Node* node, double largest, FixedPoint* fixed
) noexcept nogil:
    """Let one row add at most the cost `largest`, and make the units as fine as that allows."""
    cdef double total = _largest_sum(table, centers, node), all_rows = <double>(node.last - node.first) * largest
    fixed.scale = min(power_for(min(all_rows, total), BITS_OF_SUM), power_for(min(largest, total), BITS_OF_ROW))
    if largest < total:
        fixed.cap = largest * fixed.scale
    else:
        fixed.cap = INFINITY
        fixed.reach = INFINITY


cdef FixedPoint first_point(const Table* table, const CenterOrder* centers, const Node* node) noexcept nogil:
    """Choose the scale and the cap of a node's first sums."""
    cdef FixedPoint fixed
    fixed.reach = FIRST_REACH
    set_cap(table, centers, node, FIRST_REACH * node.cost if node.cost > 0.0 else INFINITY, &fixed)
    return fixed


cdef bint refine_point(
    const Table* table, const CenterOrder* centers, const Node* node, double lowest, FixedPoint* fixed
) noexcept nogil:
    """Choose again, now that the lowest objective is known; return False if it is exact already."""
    cdef double n = <double>(node.last - node.first), before = fixed.scale, units
    if lowest == INFINITY:
        return False
    if node.cost > 0.0:
        if within_reach(lowest, fixed):
            return False
        fixed.reach *= REACH_FACTOR
        set_cap(table, centers, node, fixed.reach * node.cost, fixed)
        return True
    units = units_where_free(lowest)
    if units < 0.5 or units > MAX_UNITS_WHERE_FREE:
        return False
    set_cap(table, centers, node, 2.0 * (units + n) / before, fixed)
    return fixed.scale > before
