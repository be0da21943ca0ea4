"""A tree from rules: the way back from text that a person may have changed to the tree that labels rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from shallowrules.errors import DataError, counted
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import Between, Condition, NoneOf, OneOf, both, is_empty, printable
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node
from shallowrules.tables.values import Value

__all__ = ["WrittenRule", "nodes_of_rules"]

Test = Cut | Membership


@dataclass(frozen=True)
class WrittenRule:
    """A rule as a person wrote it: its cluster, its conditions on each column, and its name in messages."""

    cluster: int
    conditions: tuple[Condition, ...]
    name: str

    @cached_property
    def region(self) -> Region:
        """The conditions by the number of their column."""
        return {condition.feature: condition for condition in self.conditions}


Region = Mapping[int, Condition]
"""Rows that meet conditions, at most one per column, by its number."""


def nodes_of_rules(
    rules: Sequence[WrittenRule], columns: Sequence[RuleColumn], like: Sequence[Node]
) -> tuple[Node, ...]:
    """Return a tree that gives every row the cluster of the rule that it meets.

    Parameters
    ----------
    rules : sequence of WrittenRule
        One or more. No row may meet two of them, and every row without a missing value must meet one.
    columns : sequence of RuleColumn
    like : sequence of Node
        A tree to ask in the same order where that is possible, so that unchanged rules give it again.

    Returns
    -------
    tuple of Node
        Its leaves have no rows.

    Raises
    ------
    DataError
        Naming the rules that overlap, that no value meets, or the rows that meet none; or if no sequence of questions
        tells the rules apart.
    """
    for rule in rules:
        for condition in rule.conditions:
            if is_empty(condition):
                raise DataError(f"{rule.name} holds for no row: no value meets {_shown(condition)}")
    for one, other in combinations(rules, 2):
        common = _intersection(one.region, other.region)
        if common is not None:
            raise DataError(f"{one.name} and {other.name} overlap: both hold for {_region(common)}. Change one of them")
    nodes: list[Node] = []
    children: dict[int, dict[bool, int]] = {}
    pending: list[tuple[Region, Sequence[WrittenRule], tuple[int, bool] | None, int | None]] = [({}, rules, None, 0)]
    while pending:
        region, inside, edge, place = pending.pop()
        if edge is not None:
            children.setdefault(edge[0], {})[edge[1]] = len(nodes)
        if not inside:
            raise DataError(f"there is a gap: no rule holds for {_region(region)}. Widen one, or add a rule")
        node = None if place is None else like[place]
        model = None if isinstance(node, Leaf) else node
        if len(inside) == 1 and _covers(inside[0], region):
            nodes.append(Leaf(inside[0].cluster, 0, 0.0))
            continue
        test, sides = _choose(inside, region, columns, model)
        below = (model.left, model.right) if model is not None and model.column == test.column else None
        for goes_left in (False, True) if below is None or below[0] < below[1] else (True, False):  # the last is next
            narrowed = {**region, test.column: _narrowed(region, test, columns, goes_left)}
            child = None if below is None else below[not goes_left]
            pending.append((narrowed, sides[not goes_left], (len(nodes), goes_left), child))
        nodes.append(test)
    return tuple(
        node if isinstance(node, Leaf) else replace(node, left=children[index][True], right=children[index][False])
        for index, node in enumerate(nodes)
    )


def _intersection(one: Region, other: Region) -> Region | None:
    """Return the rows that two regions have in common, None where there can be none."""
    common = dict(one)
    for feature, condition in other.items():
        common[feature] = both(common[feature], condition) if feature in common else condition
        if is_empty(common[feature]):
            return None
    return common


def _covers(rule: WrittenRule, region: Region) -> bool:
    """Return whether every row of a region meets a rule."""
    for condition in rule.conditions:
        inside = region.get(condition.feature)
        if inside is None or both(inside, condition) != inside:  # whose values stay in their order
            return False
    return True


def _choose(
    rules: Sequence[WrittenRule], region: Region, columns: Sequence[RuleColumn], model: Test | None
) -> tuple[Test, tuple[list[WrittenRule], list[WrittenRule]]]:
    """Return a test that splits no rule, the model's if possible, and the rules on both sides."""
    tests = _tests(rules, region, model)
    if model is not None:
        if _divides_as(model, region, columns):  # a rule need not name several categories together
            tests.append(model)
        tests.sort(key=lambda test: _unlike(test, model))
    best: tuple[Test, tuple[list[WrittenRule], list[WrittenRule]]] | None = None
    for test in tests:
        sides = _sides(rules, test, columns)
        if sides is None:
            continue
        if model is not None and test.column == model.column:
            return test, sides
        if best is None or max(map(len, sides)) < max(map(len, best[1])):
            best = test, sides
    if best is None:
        raise DataError(
            f"no sequence of questions tells {counted(len(rules), 'rule')} apart, so they do not form a tree: "
            f"{'; '.join(rule.name for rule in rules[:4])}{' and others' if len(rules) > 4 else ''}"
        )
    return best


def _divides_as(test: Test, region: Region, columns: Sequence[RuleColumn]) -> bool:
    """Return whether a region has rows on both sides of a test."""
    return not any(is_empty(_narrowed(region, test, columns, goes_left)) for goes_left in (True, False))


def _unlike(test: Test, model: Test) -> tuple[int, float]:
    """Return how different two tests are, as a sort key."""
    if test.column != model.column:
        return 2, 0.0
    if isinstance(test, Cut) and isinstance(model, Cut):
        return int(test.threshold != model.threshold), abs(float(test.threshold) - float(model.threshold))
    if isinstance(test, Membership) and isinstance(model, Membership):
        return int(set(test.values) != set(model.values)), float(len(set(test.values) ^ set(model.values)))
    return 1, 0.0


def _tests(rules: Sequence[WrittenRule], region: Region, model: Test | None) -> list[Test]:
    """Return the tests that the conditions of some rules are made of, those that divide a region."""
    found: dict[tuple[int, object], Test] = {}
    for rule in rules:
        for condition in rule.conditions:
            feature, inside = condition.feature, region.get(condition.feature)
            if isinstance(condition, Between):
                for bound in (condition.lower, condition.upper):
                    if bound is not None and _is_inside(bound, inside):
                        found[feature, bound] = Cut(feature, bound, 0, 0)
            elif test := _membership(condition, inside, model):
                found[feature, frozenset(test.values)] = test
    return list(found.values())


def _membership(condition: OneOf | NoneOf, inside: Condition | None, model: Test | None) -> Membership | None:
    """Return a test for the categories of a condition that a region holds; None where it does not divide these."""
    feature, column = condition.feature, condition.column

    def held(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(
            value for value in values if inside is None or not is_empty(both(inside, OneOf(feature, column, (value,))))
        )

    asked = held(condition.values)
    if not asked or (isinstance(inside, OneOf) and set(inside.values) <= set(asked)):
        return None
    if isinstance(model, Membership) and model.column == feature:
        same = set(held(model.values)) == set(asked)
        return Membership(feature, model.values if same else asked, 0, 0, model.ordered)
    return Membership(feature, asked, 0, 0)


def _is_inside(bound: float, inside: Condition | None) -> bool:
    """Return whether a condition leaves numbers on both sides of a bound."""
    if not isinstance(inside, Between):
        return True
    return (inside.lower is None or bound > inside.lower) and (inside.upper is None or bound < inside.upper)


def _sides(
    rules: Sequence[WrittenRule], test: Test, columns: Sequence[RuleColumn]
) -> tuple[list[WrittenRule], list[WrittenRule]] | None:
    """Return the rules on the left and on the right of a test, None where it cuts one in two."""
    left, right = (test.condition(columns[test.column], goes_left) for goes_left in (True, False))
    sides: tuple[list[WrittenRule], list[WrittenRule]] = [], []
    for rule in rules:
        asked = rule.region.get(test.column)
        if asked is None:
            return None
        on_left, on_right = (not is_empty(both(asked, side)) for side in (left, right))
        if on_left and on_right:
            return None
        sides[on_right].append(rule)
    return sides


def _narrowed(region: Region, test: Test, columns: Sequence[RuleColumn], goes_left: bool) -> Condition:
    """Return the condition that holds for the rows of a region on one side of a test."""
    condition: Condition = test.condition(columns[test.column], goes_left)
    return both(region[test.column], condition) if test.column in region else condition


def _shown(condition: Condition) -> str:
    return printable(str(condition))


def _region(region: Region) -> str:
    """Return the rows of a region in words."""
    return " and ".join(map(_shown, region.values())) or "any row"
