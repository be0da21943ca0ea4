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
    # From this number of rows on, all threads work on one node: waking them takes longer than a small node does.
    MIN_SHARED_ROWS = 32768
    # Below this number of values (rows x columns) one thread goes over a table: waking others takes longer, and they
    # keep a core busy for a while, waiting for more.
    MIN_SHARED_VALUES = 300000


cdef inline int threads_for(Py_ssize_t n_rows, int n_threads) noexcept nogil:
    """Return how many threads work on a node of this number of rows."""
    return n_threads if n_rows >= MIN_SHARED_ROWS else 1


cdef inline int threads_for_values(Py_ssize_t n_values, int n_threads) noexcept nogil:
    """Return how many threads go over a table of this number of values."""
    return n_threads if n_values >= MIN_SHARED_VALUES else 1


cdef struct Share:
    # The range that one thread works on: from `first` to `last` - 1.
    Py_ssize_t first, last


cdef inline Share share_of(Py_ssize_t first, Py_ssize_t last, int thread, int n_threads) noexcept nogil:
    """Return a thread's share of the range from `first` to `last` - 1; the shares differ by one at most."""
    return Share(
        first + (last - first) * thread // n_threads, first + (last - first) * (thread + 1) // n_threads
    )
