"""The cost of a leaf in a finished tree: lookahead and improvement sum it. J is that sum ÷ the k-means cost."""


cdef inline double explanation_cost(double weight, int n_conditions, double condition_penalty) noexcept nogil:
    """Return the penalty of a leaf's explanation: for each condition and unit of weight."""
    return condition_penalty * weight * n_conditions


cdef inline double leaf_cost(
    double sum_of_squares, double weight, int n_conditions, double condition_penalty
) noexcept nogil:
    """Return the squared distances of a leaf's rows to their mean, plus the penalty of its explanation."""
    return sum_of_squares + explanation_cost(weight, n_conditions, condition_penalty)
