"""The nearest center of each row, from the product of the rows and the centers."""

from cython.parallel cimport prange
from libc.math cimport INFINITY

from shallowrules._kernel.shared.threads cimport CHUNK


def nearest_by_products(
    const double[:, ::1] rows, const double[:, ::1] products, const double[::1] squares, double slack,
    int[::1] label, unsigned char[::1] doubtful, int n_threads=1,
):
    """Find the center at the smallest distance from each row, and where rounding may decide which it is.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, m)
    products : ndarray of float64, shape (n, k)
        Of the rows and the centers.
    squares : ndarray of float64, shape (k,)
        The squared lengths of the centers.
    slack : float
        The rounding error of a distance, as a part of the squared lengths of the row and of the longest center.
    label : ndarray of int32, shape (n,)
        Written: the center, the lowest of equally near ones.
    doubtful : ndarray of uint8, shape (n,)
        Written: 1 where another center is no farther than the rounding error.
    n_threads : int
        The result does not depend on it.
    """
    cdef Py_ssize_t n = rows.shape[0], m = rows.shape[1], k = squares.shape[0], i, c
    cdef double longest = 0.0
    if n == 0:
        return
    for c in range(k):
        longest = max(longest, squares[c])
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", chunksize=CHUNK):
        label[i] = _nearest_to(&rows[i, 0], m, &products[i, 0], &squares[0], k, slack, longest, &doubtful[i])


cdef inline int _nearest_to(
    const double* row, Py_ssize_t m, const double* product, const double* squares, Py_ssize_t k, double slack,
    double longest, unsigned char* doubtful,
) noexcept nogil:
    cdef double best = squares[0] - 2.0 * product[0], second = INFINITY, distance, length = 0.0
    cdef int nearest = 0
    cdef Py_ssize_t c, j
    for c in range(1, k):
        distance = squares[c] - 2.0 * product[c]  # less the square of the row, the same for all centers
        if distance < best:
            second = best
            best = distance
            nearest = <int>c
        elif distance < second:
            second = distance
    for j in range(m):
        length += row[j] * row[j]
    doubtful[0] = second <= best + slack * (length + longest)
    return nearest
