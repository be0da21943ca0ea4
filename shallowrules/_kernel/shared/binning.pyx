"""Codes: small integers that keep the order of a column's values and centers.

A code is a bin of values, or a single value. Every center coordinate has a code of its own, so that comparing codes
tells exactly on which side of a center a row lies; only the order of rows inside one bin is left open, and scans look
at raw values there. Bins are linear cells; a column whose rows crowd into few cells (heavy tails, spikes) gets quantile
edges from a sample instead, and a frequent value a code of its own.

To code a value, its linear cell is found, then its place among the edges inside this cell. The cell of a value is
monotone in the value whatever the rounding, so codes are monotone too.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport floor, isfinite
from libc.stdint cimport uint16_t

from shallowrules._kernel.inputs import column_ranges
from shallowrules._kernel.shared.matrix cimport Matrix, load_block, matrix_of
from shallowrules._kernel.shared.threads cimport threads_for


MAX_CELLS = 2048        # of a column
MIN_CELLS = 16
MIN_CELLS_OF_MANY = 128  # of each of more than MANY_COLUMNS columns
MANY_COLUMNS = 64
MAX_CODES = 1 << 16
SAMPLE_ROWS = 8192      # from which the distribution of values is estimated
CROWDED = 8             # linear cells are given up if an eighth as many would do as well


cdef struct Grid:
    double low
    double factor           # cells per unit
    int n_cells
    const int* start        # [n_cells + 1] first edge of each cell
    const int* whole        # [n_cells] code of all values in the cell, -1 where an edge divides them
    const double* edge      # edge values, ascending; memory before the first and after the last may be read
    const unsigned char* is_single  # [n_edges + 1] whether the edge is a code of its own, else the upper end of a bin
    const int* code_below   # [n_edges + 1] code of the values of the edge's cell below it, and after the edge before
    int n_halvings          # of a cell's edges until a value has its place
    bint cells_are_bins     # else codes are what lies between edges, whatever the cells


cdef enum:
    ROWS = 504      # coded together, column by column, so that grids stay in the cache; no power of two, see below


cdef struct Buckets:
    # The rows of each code, column after column.
    int* rows               # how many; less than 0 if they have several values: most buckets need no more than this
    double* value           # of the first row


cdef inline int cell_of(const Grid* grid, double value) noexcept nogil:
    cdef double place = (value - grid.low) * grid.factor
    if not place > 0.0:
        return 0
    if place >= grid.n_cells:
        return grid.n_cells - 1
    return <int>place


cdef inline void find_cells(const Grid* grid, const double* values, Py_ssize_t count, int* cells) noexcept nogil:
    """Write the cells of values, as `cell_of` finds them, without branches."""
    cdef double place, low = grid.low, factor = grid.factor, top = grid.n_cells - 1
    cdef Py_ssize_t i
    for i in range(count):
        place = (values[i] - low) * factor
        place = place if place > 0.0 else 0.0
        cells[i] = <int>(place if place < top else top)


cdef inline int first_edge(const Grid* grid, int cell, double value) noexcept nogil:
    """Return the first edge of a cell that is not below a value in it, or the one after its last, without branches."""
    cdef int low = grid.start[cell], high = grid.start[cell + 1], middle, h
    for h in range(grid.n_halvings - 1, -1, -1):  # all edges before `low` are below the value
        middle = low + (1 << h)
        low += ((middle <= high) & (grid.edge[min(middle, high) - 1] < value)) << h
    return low


cdef inline int code_among_edges(const Grid* grid, int cell, double value) noexcept nogil:
    """Return the code of a value in a cell that has edges, without branches."""
    cdef int last = grid.start[cell + 1] - 1, edge = first_edge(grid, cell, value), is_behind = edge > last
    edge -= is_behind
    return grid.code_below[edge] + (grid.is_single[edge] & (is_behind | (grid.edge[edge] == value))) + is_behind


cdef inline int code_of(const Grid* grid, double value) noexcept nogil:
    cdef int cell = cell_of(grid, value)
    return grid.whole[cell] if grid.whole[cell] >= 0 else code_among_edges(grid, cell, value)


cdef inline void find_bin_codes(
    const Grid* grid, const double* values, Py_ssize_t count, const int* cells, int* codes
) noexcept nogil:
    """Write the codes of up to ROWS values, as `code_of` finds them; only where cells are bins."""
    cdef int parted[ROWS]
    cdef int n_parted = 0, i, place
    for i in range(<int>count):
        codes[i] = grid.whole[cells[i]]
        parted[n_parted] = i
        n_parted += codes[i] < 0
    for i in range(n_parted):   # which ones these are cannot be predicted: done separately, they cost no branches
        place = parted[i]
        codes[place] = code_among_edges(grid, cells[place], values[place])


cdef inline void find_rank_codes(
    const Grid* grid, const double* values, Py_ssize_t count, const int* cells, int* codes
) noexcept nogil:
    """Write the codes of values, as `code_of` finds them; only where cells are not bins."""
    cdef int edge
    cdef Py_ssize_t i
    for i in range(count):
        edge = first_edge(grid, cells[i], values[i])
        codes[i] = grid.code_below[edge] + (grid.is_single[edge] & (grid.edge[edge] == values[i]))


cdef bint _is_crowded(const Grid* grid, const double[::1] sample) noexcept:
    """Return whether the values of a sorted sample crowd into few cells."""
    cdef Py_ssize_t n = sample.shape[0], i, here = 0, n_distinct = 1
    cdef int cell, before = -1
    cdef double squares = 0.0
    if grid.factor == 0.0:
        return False
    for i in range(n):
        cell = cell_of(grid, sample[i])
        n_distinct += i > 0 and sample[i] != sample[i - 1]
        if cell != before:
            squares += <double>here * here
            here = 0
            before = cell
        here += 1
    squares += <double>here * here
    return <double>n * n / squares < <double>min(<Py_ssize_t>grid.n_cells, n_distinct) / CROWDED


cdef int _find_rank_edges(
    const double[::1] sample, const double[::1] singles, int n_bins, double[::1] edges, unsigned char[::1] is_single
) noexcept:
    """Find edge values between which there are about equally many rows; return how many.

    Values of very many rows get codes of their own, like the given ones. `sample` is sorted, `singles` too, without
    duplicates; edges, is_single: [as many as both together] are written to.
    """
    cdef Py_ssize_t n = sample.shape[0], n_singles = singles.shape[0], first = 0, last, next_last, at = 0
    cdef double expected = <double>n / n_bins
    cdef bint is_spike
    cdef int n_edges = 0
    last = _end_of_run(sample, 0)
    while first < n:
        next_last = _end_of_run(sample, last) if last < n else last
        while at < n_singles and singles[at] <= sample[first]:
            edges[n_edges], is_single[n_edges] = singles[at], True
            n_edges += 1
            at += 1
        is_spike = last - first >= max(2.0, 2 * expected)
        # A value is the upper end of a bin if the next one lies beyond it.
        if is_spike or last == n or floor(last / expected) != floor(next_last / expected):
            if n_edges == 0 or edges[n_edges - 1] != sample[first]:
                edges[n_edges], is_single[n_edges] = sample[first], is_spike
                n_edges += 1
        first, last = last, next_last
    while at < n_singles:
        edges[n_edges], is_single[n_edges] = singles[at], True
        n_edges += 1
        at += 1
    return n_edges


cdef inline Py_ssize_t _end_of_run(const double[::1] sample, Py_ssize_t first) noexcept:
    """Return the first place that has a different value than `first` and comes after it."""
    cdef Py_ssize_t last = first + 1
    while last < sample.shape[0] and sample[last] == sample[first]:
        last += 1
    return last


def encode(X_explain, const int[::1] rows, explain_centers, int n_threads, *, int ranks=0, ranges=None, sample=None):
    """Code every explained value of the rows and centers.

    Parameters
    ----------
    X_explain : ndarray of float32 or float64, shape (n, d)
    rows : ndarray of int32, shape (m,)
        Rows to code.
    explain_centers : ndarray of float64, shape (k, d)
    n_threads : int
    ranks : int
        If not 0, at most this number of bins of equally many rows, or one for each value: only the order of values
        matters then. Otherwise bins are equally wide where that is enough.
    ranges : Ranges, optional
        Those of the columns, or wider ones, which do no harm.
    sample : ndarray of float64, shape (s, d), optional
        Values that the bins are made for, by default some of the rows. The bins then depend only on these, the centers
        and `ranges`.

    Returns
    -------
    codes : ndarray of uint16, shape (d, m)
    center_codes : ndarray of int32, shape (d, k)
    n_codes : int
        One more than the largest code.
    single_valued : ndarray of uint8, shape (d, n_codes)
        Where all rows with this code have the same value.
    largest_bin : int
        Rows of the fullest code that is not single-valued.
    """
    cdef Matrix matrix = matrix_of(X_explain)
    cdef Py_ssize_t m = rows.shape[0], d = matrix.n_columns, f, c
    cdef int n_cells = <int>min(ranks, m) if ranks else min(MAX_CELLS, max(MIN_CELLS, m // 4)), n_codes = 0
    if sample is not None:
        n_cells = MAX_CELLS
    if d > MANY_COLUMNS and not ranks:
        n_cells = max(MIN_CELLS_OF_MANY, n_cells * MANY_COLUMNS // d)
    low, high = column_ranges(X_explain) if ranges is None else ranges
    if sample is None:
        sample = X_explain[
            np.asarray(rows)[:: max(1, m // SAMPLE_ROWS, m // (4 * ranks) if ranks else min(4, m // 1024))]
        ]
    sample = np.sort(sample.T.astype(np.float64, order="C"), axis=1)
    grids_array = np.zeros((d, sizeof(Grid)), dtype=np.uint8)
    cdef unsigned char[:, ::1] grids = grids_array
    cdef Grid* grid
    coordinates_array = np.array(np.asarray(explain_centers).T, dtype=np.float64, order="C")
    center_codes_array = np.empty(coordinates_array.shape, dtype=np.int32)
    cdef const double[:, ::1] coordinates = coordinates_array, values = sample
    cdef double[:, ::1] singles = np.sort(coordinates_array, axis=1)
    cdef int[:, ::1] center_codes = center_codes_array
    cdef const double[::1] lowest = np.minimum(low, coordinates_array.min(axis=1))
    cdef const double[::1] highest = np.maximum(high, coordinates_array.max(axis=1))
    keep = []
    for f in range(d):
        grid = <Grid*>&grids[f, 0]
        n_codes = max(
            n_codes, _make_grid(grid, values[f], singles[f], lowest[f], highest[f], n_cells, ranks != 0, keep)
        )
        for c in range(center_codes.shape[1]):
            center_codes[f, c] = code_of(grid, coordinates[f, c])
    if n_codes > MAX_CODES:
        raise OverflowError(f"{n_codes} codes are more than the {MAX_CODES} that 16 bits tell apart")
    codes, single_valued, largest = _code_rows(&matrix, rows, <const Grid*>&grids[0, 0], n_codes, n_threads)
    return codes, center_codes_array, n_codes, single_valued, largest


cdef int _make_grid(
    Grid* grid, const double[::1] sample, double[::1] singles, double low, double high, int n_cells, bint by_rank,
    list keep,
) except -1:
    """Make the grid of a column; return one more than its largest code.

    Parameters
    ----------
    sample : ndarray, sorted
    singles : ndarray, sorted
        The centers' coordinates. Overwritten.
    low, high : the bounds of the column's values and centers
    n_cells : int
    by_rank : bool
        Whether codes are bins of equally many rows in any case, and not only where values crowd.
    keep : list
        Gets the objects that the grid points to.
    """
    cdef Py_ssize_t n_most = sample.shape[0] + singles.shape[0], n_singles = 1, i
    cdef int n_edges, cell = 0, code = 0, most = 0
    cdef bint cells_are_bins
    cdef double width = high - low
    numbers, values = np.empty(n_most + 2 * n_cells + 2, dtype=np.int32), np.empty(n_most + 2)
    is_single_array = np.empty(n_most + 1, dtype=np.uint8)
    cdef int[::1] number = numbers
    cdef double[::1] edge = values[1:]
    cdef unsigned char[::1] is_single = is_single_array
    cdef int* code_below = &number[0]
    cdef int* start = code_below + n_most + 1
    cdef int* whole = start + n_cells + 1
    for i in range(1, singles.shape[0]):
        if singles[i] != singles[n_singles - 1]:
            singles[n_singles] = singles[i]
            n_singles += 1
    grid.low, grid.n_cells = low, n_cells
    grid.factor = n_cells / width if width > 0 and isfinite(width) and isfinite(n_cells / width) else 0.0
    cells_are_bins = not by_rank and not _is_crowded(grid, sample)
    if cells_are_bins:
        n_edges = <int>n_singles
        for i in range(n_singles):
            edge[i], is_single[i] = singles[i], True
    else:
        n_edges = _find_rank_edges(sample, singles[:n_singles], n_cells, edge, is_single)
    start[0] = whole[0] = 0
    for i in range(n_edges):
        while cell < cell_of(grid, edge[i]):
            cell += 1
            start[cell], whole[cell] = <int>i, code + cell * cells_are_bins
        code_below[i] = code + cell * cells_are_bins
        code += 1 + is_single[i]
    code_below[n_edges], is_single[n_edges] = code, False
    values[0], edge[n_edges] = -np.inf, np.inf
    while cell < n_cells:
        cell += 1
        start[cell] = n_edges
        if cell < n_cells:
            whole[cell] = code + cell * cells_are_bins
    for cell in range(n_cells):
        if start[cell] < start[cell + 1]:
            whole[cell] = -1
        most = max(most, start[cell + 1] - start[cell])
    grid.n_halvings, grid.cells_are_bins = 0, cells_are_bins
    while most:
        grid.n_halvings += 1
        most >>= 1
    grid.edge, grid.is_single, grid.code_below = &edge[0], &is_single[0], code_below
    grid.start, grid.whole = start, whole
    keep += [numbers, values, is_single_array]
    return code + (n_cells if cells_are_bins else 1)


cdef _code_rows(const Matrix* matrix, const int[::1] rows, const Grid* grids, int n_codes, int n_threads):
    """Code all rows; return the codes, which of them are single-valued, and the rows of the fullest that is not."""
    cdef Py_ssize_t m = rows.shape[0], d = matrix.n_columns, t, largest
    n_threads = threads_for(m * d, n_threads)
    codes_array = np.empty((d, m), dtype=np.uint16)
    tallies_array, values_array = np.zeros((n_threads, d * n_codes), dtype=np.int32), np.empty((n_threads, d * n_codes))
    buffer_array = np.empty((n_threads, d * ROWS))
    single_valued_array = np.empty((d, n_codes), dtype=np.uint8)
    cdef uint16_t[:, ::1] codes = codes_array
    cdef int[:, ::1] tallies = tallies_array
    cdef double[:, ::1] values = values_array
    cdef double[:, ::1] buffer = buffer_array
    cdef unsigned char[:, ::1] single_valued = single_valued_array
    cdef const int* row = &rows[0]
    for t in prange(n_threads, nogil=True, num_threads=n_threads, schedule="static", chunksize=1):
        _encode_part(
            matrix, row, m * t // n_threads, m * (t + 1) // n_threads, m, grids, n_codes,
            &buffer[t, 0], &codes[0, 0], Buckets(&tallies[t, 0], &values[t, 0]),
        )
    largest = _merge_buckets(tallies, values, single_valued)
    return codes_array, single_valued_array, largest


cdef void _encode_part(
    const Matrix* matrix, const int* rows, Py_ssize_t first, Py_ssize_t last, Py_ssize_t m,
    const Grid* grids, int n_codes, double* buffer, uint16_t* codes, Buckets buckets,
) noexcept nogil:
    cdef Py_ssize_t i = first, f, r, count
    cdef uint16_t* out
    cdef int* rows_of
    cdef double* first_of
    cdef double value
    cdef int code, seen
    cdef int cells[ROWS]
    cdef int codes_of_rows[ROWS]
    while i < last:
        count = min(ROWS, last - i)
        load_block(matrix, rows + i, count, buffer, count)  # columns 4096 bytes apart would share cache sets
        for f in range(matrix.n_columns):
            out = codes + f * m + i
            rows_of = buckets.rows + f * n_codes
            first_of = buckets.value + f * n_codes
            find_cells(&grids[f], buffer + f * count, count, cells)
            if grids[f].cells_are_bins:
                find_bin_codes(&grids[f], buffer + f * count, count, cells, codes_of_rows)
            else:
                find_rank_codes(&grids[f], buffer + f * count, count, cells, codes_of_rows)
            for r in range(count):
                value = buffer[f * count + r]
                code = codes_of_rows[r]
                out[r] = <uint16_t>code
                seen = rows_of[code]
                if seen < 0:
                    rows_of[code] = seen - 1
                elif seen == 0:
                    first_of[code] = value
                    rows_of[code] = 1
                else:
                    rows_of[code] = seen + 1 if first_of[code] == value else -seen - 1
        i += count


cdef Py_ssize_t _merge_buckets(
    const int[:, ::1] tallies, const double[:, ::1] values, unsigned char[:, ::1] single_valued
) noexcept:
    """Find the codes with a single value; return the rows of the fullest of the others."""
    cdef Py_ssize_t n_codes = single_valued.shape[1], f, code, t, rows, here, largest = 0
    cdef double value = 0.0
    cdef bint mixed
    for f in range(single_valued.shape[0]):
        for code in range(n_codes):
            rows = 0
            mixed = False
            for t in range(tallies.shape[0]):
                here = tallies[t, f * n_codes + code]
                if here:
                    mixed |= here < 0 or (rows > 0 and values[t, f * n_codes + code] != value)
                    value = values[t, f * n_codes + code]
                    rows += abs(here)
            single_valued[f, code] = not mixed
            if mixed:
                largest = max(largest, rows)
    return largest
