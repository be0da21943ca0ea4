"""Keys of rows: numbers that look random and depend on nothing but the values of a row."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.shared.matrix cimport Matrix, entry


cdef inline uint64_t key_of(const Matrix* matrix, Py_ssize_t row, uint64_t key) noexcept nogil:
    """Return the key of a row whose values follow others, whose key is given."""
    cdef uint64_t bits
    cdef double value
    cdef Py_ssize_t j
    for j in range(matrix.n_columns):
        value = entry(matrix, row, j) + 0.0  # -0.0 is 0.0
        memcpy(&bits, &value, sizeof(double))
        key = (key ^ bits) * <uint64_t>0x9E3779B97F4A7C15
        key ^= key >> 31
    return key
