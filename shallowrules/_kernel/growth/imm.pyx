"""The rows that cuts separate from their centers: what IMM minimizes (Moshkovitz et al., 2020).

They are counted in the histograms of the other methods: a row is a mistake of the cuts from its own value up to its
center, or from its center up to its own value, with its weight, and of no other cut. Once a cut separated a row from
its center, the row does not count anywhere below; it stays behind the other rows of its node, because the tree still
routes it.
"""

from libc.stdint cimport int64_t, uint16_t

from shallowrules._kernel.growth.fixed_point cimport llrint
from shallowrules._kernel.growth.partition cimport partition_rows
from shallowrules._kernel.growth.state cimport (
    BLOCK, CenterOrder, Histograms, Node, Slots, Table, Tally, highest_code, lowest_code
)
from shallowrules._kernel.shared.threads cimport Share


cdef inline int64_t _weight_of(const Table* table, const Slots* slots, Py_ssize_t slot) noexcept nogil:
    return llrint(slots.weight[slot] * table.weight_scale) if table.weighted else 1


cdef void count_mistakes(
    const Table* table, const Slots* slots, const CenterOrder* centers, const Node* node, Histograms* histograms,
    Share share,
) noexcept nogil:
    """Add some slots to the histograms of all features."""
    cdef Py_ssize_t n = table.n_rows, k = table.n_centers, begin = share.first, end, slot, f
    cdef int code, own, low, high
    cdef int64_t weight
    cdef const int* center_codes
    cdef const uint16_t* codes
    cdef Tally* tally
    cdef int64_t* center_step
    while begin < share.last:
        end = min(begin + BLOCK, share.last)
        for f in range(table.n_features):
            center_codes = table.center_codes + f * k
            low = lowest_code(table, centers, node, f)
            high = highest_code(table, centers, node, f)
            codes = slots.codes + f * n
            tally = histograms.tally + f * table.n_codes
            center_step = histograms.center_step + f * k
            for slot in range(begin, end):
                code = min(max(codes[slot], low), high)
                own = center_codes[slots.assigned[slot]]
                weight = _weight_of(table, slots, slot)
                tally[code].rows += 1
                if table.weighted:
                    histograms.weight[f * table.n_codes + code] += weight
                if code < own:
                    tally[code].step_up += weight
                    center_step[slots.assigned[slot]] -= weight
                elif code > own:
                    tally[code].step_down += weight
                    center_step[slots.assigned[slot]] += weight
        begin = end


cdef int64_t own_mistake(const Table* table, const Slots* slots, int feature, Py_ssize_t slot) noexcept nogil:
    """Return the weight that a row adds to the mistakes of the cuts from its own value on."""
    cdef int own = table.center_codes[feature * table.n_centers + slots.assigned[slot]]
    cdef int code = slots.codes[feature * table.n_rows + slot]
    return _weight_of(table, slots, slot) * ((code < own) - (code > own))


cdef void set_aside_mistakes(
    const Table* table, const Slots* slots, const CenterOrder* centers, Node* child,
    int n_threads,
) noexcept nogil:
    """Put the rows that a cut separated from their center, now or before, behind the others of a child."""
    cdef Py_ssize_t slot, n_counted = 0
    cdef int center
    for slot in range(child.first, child.last):
        center = slots.assigned[slot]
        if center >= 0 and centers.side[center] != child.is_left:
            slots.assigned[slot] = center = -1
        slots.side[slot] = center >= 0
        n_counted += center >= 0
    partition_rows(table, slots, child.first, child.last, n_counted, n_threads)
    child.last_counted = child.first + n_counted
