"""A strided view of float32 or float64 numbers, read as float64 one entry or one block at a time."""

from shallowrules._kernel.shared.prefetch cimport sr_prefetch

cdef enum:
    CACHE_LINE = 64     # bytes


cdef struct Matrix:
    const char* data
    Py_ssize_t row_stride       # bytes
    Py_ssize_t column_stride    # bytes
    Py_ssize_t n_columns
    bint is_float32             # else float64


cdef inline double entry(const Matrix* matrix, Py_ssize_t row, Py_ssize_t column) noexcept nogil:
    cdef const char* place = matrix.data + row * matrix.row_stride + column * matrix.column_stride
    if matrix.is_float32:
        return <double>(<const float*>place)[0]
    return (<const double*>place)[0]


cdef inline bint has_rows_of_doubles(const Matrix* matrix) noexcept nogil:
    """Return whether the values of a row lie side by side, and are doubles."""
    return not matrix.is_float32 and matrix.column_stride == sizeof(double)


cdef inline const double* row_of(const Matrix* matrix, Py_ssize_t row) noexcept nogil:
    """Return where a row of doubles begins."""
    return <const double*>(matrix.data + row * matrix.row_stride)


cdef inline const double* values_of_row(const Matrix* matrix, Py_ssize_t row, double* buffer) noexcept nogil:
    """Return the address where the values of a row lie side by side as doubles: in the matrix, or else in a buffer,
    copied."""
    if has_rows_of_doubles(matrix):
        return row_of(matrix, row)
    load_point(matrix, row, buffer)
    return buffer


cdef inline void prefetch_one(const Matrix* matrix, Py_ssize_t row) noexcept nogil:
    """Prefetch a row that is going to be read, if it lies in one piece; it need not be in the table."""
    cdef const char* place = matrix.data + row * matrix.row_stride
    cdef const char* end = place + matrix.n_columns * matrix.column_stride
    if not 0 < matrix.column_stride <= <Py_ssize_t>sizeof(double):
        return
    while place < end:
        sr_prefetch(place)
        place += CACHE_LINE


cdef Matrix matrix_of(array) except *
cdef void load_point(const Matrix* matrix, Py_ssize_t row, double* out) noexcept nogil
cdef void load_block(
    const Matrix* matrix, const int* rows, Py_ssize_t count, double* out, Py_ssize_t lanes
) noexcept nogil
cdef void prefetch_rows(const Matrix* matrix, const int* rows, Py_ssize_t count) noexcept nogil
