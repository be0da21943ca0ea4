"""Count the rows of each group in the bins of a column, for histograms."""

from libc.stdint cimport int64_t

ctypedef fused Value:
    float
    double
    int64_t


def place_rows(
    const Value[:] values, const int[::1] groups, const double[::1] edges, double up, double down, double first,
    int64_t[::1] counts=None, int[::1] places=None,
):
    """Count the rows of each group in each bin, or say where each is counted.

    Parameters
    ----------
    values : ndarray of float32, float64 or int64, shape (n_rows,)
    groups : ndarray of int32, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    edges : ndarray of float64, shape (n_bins + 1,)
        Bin i holds what is above ``edges[i]`` and at most ``edges[i + 1]``; the first and the last hold what is beyond.
    up, down, first : float
        ``value * up / down`` lies above ``first + i`` and at most at ``first + i + 1`` where bin i holds the value, but
        for rounding.
    counts : ndarray of int64, shape (n_groups * n_bins,), optional
        Group by group; the rows are added to it.
    places : ndarray of int32, shape (n_rows,), optional
        Gets the position in `counts` of each row.
    """
    cdef Py_ssize_t row, n_rows = values.shape[0]
    cdef Py_ssize_t place, last = edges.shape[0] - 2
    cdef bint counting = counts is not None, placing = places is not None
    cdef double value, scaled
    with nogil:
        for row in range(n_rows):
            value = <double>values[row]
            scaled = (value * up if down == 1 else value / down) - first
            place = 0 if scaled < 1 else last if scaled > last else <Py_ssize_t>scaled
            if value <= edges[place]:
                place -= place > 0
            elif value > edges[place + 1]:
                place += place < last
            place += groups[row] * (last + 1)
            if counting:
                counts[place] += 1
            if placing:
                places[row] = <int>place
