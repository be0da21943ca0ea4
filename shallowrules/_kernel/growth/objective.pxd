"""What a cut costs. Only this file defines it; a change here needs no other change except in the oracle of the tests.

A node has CurrentCost, the weighted squared distances of its rows to the nearest of its centers. A cut has
InducedCost, the same with each row restricted to the centers on its own side. The objective of a cut is

    Price + tradeoff * DExp          Price = max(InducedCost / CurrentCost, 1)
                                     DExp = EvalWAD - shares of the sides that the path has already

(the paper's Algorithm 3), and for IMM the weight of the rows that it separates from their center. Scans hand over
InducedCost - CurrentCost as a whole number of units, `induced`, which is exact.

Cuts are found without evaluating them all. Conditions for that:

1. **Bounds stay below.** `objective_bound` is at most `objective_of` for every cut with no less `induced` and a share
   between the two given. So the price must not fall as `induced` rises.
2. **The cuts of a run are off by one constant.** If the `induced` of all cuts of a run are too high by the same
   amount, their objectives are too high by the same amount, at most `objective_error` of that amount. So the price must
   be linear in `induced` where it is not clamped. Where this does not hold, set SR_RUNS_SHIFT to 0: every node is then
   summed exactly, and that sweep was a fifth to a quarter of growing.
3. **Capped rows show.** A cut that adds a row at the cap of the fixed point, `reach` times CurrentCost, has an
   objective of at least `cheapest_capped(reach)`, so that it is known when sums have to be taken again.
4. **Ties are relative.** Of the cuts up to `tie_limit` of the lowest objective the first one wins.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from shallowrules._kernel.growth.depth cimport DepthPlan, bound_depth, estimate_depth, plan_depth

cdef extern from *:
    """
    #define SR_RUNS_SHIFT 1
    #define SR_TIE 1e-9             /* relative: objectives that close are equal, the first one wins */
    #define SR_ROUNDING 1e-12       /* more than doubles round an objective by, relative */
    #define SR_SLACK 1e-7           /* of bounds, relative: more than sums are rounded by */
    #define SR_UNIT_OF_FREE 1e280   /* objective of one unit where CurrentCost is 0: no cut that costs is free */
    """
    const bint RUNS_SHIFT "SR_RUNS_SHIFT"
    const double TIE "SR_TIE"
    const double ROUNDING "SR_ROUNDING"
    const double SLACK "SR_SLACK"
    const double UNIT_OF_FREE "SR_UNIT_OF_FREE"


cdef struct Objective:
    # Of a node.
    bint counts_mistakes        # IMM's
    double cost                 # CurrentCost
    double tradeoff
    int n_centers
    double total_weight         # in the units of the histograms
    # For a feature: `objective_of_feature` sets them.
    double unit                 # cost of one unit of `induced`
    unsigned char path_sides    # bit 0: the path has a left edge of the feature; bit 1: a right one


cdef inline Objective objective_of_feature(
    const Objective* of_node, double unit_scale, unsigned char path_sides
) noexcept nogil:
    """Return a node's objective for the cuts of a feature, whose sums have `unit_scale` units per unit of cost."""
    cdef Objective objective = of_node[0]
    objective.unit = 1.0 / unit_scale
    objective.path_sides = path_sides
    return objective


cdef inline double price_of(const Objective* objective, int64_t induced) noexcept nogil:
    """Return Price for `induced` units above CurrentCost; for IMM, the mistakes."""
    cdef double price
    if objective.counts_mistakes:
        return <double>induced * objective.unit
    if objective.cost == 0.0:
        return 1.0 if induced <= 0 else UNIT_OF_FREE * <double>induced
    price = (objective.cost + <double>induced * objective.unit) / objective.cost
    return price if price > 1.0 else 1.0


cdef inline double objective_of(
    const Objective* objective, DepthPlan* plan, int64_t induced, int n_left, double share, double limit
) noexcept nogil:
    """Return the objective of a cut, or infinity if it is above `limit` for certain.

    n_left: centers that the cut sends left; share: the share of the weight. EvalWAD takes long, so that it is
    computed only if the rest, with every subtree as shallow as can be, is within the limit.
    """
    cdef double price = price_of(objective, induced), shallowest, saved
    if objective.tradeoff == 0.0 or objective.counts_mistakes:
        return price
    saved = (share if objective.path_sides & 1 else 0.0) + (1.0 - share if objective.path_sides & 2 else 0.0)
    shallowest = 1.0 + (share if n_left > 1 else 0.0) + (1.0 - share if objective.n_centers - n_left > 1 else 0.0)
    if price + objective.tradeoff * (shallowest - saved) > limit:
        return INFINITY
    plan_depth(plan, objective.n_centers, n_left)
    return price + objective.tradeoff * (estimate_depth(plan, share) - saved)


cdef inline double _saved_at_most(const Objective* objective, double low, double high) noexcept nogil:
    """Return the largest share of the sides that the path has already, of cuts of shares from `low` to `high`."""
    if objective.path_sides == 3:
        return 1.0
    return high if objective.path_sides == 1 else (1.0 - low if objective.path_sides == 2 else 0.0)


cdef inline double objective_bound(
    const Objective* objective, DepthPlan* plan, int64_t induced, int n_left, double low, double high, double limit
) noexcept nogil:
    """Return a lower bound of the objectives of cuts of at least `induced` units and shares from `low` to `high`.

    Infinity if the bound is above `limit` for certain.
    """
    cdef double price = price_of(objective, induced), saved
    if objective.tradeoff == 0.0 or objective.counts_mistakes:
        return price
    saved = _saved_at_most(objective, low, high)
    if price + objective.tradeoff * (1.0 - saved) > limit:
        return INFINITY
    plan_depth(plan, objective.n_centers, n_left)
    return price + objective.tradeoff * (bound_depth(plan, low, high) * (1.0 - ROUNDING) - saved)


cdef inline double objective_error(const Objective* objective, double cost_error) noexcept nogil:
    """Return the largest error of an objective if the induced cost is off by `cost_error`."""
    return cost_error / objective.cost


cdef inline double cheapest_capped(double reach) noexcept nogil:
    """Return the least cost of a cut that adds a row at the cap, `reach` times CurrentCost, however it is rounded."""
    return 1.0 + 0.999 * reach


cdef inline double units_where_free(double objective) noexcept nogil:
    """Return `induced` of a cut of this objective at a node whose CurrentCost is 0: the inverse of `price_of` there."""
    return objective / UNIT_OF_FREE


cdef inline double tie_limit(double lowest) noexcept nogil:
    """Return the highest objective that ties with the lowest one."""
    return lowest * (1.0 + TIE)


cdef inline double highest_tie_limit(double lowest) noexcept nogil:
    """Return the tie limit, rounded so that nothing above it ties."""
    return lowest * (1.0 + TIE + ROUNDING)


cdef inline double lowest_tie_limit(double lowest, double error) noexcept nogil:
    """Return the tie limit, rounded so that all below it tie, even if `lowest` is too high by up to `error`."""
    return lowest * (1.0 + TIE - ROUNDING) - error * TIE


cdef inline bint excludes(double bound, double lowest) noexcept nogil:
    """Return whether cuts of this bound cannot tie with the lowest objective, however sums were rounded."""
    return bound > lowest * (1.0 + SLACK)
