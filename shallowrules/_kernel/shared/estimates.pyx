"""Squared distances to centers in single precision, and how far off they may be.

They take a third of the time of distances in double precision. Where they tell enough, the latter are not taken.
"""

import numpy as np

from libc.stddef cimport size_t

from shallowrules._kernel.shared.allocation cimport address_of

cdef double FLOAT_ROUNDING = 2.0 ** -24
cdef double MAX_SHARE = 0.01


cdef Estimates estimates_of(centers, list keep):
    """Return the centers as floats of a size near 1, around their mean; no centers where no scale is good enough.

    A row and a center are rounded to floats, each by 2**-24 of its distance from the origin, which for a row is at most
    that from the center and that of the farthest center, below 1. So is their gap. That makes 6.2 * 2**-24 of the
    squared distance and 2.1 * 2**-24. Each of m squares is rounded, and their sum, m times: less than 1.01 m of one
    rounding. What is too small for a float is less than the rest of `margin`. `share` has 6 roundings more, for
    what is done with an estimate.

    Parameters
    ----------
    centers : ndarray of float64, shape (k, m)
    keep : list
        The arrays that the result points to are appended.
    """
    cdef Estimates estimates = Estimates(NULL, NULL, 1.0, 0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        origin = centers.mean(axis=0)
        farthest = np.sqrt(((centers - origin) ** 2).sum(axis=1)).max()
    estimates.share = (1.01 * centers.shape[1] + 14) * FLOAT_ROUNDING
    estimates.margin = 3 * FLOAT_ROUNDING
    if estimates.share > MAX_SHARE or not 1e-150 < farthest < 1e150:
        return estimates
    estimates.scale = 2.0 ** -np.frexp(farthest)[1]
    floats = np.ascontiguousarray((centers - origin) * estimates.scale, dtype=np.float32)
    origin = np.ascontiguousarray(origin)
    keep.extend([floats, origin])
    estimates.centers = <const float*><size_t>address_of(floats)
    estimates.origin = <const double*><size_t>address_of(origin)
    return estimates
