"""Count the rows of each group in the bins of columns: equally wide ones for histograms, and narrow ones for ranks."""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from shallowrules._kernel.shared.threads cimport Share, share_of, threads_for

cdef extern from "shared/bins.h" nogil:
    void sr_find_bins(
        const double* values, Py_ssize_t count, double up, double down, double first, double last,
        double slack, int* bins, int* doubt) noexcept

cdef enum:
    ROWS = 512      # whose bins are found column by column, so that columns side by side in memory are read once
    TOGETHER = 4    # columns: a count waits for the one before it if that may be the same
    FOUND = 2048    # bins of a block of rows in a block of columns

cdef double MAX_EXACT_POWER = 1e22, TOO_CLOSE = 2.0 ** -50


cdef struct Bins:
    # A column of numbers and its bins: bin i holds values above edges[i] and at most edges[i + 1].
    const char* values
    Py_ssize_t stride
    int kind                # 0: float32, 1: float64, 2: int64
    const double* edges
    Py_ssize_t last         # bin
    double up, down, first  # value * up / down lies above first + i and at most at first + i + 1 where bin i holds it
    double slack            # up to this error: within it of a whole number, edges decide
    int* counts             # [n_groups, n_bins] of one thread


cdef void find_bins(const Bins* bins, Py_ssize_t first, Py_ssize_t count, int* found) noexcept nogil:
    """Find the bins of up to `ROWS` rows; the first and the last bin also hold values beyond them."""
    cdef double[ROWS] values
    cdef int doubt
    cdef Py_ssize_t i
    cdef const char* place = bins.values + first * bins.stride
    if bins.kind == 0:
        for i in range(count):
            values[i] = (<const float*>(place + i * bins.stride))[0]
    elif bins.kind == 1:
        for i in range(count):
            values[i] = (<const double*>(place + i * bins.stride))[0]
    else:
        for i in range(count):
            values[i] = <double>(<const int64_t*>(place + i * bins.stride))[0]
    sr_find_bins(
        values, count, bins.up, bins.down, bins.first, <double>bins.last, bins.slack, found, &doubt
    )
    for i in range(count if doubt else 0):  # rounding takes a number to the next bin at most
        if values[i] <= bins.edges[found[i]]:
            found[i] -= found[i] > 0
        elif values[i] > bins.edges[found[i] + 1]:
            found[i] += found[i] < bins.last


cdef Bins bins_of(values, const double[::1] edges, double up, double down, double first) except *:
    """View a column; the caller keeps its arrays alive."""
    cdef Bins bins
    bins.values = <const char*><size_t>values.__array_interface__["data"][0]
    bins.stride = values.strides[0]
    bins.kind = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)].index(values.dtype)
    bins.edges = &edges[0]
    bins.last = edges.shape[0] - 2
    bins.up, bins.down, bins.first = up, down, first
    # The rounding errors of the value, and of the edges, in bins. Powers of ten beyond this one are rounded too.
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
            <const Bins*>&bins_bytes[thread, 0], n_columns, &groups[0],
            share_of(0, n_rows, thread, threads),
        )
    return [np.sum(parts, axis=0, dtype=np.int64) for parts in zip(*counted)]


cdef void _count_part(
    const Bins* bins, Py_ssize_t n_columns, const int* groups, Share share
) noexcept nogil:
    cdef Py_ssize_t begin = share.first, count, first, i
    cdef int[FOUND] found
    while begin < share.last:
        count = min(<Py_ssize_t>ROWS, share.last - begin)
        first = 0
        while first < n_columns:
            for i in range(first, min(first + TOGETHER, n_columns)):
                find_bins(&bins[i], begin, count, found + (i - first) * ROWS)
            if first + TOGETHER <= n_columns:
                _count_together(bins + first, groups + begin, count, found)
            else:
                for i in range(first, n_columns):
                    _count(&bins[i], groups + begin, count, found + (i - first) * ROWS)
            first += TOGETHER
        begin += count


cdef void _count(const Bins* bins, const int* groups, Py_ssize_t count, const int* found) noexcept nogil:
    cdef Py_ssize_t row, n_bins = bins.last + 1
    cdef int* counts = bins.counts
    for row in range(count):
        counts[groups[row] * n_bins + found[row]] += 1


cdef void _count_together(const Bins* bins, const int* groups, Py_ssize_t count, const int* found) noexcept nogil:
    """Do what `_count` does for `TOGETHER` columns, row by row."""
    cdef Py_ssize_t row, group
    cdef Py_ssize_t n0 = bins[0].last + 1, n1 = bins[1].last + 1, n2 = bins[2].last + 1, n3 = bins[3].last + 1
    cdef int* c0 = bins[0].counts
    cdef int* c1 = bins[1].counts
    cdef int* c2 = bins[2].counts
    cdef int* c3 = bins[3].counts
    for row in range(count):
        group = groups[row]
        c0[group * n0 + found[row]] += 1
        c1[group * n1 + found[ROWS + row]] += 1
        c2[group * n2 + found[2 * ROWS + row]] += 1
        c3[group * n3 + found[3 * ROWS + row]] += 1


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
    cdef Py_ssize_t n_rows = groups.shape[0], n_bins = bins.last + 1, begin = 0, row
    places_array = np.empty(n_rows, dtype=np.int32)
    cdef int[::1] places = places_array
    with nogil:
        while begin < n_rows:
            find_bins(&bins, begin, min(<Py_ssize_t>ROWS, n_rows - begin), &places[begin])
            begin += ROWS
        for row in range(n_rows):
            places[row] += <int>(groups[row] * n_bins)
    return places_array


cdef struct BitBins:
    # A column of doubles and its bins, each of those that begin with the same bits.
    const char* values
    Py_ssize_t stride
    uint64_t first          # code in bin 0, without its last bits
    uint64_t n_bins
    int shift               # number of last bits
    double* sums            # [n_bins, n_groups]
    int64_t* cells          # those with rows
    Py_ssize_t n_cells


def weigh_by_bits(columns, const int[::1] groups, Py_ssize_t n_groups, weight=None):
    """Add up the weight of each group in the bins of columns; a bin holds the doubles that begin with the same bits.

    Parameters
    ----------
    columns : list of tuple (values, first, n_bins, shift)
        values : ndarray of float64, shape (n_rows,)
            None is missing; 0.0 and -0.0 are equal.
        first : int
            The code of the values in bin 0 without its last bits. Codes are whole numbers in the order of the values.
        n_bins : int
        shift : int
            The number of last bits.
    groups : ndarray of int32, shape (n_rows,)
        From 0 to ``n_groups - 1``.
    n_groups : int
    weight : ndarray of float64, shape (n_rows,), optional
        Not negative.

    Returns
    -------
    list of tuple (cells, sums)
        By column. cells : ndarray of int64, ascending, of the bins and groups with rows: the number of the bin times
        `n_groups`, plus the group. sums : ndarray of float64, the weight in these.

    Raises
    ------
    ValueError
        If a value is in none of its column's bins.
    """
    cdef Py_ssize_t n_rows = groups.shape[0], n_columns = len(columns), begin = 0, f
    cdef const double[::1] weights = np.empty(0) if weight is None else weight
    cdef const double* w = NULL if weight is None or not n_rows else &weights[0]
    cdef double[::1] sums
    cdef int64_t[::1] cells
    cdef unsigned char[::1] bins_bytes = np.zeros(max(1, n_columns) * sizeof(BitBins), dtype=np.uint8)
    cdef BitBins* bins = <BitBins*>&bins_bytes[0]
    cdef bint inside = True
    found = []
    for f in range(n_columns):
        values, bins[f].first, n_bins, bins[f].shift = columns[f]
        found.append((np.empty(max(1, min(n_rows, n_bins * n_groups)), dtype=np.int64), np.zeros(n_bins * n_groups)))
        cells, sums = found[f]
        bins[f].values = <const char*><size_t>values.__array_interface__["data"][0]
        bins[f].stride, bins[f].n_bins = values.strides[0], n_bins
        bins[f].sums, bins[f].cells = &sums[0], &cells[0]
    with nogil:
        while begin < n_rows:
            for f in range(n_columns):
                inside &= _weigh_block(
                    &bins[f], &groups[begin], n_groups, w, begin, min(<Py_ssize_t>ROWS, n_rows - begin)
                )
            begin += ROWS
    if not inside:
        raise ValueError("a value is in none of its column's bins")
    ordered = [np.sort(some[:bins[f].n_cells]) for f, (some, _) in enumerate(found)]
    return [(some, of_cells[some]) for some, (_, of_cells) in zip(ordered, found)]


cdef bint _weigh_block(
    BitBins* bins, const int* groups, Py_ssize_t n_groups, const double* weight, Py_ssize_t begin, Py_ssize_t count
) noexcept nogil:
    """Add up to `ROWS` rows; return whether all values are in bins."""
    cdef double[ROWS] values
    cdef uint64_t bits, sign = <uint64_t>1 << 63
    cdef Py_ssize_t i, cell
    cdef double mass = 1.0
    cdef bint inside = True
    for i in range(count):
        values[i] = (<const double*>(bins.values + (begin + i) * bins.stride))[0] + 0.0  # -0.0 becomes 0.0
    for i in range(count):
        memcpy(&bits, &values[i], sizeof(bits))
        bits = ((~bits if bits & sign else bits | sign) >> bins.shift) - bins.first
        if weight != NULL:
            mass = weight[begin + i]
        if bits >= bins.n_bins or mass == 0.0:
            inside &= bits < bins.n_bins
            continue
        cell = <Py_ssize_t>bits * n_groups + groups[i]
        if bins.sums[cell] == 0.0:
            bins.cells[bins.n_cells] = cell
            bins.n_cells += 1
        bins.sums[cell] += mass
    return inside
