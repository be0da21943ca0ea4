"""Costs as integers: sums are then exact, whatever their order."""

from libc.stdint cimport int64_t

from shallowrules._kernel.growth.objective cimport cheapest_capped
from shallowrules._kernel.growth.state cimport CenterOrder, Node, Table

cdef extern from "<math.h>" nogil:
    long long llrint(double) noexcept

cdef enum:
    BITS_OF_SUM = 61    # of a sum of rows, so that differences of two sums fit as well
    BITS_OF_ROW = 50    # of what one row adds: doubles hold it exactly


cdef struct FixedPoint:
    double scale                # units per unit of cost
    double cap                  # most units that one row may add
    double reach                # prices up to 1 + reach are exact; infinity if nothing is capped


cdef double power_for(double largest, int bits) noexcept nogil
cdef void set_cap(
    const Table* table, const CenterOrder* centers, const Node* node, double largest, FixedPoint* fixed
) noexcept nogil
cdef FixedPoint first_point(const Table* table, const CenterOrder* centers, const Node* node) noexcept nogil
cdef bint refine_point(
    const Table* table, const CenterOrder* centers, const Node* node, double lowest, FixedPoint* fixed
) noexcept nogil


cdef struct ExactCost:
    # A sum of costs that does not depend on the order: whole units, and the remainder of each in finer ones.
    int64_t units
    int64_t rest                # 2^REST_BITS in a unit
    bint positive               # whether any of them is above 0


cdef enum:
    REST_BITS = 28


cdef inline void add_cost(ExactCost* total, double cost, double scale) noexcept nogil:
    """Add a cost in units of a fixed point; `scale` is a power of two."""
    cdef double scaled = cost * scale
    cdef int64_t units = <int64_t>scaled
    total.units += units
    total.rest += llrint((scaled - <double>units) * (1 << REST_BITS))
    total.positive |= cost > 0.0


cdef inline int64_t in_units(double cost, const FixedPoint* fixed) noexcept nogil:
    """Return a cost in fixed point: at most the cap, and 0 only if the cost is 0."""
    cdef double scaled = cost * fixed.scale
    cdef int64_t units = llrint(min(scaled, fixed.cap))
    return units + (units == 0 and cost > 0.0)


cdef inline bint within_reach(double objective, const FixedPoint* fixed) noexcept nogil:
    """Return whether a cut is too cheap for a row at the cap to be part of it: then its sum is exact."""
    return objective < cheapest_capped(fixed.reach)
