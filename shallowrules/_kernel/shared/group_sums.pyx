"""Sums of the rows of each group, in parts whose sums are exact: see `shallowrules.measures.summation`."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from shallowrules._kernel.shared.matrix cimport Matrix, matrix_of, values_of_row
from shallowrules._kernel.shared.threads cimport Share, share_of, threads_for


def sums_of_parts(
    X, const int[::1] groups, Py_ssize_t n_groups, weight, const double[:, ::1] scale, const double[::1] rounder,
    int n_threads, *, bint rounds_products=False, rows=None,
):
    """Return the sums of the parts that the values of each column are cut into.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n, d)
        Finite.
    groups : ndarray of int32, shape (r,)
        From 0 to n_groups - 1; other rows do not count.
    n_groups : int
    weight : ndarray of float64, shape (r,), or None
        Not negative; rows of weight 0 do not count.
    scale : ndarray of float64, shape (2, d)
        Two powers of two, by which each value of a column is multiplied, one after the other.
    rounder : ndarray of float64, shape (p,)
        What rounds a value to each of its parts when it is added and subtracted.
    n_threads : int
        The result does not depend on it where the sums are exact.
    rounds_products : bool
        Whether the product of a value and its weight, at most 1, is cut into parts; else the parts are multiplied.
    rows : ndarray of int64, shape (r,), optional
        The rows that `groups` and `weight` are of, by default all.

    Returns
    -------
    ndarray of float64, shape (p, n_groups, d)
    """
    cdef Matrix matrix = matrix_of(X)
    cdef const int64_t[::1] given = np.empty(0, dtype=np.int64) if rows is None else rows
    cdef const int64_t* rows_of = NULL if rows is None or not len(rows) else &given[0]
    cdef Py_ssize_t n = len(groups), d = matrix.n_columns, n_parts = rounder.shape[0]
    cdef int thread, threads = threads_for(n, n_threads)
    sums_array = np.zeros((threads, n_parts, n_groups, d))
    cdef double[:, :, :, ::1] sums = sums_array
    cdef const double[::1] weight_view = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None else &weight_view[0]
    cdef double* rests = <double*>malloc(threads * (d + 8) * sizeof(double))
    cdef Share share
    if rests == NULL:
        raise MemoryError
    try:
        for thread in prange(threads, nogil=True, num_threads=threads, schedule="static"):
            share = share_of(0, n, thread, threads)
            _add_up(
                &matrix, rows_of, &groups[0], n_groups, w, rounds_products, share, &scale[0, 0], &rounder[0], n_parts,
                rests + thread * (d + 8), &sums[thread, 0, 0, 0],
            )
    finally:
        free(rests)
    return sums_array.sum(axis=0)


cdef void _add_up(
    const Matrix* matrix, const int64_t* rows, const int* groups, Py_ssize_t n_groups, const double* weight,
    bint rounds_products, Share share, const double* scale, const double* rounder, Py_ssize_t n_parts, double* rest,
    double* sums,
) noexcept nogil:
    """Add the parts of the rows of one share."""
    cdef Py_ssize_t i, j, p, d = matrix.n_columns
    cdef double w, part
    cdef const double* point
    cdef double* sum_of
    for i in range(share.first, share.last):
        w = 1.0 if weight == NULL else weight[i]
        if groups[i] < 0 or groups[i] >= n_groups or w == 0.0:
            continue
        point = values_of_row(matrix, i if rows == NULL else rows[i], rest)
        for j in range(d):
            rest[j] = point[j] * scale[j] * scale[d + j]
        if rounds_products:
            for j in range(d):
                rest[j] = rest[j] * w
            w = 1.0
        for p in range(n_parts):
            sum_of = sums + (p * n_groups + groups[i]) * d
            for j in range(d):
                part = (rest[j] + rounder[p]) - rounder[p]
                rest[j] = rest[j] - part
                sum_of[j] += part * w
