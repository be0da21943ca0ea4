"""The parts of k-means++ that read the rows: their distances to the nearest center, summed, and rows drawn by them.

Several starts are worked on in one pass of the table.
"""

import numpy as np

from cython.parallel cimport prange
from libc.string cimport memset

from shallowrules._kernel.shared.lanes cimport LANES, sr_lane_distances
from shallowrules._kernel.shared.matrix cimport Matrix, load_block, matrix_of
from shallowrules._kernel.shared.threads cimport CHUNK, Share, share_of, threads_for


cdef extern from "shared/seeding.h" nogil:
    void sr_sum_closest(
        const double* distances, Py_ssize_t n_starts, Py_ssize_t n_trials, bint keeps,
        const double* weight, double* closest, Py_ssize_t stride, double* sums) noexcept


cdef struct Trials:
    # The sums with one more row among the centers of each start.
    const double* centers   # [n_starts * n_trials, m]
    const int* ids          # of these, in order
    Py_ssize_t n_starts, n_trials
    bint keeps


def without_centers(Py_ssize_t n_starts, Py_ssize_t n):
    """Return the initial distances for `sum_closest`: those of n rows before any center is chosen.

    Returns
    -------
    ndarray of float64, shape (n_starts, n_lanes)
        Infinite for the rows; 0 where the last vector of 16 has none.
    """
    closest = np.full((n_starts, (n + LANES - 1) // LANES * LANES), np.inf)
    closest[:, n:] = 0.0
    return closest


def sum_closest(
    X, const double[:, ::1] centers, double[:, ::1] closest, weight, *, bint keeps, int n_threads=1
):
    """Return the weighted squared distances of rows to the nearest center, summed, with one more center.

    Parameters
    ----------
    X : ndarray of float32 or float64, shape (n, m)
        At least one row and one column.
    centers : ndarray of float64, shape (n_starts * n_trials, m)
        The further center of each trial of each start.
    closest : ndarray of float64, shape (n_starts, n_lanes)
        Of each row to the nearest of its start's centers so far, see `without_centers`.
    weight : ndarray of float64, shape (n,), or None
    keeps : bool
        Whether `closest` holds the distances with the further center from then on; there is one trial per start then.
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (n_chunks, n_starts, n_trials)
        The sum over every 4,096 rows.
    """
    cdef Matrix matrix = matrix_of(X)
    cdef Py_ssize_t n = X.shape[0], n_starts = closest.shape[0], n_centers = centers.shape[0], m = matrix.n_columns
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK, chunk
    cdef int threads = threads_for(n * m, n_threads), thread
    cdef Share share
    sums_array = np.empty((n_chunks, n_starts, n_centers // n_starts))
    cdef double[:, :, ::1] sums = sums_array
    cdef const double[::1] weight_view = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None else &weight_view[0]
    cdef const int[::1] ids = np.arange(n_centers, dtype=np.int32)
    cdef double[:, ::1] rows = np.empty((threads, (m + 1) * LANES)), lanes = np.empty((threads, 2 * n_centers * LANES))
    cdef Trials trials = Trials(&centers[0, 0], &ids[0], n_starts, n_centers // n_starts, keeps)
    if centers.shape[1] != m or n_centers % n_starts or closest.shape[1] < n or (w and weight_view.shape[0] != n):
        raise ValueError("the further centers, the distances and the weights are those of another table")
    for thread in prange(threads, nogil=True, num_threads=threads, schedule="static", chunksize=1):
        share = share_of(0, n_chunks, thread, threads)
        for chunk in range(share.first, share.last):
            _sum_chunk(
                &matrix, chunk * CHUNK, min((chunk + 1) * CHUNK, n), &trials, w, &closest[0, 0], closest.shape[1],
                &rows[thread, 0], &lanes[thread, 0], &sums[chunk, 0, 0],
            )
    return sums_array


cdef void _sum_chunk(
    const Matrix* matrix, Py_ssize_t first, Py_ssize_t last, const Trials* trials, const double* weight,
    double* closest, Py_ssize_t stride, double* rows, double* lanes, double* sums,
) noexcept nogil:
    """Sum over some rows. rows: scratch [m, LANES]; lanes: scratch twice [n_starts * n_trials, LANES]."""
    cdef Py_ssize_t begin = first, count, r, center, n_centers = trials.n_starts * trials.n_trials
    cdef double* distances = lanes
    cdef double* lane_sums = lanes + n_centers * LANES
    cdef int[LANES] here
    cdef double[LANES] weights
    memset(lane_sums, 0, n_centers * LANES * sizeof(double))
    while begin < last:
        count = min(<Py_ssize_t>LANES, last - begin)
        for r in range(LANES):
            here[r] = <int>(begin + min(r, count - 1))
            weights[r] = 1.0 if weight == NULL else weight[here[r]]
        load_block(matrix, here, count, rows, LANES)
        sr_lane_distances(
            rows, matrix.n_columns, trials.centers, trials.ids, n_centers, distances
        )
        sr_sum_closest(
            distances, trials.n_starts, trials.n_trials, trials.keeps, weights, closest + begin, stride,
            lane_sums,
        )
        begin += count
    for center in range(n_centers):
        sums[center] = 0.0
        for r in range(LANES):
            sums[center] += lane_sums[center * LANES + r]


def draw_rows(
    const double[:, ::1] closest, weight, Py_ssize_t n, const double[:, ::1] up_to, const double[:, ::1] at,
    const double[:, ::1] bound,
):
    """Return the row at which the running sum of weighted distances reaches a number, and where rounding may decide.

    Parameters
    ----------
    closest : ndarray of float64, shape (n_starts, n_lanes)
        See `sum_closest`.
    weight : ndarray of float64, shape (n,), or None
    n : int
        Number of rows.
    up_to : ndarray of float64, shape (n_starts, n_chunks)
        The running sum at the end of each chunk.
    at : ndarray of float64, shape (n_starts, n_trials)
        The numbers to reach.
    bound : ndarray of float64, shape (n_starts, n_trials)
        Of the error of the running sum less the number.

    Returns
    -------
    rows : ndarray of int64, shape (n_starts, n_trials)
    doubtful : ndarray of bool, shape (n_starts, n_trials)
    """
    cdef Py_ssize_t n_starts = at.shape[0], n_trials = at.shape[1], start, trial, chunk, row
    cdef const double[::1] weight_view = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None else &weight_view[0]
    cdef double number, before, total
    if closest.shape[1] < n or up_to.shape[1] * CHUNK < n or (w and weight_view.shape[0] != n):
        raise ValueError("the distances, their sums and the weights are those of another table")
    rows_array = np.empty((n_starts, n_trials), dtype=np.int64)
    doubtful_array = np.ones((n_starts, n_trials), dtype=np.uint8)
    cdef long long[:, ::1] rows = rows_array
    cdef unsigned char[:, ::1] doubtful = doubtful_array
    with nogil:
        for start in range(n_starts):
            for trial in range(n_trials):
                number, chunk = at[start, trial], 0
                while chunk < up_to.shape[1] - 1 and up_to[start, chunk] < number:
                    chunk += 1
                total = before = up_to[start, chunk - 1] if chunk else 0.0
                rows[start, trial] = n - 1
                for row in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n)):
                    before = total
                    total += closest[start, row] * (1.0 if w == NULL else w[row])
                    if total >= number:
                        rows[start, trial] = row
                        doubtful[start, trial] = not (
                            total - number > bound[start, trial] and number - before > bound[start, trial]
                        )
                        break
    return rows_array, doubtful_array.view(np.bool_)
