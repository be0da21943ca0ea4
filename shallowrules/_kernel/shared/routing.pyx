"""Sending rows through a grown tree."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.shared.threads cimport HAS_OPENMP, Share, share_of, threads_for


def route_rows(
    X_explain, const int[::1] feature, const double[::1] cut, const int[::1] left, const int[::1] right, *,
    int n_threads, rows=None,
):
    """Return the leaf that each row comes to: left where its value is at most the cut.

    Parameters
    ----------
    X_explain : ndarray of float32 or float64, shape (n, d)
    feature, left, right : ndarray of int32, shape (n_nodes,)
        -1 at leaves.
    cut : ndarray of float64, shape (n_nodes,)
    n_threads : int
    rows : ndarray of int64, shape (r,), optional
        The rows to send, by default all.

    Returns
    -------
    ndarray of int32, shape (r,)
    """
    cdef Matrix matrix = matrix_of(X_explain)
    cdef const int64_t[::1] given = np.empty(0, dtype=np.int64) if rows is None else rows
    cdef Py_ssize_t n = X_explain.shape[0] if rows is None else given.shape[0], i, row
    cdef bint takes_all = rows is None
    cdef int node
    leaf_array = np.empty(n, dtype=np.int32)
    cdef int[::1] leaf = leaf_array
    n_threads = threads_for(n, n_threads)
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        node = 0
        row = i if takes_all else given[i]
        while feature[node] >= 0:
            node = child_of(&left[0], &right[0], node, entry(&matrix, row, feature[node]) <= cut[node])
        leaf[i] = node
    return leaf_array


cdef void _widen_gaps(
    const Matrix* matrix, const int* feature, const double* cut, const int* left, const int* right, const int* label,
    Py_ssize_t first, Py_ssize_t last, double* lower, double* upper,
) noexcept nogil:
    """Raise `lower` to the values of rows that go left, and bring `upper` down to those that go right, by node."""
    cdef Py_ssize_t row
    cdef int node
    cdef double value
    for row in range(first, last):
        if label[row] < 0:
            continue
        node = 0
        while feature[node] >= 0:
            value = entry(matrix, row, feature[node])
            if value <= cut[node]:
                lower[node] = max(lower[node], value)
                node = left[node]
            else:
                upper[node] = min(upper[node], value)
                node = right[node]


def gaps_of_cuts(
    X_explain, const int[::1] feature, const double[::1] cut, const int[::1] left, const int[::1] right,
    const int[::1] labels, *, int n_threads,
):
    """Return the gaps of a tree's cuts: any threshold from its lower end to below its upper one separates rows alike.

    Parameters
    ----------
    X_explain : ndarray of float32 or float64, shape (n, d)
    feature, left, right : ndarray of int32, shape (n_nodes,)
        -1 at leaves.
    cut : ndarray of float64, shape (n_nodes,)
    labels : ndarray of int32, shape (n,)
        Negative for rows that do not count.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    lower, upper : ndarray of float64, shape (n_nodes,)
        The largest value of a node's rows that go left, and the smallest of those that go right; infinite without these
        rows, and at leaves.
    """
    cdef Matrix matrix = matrix_of(X_explain)
    cdef Py_ssize_t n = labels.shape[0], n_nodes = feature.shape[0]
    cdef int n_shares = threads_for(n, n_threads) if HAS_OPENMP else 1, i
    cdef Share share
    lowers, uppers = np.full((n_shares, n_nodes), -np.inf), np.full((n_shares, n_nodes), np.inf)
    cdef double[:, ::1] lower = lowers, upper = uppers
    if n == 0:
        return lowers[0], uppers[0]
    for i in prange(n_shares, nogil=True, num_threads=n_shares, schedule="static", chunksize=1):
        share = share_of(0, n, i, n_shares)
        _widen_gaps(
            &matrix, &feature[0], &cut[0], &left[0], &right[0], &labels[0], share.first, share.last,
            &lower[i, 0], &upper[i, 0],
        )
    return lowers.max(axis=0) + 0.0, uppers.min(axis=0) + 0.0  # -0.0 and 0.0 are the same value
