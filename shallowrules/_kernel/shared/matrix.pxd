"""A strided view of float32 or float64 numbers, read as float64 one entry or one block at a time."""

cdef extern from "shared/prefetch.h" nogil:
    void sr_prefetch(const void* place) noexcept

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


cdef inline const double* point_of(const Matrix* matrix, Py_ssize_t row, double* buffer) noexcept nogil:
    """Return where the values of a row lie side by side: in the matrix, or else in a buffer, copied."""
    if not matrix.is_float32 and matrix.column_stride == sizeof(double):
        return <const double*>(matrix.data + row * matrix.row_stride)
    load_point(matrix, row, buffer)
    return buffer


cdef inline void prefetch_ahead(const Matrix* matrix, Py_ssize_t row, Py_ssize_t count) noexcept nogil:
    """Prefetch what lies `AHEAD` bytes behind some rows, for those who read the rows of a table one after the other."""
    cdef const char* place = matrix.data + row * matrix.row_stride + AHEAD
    cdef const char* end = place + count * matrix.row_stride
    if not 0 < matrix.column_stride <= <Py_ssize_t>sizeof(double):
        return
    while place < end:
        sr_prefetch(place)
        place += CACHE_LINE


cdef enum:
    CACHE_LINE = 64     # bytes
    AHEAD = 4096        # bytes
    FOUR = 4        # rows that are gone over side by side, so that nothing waits for the row before


cdef inline void points_of(
    const Matrix* matrix, const Py_ssize_t* rows, double* buffer, const double** points
) noexcept nogil:
    """Find the values of `FOUR` rows, see `point_of`; buffer: of `FOUR` rows."""
    cdef int i
    prefetch_ahead(matrix, rows[0], FOUR)
    for i in range(FOUR):
        points[i] = point_of(matrix, rows[i], buffer + i * matrix.n_columns)


cdef Matrix matrix_of(array) except *
cdef void load_point(const Matrix* matrix, Py_ssize_t row, double* out) noexcept nogil
cdef void load_block(
    const Matrix* matrix, const int* rows, Py_ssize_t count, double* out, Py_ssize_t lanes
) noexcept nogil
cdef void prefetch_rows(const Matrix* matrix, const int* rows, Py_ssize_t count) noexcept nogil
