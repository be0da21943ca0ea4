"""The k-means cost of a partition, each cluster around its own mean."""

import numpy as np

from cython.parallel cimport prange

from shallowrules._kernel.shared.matrix cimport Matrix, entry, matrix_of

cdef enum:
    N_PARTS = 16      # of the rows, summed apart and then in order, whatever the number of threads

cdef double NEXT_TO_NOTHING = 2.0 ** -20


def within_cluster_sum_of_squares(X_cluster, const int[::1] labels, Py_ssize_t k, weight, int n_threads=1):
    """Return the sum of weighted squared distances of rows to the mean of their cluster.

    Parameters
    ----------
    X_cluster : ndarray of float32 or float64, shape (n, m)
    labels : ndarray of int32, shape (n,)
        From 0 to k - 1; others do not count.
    k : int
    weight : ndarray of float64, shape (n,), or None
        Not negative; rows of weight 0 do not count.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    float
    """
    cdef Matrix matrix = matrix_of(X_cluster)
    cdef Py_ssize_t n = X_cluster.shape[0], m = matrix.n_columns, part, i
    origin_array = np.zeros((k, m))
    sums_array = np.zeros((N_PARTS, k, m))
    weights_array = np.zeros((N_PARTS, k))
    cost_array = np.zeros((N_PARTS, 16))  # a more than a cache line apart
    seen_array = np.zeros(k, dtype=np.uint8)
    cdef double[:, ::1] origin = origin_array, cost = cost_array, weights = weights_array
    cdef double[:, :, ::1] sums = sums_array
    cdef unsigned char[::1] seen = seen_array
    cdef double[::1] heaviest = np.zeros(k)
    cdef const double[::1] weight_view = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None else &weight_view[0]
    # Sums of differences from a row of the cluster keep the digits that an offset would take. Beside far heavier rows
    # it would be an offset itself.
    for i in range(n if w != NULL else 0):
        if 0 <= labels[i] < k:
            heaviest[labels[i]] = max(heaviest[labels[i]], w[i])
    for i in range(n):
        if not 0 <= labels[i] < k or seen[labels[i]]:
            continue
        if w == NULL or (w[i] > 0 and w[i] >= NEXT_TO_NOTHING * heaviest[labels[i]]):
            seen[labels[i]] = 1
            origin_array[labels[i]] = X_cluster[i]
    for part in prange(N_PARTS, nogil=True, num_threads=n_threads, schedule="static"):
        _add_up(
            &matrix, &labels[0], k, w, n * part // N_PARTS, n * (part + 1) // N_PARTS, &origin[0, 0],
            &sums[part, 0, 0], &weights[part, 0], &cost[part, 0],
        )
    total = weights_array.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)[:, None]
    mean_array = origin_array + sums_array.sum(axis=0) / safe
    cdef double[:, ::1] mean = mean_array
    sums_array[:] = 0
    cost_array[:] = 0
    for part in prange(N_PARTS, nogil=True, num_threads=n_threads, schedule="static"):
        _add_up(
            &matrix, &labels[0], k, w, n * part // N_PARTS, n * (part + 1) // N_PARTS, &mean[0, 0],
            &sums[part, 0, 0], &weights[part, 0], &cost[part, 0],
        )
    # What the rounding of the mean adds to the sum of squares is known and subtracted.
    excess = sums_array.sum(axis=0)
    return max(float(cost_array[:, 0].sum() - (excess / safe * excess).sum()), 0.0)


cdef void _add_up(
    const Matrix* matrix, const int* labels, Py_ssize_t k, const double* weight, Py_ssize_t first, Py_ssize_t last,
    const double* around, double* sums, double* weights, double* cost,
) noexcept nogil:
    """Add differences from each cluster's point, weights and squares."""
    cdef Py_ssize_t i, j, m = matrix.n_columns, label
    cdef double w, gap, squares
    for i in range(first, last):
        label = labels[i]
        w = 1.0 if weight == NULL else weight[i]
        if label < 0 or label >= k or w == 0.0:
            continue
        squares = 0.0
        for j in range(m):
            gap = entry(matrix, i, j) - around[label * m + j]
            sums[label * m + j] += w * gap
            squares += gap * gap
        cost[0] += w * squares
        weights[label] += w
