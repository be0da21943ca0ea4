"""Codes: small integers that keep the order of a column's values and centers.

A code is a bin of values, or a single value. Every center coordinate has a code of its own, so
that comparing codes tells exactly on which side of a center a row lies; only the order of rows
inside one bin is left open, and the builder looks at raw values there. Bins are linear cells; a
column whose rows crowd in few cells (heavy tails, spikes) gets quantile edges from a sample
instead, and a frequent value a code of its own.

Looking a value up: its linear cell, then the edges inside this cell. The cell of a value is
monotone in the value whatever the rounding, so codes are monotone too.
"""

import numpy as np

from cython.parallel cimport prange

from shallowrules._kernel.matrix cimport Matrix, entry, load_block, matrix_of

CELLS = 2048
SAMPLE = 20_000
CROWDED = 8          # linear cells are given up if they do the work of an eighth of them
MIN_BLOCK = 16


cdef struct Grid:
    double low
    double factor           # cells per unit
    int n_cells
    const int* start        # [n_cells + 1] first edge of each cell
    const int* base         # [n_cells] code of a value in the cell below its first edge
    const double* edge      # edge values, ascending
    const int* step         # [n_edges] 2: the edge is a code of its own; 1: the upper end of a bin
    # code of a value = base + sum of the steps of the cell's edges below it (+ 1 if it is a
    # single edge itself)
    const int* code_at      # [n_edges] code of the edge value itself


cdef inline int cell_of(const Grid* grid, double value) noexcept nogil:
    cdef double place = (value - grid.low) * grid.factor
    if not place > 0.0:
        return 0
    if place >= grid.n_cells:
        return grid.n_cells - 1
    return <int>place


cdef inline int code_of(const Grid* grid, double value) noexcept nogil:
    cdef int cell = cell_of(grid, value)
    cdef int low = grid.start[cell], high = grid.start[cell + 1], middle
    if low == high:
        return grid.base[cell]
    while high - low > 0:  # the first edge that is not below the value
        middle = (low + high) >> 1
        if grid.edge[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < grid.start[cell + 1]:
        if grid.edge[low] == value:
            return grid.code_at[low]
        return grid.code_at[low] - (1 if grid.step[low] == 2 else 0)
    return grid.code_at[low - 1] + 1


def _edges(sample, singles, low, high, n_cells):
    """Return (edge values, which are singles, whether cells are bins) for one column."""
    if high > low:
        cells = np.minimum(((sample - low) * (n_cells / (high - low))).astype(np.int64), n_cells - 1)
        counts = np.bincount(np.maximum(cells, 0), minlength=n_cells).astype(float)
        effective = counts.sum() ** 2 / max((counts**2).sum(), 1.0)
        values, frequency = np.unique(sample, return_counts=True)
        if effective < min(n_cells, len(values)) / CROWDED:
            expected = len(sample) / n_cells
            spikes = values[frequency >= max(2.0, 2 * expected)]
            position = np.cumsum(frequency) / expected
            last = np.flatnonzero(np.diff(np.floor(position), append=np.inf) > 0)
            quantiles = np.setdiff1d(values[last], np.union1d(spikes, singles))
            singles = np.union1d(singles, spikes)
            edges = np.union1d(singles, quantiles)
            return edges, np.isin(edges, singles), False
    return singles, np.ones(len(singles), dtype=bool), True


def encode(explained, const int[::1] rows, explained_centers, int n_threads):
    """Code every explained value of the rows and centers.

    Parameters
    ----------
    explained : ndarray of float32 or float64, shape (n, d)
    rows : ndarray of int32, shape (m,)
        Rows to code.
    explained_centers : ndarray of float64, shape (k, d)
    n_threads : int

    Returns
    -------
    codes : ndarray of int32, shape (d, m)
    center_codes : ndarray of int32, shape (d, k)
    n_codes : int
        One more than the largest code.
    single : ndarray of uint8, shape (d, n_codes)
        Where all rows with this code have the same value.
    largest_bin : int
        Rows of the fullest code that is not single.
    """
    cdef Matrix matrix = matrix_of(explained)
    cdef Py_ssize_t m = rows.shape[0], d = matrix.n_columns, k = explained_centers.shape[0]
    cdef Py_ssize_t f, i
    cdef int n_cells = <int>min(CELLS, max(MIN_BLOCK, m // 4))
    if d > 64:
        n_cells = max(128, n_cells * 64 // d)

    low_array = np.full(d, np.inf)
    high_array = np.full(d, -np.inf)
    cdef double[::1] low = low_array, high = high_array
    cdef double value
    cdef const int* row = &rows[0]
    # Ranges, by threads over columns would stride; one pass over the rows is bound by memory.
    with nogil:
        for i in range(m):
            for f in range(d):
                value = entry(&matrix, row[i], f)
                if value < low[f]:
                    low[f] = value
                if value > high[f]:
                    high[f] = value
    picked = np.asarray(rows)[:: max(1, m // SAMPLE)]
    sample = np.asarray(explained[picked], dtype=np.float64)

    edges, steps, code_at, starts, bases = [], [], [], [], []
    grids_array = np.zeros((d, sizeof(Grid)), dtype=np.uint8)
    cdef unsigned char[:, ::1] grids_view = grids_array
    cdef Grid* grids = <Grid*>&grids_view[0, 0]
    center_codes = np.empty((d, k), dtype=np.int32)
    cdef int n_codes = 0
    cdef const double[::1] edge_view
    cdef const int[::1] step_view, at_view, start_view, base_view
    for f in range(d):
        coordinates = np.unique(explained_centers[:, f])
        bottom = float(min(low[f], coordinates.min()))
        top = float(max(high[f], coordinates.max()))
        width = top - bottom
        factor = n_cells / width if width > 0 and np.isfinite(width) and np.isfinite(n_cells / width) else 0.0
        edge, is_single, cells_are_bins = _edges(sample[:, f], coordinates, bottom, top if factor else bottom, n_cells)
        edge = np.ascontiguousarray(edge, dtype=np.float64)
        grids[f].low = bottom
        grids[f].factor = factor
        grids[f].n_cells = n_cells
        cell = np.array([cell_of(&grids[f], x) for x in edge], dtype=np.int64)
        step = np.where(is_single, 2, 1).astype(np.int32)
        before = np.concatenate([[0], np.cumsum(step)])
        offset = np.arange(n_cells) if cells_are_bins else np.zeros(n_cells, dtype=np.int64)
        start = np.searchsorted(cell, np.arange(n_cells + 1)).astype(np.int32)
        base = (offset + before[start[:n_cells]]).astype(np.int32)
        at = (offset[cell] + before[: len(edge)] + np.where(is_single, 1, 0)).astype(np.int32)
        edge_view, step_view, at_view, start_view, base_view = edge, step, at, start, base
        grids[f].edge, grids[f].step, grids[f].code_at = &edge_view[0], &step_view[0], &at_view[0]
        grids[f].start, grids[f].base = &start_view[0], &base_view[0]
        edges.append(edge)
        steps.append(step)
        code_at.append(at)
        starts.append(start)
        bases.append(base)
        center_codes[f] = at[np.searchsorted(edge, explained_centers[:, f])]
        n_codes = max(n_codes, int(before.max() + (n_cells if cells_are_bins else 1)) + 1)

    codes_array = np.empty((d, m), dtype=np.int32)
    least_array = np.full((n_threads, d, n_codes), np.inf)
    most_array = np.full((n_threads, d, n_codes), -np.inf)
    buffer_array = np.empty((n_threads, d * 64))
    cdef int[:, ::1] codes = codes_array
    cdef double[:, :, ::1] least = least_array, most = most_array
    cdef double[:, ::1] buffer = buffer_array
    cdef Py_ssize_t t
    for t in prange(n_threads, nogil=True, num_threads=n_threads, schedule="static", chunksize=1):
        _encode_part(
            &matrix, row, m * t // n_threads, m * (t + 1) // n_threads, m, grids, n_codes,
            &buffer[t, 0], &codes[0, 0], &least[t, 0, 0], &most[t, 0, 0],
        )
    least_array = least_array.min(axis=0)
    most_array = most_array.max(axis=0)
    single = (least_array >= most_array)
    largest = 0
    for f in range(d):
        if not single[f].all():
            sizes = np.bincount(codes_array[f], minlength=n_codes)
            largest = max(largest, int(sizes[~single[f]].max()))
    return codes_array, center_codes, n_codes, single.astype(np.uint8), largest


cdef void _encode_part(
    const Matrix* matrix, const int* rows, Py_ssize_t first, Py_ssize_t last, Py_ssize_t m,
    const Grid* grids, int n_codes, double* buffer, int* codes, double* least, double* most,
) noexcept nogil:
    cdef Py_ssize_t i = first, f, r, count
    cdef int code
    cdef double value
    while i < last:
        count = min(64, last - i)
        load_block(matrix, rows + i, count, buffer, 64)
        for f in range(matrix.n_columns):
            for r in range(count):
                value = buffer[f * 64 + r]
                code = code_of(&grids[f], value)
                codes[f * m + i + r] = code
                if value < least[f * n_codes + code]:
                    least[f * n_codes + code] = value
                if value > most[f * n_codes + code]:
                    most[f * n_codes + code] = value
        i += count
