"""Growing from the data alone: cut the leaf whose best cut lowers the cost most, until there are enough leaves.

The cost is that of the rows around the mean of their leaf, as in a regression tree of the clustered columns on the
explained ones. Neither centers nor the price of conditions matter: refinement gets a start that does not depend on
the reference. Sums are taken around the mean of a leaf, so that no large numbers cancel.
"""

import numpy as np

from shallowrules._kernel.refinement.differences cimport sr_add_and_square, sr_add_to, sr_difference
from shallowrules._kernel.shared.orders cimport partition_orders

cdef extern from *:
    """
    #define SR_MIN_FALL 1e-9    /* of the cost of all rows: what falls by less is not cut */
    #define SR_TIE (1 + 1e-9)   /* of two cuts as good as equal the first is taken, by feature and then by value */
    """
    const double MIN_FALL "SR_MIN_FALL"
    const double TIE "SR_TIE"


cdef struct Growth:
    Py_ssize_t n_rows, n_features, n_columns
    const double* values        # [d, r] explained, by slot
    const double* points        # [r, m] clustered, by slot
    const double* weight        # [r], or NULL
    int* order                  # [d, r] slots by value; those of a leaf are contiguous for every feature
    int* swap                   # [r]
    unsigned char* goes_left    # [r] by slot
    double* differences         # [r, m] by slot: weight * (point - mean of its leaf)
    double* mean                # [m]
    double* total               # [m]
    double rows_visited


cdef struct Leaf:
    Py_ssize_t first, last      # its rows are those of order[:, first:last]
    int node
    double fall                 # of the cost, by its best cut; 0 where none is worth it
    int feature
    double value                # rows up to it go left
    Py_ssize_t n_left


cdef double _weight_of(const Growth* growth, int slot) noexcept nogil:
    return 1.0 if growth.weight == NULL else growth.weight[slot]


cdef double _center_rows(Growth* growth, const Leaf* leaf) noexcept nogil:
    """Find the differences of a leaf's rows from their mean; return their weight."""
    cdef Py_ssize_t m = growth.n_columns, at, j
    cdef double mass = 0.0, w
    cdef const double* point
    cdef const double* origin = growth.points + growth.order[leaf.first] * m
    for j in range(m):
        growth.mean[j] = 0.0
    for at in range(leaf.first, leaf.last):
        point = growth.points + growth.order[at] * m
        w = _weight_of(growth, growth.order[at])
        mass += w
        for j in range(m):
            growth.mean[j] += w * (point[j] - origin[j])
    for j in range(m):
        growth.mean[j] = origin[j] + growth.mean[j] / mass
    for at in range(leaf.first, leaf.last):
        sr_difference(
            growth.points + growth.order[at] * m, growth.mean,
            _weight_of(growth, growth.order[at]), m, growth.differences + growth.order[at] * m
        )
    return mass


cdef void _find_cut(Growth* growth, Leaf* leaf, double least) noexcept nogil:
    """Find the cut of a leaf that lowers the cost most, and by more than `least`."""
    cdef Py_ssize_t m = growth.n_columns, at, j, f
    cdef double mass, left, right, squares, fall, value, following
    cdef const int* order
    leaf.fall = 0.0
    if leaf.last - leaf.first < 2:
        return
    mass = _center_rows(growth, leaf)
    growth.rows_visited += <double>(leaf.last - leaf.first)
    for f in range(growth.n_features):
        order = growth.order + f * growth.n_rows
        left = 0.0
        for j in range(m):
            growth.total[j] = 0.0
        following = growth.values[f * growth.n_rows + order[leaf.first]]
        if not following < growth.values[f * growth.n_rows + order[leaf.last - 1]]:
            continue
        for at in range(leaf.first, leaf.last - 1):
            left += _weight_of(growth, order[at])
            value, following = following, growth.values[f * growth.n_rows + order[at + 1]]
            if not value < following:
                sr_add_to(growth.total, growth.differences + order[at] * m, m)
                continue
            squares = sr_add_and_square(growth.total, growth.differences + order[at] * m, m)
            right = mass - left
            if not right > 0.0:
                continue
            fall = squares / left + squares / right  # around the mean both sides have the same sums except for the sign
            if fall > max(least, leaf.fall * TIE):
                leaf.fall, leaf.feature, leaf.value = fall, <int>f, value
                leaf.n_left = at + 1 - leaf.first


cdef void _part_rows(Growth* growth, const Leaf* leaf) noexcept nogil:
    """Put the rows that go left before the others, each side still by value, for every feature."""
    cdef Py_ssize_t at
    cdef const int* order = growth.order + leaf.feature * growth.n_rows
    for at in range(leaf.first, leaf.last):
        growth.goes_left[order[at]] = at < leaf.first + leaf.n_left
    partition_orders(
        growth.order, growth.n_features, growth.n_rows, leaf.first, leaf.last, growth.goes_left, growth.swap
    )


def grow_data_tree(
    const double[:, ::1] values, const double[:, ::1] points, const double[::1] weight, int n_leaves,
    double max_passes
):
    """Grow a tree of the least cost around the means of its leaves, best leaf first.

    Parameters
    ----------
    values : ndarray of float64, shape (d, r)
        The explained columns, each a row.
    points : ndarray of float64, shape (r, m)
        The same rows in the clustered columns.
    weight : ndarray of float64, shape (r,), or None
        Positive.
    n_leaves : int
    max_passes : float
        All rows are visited at most this number of times.

    Returns
    -------
    dict or None
        `feature`, `left`, `right`, `center` (int32) and `cut` (float64), the root first; feature -1 at leaves, whose
        centers are 0, 1, ... in the order of their growth. None if it got fewer leaves: rows are equal, or the limit of
        the work was reached.
    """
    cdef Growth growth
    cdef Py_ssize_t d = values.shape[0], r = values.shape[1], m = points.shape[1]
    cdef int n_grown = 1, n_nodes = 1, i, best, left
    cdef double least = 0.0
    order_array = np.argsort(values, axis=1, kind="stable").astype(np.int32)
    arrays = [
        np.empty(r, np.int32), np.empty(r, np.uint8), np.empty((r, m)), np.empty(m), np.empty(m)
    ]
    cdef int[:, ::1] order = order_array
    cdef int[::1] swap = arrays[0]
    cdef unsigned char[::1] goes_left = arrays[1]
    cdef double[:, ::1] differences = arrays[2]
    cdef double[::1] mean = arrays[3], total = arrays[4]
    tree = {name: np.full(2 * n_leaves - 1, -1, np.int32) for name in ("feature", "left", "right", "center")}
    tree["cut"] = np.zeros(2 * n_leaves - 1)
    cdef int[::1] feature = tree["feature"], to_left = tree["left"], to_right = tree["right"], center = tree["center"]
    cdef double[::1] cut = tree["cut"]
    leaves_array = np.zeros(n_leaves * sizeof(Leaf), np.uint8)
    cdef unsigned char[::1] leaves_bytes = leaves_array
    cdef Leaf* leaves = <Leaf*>&leaves_bytes[0]
    growth.n_rows, growth.n_features, growth.n_columns = r, d, m
    growth.values, growth.points = &values[0, 0], &points[0, 0]
    growth.weight = NULL if weight is None else &weight[0]
    growth.order, growth.swap, growth.goes_left = &order[0, 0], &swap[0], &goes_left[0]
    growth.differences, growth.mean, growth.total = &differences[0, 0], &mean[0], &total[0]
    growth.rows_visited = 0.0
    with nogil:
        leaves[0].first, leaves[0].last, leaves[0].node = 0, r, 0
        _find_cut(&growth, &leaves[0], least)
        least = MIN_FALL * leaves[0].fall
        while n_grown < n_leaves and growth.rows_visited < max_passes * r:
            best = 0
            for i in range(1, n_grown):
                if leaves[i].fall > leaves[best].fall * TIE:
                    best = i
            if not leaves[best].fall > 0.0:
                break
            _part_rows(&growth, &leaves[best])
            i = leaves[best].node
            left = n_nodes
            feature[i], cut[i], to_left[i], to_right[i] = leaves[best].feature, leaves[best].value, left, left + 1
            leaves[n_grown].first, leaves[n_grown].last = leaves[best].first + leaves[best].n_left, leaves[best].last
            leaves[best].last = leaves[n_grown].first
            leaves[best].node, leaves[n_grown].node = left, left + 1
            n_nodes += 2
            _find_cut(&growth, &leaves[best], least)
            _find_cut(&growth, &leaves[n_grown], least)
            n_grown += 1
    if n_grown < n_leaves:
        return None
    for i in range(n_leaves):
        center[leaves[i].node] = i
    return tree
