"""The walk over the tree as nested questions, for languages in which a function returns from within them.

At each node the smaller child is one deeper, and the larger one goes on below, so that the text is no deeper than the
logarithm of the number of leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shallowrules.exporters.decision_list import leaves_below
from shallowrules.rules import Condition, Leaf, NoneOf, RuleSet

__all__ = ["Answer", "Missing", "Question", "nested_steps"]


@dataclass(frozen=True)
class Missing:
    """Rows without a value in a column are in no cluster."""

    depth: int
    column: int


@dataclass(frozen=True)
class Question:
    """Rows that satisfy a condition go to the steps that are one deeper; all of them have a value in its column."""

    depth: int
    condition: Condition


@dataclass(frozen=True)
class Answer:
    """All rows that are left are in a leaf; this is the last step of its depth."""

    depth: int
    leaf: int
    cluster: int


def nested_steps(rules: RuleSet, *, missing_last: bool = False) -> Iterator[Missing | Question | Answer]:
    """Yield the steps that give a row its cluster.

    There is a step for missing values where a node tests a column for the first time on its path, unless they are
    imputed. `missing_last` is for languages in which a missing value satisfies `NoneOf` alone: the step then follows
    every other question, which saves rows a step.
    """
    sizes = leaves_below(rules)

    def below(index: int, valued: frozenset[int], depth: int) -> Iterator[Missing | Question | Answer]:
        node = rules.nodes[index]
        while not isinstance(node, Leaf):
            column = rules.columns[node.column]
            is_asked = node.column not in valued and column.imputed is None
            valued |= {node.column}
            goes_left = sizes[node.left] <= sizes[node.right]
            smaller, index = (node.left, node.right) if goes_left else (node.right, node.left)
            condition: Condition = node.condition(column, goes_left)
            is_last = missing_last and not isinstance(condition, NoneOf)
            if is_asked and not is_last:
                yield Missing(depth, node.column)
            yield Question(depth, condition)
            yield from below(smaller, valued, depth + 1)
            if is_asked and is_last:
                yield Missing(depth, node.column)
            node = rules.nodes[index]
        yield Answer(depth, index, node.cluster)

    return below(0, frozenset(), 0)
