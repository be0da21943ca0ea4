"""Reading X without a copy of it: any strides, float32 or float64, through one struct."""

import numpy as np


cdef Matrix matrix_of(array) except *:
    """View a two-dimensional float32 or float64 array; the caller keeps the array alive."""
    cdef Matrix matrix
    if array.ndim != 2 or array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise TypeError("the kernel reads two-dimensional native float32 or float64 arrays")
    matrix.data = <const char*><size_t>array.__array_interface__["data"][0]
    matrix.row_stride = array.strides[0]
    matrix.column_stride = array.strides[1]
    matrix.n_columns = array.shape[1]
    matrix.single = array.dtype == np.float32
    return matrix


cdef void load_point(const Matrix* matrix, Py_ssize_t row, double* out) noexcept nogil:
    """Copy one row to out[column]."""
    cdef Py_ssize_t j
    cdef const char* place = matrix.data + row * matrix.row_stride
    if matrix.single:
        for j in range(matrix.n_columns):
            out[j] = <double>(<const float*>(place + j * matrix.column_stride))[0]
    else:
        for j in range(matrix.n_columns):
            out[j] = (<const double*>(place + j * matrix.column_stride))[0]


cdef void load_block(
    const Matrix* matrix, const int* rows, Py_ssize_t count, double* out, Py_ssize_t lanes
) noexcept nogil:
    """Copy rows to out[column * lanes + r]; lanes beyond `count` repeat the last row."""
    cdef Py_ssize_t r, j, m = matrix.n_columns
    cdef const char* place
    cdef const double* values
    for r in range(lanes):
        place = matrix.data + rows[r if r < count else count - 1] * matrix.row_stride
        if matrix.single:
            for j in range(m):
                out[j * lanes + r] = <double>(<const float*>(place + j * matrix.column_stride))[0]
        elif matrix.column_stride == sizeof(double):
            values = <const double*>place
            for j in range(m):
                out[j * lanes + r] = values[j]
        else:
            for j in range(m):
                out[j * lanes + r] = (<const double*>(place + j * matrix.column_stride))[0]


def column_ranges(array):
    """Return the least and the largest value of each column of a matrix: two arrays of float64, shape (d,)."""
    cdef Matrix matrix = matrix_of(array)
    cdef Py_ssize_t n = array.shape[0], m = matrix.n_columns, i, j
    low_array, high_array, point_array = np.full(m, np.inf), np.full(m, -np.inf), np.empty(m)
    cdef double[::1] low_view = low_array, high_view = high_array, point_view = point_array
    cdef double* low = &low_view[0]
    cdef double* high = &high_view[0]
    cdef double* point = &point_view[0]
    with nogil:
        for i in range(n):
            load_point(&matrix, i, point)
            for j in range(m):
                low[j] = point[j] if point[j] < low[j] else low[j]
                high[j] = point[j] if point[j] > high[j] else high[j]
    return low_array, high_array
