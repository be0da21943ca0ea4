"""The tree in raw columns and units, and the rules that follow from it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from shallowrules.errors import counted
from shallowrules.rules.columns import OPTIONAL, RuleColumn
from shallowrules.rules.conditions import Between, Condition, NoneOf, OneOf, both, category_condition
from shallowrules.rules.shown import Shown
from shallowrules.tables.conversion import Number
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.values import Value

__all__ = ["Cut", "Leaf", "Membership", "Node", "Rule", "derive_rules", "rules_length"]


@dataclass(frozen=True)
class Cut:
    """An inner node over numbers: at most `threshold` goes to node `left`, above it to `right`."""

    column: int
    threshold: Number
    left: int
    right: int

    def condition(self, column: RuleColumn, goes_left: bool) -> Between:
        """Return the condition that holds for a row on one side."""
        if goes_left:
            return Between(self.column, column, upper=self.threshold)
        return Between(self.column, column, lower=self.threshold)

    @property
    def question(self) -> Hashable:
        """The unit that an explanation counts once per side, however often the tree tests it."""
        return None


@dataclass(frozen=True)
class Membership:
    """An inner node over categories: one of `values` goes to node `left`, any other to `right`.

    `ordered` says whether the values come first in an order of categories. Two of these nodes on one path then cut
    the same order, as two thresholds do, and count as one condition of the explanation.
    """

    column: int
    values: tuple[Value, ...]
    left: int
    right: int
    ordered: bool = field(default=False, metadata=OPTIONAL)

    def condition(self, column: RuleColumn, goes_left: bool) -> OneOf | NoneOf:
        """Return the condition that holds for a row on one side."""
        return category_condition(self.column, column, self.values, included=goes_left)

    @property
    def question(self) -> Hashable:
        """The unit that an explanation counts once per side, however often the tree tests it."""
        return None if self.ordered else self.values


@dataclass(frozen=True)
class Leaf:
    """A leaf: the cluster it carries, its training rows and their summed weight.

    `precision` is that of its rule, where its cluster has several leaves: that of a single leaf is the cluster's.
    """

    cluster: int
    rows: int
    weight: float
    precision: float | None = field(default=None, metadata=OPTIONAL)


Node = Cut | Membership | Leaf


@dataclass(frozen=True, repr=False)
class Rule(Shown):
    """The explanation of one leaf: a conjunction without redundant conditions.

    Attributes
    ----------
    leaf : int
        Node of the rule in `RuleSet.nodes`.
    cluster : int
        Cluster that the rule assigns.
    conditions : tuple of Condition
        One per tested column, in the order in which the tree asks them. Empty for a tree
        that is a single leaf: then every row matches.
    rows : int
        Training rows that match.
    weight, share : float
        Their summed weight, and its share of the whole table.
    depth : int
        Edges from the root to the leaf.
    size : int
        Number of non-redundant conditions (the paper's explanation size). Each category that is asked
        for or excluded counts, as the columns of 0 and 1 do that stand for the categories, so that
        `size` may be more than the number of conditions to read.
    precision : float or None
        Share of its weight that the unrestricted clustering puts in `cluster` too; None where it was not measured.
    noise : bool
        Whether `cluster` is that of noise, as in `Cluster`.
    """

    leaf: int
    cluster: int
    conditions: tuple[Condition, ...]
    rows: int
    weight: float
    share: float
    depth: int
    size: int
    precision: float | None = None
    noise: bool = False

    @property
    def label(self) -> int:
        """The number that exports give its rows."""
        return NO_CLUSTER if self.noise else self.cluster

    def __repr__(self) -> str:
        n_conditions = counted(len(self.conditions), "condition")
        return f"Rule(cluster {self.label}, {n_conditions}, {counted(self.rows, 'row')})"

    def __str__(self) -> str:
        return " and ".join(str(condition) for condition in self.conditions) or "every row"


def derive_rules(nodes: Sequence[Node], columns: Sequence[RuleColumn], weight: float) -> list[Rule]:
    """Return the rule of every leaf, in the order of the nodes.

    Parameters
    ----------
    nodes : sequence of Node
        A tree over the columns; children come after their parent.
    columns : sequence of RuleColumn
    weight : float
        That of the whole table.
    """
    found: list[Rule] = []
    pending: list[tuple[int, int, dict[int, Condition], frozenset[Hashable]]] = [(0, 0, {}, frozenset())]
    while pending:
        index, depth, conditions, edges = pending.pop()
        node = nodes[index]
        if isinstance(node, Leaf):
            asked = tuple(conditions.values())
            share = node.weight / weight
            figures = node.rows, node.weight, share, depth, len(edges), node.precision
            found.append(Rule(index, node.cluster, asked, *figures))
            continue
        for child, goes_left in ((node.left, True), (node.right, False)):
            condition: Condition = node.condition(columns[node.column], goes_left)
            if node.column in conditions:
                condition = both(conditions[node.column], condition)
            narrowed = {**conditions, node.column: condition}
            pending.append((child, depth + 1, narrowed, edges | {(node.column, node.question, goes_left)}))
    return sorted(found, key=lambda rule: rule.leaf)


CONDITION_LENGTH = 24
"""Characters of a condition besides its column's name and its categories: two bounds of four digits, and the words."""


def rules_length(nodes: Sequence[Node], columns: Sequence[RuleColumn]) -> int:
    """Return about how many characters all rules have together, without making them.

    A tree of n leaves may be n deep, and each rule repeats its path, so that n leaves may have n * n / 2 conditions.

    Parameters
    ----------
    nodes : sequence of Node
        A tree over the columns.
    columns : sequence of RuleColumn
    """
    total = 0
    asked = [0] * len(columns)
    pending = [(0, 0)]  # a node and the length of its path; or ~column, to end a test of the column
    while pending:
        index, length = pending.pop()
        if index < 0:
            asked[~index] -= 1
            continue
        node = nodes[index]
        if isinstance(node, Leaf):
            total += length
            continue
        if not asked[node.column]:
            length += CONDITION_LENGTH + len(columns[node.column].name)
        if isinstance(node, Membership) and not (node.ordered and asked[node.column]):
            length += sum(len(str(value)) + 4 for value in node.values)
        asked[node.column] += 1
        pending += [(~node.column, 0), (node.right, length), (node.left, length)]
    return total
