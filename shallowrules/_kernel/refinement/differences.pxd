"""A row's difference from a mean, and sums over its columns (`differences.h`)."""

cdef extern from "refinement/differences.h" nogil:
    void sr_difference(
        const double* point, const double* mean, double weight, Py_ssize_t n, double* out
    ) noexcept
    void sr_add_difference(
        const double* point, const double* mean, double weight, Py_ssize_t n, double* sums
    ) noexcept
    void sr_add_to(double* sums, const double* terms, Py_ssize_t n) noexcept
    double sr_add_and_square(double* sums, const double* terms, Py_ssize_t n) noexcept
    double sr_along(
        const double* point, const double* mean, const double* axis, Py_ssize_t n
    ) noexcept
