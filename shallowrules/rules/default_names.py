"""Short names for clusters, made from the conditions of their rules: "Fiber optic, low TotalCharges".

They are for clusters that nobody has named, and depend on the rules alone, so that equal rules have equal names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_
from typing import TypeGuard

from shallowrules.rules.conditions import Between, Condition, ConditionVisitor, NoneOf, OneOf, printable
from shallowrules.rules.figures import Cluster
from shallowrules.rules.nodes import Leaf, Node, Rule

__all__ = ["default_names"]

MIN_WORDS, MAX_WORDS = 2, 3
"""Conditions in a name, if there are so many; clusters that the latter do not tell apart get their number too."""

MAX_CONDITIONS = 12
"""Conditions of a rule, the most telling ones, that a name is chosen from."""

ALL = -1
"""A bit for each cluster, however many there are."""

MAX_LENGTH = 28
"""Characters of a category or a column in a name."""


def default_names(nodes: Sequence[Node], rules: Sequence[Rule], clusters: Sequence[Cluster]) -> dict[int, str]:
    """Return a name for each cluster, by its number, all different.

    A name has two conditions of the cluster's largest rule, or three where two do not tell it from the largest rules
    of the others: those that fewest rows meet, of the rows that the tree asks. They stand in the order of the rule.

    Parameters
    ----------
    nodes : sequence of Node
    rules : sequence of Rule
        The largest of each cluster first.
    clusters : sequence of Cluster
        Clusters without a condition keep their names.
    """
    largest: dict[int, Rule] = {}
    for rule in rules:
        largest.setdefault(rule.cluster, rule)
    telling = _shares(nodes)
    middles = {(c.feature, c.lower, c.upper) for rule in largest.values() for c in rule.conditions if _is_middle(c)}
    bands = Counter(feature for feature, _, _ in middles)
    to_word = _Wording(frozenset(feature for feature, count in bands.items() if count > 1))
    words: dict[int, list[str]] = {}
    in_rule: dict[int, list[str]] = {}
    for cluster in clusters:
        rule = largest[cluster.index]
        in_rule[cluster.index] = [to_word(condition) for condition in rule.conditions]
        asked = [condition for condition in rule.conditions if condition.column.name.strip()]
        asked.sort(key=lambda condition: telling[rule.leaf, condition.feature])
        words[cluster.index] = [to_word(condition) for condition in asked[:MAX_CONDITIONS]]
    having: dict[str, int] = {}  # by word the clusters that have it, a bit for each
    for i, some in enumerate(words.values()):
        for word in some:
            having[word] = having.get(word, 0) | 1 << i
    names: dict[int, str] = {}
    taken = {cluster.name for cluster in clusters}
    for index, own in words.items():
        name = ", ".join(sorted(_fewest(own, having), key=in_rule[index].index))
        if not name:
            continue
        names[index] = name if name not in taken else f"{name} ({index})"
        taken.add(names[index])
    return names


def _fewest(own: Sequence[str], having: Mapping[str, int]) -> Sequence[str]:
    """Return the fewest words that no other cluster has all of, the first words first."""
    for size in range(min(MIN_WORDS, len(own)), MAX_WORDS + 1):
        for some in combinations(own, size):
            clusters = reduce(and_, map(having.__getitem__, some), ALL)
            if clusters & (clusters - 1) == 0:  # one bit: its own
                return some
    return own[:MAX_WORDS]


def _shares(nodes: Sequence[Node]) -> dict[tuple[int, int], float]:
    """Return for each leaf and column on its path the share of rows that go on, over all cuts of that column."""
    weight = [node.weight if isinstance(node, Leaf) else 0.0 for node in nodes]
    for i in range(len(nodes) - 1, -1, -1):  # children come after their parent
        node = nodes[i]
        if not isinstance(node, Leaf):
            weight[i] = weight[node.left] + weight[node.right]
    found: dict[tuple[int, int], float] = {}
    pending: list[tuple[int, dict[int, float]]] = [(0, {})]
    while pending:
        i, shares = pending.pop()
        node = nodes[i]
        if isinstance(node, Leaf):
            found |= {(i, column): share for column, share in shares.items()}
            continue
        for child in (node.left, node.right):
            share = shares.get(node.column, 1.0) * (weight[child] / weight[i] if weight[i] else 1.0)
            pending.append((child, {**shares, node.column: share}))
    return found


@dataclass(frozen=True)
class _Wording(ConditionVisitor[str]):
    """Says a condition in a few words.

    Parameters
    ----------
    banded : frozenset of int
        The columns of numbers that have several ranges between low and high.
    """

    banded: frozenset[int]

    def between(self, condition: Between) -> str:
        """Return whether the number is low, high or between."""
        column, name = condition.column, _short(condition.column.name)
        if condition.lower is None or condition.upper is None:
            if column.is_flag:
                return name if condition.upper is None else f"no {name}"
            low, high = ("early", "late") if column.is_time and column.type != "duration" else ("low", "high")
            return f"{low if condition.lower is None else high} {name}"
        if condition.feature not in self.banded:
            return f"medium {name}"
        lower, upper = (column.show(bound).removesuffix(".0") for bound in (condition.lower, condition.upper))
        return f"{name} {lower} to {upper}"

    def one_of(self, condition: OneOf) -> str:
        """Return the categories, or whether it is true."""
        name = _short(condition.column.name)
        if condition.column.type == "boolean" and len(condition.values) == 1:
            return name if condition.values[0] else f"no {name}"
        shown = [_value(value, name) for value in condition.values[:2]]
        more = len(condition.values) - len(shown)
        return " or ".join(shown) + (f" or {more} more" if more > 0 else "")

    def none_of(self, condition: NoneOf) -> str:
        """Return the categories that it is not."""
        column, name = condition.column, _short(condition.column.name)
        rest = [value for value in column.values if value not in condition.values]
        if 1 <= len(rest) <= 2:
            return " or ".join(_value(value, name) for value in rest)
        shown = [_value(value, name) for value in condition.values[:2]]
        more = len(condition.values) - len(shown)
        return "not " + " or ".join(shown) + (f" or {more} more" if more > 0 else "")


def _is_middle(condition: Condition) -> TypeGuard[Between]:
    """Return whether a condition bounds a number on both sides."""
    return isinstance(condition, Between) and condition.lower is not None and condition.upper is not None


def _value(value: str | bool, column: str) -> str:
    """Return a category; with its column where it says nothing by itself: yes, no, numbers, single letters."""
    text = _short(str(value).lower() if isinstance(value, bool) else value)
    says_nothing = len(text) <= 1 or text.lower() in ("yes", "no", "true", "false", "none", "other", "unknown")
    return f"{column} {text or 'empty'}" if says_nothing or not any(map(str.isalpha, text)) else text


def _short(text: str) -> str:
    """Return a text on one line, its end left out where it is long."""
    text = " ".join(printable(text).split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1].rstrip() + "…"
