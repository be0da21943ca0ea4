"""A strided view of float32 or float64 numbers, read as float64 one entry or one block at a time."""

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


cdef Matrix matrix_of(array) except *
cdef void load_point(const Matrix* matrix, Py_ssize_t row, double* out) noexcept nogil
cdef void load_block(
    const Matrix* matrix, const int* rows, Py_ssize_t count, double* out, Py_ssize_t lanes
) noexcept nogil
cdef void prefetch_rows(const Matrix* matrix, const int* rows, Py_ssize_t count) noexcept nogil
