"""Asking for memory before it is read."""

cdef extern from "shared/prefetch.h" nogil:
    void sr_prefetch(const void* place) noexcept
