"""Rows as lanes of vectors, and the instruction sets that the kernel has versions for."""

cdef extern from "shared/lanes.h" nogil:
    enum:
        LANES "SR_LANES"
    int instructions_of_machine "sr_instructions"() noexcept
    void sr_lane_distances(
        int instructions, const double* rows, Py_ssize_t n_columns, const double* centers, const int* ids,
        Py_ssize_t n_centers, double* out) noexcept
