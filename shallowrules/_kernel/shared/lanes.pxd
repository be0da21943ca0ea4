"""The instruction sets that the kernel has versions for."""

cdef extern from "shared/lanes.h" nogil:
    int instructions_of_machine "sr_instructions"() noexcept
