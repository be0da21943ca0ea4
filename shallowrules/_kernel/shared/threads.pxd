"""When work is shared by threads, and in what pieces: figures that all modes share."""

cdef extern from *:
    """
    #ifndef SHALLOWRULES_OPENMP
    #define SHALLOWRULES_OPENMP 0
    #endif
    """
    const int HAS_OPENMP "SHALLOWRULES_OPENMP"

cdef enum:
    CHUNK = 4096        # rows whose costs are summed together, so that threads cannot matter
    MIN_SHARED_ROWS = 32768       # rows from which all threads work on one node
    POLL_INTERVAL = 4000000   # codes swept between two reports: some hundredths of a second
