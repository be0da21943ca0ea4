"""Short names for clusters, made from the conditions of their rules: "Fiber optic, low TotalCharges".

They are for clusters that have not been named, and depend only on the rules, so equal rules have equal names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import and_

from shallowrules.errors import counted
from shallowrules.rules.conditions import (
    Between,
    Condition,
    ConditionVisitor,
    NoneOf,
    OneOf,
    both,
    either,
    is_empty,
    printable,
)
from shallowrules.rules.figures import Cluster
from shallowrules.rules.nodes import Leaf, Node, Rule
from shallowrules.tables.conversion import Number

__all__ = ["default_names"]

MIN_WORDS, MAX_WORDS = 2, 3
"""Number of conditions in a name, if there are that many; clusters that these do not tell apart get their number
too."""

MAX_CONDITIONS = 12
"""Number of conditions of a rule, the most telling ones, from which a name is chosen."""

ALL = -1
"""A bit for each rule, however many there are."""

MAX_EITHER = 60
"""Maximum number of characters of a name made from two rules."""

MAX_LENGTH = 28
"""Maximum number of characters of a category or a column in a name."""


def default_names(nodes: Sequence[Node], rules: Sequence[Rule], clusters: Sequence[Cluster]) -> dict[int, str]:
    """Return a name for each cluster, by its number, all different, and true of all its rows.

    A name has two conditions of the cluster's rule, or three where two do not tell it from the rules of the others:
    those that the fewest rows meet, of the rows that the tree tests for them. They are in the order of the rule. For a
    cluster with several rules, they are the conditions that hold in all of them, if these tell it from the others, or
    else those of each rule, joined by "or".

    Parameters
    ----------
    nodes : sequence of Node
    rules : sequence of Rule
        The largest of each cluster first.
    clusters : sequence of Cluster
        Clusters without a condition keep their names.
    """
    told = _tell_apart(nodes, rules)
    asked: dict[int, list[Between]] = defaultdict(list)
    for condition in (condition for parts in told.values() for part in parts for condition in part):
        if isinstance(condition, Between):
            asked[condition.feature].append(condition)
    to_word = _Wording(
        frozenset(feature for feature, conditions in asked.items() if not _are_low_and_high(conditions)),
        frozenset(feature for feature, conditions in asked.items() if len(_middles(conditions)) > 1),
    )
    names: dict[int, str] = {}
    taken = {cluster.name for cluster in clusters}
    for index, parts in told.items():
        words = [", ".join(map(to_word, part)) for part in parts]
        if not all(words):
            continue
        name = _one_or_the_other(words)
        names[index] = name if name not in taken else f"{name} ({index})"
        taken.add(names[index])
    return names


def _tell_apart(nodes: Sequence[Node], rules: Sequence[Rule]) -> dict[int, list[Sequence[Condition]]]:
    """Return for each cluster the conditions that tell it from the others: of all its rules, or else of each."""
    telling = _shares(nodes)
    of_cluster: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        of_cluster[rule.cluster].append(rule)
    asked = {rule.leaf: _NameCandidates.of(rule.conditions, [rule], telling) for rule in rules}
    common = {
        index: _NameCandidates.of(_common(own), own, telling) for index, own in of_cluster.items() if len(own) > 1
    }
    having: dict[str, int] = defaultdict(int)  # by condition the rules that have it, a bit for each
    own_bits: dict[int, int] = defaultdict(int)
    for i, rule in enumerate(rules):
        own_bits[rule.cluster] |= 1 << i
        for key in asked[rule.leaf].keys:
            having[key] |= 1 << i
    told: dict[int, list[Sequence[Condition]]] = {}
    for index in sorted(of_cluster):
        own, bits = of_cluster[index], own_bits[index]
        if index in common and (fewest := common[index].fewest(MIN_WORDS, common[index].met_by(rules), bits)):
            told[index] = [fewest]
        else:
            told[index] = []
            for rule in own:
                parts = asked[rule.leaf]
                found = (
                    parts.fewest(MIN_WORDS, having, bits)
                    if len(own) == 1
                    else parts.fewest(1, parts.met_by(rules), bits)
                )
                told[index].append(found or parts.first(range(MAX_WORDS)))
    return told


def _common(rules: Sequence[Rule]) -> list[Condition]:
    """Return the conditions that hold for every row of some rules, in the order of the first."""
    found: list[Condition] = []
    others = [{condition.feature: condition for condition in rule.conditions} for rule in rules[1:]]
    for condition in rules[0].conditions:
        met: Condition | None = condition
        for other in others:
            met = either(met, other[condition.feature]) if met is not None and condition.feature in other else None
        if met is not None:
            found.append(met)
    return found


@dataclass(frozen=True)
class _NameCandidates:
    """Candidate conditions for a name, the most telling ones first.

    Parameters
    ----------
    conditions : sequence of Condition
        In the order of the rule.
    order : sequence of int
        The places of the most telling ones among them, the most telling first.
    keys : sequence of str
        Texts that are equal for conditions that a name does not tell apart, in that order.
    """

    conditions: Sequence[Condition]
    order: Sequence[int]
    keys: Sequence[str]

    @classmethod
    def of(
        cls, conditions: Sequence[Condition], rules: Sequence[Rule], telling: Mapping[tuple[int, int], float]
    ) -> _NameCandidates:
        """Return the candidates of rules: those that the fewest rows meet, of columns whose name can be shown."""
        order = [i for i, condition in enumerate(conditions) if condition.column.name.strip()]
        order.sort(key=lambda i: max(telling[rule.leaf, conditions[i].feature] for rule in rules))
        order = order[:MAX_CONDITIONS]
        return cls(conditions, order, [EXACT(conditions[i]) for i in order])

    def met_by(self, rules: Sequence[Rule]) -> dict[str, int]:
        """Return for each condition the rules with a row that may meet it, one bit per rule."""
        found = dict.fromkeys(self.keys, 0)
        for i, rule in enumerate(rules):
            own = {condition.feature: condition for condition in rule.conditions}
            for place, key in zip(self.order, self.keys, strict=True):
                condition = self.conditions[place]
                if condition.feature not in own or not is_empty(both(condition, own[condition.feature])):
                    found[key] |= 1 << i
        return found

    def fewest(self, least: int, having: Mapping[str, int], own: int) -> Sequence[Condition]:
        """Return the fewest conditions that only a cluster's own rules have in full, if any, the earlier ones first.

        `having` has by condition the rules that have it or may meet it, a bit for each; `own` the bits of the cluster.
        """
        for size in range(min(least, len(self.order)), MAX_WORDS + 1):
            for some in combinations(range(len(self.order)), size):
                if not reduce(and_, (having[self.keys[i]] for i in some), ALL) & ~own:
                    return self.first(some)
        return ()

    def first(self, places: Iterable[int]) -> Sequence[Condition]:
        """Return some of the most telling conditions, in the order of the rule."""
        return [self.conditions[i] for i in sorted(self.order[place] for place in places if place < len(self.order))]


def _one_or_the_other(words: Sequence[str]) -> str:
    """Return a name for several rules: both if there are two short ones, else the first and how many more."""
    first, *others = dict.fromkeys(words)
    if not others:
        return first
    joined = ("; or " if any(mark in each for each in words for mark in (", ", " or ")) else " or ").join(words)
    short = len(words) == 2 and len(joined) <= MAX_EITHER
    return joined if short else f"{first}; or {counted(len(words) - 1, 'other rule')}"


def _are_low_and_high(conditions: Sequence[Between]) -> bool:
    """Return whether low and high have one meaning each for a column, and no low value also has another name."""
    low = {condition.upper for condition in conditions if condition.lower is None and condition.upper is not None}
    high = {condition.lower for condition in conditions if condition.upper is None and condition.lower is not None}
    middles = _middles(conditions)
    begins = [*high, *(lower for lower, _ in middles)]
    ends = [*low, *(upper for _, upper in middles)]
    if len(low) > 1 or len(high) > 1:
        return False
    return all(upper <= lower for upper in low for lower in begins) and all(
        upper <= lower for lower in high for upper in ends
    )


def _middles(conditions: Iterable[Between]) -> set[tuple[Number, Number]]:
    """Return the distinct ranges of conditions that bound a number on both sides."""
    return {(c.lower, c.upper) for c in conditions if c.lower is not None and c.upper is not None}


def _shares(nodes: Sequence[Node]) -> dict[tuple[int, int], float]:
    """Return for each leaf and column on its path the share of rows that pass all cuts of that column."""
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
    """Words a condition briefly.

    Parameters
    ----------
    bounded : frozenset of int or None
        The columns of numbers whose bounds are named, because low or high would mean several things; None for all.
    banded : frozenset of int
        Those that have several ranges between low and high.
    """

    bounded: frozenset[int] | None = None
    banded: frozenset[int] = frozenset()

    def between(self, condition: Between) -> str:
        """Return whether the number is low, high or in between, or its bounds."""
        column, name = condition.column, _short(condition.column.name)
        exact = self.bounded is None or condition.feature in self.bounded
        if condition.lower is not None and condition.upper is not None:
            if not exact and condition.feature not in self.banded:
                return f"medium {name}"
            lower, upper = (column.show_threshold(bound) for bound in (condition.lower, condition.upper))
            return f"{name} {lower} to {upper}"
        above = condition.lower is not None
        bound = condition.bound(above=above)
        if exact and bound is not None:
            return f"{name} {' '.join(bound)}"
        if column.is_flag:
            return name if above else f"no {name}"
        low, high = ("early", "late") if column.is_time and column.type != "duration" else ("low", "high")
        return f"{high if above else low} {name}"

    def one_of(self, condition: OneOf) -> str:
        """Return the categories, or whether it is true."""
        name = _short(condition.column.name)
        if condition.column.type == "boolean" and len(condition.values) == 1:
            return name if condition.values[0] else f"no {name}"
        shown = [_value(value, name) for value in condition.values[:2]]
        more = len(condition.values) - len(shown)
        return " or ".join(shown) + (f" or {more} more" if more > 0 else "")

    def none_of(self, condition: NoneOf) -> str:
        """Return the few categories that are left, or those that are excluded."""
        column, name = condition.column, _short(condition.column.name)
        rest = [value for value in column.values if value not in condition.values]
        if 1 <= len(rest) <= 2:
            return " or ".join(_value(value, name) for value in rest)
        shown = [_value(value, name) for value in condition.values[:2]]
        more = len(condition.values) - len(shown)
        return "not " + " or ".join(shown) + (f" or {more} more" if more > 0 else "")


EXACT = _Wording()
"""Keys that are equal for conditions that a name does not tell apart."""


def _value(value: str | bool, column: str) -> str:
    """Return a category, with its column where it means nothing by itself: yes, no, numbers, single letters."""
    text = _short(str(value).lower() if isinstance(value, bool) else value)
    says_nothing = len(text) <= 1 or text.lower() in ("yes", "no", "true", "false", "none", "other", "unknown")
    return f"{column} {text or 'empty'}" if says_nothing or not any(map(str.isalpha, text)) else text


def _short(text: str) -> str:
    """Return a text on one line, shortened where it is long."""
    text = " ".join(printable(text).split())
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1].rstrip() + "…"
