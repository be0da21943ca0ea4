"""Progress and interrupts: the one place where work without the interpreter lets Python have a look."""

cdef enum:
    POLL_INTERVAL = 4000000     # codes (rows x features) visited between two polls: some hundredths of a second


cdef struct Progress:
    void* callback      # a Python callable or None
    void* failures      # a Python list: the exception that ends the work
    bint stopped


cdef void poll_interrupts(Progress* progress, double done) noexcept with gil


cdef inline bint is_poll_due(double* unpolled, double codes) noexcept nogil:
    """Add the codes that were visited; return whether to poll now."""
    unpolled[0] += codes
    if unpolled[0] <= POLL_INTERVAL:
        return False
    unpolled[0] = 0.0
    return True
