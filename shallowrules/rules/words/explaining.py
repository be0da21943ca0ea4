"""Why a row has its cluster: the questions of the tree, the smallest change that moves it, and the cluster's marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallowrules.errors import counted
from shallowrules.rules.columns import RuleColumn, held_numbers
from shallowrules.rules.conditions import Between, Condition, ConditionVisitor, NoneOf, OneOf, both, printable
from shallowrules.rules.figures import Cluster
from shallowrules.rules.nodes import Cut, Leaf, Node, Rule
from shallowrules.rules.shown import Shown
from shallowrules.rules.words.contrasts import Contrast
from shallowrules.tables.conversion import Number
from shallowrules.tables.values import Value

__all__ = ["Explanation", "Move", "Row", "Step", "explain_row"]

Row = Mapping[int, Number | Value | None]
"""The values of a row as the rules compare them, by the number of their column, None for a missing one."""

CONTRASTS_SHOWN = 4


@dataclass(frozen=True)
class Step:
    """The tree's test of one column: the row's value, and the condition that it satisfied."""

    value: Number | Value
    condition: Condition

    def __str__(self) -> str:
        return f"{self.condition.column.name} is {self.condition.column.show(self.value)}: {self.condition}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        column = self.condition.column
        return {"column": column.name, "value": _plain(column, self.value), "condition": str(self.condition)}


@dataclass(frozen=True)
class Move:
    """A change of one value that moves a row to a different cluster.

    Attributes
    ----------
    column : RuleColumn
    value : int, float, str or bool
        The row's value.
    to : int, float, str, bool or None
        The nearest value that moves it; None for any category that training did not have.
    above : int, float or None
        The threshold just above which `to` is, where it is.
    distance : float
        Between both, in ranges of the training values of the column; to another category it is 1.
    cluster : Cluster
        What the row would be in.
    """

    column: RuleColumn
    value: Number | Value
    to: Number | Value | None
    above: Number | None
    distance: float
    cluster: Cluster

    def __str__(self) -> str:
        if self.above is not None:
            just = "" if self.column.is_time else "just "  # a duration: no person would name the next one
            target = f"{just}above {self.column.show(self.above)}"
        else:
            target = "another value" if self.to is None else self.column.show(self.to)
        return (
            f"{self.column.name} from {self.column.show(self.value)} to {target} makes it cluster {self.cluster.title}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "column": self.column.name,
            "value": _plain(self.column, self.value),
            "to": _plain(self.column, self.to),
            "above": _plain(self.column, self.above),
            "distance": self.distance,
            "cluster": self.cluster.label,
            "name": self.cluster.name,
        }


def _plain(column: RuleColumn, value: Number | Value | None) -> Number | Value | None:
    """Return a value as JSON holds it: a time and what is infinite as text."""
    if value is None or isinstance(value, str | bool):
        return value
    return column.show(value) if column.is_time or math.isinf(value) else value


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Why a row has its cluster.

    Attributes
    ----------
    cluster : Cluster or None
        None where the tree asks for a value that is missing.
    rule : Rule or None
        The rule that the row meets.
    steps : tuple of Step
        The tree's tests of the row, one step per column, in the order in which it asks: the conditions of the rule,
        or those satisfied before a value was missing.
    missing : RuleColumn or None
        The column whose value is missing.
    move : Move or None
        The smallest change of one value that would move the row; None if no such change does.
    contrasts : tuple of Contrast
        What sets its cluster apart from all other rows: the columns that are marked, the clearest first.
    """

    cluster: Cluster | None
    rule: Rule | None
    steps: tuple[Step, ...]
    missing: RuleColumn | None = None
    move: Move | None = None
    contrasts: tuple[Contrast, ...] = ()

    @property
    def outcome(self) -> str:
        """The cluster in words, or why there is none."""
        if self.cluster is None:
            assert self.missing is not None
            return f"in no cluster: {self.missing.name} is missing, and the tree tests it"
        return f"cluster {self.cluster.title}" + ("" if self.steps else ": every row")

    @property
    def remark(self) -> str:
        """What would move the row, in words; empty where it is in no cluster."""
        if self.move is not None:
            return f"the smallest change of one value that would move it: {self.move}"
        return "no change of one value alone would move it to another cluster" if self.cluster is not None else ""

    def __repr__(self) -> str:
        where = "no cluster" if self.cluster is None else f"cluster {self.cluster.label}"
        return f"Explanation({where}, {counted(len(self.steps), 'step')})"

    def __str__(self) -> str:
        lines = [self.outcome, *(f"  {step}" for step in self.steps)]
        if self.remark:
            lines.append(self.remark)
        if self.contrasts:
            lines.append("what sets the cluster apart:")
            lines += [f"  {contrast}" for contrast in self.contrasts[:CONTRASTS_SHOWN]]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data; a time, and a value that is infinite, as text.

        Returns
        -------
        dict
            - ``cluster``, ``name``: number and name of the cluster, as in exports; None where a value is missing.
            - ``rule``: the rule as text, or None.
            - ``steps``: a list of dicts with ``column``, ``value`` and ``condition`` (text).
            - ``missing``: the name of the column whose value is missing, or None.
            - ``move``: a dict with ``column``, ``value``, ``to``, ``above``, ``distance``, ``cluster`` and ``name``, as
              in `Move`, or None.
            - ``contrasts``: a list of dicts with ``column``, ``value`` (the category, None for numbers), ``delta`` and
              ``words``.
        """
        cluster, rule, missing, move = self.cluster, self.rule, self.missing, self.move
        return {
            "cluster": None if cluster is None else cluster.label,
            "name": None if cluster is None else cluster.name,
            "rule": None if rule is None else str(rule),
            "steps": [step.to_dict() for step in self.steps],
            "missing": None if missing is None else missing.name,
            "move": None if move is None else move.to_dict(),
            "contrasts": [contrast.to_dict() for contrast in self.contrasts],
        }


def explain_row(
    nodes: Sequence[Node],
    columns: Sequence[RuleColumn],
    rules: Sequence[Rule],
    clusters: Sequence[Cluster],
    contrasts: Mapping[int, Sequence[Contrast]],
    row: Row,
) -> Explanation:
    """Return why a row has its cluster; the other parameters are those of a `RuleSet`.

    Among equally small changes, the first is taken in the order of the rules.
    """
    by_index = {cluster.index: cluster for cluster in clusters}
    met: dict[int, Condition] = {}
    place = 0
    while not isinstance(node := nodes[place], Leaf):
        value = row[node.column]
        if value is None:
            return Explanation(None, None, _steps(met, row), missing=columns[node.column])
        goes_left = value <= node.threshold if isinstance(node, Cut) else value in node.values  # type: ignore[operator]
        condition: Condition = node.condition(columns[node.column], goes_left)
        met[node.column] = both(met[node.column], condition) if node.column in met else condition
        place = node.left if goes_left else node.right
    own = next(rule for rule in rules if rule.leaf == place)
    move = _smallest_move(rules, by_index, own.cluster, row)
    marked = tuple(contrast for contrast in contrasts[own.cluster] if contrast.marks)
    return Explanation(by_index[own.cluster], own, _steps(met, row), move=move, contrasts=marked)


def _steps(met: Mapping[int, Condition], row: Row) -> tuple[Step, ...]:
    return tuple(Step(value, met[feature]) for feature in met if (value := row[feature]) is not None)


def _smallest_move(rules: Sequence[Rule], clusters: Mapping[int, Cluster], own: int, row: Row) -> Move | None:
    best: Move | None = None
    for rule in rules:
        if rule.cluster == own:
            continue
        failing = [condition for condition in rule.conditions if not _Meets(row[condition.feature])(condition)]
        if len(failing) != 1:
            continue
        [condition] = failing
        value = row[condition.feature]
        target = None if value is None else _Target(value)(condition)
        if target is None or value is None:
            continue
        to, above, distance = target
        if math.isfinite(distance) and (best is None or distance < best.distance):
            best = Move(condition.column, value, to, above, distance, clusters[rule.cluster])
    return best


class _Meets(ConditionVisitor[bool]):
    """Whether a value meets a condition."""

    def __init__(self, value: Number | Value | None) -> None:
        self.value = value

    def between(self, condition: Between) -> bool:
        """Return whether it is between the bounds."""
        value, lower, upper = self.value, condition.lower, condition.upper
        if not isinstance(value, int | float):
            return False
        return (lower is None or value > lower) and (upper is None or value <= upper)

    def one_of(self, condition: OneOf) -> bool:
        """Return whether it is one of the categories."""
        return self.value in condition.values

    def none_of(self, condition: NoneOf) -> bool:
        """Return whether it is a different category."""
        return self.value is not None and self.value not in condition.values


Target = tuple[Number | Value | None, Number | None, float]


class _Target(ConditionVisitor[Target | None]):
    """The closest value that meets a condition which a row's value does not, as `Move` has it: to, above, distance.

    None where there is no such value.
    """

    def __init__(self, value: Number | Value) -> None:
        self.value = value

    def between(self, condition: Between) -> Target | None:
        """Return the nearest number between the bounds."""
        column, lower, upper = condition.column, condition.lower, condition.upper
        assert isinstance(self.value, int | float)
        above = lower if lower is not None and not self.value > lower else None
        integer = column.is_whole
        if above is None:
            assert upper is not None  # else the value would meet the condition
            to = upper if integer else float(upper)
        else:
            to = math.floor(above) + 1 if integer else math.nextafter(above, math.inf)
        if not _Meets(to)(condition) or (integer and to not in held_numbers(column)):
            return None  # no number is between the bounds
        assert column.minimum is not None
        assert column.maximum is not None
        span = float(column.maximum) - float(column.minimum)
        distance = abs(float(to) - float(self.value)) / (span if span > 0 else 1.0)
        return to, None if integer and column.type != "duration" else above, distance

    def one_of(self, condition: OneOf) -> Target | None:
        """Return the most frequent of the categories."""
        if not condition.values:
            return None
        known = [value for value in condition.column.values if value in condition.values]
        return (known or list(condition.values))[0], None, 1.0

    def none_of(self, condition: NoneOf) -> Target | None:
        """Return the most frequent of the other categories."""
        others = [value for value in condition.column.values if value not in condition.values]
        return others[0] if others else None, None, 1.0
