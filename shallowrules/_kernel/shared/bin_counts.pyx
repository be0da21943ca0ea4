"""Count the rows of each group in the bins of columns, for histograms."""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int64_t

from shallowrules._kernel.shared.threads cimport threads_for

cdef enum:
    ROWS = 512      # counted column by column, so that columns side by side in memory are read once

cdef double MAX_EXACT_POWER = 1e22, TOO_CLOSE = 2.0 ** -50


cdef struct Bins:
    # A column of numbers and its bins: bin i holds what is above edges[i] and at most edges[i + 1].
    const char* values
    Py_ssize_t stride
    int kind                # 0: float32, 1: float64, 2: int64
    const double* edges
    Py_ssize_t last         # bin
    double up, down, first  # value * up / down lies above first + i and at most at first + i + 1 where bin i holds it
    double slack            # but for this: where it is nearer to a whole number, edges decide
    int* counts             # [n_groups, n_bins] of one thread


cdef inline double value_at(const Bins* bins, Py_ssize_t row) noexcept nogil:
    cdef const char* place = bins.values + row * bins.stride
    if bins.kind == 1:
        return (<const double*>place)[0]
    return (<const float*>place)[0] if bins.kind == 0 else <double>(<const int64_t*>place)[0]


cdef inline Py_ssize_t bin_of(const Bins* bins, double value) noexcept nogil:
    """Return the bin of a number; the first and the last hold what is beyond them."""
    cdef double scaled = (value * bins.up if bins.down == 1.0 else value / bins.down) - bins.first
    cdef Py_ssize_t last = bins.last
    cdef Py_ssize_t place = 0 if scaled < 1.0 else last if scaled > last else <Py_ssize_t>scaled
    cdef double beyond = scaled - place
    if beyond < bins.slack or beyond > 1.0 - bins.slack:
        if value <= bins.edges[place]:
            place -= place > 0
        elif value > bins.edges[place + 1]:
            place += place < last
    return place


cdef Bins bins_of(values, const double[::1] edges, double up, double down, double first) except *:
    """View a column; the caller keeps its arrays alive."""
    cdef Bins bins
    bins.values = <const char*><size_t>values.__array_interface__["data"][0]
    bins.stride = values.strides[0]
    bins.kind = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)].index(values.dtype)
    bins.edges = &edges[0]
    bins.last = edges.shape[0] - 2
    bins.up, bins.down, bins.first = up, down, first
    # What rounding takes from the value, and from the edges, in bins. Powers of ten beyond this one are rounded too.
    bins.slack = (max(fabs(first), fabs(first + bins.last + 1)) + bins.last + 1) * TOO_CLOSE
    if max(up, down) > MAX_EXACT_POWER or not bins.slack < 0.5:
        bins.slack = 1.0
    bins.counts = NULL
    return bins


def count_in_bins(columns, const int[::1] groups, Py_ssize_t n_groups, int n_threads=1):
    """Count the rows of each group in each bin of each column.

    Parameters
    ----------
    columns : list of tuple (values, edges, up, down, first)
        See `place_rows`.
    groups : ndarray of int32, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    n_groups : int
    n_threads : int
        The result does not depend on it.

    Returns
    -------
    list of ndarray of int64, shape (n_groups, n_bins)
        In the order of the columns.
    """
    cdef Py_ssize_t n_rows = groups.shape[0], n_columns = len(columns), i
    cdef int threads = threads_for(n_rows, n_threads), thread
    cdef int[::1] counts
    cdef unsigned char[:, ::1] bins_bytes = np.zeros((threads, max(1, n_columns) * sizeof(Bins)), dtype=np.uint8)
    cdef Bins* bins
    counted = [[np.zeros((n_groups, len(column[1]) - 1), dtype=np.int32) for column in columns] for _ in range(threads)]
    for thread in range(threads):
        bins = <Bins*>&bins_bytes[thread, 0]
        for i in range(n_columns if n_rows else 0):
            counts = counted[thread][i].reshape(-1)
            values, edges, up, down, first = columns[i]
            bins[i] = bins_of(values, edges, up, down, first)
            bins[i].counts = &counts[0]
    for thread in prange(threads if n_rows else 0, nogil=True, num_threads=threads, schedule="static", chunksize=1):
        _count_part(
            <const Bins*>&bins_bytes[thread, 0], n_columns, &groups[0], n_rows * thread // threads,
            n_rows * (thread + 1) // threads,
        )
    return [np.sum(parts, axis=0, dtype=np.int64) for parts in zip(*counted)]


cdef void _count_part(
    const Bins* bins, Py_ssize_t n_columns, const int* groups, Py_ssize_t first, Py_ssize_t last
) noexcept nogil:
    cdef Py_ssize_t begin = first, end, row, i
    cdef const Bins* here
    while begin < last:
        end = min(begin + ROWS, last)
        for i in range(n_columns):
            here = &bins[i]
            for row in range(begin, end):
                here.counts[groups[row] * (here.last + 1) + bin_of(here, value_at(here, row))] += 1
        begin = end


def place_rows(values, const int[::1] groups, const double[::1] edges, double up, double down, double first):
    """Return where each row is counted, if bins are counted group by group.

    Parameters
    ----------
    values : ndarray of float32, float64 or int64, shape (n_rows,)
    groups : ndarray of int32, shape (n_rows,)
        From 0 on.
    edges : ndarray of float64, shape (n_bins + 1,)
        Bin i holds what is above ``edges[i]`` and at most ``edges[i + 1]``; the first and the last hold what is beyond.
    up, down, first : float
        ``value * up / down`` lies above ``first + i`` and at most at ``first + i + 1`` where bin i holds the value, but
        for rounding. Powers of ten, of which one is 1, and the multiple of it that is the first edge.

    Returns
    -------
    ndarray of int32, shape (n_rows,)
    """
    cdef Bins bins = bins_of(values, edges, up, down, first)
    cdef Py_ssize_t row
    places_array = np.empty(groups.shape[0], dtype=np.int32)
    cdef int[::1] places = places_array
    with nogil:
        for row in range(groups.shape[0]):
            places[row] = <int>(groups[row] * (bins.last + 1) + bin_of(&bins, value_at(&bins, row)))
    return places_array
