"""Identical rows become one: the algorithm's "rows" are distinct and carry summed weights.

An open-addressing hash table of row numbers. Rows of weight 0 never enter. The first of equal
rows, in table order, stands for all of them.
"""

import numpy as np

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.matrix cimport Matrix, entry, matrix_of


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


def distinct_rows(explained, clustered, weight, labels=None):
    """Find the distinct rows of positive weight.

    Parameters
    ----------
    explained, clustered : ndarray of float32 or float64, shapes (n, d) and (n, m)
        Rows are equal if they are in both; pass the same object twice if there is one space.
    weight : ndarray of float64, shape (n,), or None
    labels : ndarray of int32, shape (n,), optional
        Rows of different labels are not equal.

    Returns
    -------
    first : ndarray of int32, shape (n_distinct,)
        The first row of each group of equal ones, ascending.
    group : ndarray of int32, shape (n,), or None
        The group of each row, -1 for a row of weight 0; None where every row is its own group.
    """
    cdef Matrix one = matrix_of(explained), two = matrix_of(clustered)
    cdef bint same = explained is clustered
    cdef Py_ssize_t n = explained.shape[0], i, j, n_groups = 0, size = 16
    while size < 2 * n:
        size *= 2
    cdef uint64_t mask = size - 1, slot, state
    table_array = np.full(size, -1, dtype=np.int32)
    group_array = np.empty(n, dtype=np.int32)
    first_array = np.empty(n, dtype=np.int32)
    cdef int[::1] table = table_array, group = group_array, first = first_array
    cdef const double[::1] w = np.empty(0) if weight is None else weight
    cdef const int[::1] label = np.empty(0, dtype=np.int32) if labels is None else labels
    cdef bint weighted = weight is not None, labelled = labels is not None
    cdef int other
    with nogil:
        for i in range(n):
            if weighted and w[i] == 0:
                group[i] = -1
                continue
            state = 0x243F6A8885A308D3ULL
            for j in range(one.n_columns):
                state = _mix(state, entry(&one, i, j))
            if not same:
                for j in range(two.n_columns):
                    state = _mix(state, entry(&two, i, j))
            if labelled:
                state = _mix(state, label[i])
            slot = (state ^ (state >> 29)) & mask
            while True:
                other = table[slot]
                if other < 0:
                    table[slot] = <int>n_groups
                    first[n_groups] = <int>i
                    group[i] = <int>n_groups
                    n_groups += 1
                    break
                if (
                    _equal(&one, first[other], i) and (same or _equal(&two, first[other], i))
                    and (not labelled or label[first[other]] == label[i])
                ):
                    group[i] = other
                    break
                slot = (slot + 1) & mask
    if n_groups == n:
        return first_array, None
    return first_array[:n_groups].copy(), group_array
