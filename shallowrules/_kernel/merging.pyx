"""Identical rows become one: the algorithm's "rows" are distinct and carry summed weights.

An open-addressing hash table of row numbers. Rows of weight 0 never enter. The first of equal
rows, in table order, stands for all of them.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.state cimport LARGE


cdef inline uint64_t _mix(uint64_t state, double value) noexcept nogil:
    cdef uint64_t bits
    value = value + 0.0  # -0.0 equals 0.0 and must hash alike
    memcpy(&bits, &value, sizeof(bits))
    state = (state ^ bits) * 0x9E3779B97F4A7C15ULL
    return state ^ (state >> 32)


cdef inline bint _equal(const Matrix* matrix, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(matrix.n_columns):
        if entry(matrix, a, j) != entry(matrix, b, j):
            return False
    return True


def distinct_rows(explained, clustered, weight, labels=None, int n_threads=1):
    """Find the distinct rows of positive weight.

    Parameters
    ----------
    explained, clustered : ndarray of float32 or float64, shapes (n, d) and (n, m)
        Rows are equal if they are in both; pass the same object twice if there is one space.
    weight : ndarray of float64, shape (n,), or None
    labels : ndarray of int32, shape (n,), optional
        Rows of different labels are not equal.
    n_threads : int
        Each finds the equal rows among those of its part of the hashes; the result does not depend on it.

    Returns
    -------
    first : ndarray of int32, shape (n_distinct,)
        The first row of each group of equal ones, ascending.
    group : ndarray of int32, shape (n,), or None
        The group of each row, -1 for a row of weight 0; None where every row is its own group.
    """
    cdef Matrix one = matrix_of(explained), two = matrix_of(clustered)
    cdef bint same = explained is clustered
    cdef Py_ssize_t n = explained.shape[0], t, i, size = 16
    if n < LARGE:  # waking threads takes longer
        n_threads = 1
    while size * n_threads < 2 * n:
        size *= 2
    hash_array = np.empty(n, dtype=np.uint64)
    leader_array = np.empty(n, dtype=np.int32)
    table_array = np.full((n_threads, size), -1, dtype=np.int32)
    cdef uint64_t[::1] hashes = hash_array
    cdef int[::1] leader = leader_array
    cdef int[:, ::1] table = table_array
    cdef const double[::1] w = np.empty(0) if weight is None else weight
    cdef const int[::1] label = np.empty(0, dtype=np.int32) if labels is None else labels
    cdef bint weighted = weight is not None, labelled = labels is not None
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        hashes[i] = _hash_row(&one, i, 0x243F6A8885A308D3ULL)
        if not same:
            hashes[i] = _hash_row(&two, i, hashes[i])
        if labelled:
            hashes[i] = _mix(hashes[i], label[i])
    cdef const int* labels_of = &label[0] if labelled else NULL
    cdef const double* weights_of = &w[0] if weighted else NULL
    for t in prange(n_threads, nogil=True, num_threads=n_threads, schedule="static", chunksize=1):
        _find_leaders(
            &one, NULL if same else &two, labels_of, weights_of, &hashes[0], n, t, n_threads,
            &table[t, 0], size, &leader[0],
        )
    if weight is None and np.array_equal(leader_array, np.arange(n, dtype=np.int32)):
        return leader_array, None
    first = np.flatnonzero(leader_array == np.arange(n, dtype=np.int32)).astype(np.int32)
    if len(first) == n:
        return first, None
    number = np.empty(n, dtype=np.int32)
    number[first] = np.arange(len(first), dtype=np.int32)
    return first, np.where(leader_array >= 0, number[leader_array], np.int32(-1))


cdef uint64_t _hash_row(const Matrix* matrix, Py_ssize_t row, uint64_t state) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(matrix.n_columns):
        state = _mix(state, entry(matrix, row, j))
    return state


cdef void _find_leaders(
    const Matrix* one, const Matrix* two, const int* labels, const double* weight, const uint64_t* hashes,
    Py_ssize_t n, Py_ssize_t part, Py_ssize_t n_parts, int* table, Py_ssize_t size, int* leader,
) noexcept nogil:
    """Write to `leader` the first row that is equal, -1 for weight 0, of the rows whose hash is this part's."""
    cdef uint64_t mask = size - 1, slot, mixed
    cdef Py_ssize_t i
    cdef int other
    for i in range(n):
        mixed = hashes[i] ^ (hashes[i] >> 29)
        if <Py_ssize_t>((mixed >> 40) % <uint64_t>n_parts) != part:
            continue
        if weight != NULL and weight[i] == 0:
            leader[i] = -1
            continue
        slot = mixed & mask
        while True:
            other = table[slot]
            if other < 0:
                table[slot] = <int>i
                leader[i] = <int>i
                break
            if (
                hashes[other] == hashes[i] and _equal(one, other, i) and (two == NULL or _equal(two, other, i))
                and (labels == NULL or labels[other] == labels[i])
            ):
                leader[i] = other
                break
            slot = (slot + 1) & mask
