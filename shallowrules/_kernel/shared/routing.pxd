"""Sending rows through a grown tree."""


cdef inline int child_of(const int* left, const int* right, int node, bint goes_left) noexcept nogil:
    """Return the child on a side, without a branch: the way that a row goes is hard to predict."""
    return right[node] + (left[node] - right[node]) * goes_left
