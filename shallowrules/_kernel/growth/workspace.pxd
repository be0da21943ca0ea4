"""The memory of one growth: the state, a scratch for each thread, and the arrays that they point to."""

from shallowrules._kernel.growth.state cimport Scratch, State


cdef class Workspace:
    cdef State state
    cdef Scratch* scratches     # one per thread
    cdef readonly int n_threads
    cdef readonly Py_ssize_t n_places       # for nodes
    cdef readonly object codes              # ndarray of uint16, shape (d, r)
    cdef readonly object single_valued      # ndarray of uint8, shape (d, n_codes)
    cdef Py_ssize_t largest_bin             # rows of the fullest code that is not single-valued
    cdef list _keep
    cdef list failures

    cdef void keep(self, list arrays)
    cdef _set_table(self, inputs, int ranks)
    cdef _set_slots(self, inputs, assigned)
    cdef _set_nodes(self)
    cdef allocate_scratches(self, bint sweeps, bint opens_all=?)
    cdef keep_distances(self, inputs, wanted)
    cdef list _scan_fields(self, Scratch* scratch)
    cdef list _dense_fields(self, Scratch* scratch)
    cdef dict finish(self)
