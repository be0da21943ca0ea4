"""Keys of rows: numbers that look random and depend on nothing but the values of a row."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.shared.threads cimport threads_for_values


cdef uint64_t _key_of(const Matrix* matrix, Py_ssize_t row) noexcept nogil:
    cdef uint64_t key = 0, bits
    cdef double value
    cdef Py_ssize_t j
    for j in range(matrix.n_columns):
        value = entry(matrix, row, j) + 0.0  # -0.0 is 0.0
        memcpy(&bits, &value, sizeof(double))
        key = (key ^ bits) * <uint64_t>0x9E3779B97F4A7C15
        key ^= key >> 31
    return key


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
    n_threads = threads_for_values(rows.shape[0] * matrix.n_columns, n_threads)
    for i in prange(rows.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        keys[i] = _key_of(&matrix, rows[i])
    return array
