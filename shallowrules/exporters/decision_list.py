"""Rules as a list in which each relies on those before it.

At each node of the tree one branch takes the rows that have no value there, then come the rows of the smaller child.
The remaining rows need no condition: they can only be in the other child. So no branch has more conditions than the
logarithm of the number of leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shallowrules.rules import Condition, Cut, Leaf, Membership, RuleSet
from shallowrules.rules.conditions import both

__all__ = ["Branch", "leaves_below", "ordered_branches"]


@dataclass(frozen=True)
class Branch:
    """The conditions of a branch on the rows that no branch before it has taken, and their cluster.

    Attributes
    ----------
    conditions : tuple of Condition
        The conditions that they satisfy. Each tested column has a value in these rows.
    without : int or None
        Number of a column without a value in them: they are in no cluster.
    leaf : int or None
        Their leaf in `RuleSet.nodes`, None where they have none.
    cluster : int or None
        Their cluster, None where they have none.
    """

    conditions: tuple[Condition, ...]
    without: int | None
    leaf: int | None
    cluster: int | None


@dataclass(frozen=True)
class _Reached:
    """A node, and the conditions that separate its rows from the others that no branch has taken yet.

    `valued` are the columns without a missing value in these rows.
    """

    node: int
    conditions: dict[int, Condition]
    valued: frozenset[int]


def ordered_branches(rules: RuleSet, *, early: bool = False) -> Iterator[Branch]:
    """Yield the branches that give each row its cluster; the last one has no condition.

    There is a branch for rows without a value for every column that a node tests for the first time, including columns
    whose missing values are imputed.

    Parameters
    ----------
    rules : RuleSet
    early : bool
        Whether the branch of a column comes as soon as all paths below a node test it, which makes fewer branches.
    """
    nodes, sizes = rules.nodes, leaves_below(rules)
    on_each_path = _on_each_path(rules) if early else {}
    pending = [_Reached(0, {}, frozenset())]
    while pending:
        reached = pending.pop()
        node, conditions = nodes[reached.node], reached.conditions
        asked = tuple(conditions.values())
        if isinstance(node, Leaf):
            yield Branch(asked, None, reached.node, node.cluster)
            continue
        asked_here = [node.column, *sorted(on_each_path.get(reached.node, ()))]
        valued = reached.valued
        for column in asked_here:
            if column not in valued:
                yield Branch(asked, column, None, None)
                valued |= {column}
        goes_left = sizes[node.left] <= sizes[node.right]
        first, second = (node.left, node.right) if goes_left else (node.right, node.left)
        condition: Condition = node.condition(rules.columns[node.column], goes_left)
        if node.column in conditions:
            condition = both(conditions[node.column], condition)
        pending.append(_Reached(second, conditions, valued))
        pending.append(_Reached(first, {**conditions, node.column: condition}, valued))


def _on_each_path(rules: RuleSet) -> dict[int, frozenset[int]]:
    """Return the columns that are tested on every path from a node to a leaf, by node."""
    found: dict[int, frozenset[int]] = {}
    for index in reversed(range(len(rules.nodes))):  # children come after their parent
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            found[index] = frozenset()
        else:
            found[index] = (found[node.left] & found[node.right]) | {node.column}
    return found


def leaves_below(rules: RuleSet) -> Sequence[int]:
    """Return the number of leaves below each node, 1 for a leaf."""
    sizes = [1] * len(rules.nodes)
    for index in reversed(range(len(rules.nodes))):  # children come after their parent
        node = rules.nodes[index]
        if isinstance(node, Cut | Membership):
            sizes[index] = sizes[node.left] + sizes[node.right]
    return sizes
