"""Squared distances to centers in single precision, and how far off they may be."""


cdef struct Estimates:
    # The centers as floats, less `origin` and times `scale`, by which an estimate is off by at most `share` of itself
    # and `margin`, before it is compared with others.
    const float* centers    # [k, m]; NULL: there are no estimates
    const double* origin    # [m]
    double scale
    float share
    float margin


cdef Estimates estimates_of(centers, list keep)
