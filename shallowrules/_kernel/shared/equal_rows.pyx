"""Identical rows become one: the algorithm's "rows" are distinct and carry summed weights.

An open-addressing hash table of row numbers. Rows of weight 0 never enter. The first of equal
rows, in table order, stands for all of them.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint64_t

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of
from shallowrules._kernel.shared.row_keys cimport key_of
from shallowrules._kernel.shared.threads cimport threads_for

cdef inline bint _equal(const Matrix* matrix, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(matrix.n_columns):
        if entry(matrix, a, j) != entry(matrix, b, j):
            return False
    return True


def deduplicate(X_explain, X_cluster, weight, labels=None, int n_threads=1):
    """Find the distinct rows of positive weight.

    Parameters
    ----------
    X_explain, X_cluster : ndarray of float32 or float64, shapes (n, d) and (n, m)
        Rows are equal if they are in both; pass the same object twice if there is one space.
    weight : ndarray of float64, shape (n,), or None
    labels : ndarray of int32, shape (n,), optional
        Rows of different labels are not equal.
    n_threads : int
        For the hashes; the result does not depend on it.

    Returns
    -------
    first : ndarray of int32, shape (n_distinct,)
        The first row of each group of equal ones, ascending.
    group : ndarray of int32, shape (n,), or None
        The group of each row, -1 for a row of weight 0; None where every row is its own group.
    """
    cdef Matrix one = matrix_of(X_explain), two = matrix_of(X_cluster)
    cdef bint same = X_explain is X_cluster
    cdef Py_ssize_t n = X_explain.shape[0], n_groups, i, size = 16
    n_threads = threads_for(n, n_threads)
    while size < 2 * n:
        size *= 2
    hash_array = np.empty(n, dtype=np.uint64)
    first_array = np.empty(n, dtype=np.int32)
    table_array = np.full(size, -1, dtype=np.int32)
    group_array = np.empty(n, dtype=np.int32)
    cdef uint64_t[::1] hashes = hash_array
    cdef int[::1] first = first_array, group = group_array, table = table_array
    cdef const double[::1] w = np.empty(0) if weight is None else weight
    cdef const int[::1] label = np.empty(0, dtype=np.int32) if labels is None else labels
    cdef bint weighted = weight is not None, labelled = labels is not None
    cdef const int* labels_of = &label[0] if labelled else NULL
    cdef const double* weights_of = &w[0] if weighted else NULL
    cdef const Matrix* other = NULL if same else &two
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        hashes[i] = key_of(&one, i, 0 if labels_of == NULL else labels_of[i])
        if other != NULL:
            hashes[i] = key_of(other, i, hashes[i])
    with nogil:
        n_groups = _group_rows(
            &one, other, labels_of, weights_of, &hashes[0], n, &table[0], size, &first[0], &group[0]
        )
    if n_groups == n:
        return first_array, None
    return first_array[:n_groups].copy(), group_array


cdef inline bint _are_equal(
    const Matrix* one, const Matrix* two, const int* labels, const uint64_t* hashes, Py_ssize_t a, Py_ssize_t b
) noexcept nogil:
    return (
        hashes[a] == hashes[b] and _equal(one, a, b) and (two == NULL or _equal(two, a, b))
        and (labels == NULL or labels[a] == labels[b])
    )


cdef Py_ssize_t _group_rows(
    const Matrix* one, const Matrix* two, const int* labels, const double* weight, const uint64_t* hashes,
    Py_ssize_t n, int* table, Py_ssize_t size, int* first, int* group,
) noexcept nogil:
    """Write each group's first row and each row's group; return how many groups there are."""
    cdef uint64_t mask = size - 1, slot
    cdef Py_ssize_t i, n_groups = 0
    cdef int other
    for i in range(n):
        if weight != NULL and weight[i] == 0:
            group[i] = -1
            continue
        slot = hashes[i] & mask
        while True:
            other = table[slot]
            if other < 0:
                table[slot] = <int>n_groups
                first[n_groups] = <int>i
                group[i] = <int>n_groups
                n_groups += 1
                break
            if _are_equal(one, two, labels, hashes, first[other], i):
                group[i] = other
                break
            slot = (slot + 1) & mask
    return n_groups
