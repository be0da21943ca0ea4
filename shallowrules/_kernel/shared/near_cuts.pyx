"""Rows whose values lie near the cuts of a tree: between the candidates that a threshold may move to.

The edges of a node are ascending; they stand one node after another. The interval below an edge has its place: values
above the edge before it, and up to it. Values below a node's first edge or above its last one are not near any cut.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, realloc

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.shared.routing cimport child_of
from shallowrules._kernel.shared.routing import route_rows
from shallowrules._kernel.shared.threads cimport HAS_OPENMP, Share, share_of, threads_for

cdef struct Nodes:
    const int* feature          # -1 at leaves
    const int* left
    const int* right
    const double* threshold
    const int64_t* first_edge   # [n_nodes + 1]
    const double* edges


cdef struct Near:
    # A row in an interval, the interval's place, and the row's leaf across the cut.
    int64_t row, place
    int across


cdef struct Listed:
    Near* near
    Py_ssize_t count
    Py_ssize_t capacity
    bint failed         # there was no memory for more


cdef inline int64_t _place_of(const Nodes* nodes, int node, double value) noexcept nogil:
    """Return the place of the interval of a node that a value lies in, -1 for none."""
    cdef int64_t low = nodes.first_edge[node], high = nodes.first_edge[node + 1] - 1, middle
    if low >= high or not (value > nodes.edges[low] and value <= nodes.edges[high]):
        return -1
    while high - low > 1:  # above the lower edge, not above the higher one
        middle = (low + high) // 2
        if value > nodes.edges[middle]:
            low = middle
        else:
            high = middle
    return high


cdef inline int _descend(const Matrix* matrix, const Nodes* nodes, Py_ssize_t row, int node) noexcept nogil:
    cdef double value
    while nodes.feature[node] >= 0:
        value = entry(matrix, row, nodes.feature[node])
        node = child_of(nodes.left, nodes.right, node, value <= nodes.threshold[node])
    return node


cdef void _weigh(
    const Matrix* matrix, const Nodes* nodes, const double* weight, Share share, int* leaf, double* sums
) noexcept nogil:
    """Add the weight of rows to the intervals on their way, and note their leaf."""
    cdef Py_ssize_t row
    cdef int64_t place
    cdef int node
    cdef double value
    for row in range(share.first, share.last):
        node = 0
        while nodes.feature[node] >= 0:
            value = entry(matrix, row, nodes.feature[node])
            place = _place_of(nodes, node, value)
            if place >= 0:
                sums[place] += 1.0 if weight == NULL else weight[row]
            node = child_of(nodes.left, nodes.right, node, value <= nodes.threshold[node])
        leaf[row] = node


cdef void _list(const Matrix* matrix, const Nodes* nodes, Share share, Listed* listed) noexcept nogil:
    """List the rows that are in an interval, once for each."""
    cdef Py_ssize_t row
    cdef int node
    cdef int64_t place
    cdef double value
    cdef Near* near
    for row in range(share.first, share.last):
        node = 0
        while nodes.feature[node] >= 0:
            value = entry(matrix, row, nodes.feature[node])
            place = _place_of(nodes, node, value)
            if place >= 0:
                if listed.count == listed.capacity:
                    _make_room(listed)
                    if listed.failed:
                        return
                near = &listed.near[listed.count]
                near.row, near.place = row, place
                near.across = _descend(
                    matrix, nodes, row, child_of(nodes.left, nodes.right, node, value > nodes.threshold[node])
                )
                listed.count += 1
            node = child_of(nodes.left, nodes.right, node, value <= nodes.threshold[node])


cdef void _make_room(Listed* listed) noexcept nogil:
    cdef Py_ssize_t capacity = 2 * listed.capacity + 1024
    cdef Near* near = <Near*>realloc(listed.near, capacity * sizeof(Near))
    if near == NULL:
        listed.failed = True
        return
    listed.near, listed.capacity = near, capacity


cdef list _point(
    Nodes* nodes, const int[::1] feature, const double[::1] threshold, const int[::1] left, const int[::1] right,
    const int64_t[::1] first_edge, const double[::1] edges,
):
    """Point to the arrays of the nodes; return the objects to keep alive."""
    nodes.feature, nodes.threshold = &feature[0], &threshold[0]
    nodes.left, nodes.right, nodes.first_edge = &left[0], &right[0], &first_edge[0]
    nodes.edges = NULL
    if edges.shape[0]:
        nodes.edges = &edges[0]
    return [feature, threshold, left, right, first_edge, edges]


def weigh_near_cuts(
    X, feature, threshold, left, right, first_edge, edges, const double[::1] weight=None, *, int n_threads
):
    """Return the leaf of each row, and the weight of the rows in each interval.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n, d)
    feature, left, right : ndarray of int32, shape (n_nodes,)
        -1 at leaves.
    threshold : ndarray of float64, shape (n_nodes,)
        Rows go left where their value is at most that.
    first_edge : ndarray of int64, shape (n_nodes + 1,)
        The edges of node i are those from ``first_edge[i]`` up to ``first_edge[i + 1]``.
    edges : ndarray of float64, shape (n_edges,)
    weight : ndarray of float64, shape (n,), optional
        Their sums are exact. By default each row counts 1.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    leaf : ndarray of int32, shape (n,)
    weight : ndarray of float64, shape (n_edges,)
        By the interval's place, which is that of its upper edge; 0 at the first edge of a node.
    """
    cdef Matrix matrix = matrix_of(X)
    cdef Nodes nodes
    cdef Py_ssize_t n = X.shape[0]
    cdef int n_shares = threads_for(n, n_threads) if HAS_OPENMP else 1, i
    cdef const double* weights = NULL if weight is None or n == 0 else &weight[0]
    _kept = _point(&nodes, feature, threshold, left, right, first_edge, edges)
    leaf_array, sums_array = np.empty(n, dtype=np.int32), np.zeros((n_shares, len(edges)))
    if n == 0 or not len(edges):
        return route_rows(X, feature, threshold, left, right, n_threads=n_threads), sums_array[0]
    cdef int[::1] leaf = leaf_array
    cdef double[:, ::1] sums = sums_array
    for i in prange(n_shares, nogil=True, num_threads=n_shares, schedule="static", chunksize=1):
        _weigh(&matrix, &nodes, weights, share_of(0, n, i, n_shares), &leaf[0], &sums[i, 0])
    return leaf_array, sums_array.sum(axis=0)


def rows_near_cuts(X, feature, threshold, left, right, first_edge, edges, *, int n_threads):
    """Return the rows in the intervals, and the leaves that they would come to on the other side of these cuts.

    Parameters are those of `weigh_near_cuts`.

    Returns
    -------
    rows, places : ndarray of int64, shape (r,)
        A row of the table, ascending, once for each interval that it is in, and the interval's place.
    across : ndarray of int32, shape (r,)
        The leaf, if the row went to the other side of that node, and nothing else changed.
    """
    cdef Matrix matrix = matrix_of(X)
    cdef Nodes nodes
    cdef Py_ssize_t n = X.shape[0]
    cdef int n_shares = threads_for(n, n_threads) if HAS_OPENMP else 1, i
    _kept = _point(&nodes, feature, threshold, left, right, first_edge, edges)
    cdef Listed* listed = <Listed*>calloc(n_shares, sizeof(Listed))
    if listed == NULL:
        raise MemoryError
    try:
        for i in prange(n_shares, nogil=True, num_threads=n_shares, schedule="static", chunksize=1):
            _list(&matrix, &nodes, share_of(0, n, i, n_shares), &listed[i])
        return _joined(listed, n_shares)
    finally:
        for i in range(n_shares):
            free(listed[i].near)
        free(listed)


cdef tuple _joined(const Listed* listed, int n_shares):
    """Return the listed rows, as arrays."""
    cdef Py_ssize_t n = 0, j, at = 0
    cdef int i
    for i in range(n_shares):
        if listed[i].failed:
            raise MemoryError
        n += listed[i].count
    rows_array, places_array, across_array = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    cdef int64_t[::1] rows = rows_array, places = places_array
    cdef int[::1] across = across_array
    for i in range(n_shares):
        for j in range(listed[i].count):
            rows[at], places[at], across[at] = listed[i].near[j].row, listed[i].near[j].place, listed[i].near[j].across
            at += 1
    return rows_array, places_array, across_array
