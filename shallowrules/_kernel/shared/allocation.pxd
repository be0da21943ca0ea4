"""Memory for work without the interpreter: allocated by NumPy before any thread starts."""

cdef size_t address_of(array) except 0
cdef list allocate(fields)
