"""The estimated weighted average depth of a cut: EvalWAD, the paper's Algorithm 1."""

cdef struct DepthPlan:
    # The sizes of subtrees that EvalWAD meets for one (K, K_left), ascending, and how each splits.
    int n_centers
    int n_left
    int n_steps
    int* size           # [k]
    int* left_size      # [k]
    double* value       # [k + 1], by size
    int* pending        # [k] sizes that are met but not split yet, ascending


cdef void plan_depth(DepthPlan* plan, int n_centers, int n_left) noexcept nogil
cdef double estimate_depth(DepthPlan* plan, double share_left) noexcept nogil
cdef double bound_depth(DepthPlan* plan, double share_low, double share_high) noexcept nogil
