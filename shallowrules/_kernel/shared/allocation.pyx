"""Memory for work without the interpreter: allocated by NumPy before any thread starts.

A mode declares its memory as a table with a row for each pointer: where the pointer is, the shape and the dtype of
the array that it points to. `allocate` makes the arrays in one loop and returns them; they live as long as the caller
keeps that list.
"""

import numpy as np


cdef size_t address_of(array) except 0:
    """Return the address of a C-contiguous array's data; the caller keeps the array alive."""
    if not array.flags.c_contiguous:
        raise ValueError("the kernel needs C-contiguous arrays")
    return array.__array_interface__["data"][0]


cdef list allocate(fields):
    """Allocate zeroed arrays and set the pointers to them; return the arrays, to be kept alive.

    Parameters
    ----------
    fields : iterable of (size_t, int or tuple of int, dtype or int)
        Address of the pointer, shape, and dtype of the array; a number in place of a dtype is the size of a struct.
    """
    cdef list arrays = []
    for place, shape, dtype in fields:
        shape = shape if isinstance(shape, tuple) else (shape,)
        if isinstance(dtype, int):
            array = np.zeros((*shape, dtype), dtype=np.uint8)
        else:
            array = np.zeros(shape, dtype=dtype)
        arrays.append(array)
        (<void**><size_t>place)[0] = <void*><size_t>array.__array_interface__["data"][0]
    return arrays
