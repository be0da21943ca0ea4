"""The k-means cost of a partition, each cluster around its own mean.

Squares are added up as integers, each in its place among 32-bit digits (a superaccumulator: Neal, "Fast exact summation
using small and large superaccumulators", 2015). The sum is exact, so neither the order of the rows nor a division into
parts matters. Where weights are whole numbers, a row of weight 3 is three rows; otherwise products with weights are
rounded.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport isfinite
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.shared.matrix cimport FOUR, Matrix, entry, matrix_of, values_of_four
from shallowrules._kernel.shared.threads cimport Share, share_of, threads_for

cdef enum:
    N_PARTS = 16      # of the rows, summed apart and then in order, whatever the number of threads

    N_DIGITS = 70     # of 32 bits: from the last bit of the least float to the largest one times a weight
    DIGIT = 32
    LOW = 22          # bits of a weight that are multiplied first
    ROWS_TO_CARRY = 1 << 26

cdef uint64_t LOW_DIGIT = 0xFFFFFFFF, MANTISSA_BITS = 0xFFFFFFFFFFFFF
cdef double NEXT_TO_NOTHING = 2.0 ** -20
cdef double MAX_FACTOR = 2.0 ** 11        # a mantissa times a whole number up to this one has 64 bits


def exact_squares(
    X_cluster, const int[::1] labels, const double[:, ::1] around, weight, int n_threads=1, *,
    bint rounds_products=False,
):
    """Return the exact sum of the weighted squared distances of rows to the point of their cluster.

    The square of each row is rounded to a float, and so is its product with a weight that is not whole; nothing
    else is.

    Parameters
    ----------
    X_cluster : ndarray of float32 or float64, shape (n, m)
    labels : ndarray of int32, shape (n,)
        From 0 to k - 1; others do not count.
    around : ndarray of float64, shape (k, m)
    weight : ndarray of float64, shape (n,), or None
        Whole numbers from 0 to 2**43; with `rounds_products` from 0 to 1.
    n_threads : int
        The result does not depend on it.
    rounds_products : bool
        Whether to round the product of a square and its weight to a float.

    Returns
    -------
    int or None
        In units of ``2**-1074``; None where a square is beyond floats.
    """
    cdef Matrix matrix = matrix_of(X_cluster)
    cdef Py_ssize_t n = X_cluster.shape[0]
    cdef int thread, threads = threads_for(n, n_threads)
    if not n or not matrix.n_columns:
        return 0
    digits_array = np.zeros((threads, N_DIGITS), dtype=np.uint64)
    refused_array = np.zeros((threads, 16), dtype=np.uint8)
    cdef double[:, ::1] buffer = np.empty((threads, FOUR * matrix.n_columns))
    cdef uint64_t[:, ::1] digits = digits_array
    cdef unsigned char[:, ::1] refused = refused_array
    cdef const double[::1] weight_view = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None else &weight_view[0]
    cdef Py_ssize_t k = around.shape[0]
    for thread in prange(threads, nogil=True, num_threads=threads, schedule="static"):
        refused[thread, 0] = not _add_squares(
            &matrix, &labels[0], k, w, rounds_products, share_of(0, n, thread, threads), &around[0, 0],
            &buffer[thread, 0], &digits[thread, 0],
        )
    if refused_array[:, 0].any():
        return None
    return sum(int(digit) << (DIGIT * place) for row in digits_array for place, digit in enumerate(row))


cdef bint _add_squares(
    const Matrix* matrix, const int* labels, Py_ssize_t k, const double* weight, bint rounds_products, Share share,
    const double* around, double* buffer, uint64_t* digits,
) noexcept nogil:
    """Add the squares of some rows to the digits; return False for one that is not finite."""
    cdef Py_ssize_t i, m = matrix.n_columns, n_added = 0
    cdef int place, count = 0, label
    cdef double w
    cdef Py_ssize_t[FOUR] rows
    cdef const double* around_of[FOUR]
    cdef const double* values[FOUR]
    cdef double[FOUR] squares
    for i in range(share.first, share.last):
        label = labels[i]
        w = 1.0 if weight == NULL else weight[i]
        if label >= 0 and label < k and w != 0.0:
            rows[count] = i
            around_of[count] = around + label * m
            count += 1
        if count < FOUR and (i < share.last - 1 or count == 0):
            continue
        for place in range(count, FOUR):
            rows[place], around_of[place] = rows[count - 1], around_of[count - 1]
        values_of_four(matrix, rows, buffer, values)
        _find_squares(values, around_of, m, squares)
        for place in range(count):
            w = 1.0 if weight == NULL else weight[rows[place]]
            if rounds_products:
                squares[place] *= w
                w = 1.0
            if not isfinite(squares[place]):
                return False
            if squares[place] != 0.0:
                _add_product(digits, squares[place], w)
        n_added += count
        if n_added >= ROWS_TO_CARRY:
            _carry(digits)
            n_added = 0
        count = 0
    return True


cdef void _find_squares(const double** rows, const double** around, Py_ssize_t m, double* squares) noexcept nogil:
    """Find the squared distance of each of `FOUR` rows to its point, summed in column order."""
    cdef Py_ssize_t j
    cdef double gap, a = 0.0, b = 0.0, c = 0.0, d = 0.0
    for j in range(m):
        gap = rows[0][j] - around[0][j]
        a += gap * gap
        gap = rows[1][j] - around[1][j]
        b += gap * gap
        gap = rows[2][j] - around[2][j]
        c += gap * gap
        gap = rows[3][j] - around[3][j]
        d += gap * gap
    squares[0], squares[1], squares[2], squares[3] = a, b, c, d


cdef inline void _add_product(uint64_t* digits, double squares, double weight) noexcept nogil:
    """Add the exact product of a positive number and a whole one to the digits."""
    cdef uint64_t bits, mantissa, low, high, factor_low, factor_high, factor = <uint64_t>weight
    cdef int place
    memcpy(&bits, &squares, sizeof(bits))
    mantissa = bits & MANTISSA_BITS
    place = <int>(bits >> 52)  # its exponent, for it has no sign: that of its last bit is one less
    if place:
        mantissa |= MANTISSA_BITS + 1
        place -= 1
    if weight <= MAX_FACTOR:
        _add_at(digits, mantissa * factor, place)
        return
    low = mantissa & LOW_DIGIT
    high = mantissa >> DIGIT
    factor_low = factor & ((1 << LOW) - 1)
    factor_high = factor >> LOW
    _add_at(digits, low * factor_low, place)
    _add_at(digits, high * factor_low, place + DIGIT)
    _add_at(digits, low * factor_high, place + LOW)
    _add_at(digits, high * factor_high, place + DIGIT + LOW)


cdef void _carry(uint64_t* digits) noexcept nogil:
    """Leave 32 bits of each digit, and add the others to the next."""
    cdef int place
    for place in range(N_DIGITS - 1):
        digits[place + 1] += digits[place] >> DIGIT
        digits[place] &= LOW_DIGIT


cdef inline void _add_at(uint64_t* digits, uint64_t number, int place) noexcept nogil:
    """Add a whole number whose last bit is at a place; 2**30 of them fit before a digit is full."""
    cdef int first = place // DIGIT, shift = place % DIGIT
    cdef uint64_t low = number << shift
    digits[first] += low & LOW_DIGIT
    digits[first + 1] += low >> DIGIT
    if shift:
        digits[first + 2] += number >> (64 - shift)


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
    cost_array = np.zeros((N_PARTS, 16))  # more than a cache line apart
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
    n_threads = threads_for(n, n_threads)
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
    # The amount that rounding the mean adds to the sum of squares is known and subtracted.
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
