"""Reading a matrix without a copy of it: any strides, float32 or float64, through one struct."""

import numpy as np

from cython.parallel cimport prange

from shallowrules._kernel.inputs import Ranges
from shallowrules._kernel.shared.threads cimport threads_for_values

cdef extern from "shared/columns.h" nogil:
    void sr_four_columns(
        const double* one, const double* two, const double* three, const double* four, Py_ssize_t n_columns,
        Py_ssize_t lanes, double* out) noexcept

cdef extern from "shared/ranges.h" nogil:
    void sr_widen(
        const double** rows, Py_ssize_t n_columns, double* low, double* high, double* missing
    ) noexcept

cdef enum:
    APART = 16          # doubles between the results of two threads: two cache lines


cdef Matrix matrix_of(array) except *:
    """View a two-dimensional float32 or float64 array; the caller keeps the array alive."""
    cdef Matrix matrix
    if array.ndim != 2 or array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise TypeError("the kernel reads two-dimensional native float32 or float64 arrays")
    matrix.data = <const char*><size_t>array.__array_interface__["data"][0]
    matrix.row_stride = array.strides[0]
    matrix.column_stride = array.strides[1]
    matrix.n_columns = array.shape[1]
    matrix.is_float32 = array.dtype == np.float32
    return matrix


cdef void load_point(const Matrix* matrix, Py_ssize_t row, double* out) noexcept nogil:
    """Copy one row to out[column]."""
    cdef Py_ssize_t j
    cdef const char* place = matrix.data + row * matrix.row_stride
    if matrix.is_float32:
        for j in range(matrix.n_columns):
            out[j] = <double>(<const float*>(place + j * matrix.column_stride))[0]
    else:
        for j in range(matrix.n_columns):
            out[j] = (<const double*>(place + j * matrix.column_stride))[0]


cdef void load_block(
    const Matrix* matrix, const int* rows, Py_ssize_t count, double* out, Py_ssize_t lanes
) noexcept nogil:
    """Copy rows to out[column * lanes + r]; lanes beyond `count` repeat the last row."""
    cdef Py_ssize_t r, j, m = matrix.n_columns, n_fours = 0
    cdef const char* place
    cdef const double* values
    if has_rows_of_doubles(matrix):
        n_fours = count // 4
    for r in range(0, 4 * n_fours, 4):  # four at a time: their values are written together
        sr_four_columns(
            row_of(matrix, rows[r]), row_of(matrix, rows[r + 1]), row_of(matrix, rows[r + 2]),
            row_of(matrix, rows[r + 3]), m, lanes, out + r,
        )
    for r in range(4 * n_fours, lanes):
        place = matrix.data + rows[r if r < count else count - 1] * matrix.row_stride
        if matrix.is_float32:
            for j in range(m):
                out[j * lanes + r] = <double>(<const float*>(place + j * matrix.column_stride))[0]
        elif matrix.column_stride == sizeof(double):
            values = <const double*>place
            for j in range(m):
                out[j * lanes + r] = values[j]
        else:
            for j in range(m):
                out[j * lanes + r] = (<const double*>(place + j * matrix.column_stride))[0]


cdef void prefetch_rows(const Matrix* matrix, const int* rows, Py_ssize_t count) noexcept nogil:
    """Prefetch rows that `load_block` is going to copy."""
    cdef Py_ssize_t r
    for r in range(count):
        prefetch_one(matrix, rows[r])


def column_ranges(array, int n_threads=1):
    """Return the smallest and the largest value of each column of a matrix, NaN for a column that has one.

    Parameters
    ----------
    array : ndarray of float32 or float64, shape (n, d)
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    Ranges
    """
    cdef Matrix matrix = matrix_of(array)
    cdef Py_ssize_t n = array.shape[0], m = matrix.n_columns, t
    n_threads = threads_for_values(n * m, n_threads)
    # Threads that write to the same cache line would wait for each other all the time.
    low_array, high_array = np.full((n_threads, m + APART), np.inf), np.full((n_threads, m + APART), -np.inf)
    missing_array = np.zeros((n_threads, m + APART))
    cdef double[:, ::1] low = low_array, high = high_array, missing = missing_array
    cdef double[:, ::1] buffer = np.empty((n_threads, FOUR * m + APART))
    for t in prange(n_threads, nogil=True, num_threads=n_threads, schedule="static", chunksize=1):
        _find_ranges(
            &matrix, n * t // n_threads, n * (t + 1) // n_threads, &buffer[t, 0], &low[t, 0],
            &high[t, 0], &missing[t, 0],
        )
    missed = missing_array[:, :m].any(axis=0)
    return Ranges(*(
        np.where(missed, np.nan, ends) for ends in (low_array[:, :m].min(axis=0), high_array[:, :m].max(axis=0))
    ))


cdef void _find_ranges(
    const Matrix* matrix, Py_ssize_t first, Py_ssize_t last, double* buffer, double* low,
    double* high, double* missing
) noexcept nogil:
    cdef Py_ssize_t row
    cdef Py_ssize_t[FOUR] rows
    cdef const double* values[FOUR]
    for row in range(first, last, 4):
        four_from(row, last, rows)
        values_of_four(matrix, rows, buffer, values)
        sr_widen(values, matrix.n_columns, low, high, missing)
