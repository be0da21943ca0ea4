"""Rows of plain numbers, from the bytes of a CSV file to arrays.

A field is read here if it can be read in only one way: a sign "-", digits, a point and digits, an exponent, or
nothing. Anything else ends the reading, so that other code may decide what it is.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np


cdef extern from "reading/decimal.h" nogil:
    bint sr_decimal(uint64_t w, int q, double* number) noexcept


cdef enum:
    NEWLINE = 10
    RETURN = 13
    MINUS = 45
    PLUS = 43
    POINT = 46
    ZERO = 48
    E_SMALL = 101
    E_LARGE = 69

    MAX_DIGITS = 19             # this many fit 64 bits, leading zeros aside
    MAX_WHOLE_DIGITS = 18       # this many fit 63 bits
    MAX_EXPONENT = 10000        # beyond it no number is read here


cdef struct Column:
    # Where the numbers of a column go: doubles, or whole numbers; the step is from one row to the next.
    double* doubles
    int64_t* wholes
    Py_ssize_t step


cdef inline const uint8_t* _number(const uint8_t* at, const uint8_t* end, double* number) noexcept nogil:
    """Read a double; return the byte after it, or NULL if it is not a plain number."""
    cdef bint negative = at < end and at[0] == MINUS, negative_exponent
    cdef uint64_t digits = 0
    cdef int n_digits = 0, exponent = 0, given = 0
    cdef const uint8_t* first
    cdef const uint8_t* point
    at += negative
    first = at
    while at < end and <uint8_t>(at[0] - ZERO) <= 9:
        digits = 10 * digits + (at[0] - ZERO)
        n_digits += digits != 0
        at += 1
    if at == first:
        return NULL
    if at < end and at[0] == POINT:
        at += 1
        point = at
        while at < end and <uint8_t>(at[0] - ZERO) <= 9:
            digits = 10 * digits + (at[0] - ZERO)
            n_digits += digits != 0
            at += 1
        if at == point or at - point > MAX_EXPONENT:
            return NULL
        exponent = -<int>(at - point)
    if n_digits > MAX_DIGITS:
        return NULL
    if at < end and (at[0] == E_SMALL or at[0] == E_LARGE):
        at += 1
        negative_exponent = at < end and at[0] == MINUS
        at += negative_exponent or (at < end and at[0] == PLUS)
        first = at
        while at < end and <uint8_t>(at[0] - ZERO) <= 9 and given < MAX_EXPONENT:
            given = 10 * given + (at[0] - ZERO)
            at += 1
        if at == first:
            return NULL
        exponent += -given if negative_exponent else given
    if not sr_decimal(digits, exponent, number):
        return NULL
    if negative:
        number[0] = -number[0]
    return at


cdef inline const uint8_t* _whole(const uint8_t* at, const uint8_t* end, int64_t* number) noexcept nogil:
    """Read a whole number; return the byte after it, a digit where there are too many, or NULL if there is none."""
    cdef bint negative = at < end and at[0] == MINUS
    cdef int64_t digits = 0
    cdef const uint8_t* first
    at += negative
    first = at
    while at < end and <uint8_t>(at[0] - ZERO) <= 9 and at - first < MAX_WHOLE_DIGITS:
        digits = 10 * digits + (at[0] - ZERO)
        at += 1
    if at == first:
        return NULL
    number[0] = -digits if negative else digits
    return at


cdef const uint8_t* _row(
    const uint8_t* at, const uint8_t* end, uint8_t delimiter, const Column* columns, Py_ssize_t n_columns,
    Py_ssize_t row,
) noexcept nogil:
    """Read a line that has an end; return the byte after it, or NULL if it is not a row of plain numbers."""
    cdef Py_ssize_t j
    for j in range(n_columns):
        if columns[j].wholes != NULL:
            at = _whole(at, end, columns[j].wholes + row * columns[j].step)
        elif at[0] == delimiter or at[0] == NEWLINE or at[0] == RETURN:
            columns[j].doubles[row * columns[j].step] = NAN
        else:
            at = _number(at, end, columns[j].doubles + row * columns[j].step)
        if at == NULL or at == end:
            return NULL
        if j + 1 < n_columns:
            if at[0] != delimiter:
                return NULL
            at += 1
    if at[0] == RETURN and at + 1 < end:
        at += 1
    return at + 1 if at[0] == NEWLINE else NULL


def read_number_rows(const uint8_t[::1] content, uint8_t delimiter, arrays, Py_ssize_t row, Py_ssize_t last):
    """Read the lines of a block of a CSV file, up to the last line end.

    Parameters
    ----------
    content : bytes
        It begins with a line.
    delimiter : int
        The byte between fields.
    arrays : list of ndarray of float64 or int64
        The columns. An empty field is NaN; it is not a whole number.
    row : int
        The row of the arrays that the first line fills.
    last : int
        The row after the last one to read.

    Returns
    -------
    row : int
        The row after the last one that was read.
    n_bytes : int
        The bytes of the lines that were read; -1 if one of them has something else than plain numbers.
    """
    cdef Py_ssize_t n_columns = len(arrays), n_bytes = content.shape[0], j
    cdef const uint8_t* begin = &content[0]
    cdef const uint8_t* end = begin + n_bytes
    cdef const uint8_t* at = begin
    cdef const uint8_t* whole_lines = end
    cdef const uint8_t* behind
    cdef double[:] doubles
    cdef int64_t[:] wholes
    buffer = np.zeros(n_columns * sizeof(Column), dtype=np.uint8)
    cdef unsigned char[::1] bytes_of_columns = buffer
    cdef Column* columns = <Column*>&bytes_of_columns[0]
    for j in range(n_columns):
        if len(arrays[j]) < last:
            raise ValueError("read_number_rows wants room for all rows")
        if arrays[j].dtype == np.int64:
            wholes = arrays[j]
            columns[j].wholes, columns[j].step = &wholes[0], wholes.strides[0] // sizeof(int64_t)
        else:
            doubles = arrays[j]
            columns[j].doubles, columns[j].step = &doubles[0], doubles.strides[0] // sizeof(double)
    with nogil:
        while whole_lines > begin and (whole_lines - 1)[0] != NEWLINE:
            whole_lines -= 1
        while at < whole_lines and row < last:
            behind = _row(at, whole_lines, delimiter, columns, n_columns, row)
            if behind == NULL:
                break
            at = behind
            row += 1
    return row, -1 if at < whole_lines and row < last else at - begin
