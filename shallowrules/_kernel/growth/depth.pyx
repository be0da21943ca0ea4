"""How deep the tree below a cut is going to be, estimated before it is grown: EvalWAD (the paper's Algorithm 1), as
sums over the few subtree sizes that it meets.

``f_1 = 0`` and ``f_m(p) = 1 + p f_a(p) + (1 - p) f_(m-a)(p)`` with
``a = clip(ceil(m K_left / K), 1, m - 1)``. Only sizes reachable from K are evaluated; which ones
depends on (K, K_left) alone, so a plan is made once for a run of cuts between two centers.
"""

import numpy as np


cdef int _insert(int* pending, int count, int size) noexcept nogil:
    """Put a size in its place unless it is there or needs no split; return how many there are."""
    cdef int place = count, i
    if size < 2:
        return count
    while place > 0 and pending[place - 1] > size:
        place -= 1
    if place > 0 and pending[place - 1] == size:
        return count
    for i in range(count, place, -1):
        pending[i] = pending[i - 1]
    pending[place] = size
    return count + 1


cdef void plan_depth(DepthPlan* plan, int n_centers, int n_left) noexcept nogil:
    """Make the plan for `n_centers` centers of which a cut sends `n_left` left."""
    cdef int size, left, step, n_steps = 0, n_pending = 1
    if plan.n_centers == n_centers and plan.n_left == n_left:
        return
    plan.n_centers = n_centers
    plan.n_left = n_left
    plan.pending[0] = n_centers
    while n_pending:  # the largest first: what it splits into is smaller
        n_pending -= 1
        size = plan.pending[n_pending]
        left = <int>((<long long>size * n_left + n_centers - 1) // n_centers)
        left = min(max(left, 1), size - 1)
        plan.size[n_steps] = size
        plan.left_size[n_steps] = left
        n_steps += 1
        n_pending = _insert(plan.pending, n_pending, left)
        n_pending = _insert(plan.pending, n_pending, size - left)
    plan.n_steps = n_steps
    for step in range(n_steps // 2):
        plan.size[step], plan.size[n_steps - 1 - step] = plan.size[n_steps - 1 - step], plan.size[step]
        plan.left_size[step], plan.left_size[n_steps - 1 - step] = (
            plan.left_size[n_steps - 1 - step], plan.left_size[step]
        )
    plan.value[0] = 0.0
    plan.value[1] = 0.0


cdef double estimate_depth(DepthPlan* plan, double share_left) noexcept nogil:
    """Return the estimated depth of a cut that sends `share_left` of the weight left."""
    cdef int step, size, left
    for step in range(plan.n_steps):
        size = plan.size[step]
        left = plan.left_size[step]
        plan.value[size] = 1.0 + share_left * plan.value[left] + (1.0 - share_left) * plan.value[size - left]
    return plan.value[plan.n_centers]


cdef double bound_depth(DepthPlan* plan, double share_low, double share_high) noexcept nogil:
    """Return a lower bound of `estimate_depth` over an interval of shares.

    A mean of two lower bounds is linear in the share, so its least value is at an end.
    """
    cdef int step, size, left
    cdef double a, b
    for step in range(plan.n_steps):
        size = plan.size[step]
        left = plan.left_size[step]
        a = plan.value[left]
        b = plan.value[size - left]
        plan.value[size] = 1.0 + b + (a - b) * (share_low if a > b else share_high)
    return plan.value[plan.n_centers]


def eval_wad(int n_centers, int n_left, double share_left):
    """Return EvalWAD for `n_centers` centers, `n_left` of them and `share_left` of the weight left."""
    cdef DepthPlan plan
    if n_centers < 2 or not 0 < n_left < n_centers:
        raise ValueError("EvalWAD needs at least one center on each side")
    size = np.empty(n_centers, dtype=np.intc)
    left_size = np.empty(n_centers, dtype=np.intc)
    pending = np.empty(n_centers, dtype=np.intc)
    value = np.empty(n_centers + 1, dtype=np.float64)
    cdef int[::1] size_view = size, left_view = left_size, pending_view = pending
    cdef double[::1] value_view = value
    plan.size = &size_view[0]
    plan.left_size = &left_view[0]
    plan.value = &value_view[0]
    plan.pending = &pending_view[0]
    plan.n_centers = 0
    plan_depth(&plan, n_centers, n_left)
    return estimate_depth(&plan, share_left)
