"""Squared distances to centers in single precision, and how far off they may be."""


cdef struct Estimates:
    # The centers as floats, less `origin` and times `scale`. An estimate by them is off by less than `share` of itself
    # and `margin`, which leaves room for roundings when it is compared with another.
    const float* centers    # [k, m]; NULL: there are no estimates
    const double* origin    # [m]
    double scale
    float share
    float margin


cdef Estimates estimates_of(centers, list keep)
