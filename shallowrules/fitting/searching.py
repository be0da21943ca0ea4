"""Continue the search from grown trees: under a goal, with more rules, or for the gain from more rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shallowrules.fitting.data import FitData
from shallowrules.fitting.growing import objectives_of, over_the_table, settings_of
from shallowrules.fitting.regions import Explained
from shallowrules.trees.candidates import Goal
from shallowrules.trees.extending import extend
from shallowrules.trees.goals import search_within
from shallowrules.trees.grown_tree import GrownTree, renumber_centers
from shallowrules.trees.rounding import rounds
from shallowrules.trees.searching import MAX_SEARCHED_CLUSTERS

__all__ = ["MORE_RULES", "grow_more", "grow_within", "more_rules_notes", "takes_more_rules"]

MORE_RULES = 2
"""Extra rules, beyond the number of clusters, that are priced for a note, and up to which the slider of a page goes."""
MIN_FALL = 0.1
"""Share of a tree's extra cost over the clustering that one more rule has to remove to be worth a note."""


def grow_within(over: Explained, trees: Sequence[GrownTree], goal: Goal, tradeoff: float) -> GrownTree | None:
    """Return the best tree within a bound that is found from some trees, or None.

    Rounding would ignore the bound, so the thresholds stay in their gaps.

    Parameters
    ----------
    over : Explained
    trees : sequence of GrownTree
        Of those that `grow` returned, the likeliest first, each with a leaf for each center.
    goal : Goal
    tradeoff : float
        As for `search_within`.
    """
    parameters, kept = over.data.parameters, over.data.kept_centers
    found = search_within(
        goal,
        [over.tree(tree) for tree in trees],
        over.rows,
        settings_of(parameters, tradeoff),
        n_clusters=0 if parameters.max_leaves is None else len(kept),
    )
    return None if found is None else over_the_table(renumber_centers(found, kept), over.data.encoder)


def takes_more_rules(data: FitData, grown: GrownTree) -> bool:
    """Whether a tree has one rule for each cluster and could have more, and the user has not chosen a number."""
    parameters, k = data.parameters, len(data.kept_centers)
    takes_more = parameters.method == "exshallow" and parameters.max_leaves is None and not parameters.keep
    return takes_more and not data.reference.labelled and grown.n_leaves == k and 1 < k <= MAX_SEARCHED_CLUSTERS


def grow_more(over: Explained, grown: GrownTree, n_leaves: int) -> GrownTree | None:
    """Return a cheaper tree with at most a given number of rules, made by cutting leaves in two; None without one.

    Parameters
    ----------
    over : Explained
    grown : GrownTree
        One of the trees that `grow` returned, with a leaf for each center.
    n_leaves : int
    """
    parameters, kept = over.data.parameters, over.data.kept_centers
    own = over.tree(grown)
    found = extend(own, over.rows, settings_of(parameters, 0.0), max_leaves=n_leaves, searches=False)
    if found is own:
        return None
    tree = over_the_table(renumber_centers(found, kept), over.data.encoder)
    if not rounds(parameters.round_within, tree):
        return tree
    return over.data.rounded(tree, tree.objectives or objectives_of(over.data, tree, 0.0))


def more_rules_notes(data: FitData, grown: GrownTree, tradeoff: float) -> list[str]:
    """Return a note on the gain of one or two more rules, a lower bound; no note if it is too small to mention.

    Parameters
    ----------
    data : FitData
    grown : GrownTree
        One of the trees that `grow` returned.
    tradeoff : float
        The one that it was grown with.
    """
    k = len(data.kept_centers)
    if not takes_more_rules(data, grown):
        return []
    return _notes_of(data.prices(grown, k + MORE_RULES, tradeoff), k)


def _notes_of(costs: Sequence[float], k: int) -> list[str]:
    """Return a note on the normalized costs of a tree of k rules, of one more and two more, if the gain is worth it."""
    if not costs or costs[0] <= 1.0:
        return []  # no more expensive than the clustering itself
    worth = [i for i, (before, cost) in enumerate(pairwise(costs)) if before - cost > MIN_FALL * (costs[0] - 1.0)]
    if not worth:
        return []
    n_rules, cost = k + 1 + worth[-1], costs[1 + worth[-1]]
    return [
        f"with {n_rules} rules instead of {k}, the cost would fall from {costs[0] - 1:+z.1%} to "
        f"{cost - 1:+z.1%} or less"
    ]
