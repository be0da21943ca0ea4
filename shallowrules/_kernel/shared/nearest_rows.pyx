"""The nearest center of each row, by distances that are summed directly, column by column."""

import numpy as np

from cython.parallel cimport prange
from libc.string cimport memcpy

from shallowrules._kernel.shared.lanes cimport LANES, sr_lane_distances
from shallowrules._kernel.shared.matrix cimport Matrix, load_block, matrix_of
from shallowrules._kernel.shared.threads cimport CHUNK, threads_for


cdef extern from "shared/lanes.h" nogil:
    void sr_lane_smallest(
        const double* distances, Py_ssize_t n_centers, double* smallest, double* second,
        double* place) noexcept

cdef double ROUNDING = 2.0 ** -52


def nearest_centers(
    X_cluster, const double[:, ::1] centers, rows=None, *, distances=None, int n_threads=1
):
    """Return the nearest center of each row, and where rounding may decide which it is.

    Parameters
    ----------
    X_cluster : ndarray of float32 or float64, shape (n, m)
    centers : ndarray of float64, shape (k, m)
        At least one.
    rows : ndarray of int32, shape (r,), optional
        The rows to look at, by default all.
    distances : ndarray of float64, shape (k, r), optional
        Filled with the squared distances, as the kernel sums them everywhere.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    nearest : ndarray of int32, shape (r,)
        The first of equally near centers.
    doubtful : ndarray of uint8, shape (r,)
        1 where a distance to another center, summed in another order, may be as small.
    """
    cdef Matrix matrix = matrix_of(X_cluster)
    cdef const int[::1] picked = np.empty(0, dtype=np.int32) if rows is None else rows
    cdef const int* row = NULL if rows is None else &picked[0] if len(rows) else NULL
    cdef Py_ssize_t n = len(X_cluster) if rows is None else picked.shape[0], m = matrix.n_columns, k = centers.shape[0]
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK, chunk
    cdef int threads = threads_for(n, n_threads), thread
    nearest_array, doubtful_array = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    cdef int[::1] nearest = nearest_array, ids = np.arange(k, dtype=np.int32)
    cdef unsigned char[::1] doubtful = doubtful_array
    cdef double[:, ::1] found = np.empty((0, 0)) if distances is None else distances
    cdef double* kept = NULL if distances is None or n == 0 else &found[0, 0]
    cdef double[:, ::1] lanes = np.empty((threads, m * LANES + LANES)), distance = np.empty((threads, (k + 1) * LANES))
    cdef double slack = 1.0 + 4 * (m + 4) * ROUNDING
    if n == 0:
        return nearest_array, doubtful_array
    for thread in prange(threads, nogil=True, num_threads=threads, schedule="static", chunksize=1):
        for chunk in range(n_chunks * thread // threads, n_chunks * (thread + 1) // threads):
            _find_nearest(
                &matrix, row, chunk * CHUNK, min((chunk + 1) * CHUNK, n), &centers[0, 0], &ids[0], k, slack,
                &lanes[thread, 0], &distance[thread, 0], &nearest[0], &doubtful[0], kept, n,
            )
    return nearest_array, doubtful_array


cdef void _find_nearest(
    const Matrix* matrix, const int* row, Py_ssize_t first, Py_ssize_t last, const double* centers, const int* ids,
    Py_ssize_t k, double slack, double* lanes, double* distances, int* nearest,
    unsigned char* doubtful, double* kept, Py_ssize_t n,
) noexcept nogil:
    """Find the nearest centers of some rows; lanes, of [m, LANES], and distances, of [k, LANES], are scratch."""
    cdef Py_ssize_t begin = first, r, count, center
    cdef int[LANES] here
    cdef double[LANES] smallest, second, place
    while begin < last:
        count = min(<Py_ssize_t>LANES, last - begin)
        for r in range(count):
            here[r] = <int>(begin + r) if row == NULL else row[begin + r]
        load_block(matrix, here, count, lanes, LANES)
        sr_lane_distances(lanes, matrix.n_columns, centers, ids, k, distances)
        for center in range(0 if kept == NULL else k):
            memcpy(kept + center * n + begin, distances + center * LANES, count * sizeof(double))
        sr_lane_smallest(distances, k, smallest, second, place)
        for r in range(count):
            nearest[begin + r] = <int>place[r]
            doubtful[begin + r] = not second[r] > smallest[r] * slack
        begin += count
