"""Keys of rows, for Python."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint64_t

from shallowrules._kernel.shared.matrix cimport Matrix, matrix_of
from shallowrules._kernel.shared.threads cimport threads_for


def row_keys(X, const int[::1] rows, int n_threads=1):
    """Return 64 bits for each row that look random, equal for equal values.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n, m)
    rows : ndarray of int32, shape (r,)
    n_threads : int

    Returns
    -------
    ndarray of uint64, shape (r,)
    """
    cdef Matrix matrix = matrix_of(X)
    cdef Py_ssize_t i
    array = np.empty(len(rows), dtype=np.uint64)
    cdef uint64_t[::1] keys = array
    n_threads = threads_for(rows.shape[0] * matrix.n_columns, n_threads)
    for i in prange(rows.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        keys[i] = key_of(&matrix, rows[i], 0)
    return array
