"""When threads share work, and in which pieces. The figures are those of all modes."""

cdef extern from *:
    """
    #ifndef SHALLOWRULES_OPENMP
    #define SHALLOWRULES_OPENMP 0
    #endif
    """
    const int HAS_OPENMP "SHALLOWRULES_OPENMP"

cdef enum:
    # Rows whose costs are summed together. Sums of chunks are added in order, so that the number of threads cannot
    # change a digit.
    CHUNK = 4096
    # From this number of rows on, or of values where a table is gone over column by column, all threads work together:
    # waking them takes longer than less work does.
    MIN_SHARED_ROWS = 32768


cdef inline int threads_for(Py_ssize_t n_rows, int n_threads) noexcept nogil:
    """Return how many threads work on this number of rows, or of values."""
    return n_threads if n_rows >= MIN_SHARED_ROWS else 1


cdef struct Share:
    # The range that one thread works on: from `first` to `last` - 1.
    Py_ssize_t first, last


cdef inline Share share_of(Py_ssize_t first, Py_ssize_t last, int thread, int n_threads) noexcept nogil:
    """Return a thread's share of the range from `first` to `last` - 1; the shares differ by one at most."""
    return Share(
        first + (last - first) * thread // n_threads, first + (last - first) * (thread + 1) // n_threads
    )
