"""What a leaf costs in a finished tree. Looking ahead and improving sum it; J is their sum divided by the k-means cost."""


cdef inline double leaf_cost(
    double sum_of_squares, double weight, int n_conditions, double condition_penalty
) noexcept nogil:
    """Return the squared distances of a leaf's rows to their mean, plus a penalty for each condition and unit of weight."""
    return sum_of_squares + condition_penalty * weight * n_conditions
