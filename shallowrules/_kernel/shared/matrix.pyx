"""Reading a matrix without a copy of it: any strides, float32 or float64, through one struct."""

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
    cdef Py_ssize_t r, j
    cdef const char* place
    for r in range(lanes):
        place = matrix.data + rows[r if r < count else count - 1] * matrix.row_stride
        if matrix.is_float32:
            for j in range(matrix.n_columns):
                out[j * lanes + r] = <double>(<const float*>(place + j * matrix.column_stride))[0]
        else:
            for j in range(matrix.n_columns):
                out[j * lanes + r] = (<const double*>(place + j * matrix.column_stride))[0]


cdef void prefetch_rows(const Matrix* matrix, const int* rows, Py_ssize_t count) noexcept nogil:
    """Prefetch rows that `load_block` is going to copy."""
    cdef Py_ssize_t r
    for r in range(count):
        prefetch_one(matrix, rows[r])
