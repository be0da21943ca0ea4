"""Rules as the branches of one CASE, each of which relies on those before it, the style ``ordered``; or as the tree.

At each node of the tree one branch takes the rows that have no value there, then come the rows of the smaller child.
What is left needs no condition: it can only be in the other child. So no branch has more conditions than the logarithm
of the number of leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.predicates import Predicates
from shallowrules.rules import Condition, Cut, Leaf, Membership, RuleSet
from shallowrules.rules.conditions import both

__all__ = ["Branch", "nested_case", "ordered_branches"]


@dataclass(frozen=True)
class Branch:
    """What is true of the rows of a branch that no branch before it has taken, and their cluster.

    The last one takes all rows that are left, whatever `predicate` says. `cluster` is None for rows without one.
    """

    predicate: str
    cluster: int | None


@dataclass(frozen=True)
class _Reached:
    """A node, and what tells its rows from the others that no branch has taken yet.

    `valued` are the columns without a missing value in these rows.
    """

    node: int
    conditions: dict[int, Condition]
    valued: frozenset[int]


def ordered_branches(rules: RuleSet, names: Sequence[str], dialect: Dialect) -> list[Branch]:
    """Return the branches of a CASE that gives each row its cluster.

    Parameters
    ----------
    rules : RuleSet
    names : sequence of str
        What the database calls each column of the rules.
    dialect : Dialect
    """
    predicates = Predicates(names, dialect, valued=True)  # a condition comes behind the branch of those without a value
    nodes, sizes = rules.nodes, _leaves_below(rules)
    branches: list[Branch] = []
    pending = [_Reached(0, {}, frozenset())]
    while pending:
        reached = pending.pop()
        node, conditions = nodes[reached.node], reached.conditions
        if isinstance(node, Leaf):
            branches.append(Branch(predicates.of_all(conditions.values()), node.cluster))
            continue
        valued = reached.valued
        if node.column not in valued:
            without = predicates.without_value(node.column, rules.columns[node.column])
            if without:
                branches.append(Branch(predicates.of_all(conditions.values(), without), None))
            valued |= {node.column}
        goes_left = sizes[node.left] <= sizes[node.right]
        first, second = (node.left, node.right) if goes_left else (node.right, node.left)
        condition: Condition = node.condition(rules.columns[node.column], goes_left)
        if node.column in conditions:
            condition = both(conditions[node.column], condition)
        pending.append(_Reached(second, conditions, valued))
        pending.append(_Reached(first, {**conditions, node.column: condition}, valued))
    return branches


def nested_case(rules: RuleSet, names: Sequence[str], dialect: Dialect, labels: Mapping[int, str], without: str) -> str:
    """Return a CASE that gives each row its cluster by the questions of the tree, one inside the other.

    It is as deep as the tree, and for an engine alone: a row is asked only what the tree asks it.

    Parameters
    ----------
    rules : RuleSet
    names : sequence of str
        What the database calls each column of the rules.
    dialect : Dialect
    labels : mapping from int to str
        SQL for each cluster.
    without : str
        SQL for rows without one.
    """
    predicates = Predicates(names, dialect, valued=True)

    def below(index: int, valued: frozenset[int]) -> str:
        node = rules.nodes[index]
        if isinstance(node, Leaf):
            return labels[node.cluster]
        column = rules.columns[node.column]
        missing = "" if node.column in valued else predicates.without_value(node.column, column)
        asked = predicates.of_all([node.condition(column, True)])
        left, right = (below(child, valued | {node.column}) for child in (node.left, node.right))
        guard = f"WHEN {missing} THEN {without} " if missing else ""
        return f"CASE {guard}WHEN {asked} THEN {left} ELSE {right} END"

    return below(0, frozenset())


def _leaves_below(rules: RuleSet) -> Sequence[int]:
    """Return the number of leaves below each node."""
    sizes = [1] * len(rules.nodes)
    for index in reversed(range(len(rules.nodes))):  # children come after their parent
        node = rules.nodes[index]
        if isinstance(node, Cut | Membership):
            sizes[index] = sizes[node.left] + sizes[node.right]
    return sizes
