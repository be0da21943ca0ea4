"""Partitioning of rows or centers that are sorted by each feature: both sides stay sorted."""


cdef inline void partition_orders(
    int* orders, Py_ssize_t n_features, Py_ssize_t n, Py_ssize_t first, Py_ssize_t last,
    const unsigned char* goes_left, int* buffer
) noexcept nogil:
    """Put the entries that go left first, from `first` to `last` of every feature's order; orders: [n_features, n]."""
    cdef Py_ssize_t f, i, left, right
    cdef int* order
    for f in range(n_features):
        order = orders + f * n
        left = first
        right = 0
        for i in range(first, last):
            if goes_left[order[i]]:
                order[left] = order[i]
                left += 1
            else:
                buffer[right] = order[i]
                right += 1
        for i in range(right):
            order[left + i] = buffer[i]
