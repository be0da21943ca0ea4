"""Progress and interrupts: the one place where work without the interpreter lets Python have a look."""

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1


cdef void poll_interrupts(Progress* progress, double done) noexcept with gil:
    """Report the share of the work that is done. An interrupt, or whatever the callback raises, ends the work."""
    try:
        PyErr_CheckSignals()
        if <object>progress.callback is not None:
            (<object>progress.callback)(done)
    except BaseException as failure:
        (<list>progress.failures).append(failure)
        progress.stopped = True
