"""The squared distances of rows to a point of their cluster, summed.

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

from shallowrules._kernel.shared.matrix cimport Matrix, matrix_of, values_of_row
from shallowrules._kernel.shared.threads cimport Share, share_of, threads_for

cdef enum:
    N_DIGITS = 70     # of 32 bits: from the last bit of the least float to the largest one times a weight
    DIGIT = 32
    LOW = 22          # bits of a weight that are multiplied first
    ROWS_TO_CARRY = 1 << 26

cdef uint64_t LOW_DIGIT = 0xFFFFFFFF, MANTISSA_BITS = 0xFFFFFFFFFFFFF
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
    cdef double[:, ::1] buffer = np.empty((threads, matrix.n_columns))
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
    cdef Py_ssize_t i, j, m = matrix.n_columns, n_added = 0
    cdef double w, gap, squares
    cdef const double* values
    cdef const double* point
    for i in range(share.first, share.last):
        w = 1.0 if weight == NULL else weight[i]
        if labels[i] < 0 or labels[i] >= k or w == 0.0:
            continue
        values, point = values_of_row(matrix, i, buffer), around + labels[i] * m
        squares = 0.0
        for j in range(m):
            gap = values[j] - point[j]
            squares += gap * gap
        if rounds_products:
            squares *= w
            w = 1.0
        if not isfinite(squares):
            return False
        if squares != 0.0:
            _add_product(digits, squares, w)
        n_added += 1
        if n_added == ROWS_TO_CARRY:
            _carry(digits)
            n_added = 0
    return True


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
