"""Sending rows through a grown tree."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.shared.threads cimport threads_for


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
            node = left[node] if entry(&matrix, row, feature[node]) <= cut[node] else right[node]
        leaf[i] = node
    return leaf_array
