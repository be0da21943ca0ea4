"""Search on from trees that are grown: under a goal, or for what more rules would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.fitting.data import FitData, FitParameters
from shallowrules.fitting.growing import RegionRows, over_the_table, renumbered, seed_of, unique_rows
from shallowrules.fitting.keeping import Region
from shallowrules.trees.extending import price_more
from shallowrules.trees.goals import search_within
from shallowrules.trees.growing import GrownTree, UniqueRows, renumber_centers
from shallowrules.trees.refining import MAX_SEARCHED_CLUSTERS
from shallowrules.trees.searching import Goal
from shallowrules.trees.tree import LEAF

__all__ = [
    "MORE_RULES",
    "Explained",
    "from_the_table",
    "grow_within",
    "more_rules_notes",
    "notes_of_prices",
    "prices_more",
]

MORE_RULES = 2
"""More rules than clusters that are priced for a note."""
MIN_FALL = 0.1
"""Share of what a tree costs more than the clustering that another rule has to take off to be worth a note."""


@dataclass(frozen=True, eq=False)
class Explained:
    """A table and its clustering as they are for a search that goes on from grown trees."""

    data: FitData
    rows: RegionRows
    unique: UniqueRows

    @classmethod
    def of(cls, data: FitData) -> Explained:
        """Return that of a table."""
        region = Region(None, data.kept_centers.astype(np.intp))
        rows = RegionRows.of(data, region)
        return cls(data, rows, unique_rows(data, region, rows))

    def tree(self, grown: GrownTree) -> GrownTree:
        """Return a tree whose features are those that rules may test and whose centers are the kept ones."""
        return from_the_table(grown, self.data.encoding.encoder, self.data.kept_centers)


def grow_within(over: Explained, trees: Sequence[GrownTree], goal: Goal, tradeoff: float) -> GrownTree | None:
    """Return the best tree within a bound that is found from some trees, or None.

    Rounding would know nothing of the bound: the thresholds are to stay in their gaps.

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
        over.unique,
        tradeoff=tradeoff,
        reference_cost=over.rows.reference_cost,
        reference_labels=renumbered(over.rows.labels, kept),
        random_seed=seed_of(parameters.random_state),
        n_clusters=0 if parameters.max_leaves is None else len(kept),
        n_threads=parameters.n_threads,
    )
    return None if found is None else over_the_table(renumber_centers(found, kept), over.data.encoding.encoder)


def more_rules_notes(data: FitData, grown: GrownTree, tradeoff: float) -> list[str]:
    """Return what one or two more rules would bring at least, in a note, where that is worth one.

    Parameters
    ----------
    data : FitData
    grown : GrownTree
        One of the trees that `grow` returned.
    tradeoff : float
        The one that it was grown with.
    """
    parameters, kept = data.parameters, data.kept_centers
    if not prices_more(parameters, grown, len(kept), labelled=data.reference.labelled) or not data.reference_cost > 0:
        return []
    over = Explained.of(data)
    rows, unique, tree = over.rows, over.unique, over.tree(grown)
    costs = price_more(
        tree,
        unique,
        max_leaves=len(kept) + MORE_RULES,
        tradeoff=tradeoff,
        reference_cost=rows.reference_cost,
        n_threads=parameters.n_threads,
    )
    return notes_of_prices(costs, len(kept))


def prices_more(parameters: FitParameters, grown: GrownTree, k: int, *, labelled: bool) -> bool:
    """Return whether more rules are an option for a tree of k clusters."""
    takes_more = parameters.method == "exshallow" and parameters.max_leaves is None and not parameters.keep
    return takes_more and not labelled and grown.n_leaves == k and 1 < k <= MAX_SEARCHED_CLUSTERS


def notes_of_prices(costs: Sequence[float], k: int) -> list[str]:
    """Return a note on the normalized costs of a tree of k rules, of one more and two more, if they are worth one."""
    worth = [i for i, (before, cost) in enumerate(pairwise(costs)) if before - cost > MIN_FALL * (costs[0] - 1.0)]
    if not worth:
        return []
    n_rules, cost = k + 1 + worth[-1], costs[1 + worth[-1]]
    return [
        f"with {n_rules} rules in place of {k} the cost falls from {costs[0] - 1:+z.1%} to {cost - 1:+z.1%} or less: "
        f"--max-leaves {n_rules}"
    ]


def from_the_table(tree: GrownTree, encoder: Encoder, kept: NDArray[np.integer]) -> GrownTree:
    """Return a tree over the columns that rules may test and the centers `kept`, from one over all of both."""
    tested = list(encoder.explain_positions or range(len(encoder.columns)))
    numbers, places = np.empty(int(kept.max()) + 1, np.int32), np.empty(len(encoder.columns) + 1, np.int32)
    numbers[kept], places[LEAF] = np.arange(len(kept)), LEAF
    places[tested] = np.arange(len(tested))
    return replace(renumber_centers(tree, numbers), feature=places[tree.feature])
