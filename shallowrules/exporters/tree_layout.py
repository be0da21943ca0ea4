"""Where the nodes of a tree are drawn: levels and positions without a unit, for whoever draws it.

`lay_out` gives each node a level, its distance from the root, and a position across the levels: leaves have whole
numbers from 0 up, in the tree's order, and an inner node lies in the middle of its children. A drawing chooses which of
the two runs down the page, and how far apart levels and leaves are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shallowrules.rules import Leaf, Node

__all__ = ["Place", "lay_out"]


@dataclass(frozen=True)
class Place:
    """Where a node is drawn.

    Attributes
    ----------
    level : int
        0 for the root.
    position : float
        Across the levels, in units of the distance between two leaves.
    parent : int
        -1 for the root.
    goes_left : bool
        Whether it is the left child of its parent.
    share : float
        Share of the weight that gets here.
    """

    level: int
    position: float
    parent: int
    goes_left: bool
    share: float


def lay_out(nodes: Sequence[Node]) -> tuple[Place, ...]:
    """Return the place of every node of a tree, in the order of the nodes; children come after their parent."""
    parents, sides, levels = [-1] * len(nodes), [False] * len(nodes), [0] * len(nodes)
    for index, node in enumerate(nodes):
        if not isinstance(node, Leaf):
            for child, goes_left in ((node.left, True), (node.right, False)):
                parents[child], sides[child], levels[child] = index, goes_left, levels[index] + 1
    positions, weights = [0.0] * len(nodes), [0.0] * len(nodes)
    n_leaves, pending = 0, [0]
    while pending:
        index = pending.pop()
        node = nodes[index]
        if isinstance(node, Leaf):
            positions[index], weights[index] = float(n_leaves), node.weight
            n_leaves += 1
        else:
            pending += [node.right, node.left]
    for index in reversed(range(len(nodes))):
        node = nodes[index]
        if not isinstance(node, Leaf):
            positions[index] = (positions[node.left] + positions[node.right]) / 2
            weights[index] = weights[node.left] + weights[node.right]
    return tuple(
        Place(level, position, parent, goes_left, weight / weights[0] if weights[0] else 0.0)
        for level, position, parent, goes_left, weight in zip(levels, positions, parents, sides, weights, strict=True)
    )
