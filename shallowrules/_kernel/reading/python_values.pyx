"""Numbers from Python's own values, whose types are checked on the way: True is not 1, and 1 is not 1.0."""

import numpy as np

from cpython.float cimport PyFloat_AsDouble, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t


def numbers_of(values):
    """Return a list's or tuple's numbers, and which are missing: if all of it is float and None, or int and None.

    Returns
    -------
    (numbers, missing) or None
        float64 with NaN for None, or int64 with 0 for None, each of shape (n,); `missing` is a bool array of shape
        (n,), or None if no value is missing. The result is None if a value has a different type or is beyond int64, or
        if all values are None.
    """
    cdef Py_ssize_t n = len(values), i, n_missing = 0
    cdef list items = values if isinstance(values, list) else list(values)
    cdef bint is_float
    cdef object value
    for i in range(n):
        if items[i] is not None:
            break
    else:
        return None
    is_float = PyFloat_CheckExact(items[i])
    if not is_float and not PyLong_CheckExact(items[i]):
        return None
    numbers = np.empty(n, np.float64 if is_float else np.int64)
    missing = np.zeros(n, np.uint8)
    cdef uint8_t[::1] absent = missing
    cdef double[::1] floats = numbers if is_float else None
    cdef int64_t[::1] whole = None if is_float else numbers
    cdef int overflow = 0
    for i in range(n):
        value = items[i]
        if value is None:
            absent[i] = 1
            n_missing += 1
            if is_float:
                floats[i] = NAN
            else:
                whole[i] = 0
        elif is_float:
            if not PyFloat_CheckExact(value):
                return None
            floats[i] = PyFloat_AsDouble(value)
        else:
            if not PyLong_CheckExact(value):
                return None
            whole[i] = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                return None
    return numbers, missing.view(np.bool_) if n_missing else None
