"""Rows as lanes of vectors (`lanes.h`)."""

cdef extern from "shared/lanes.h" nogil:
    enum:
        LANES "SR_LANES"
    void sr_lane_distances(
        const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        Py_ssize_t n_centers, double* out) noexcept
