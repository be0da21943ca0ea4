"""The tests of the emitted function, as lines of Python in one of three styles, and as a table of nodes for arrays.

``nested``
    The tree: a row gets the questions of the tree, as `shallowrules.exporters.nested` puts them.
``ordered``
    A list in which each test relies on those before it.
``flat``
    The rules, each whole: they may be read, and put, in any order. Here that is the order with the fewest tests on
    average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from shallowrules.exporters.context import bounds
from shallowrules.exporters.decision_list import ordered_branches
from shallowrules.exporters.nested import Answer, Missing, nested_steps
from shallowrules.exporters.python.bounds import bound_texts, threshold_text
from shallowrules.rules import Between, ConditionVisitor, Leaf, Membership, NoneOf, OneOf, Rule, RuleSet

__all__ = ["Conditions", "Style", "lay_out", "table_of_nodes"]

Style = Literal["flat", "ordered", "nested"]

INDENT = "    "


class Conditions(ConditionVisitor[str]):
    """Conditions as Python; a missing value is NaN or None there, and satisfies none of them.

    Parameters
    ----------
    variables : mapping from int to str
        The variable with the value of each column.
    valued : bool
        Whether the columns are known to have values.
    """

    def __init__(self, variables: Mapping[int, str], *, valued: bool = False) -> None:
        self.variables = variables
        self.valued = valued

    def of_rule(self, rule: Rule) -> str:
        """Return the predicate for the rows that a rule matches."""
        return " and ".join(map(self, rule.conditions)) or "True"

    def between(self, condition: Between) -> str:
        """Return a comparison, which NaN does not meet."""
        variable = self.variables[condition.feature]
        texts = bound_texts(condition)
        if len(texts) == 1:
            return f"{variable} {' '.join(texts[0])}"
        (above, lower), (below, upper) = texts
        return f"{lower} {above.replace('>', '<')} {variable} {below} {upper}"

    def one_of(self, condition: OneOf) -> str:
        """Return a test for equality, which None does not meet."""
        variable, values = self.variables[condition.feature], condition.values
        if not values:
            return "False"
        if condition.column.type == "boolean":
            return f"{variable} is {values[0]!r}" if len(values) == 1 else f"{variable} is not None"
        return f"{variable} == {values[0]!r}" if len(values) == 1 else f"{variable} in {values!r}"

    def none_of(self, condition: NoneOf) -> str:
        """Return a test for inequality and for a value being present."""
        variable, values = self.variables[condition.feature], condition.values
        test = f"{variable} != {values[0]!r}" if len(values) == 1 else f"{variable} not in {values!r}"
        return test if self.valued else f"{variable} is not None and {test}"


def lay_out(
    style: Style,
    rules: RuleSet,
    variables: Mapping[int, str],
    answers: Mapping[int, str],
    nothing: str,
    remark: Callable[[int], str],
) -> list[str]:
    """Return the lines that give a row its cluster.

    Parameters
    ----------
    style : {"flat", "ordered", "nested"}
    rules : RuleSet
    variables : mapping from int to str
        The variable with the value of each tested column.
    answers : mapping from int to str
        Python for what each leaf gives.
    nothing : str
        Python for a row that no rule matches.
    remark : callable
        Gives the comment on a leaf.
    """
    writers = {"flat": _flat, "ordered": _ordered, "nested": _nested}
    return list(writers[style](_Writing(rules, variables, answers, nothing, remark)))


@dataclass(frozen=True)
class _Writing:
    """The parts from which the styles are written: see `lay_out`."""

    rules: RuleSet
    variables: Mapping[int, str]
    answers: Mapping[int, str]
    nothing: str
    remark: Callable[[int], str]

    @cached_property
    def valued(self) -> Conditions:
        """Conditions on columns that are known to have values."""
        return Conditions(self.variables, valued=True)

    def given(self, leaf: int) -> str:
        """Return the line that ends in a leaf."""
        return f"return {self.answers[leaf]}  # {self.remark(leaf)}"

    def missing(self, feature: int) -> str:
        """Return a test for a missing value in a column; empty where it is imputed."""
        column, variable = self.rules.columns[feature], self.variables[feature]
        if column.imputed is not None:
            return ""
        return f"{variable} != {variable}" if column.is_numeric else f"{variable} is None"


def _flat(writing: _Writing) -> Iterator[str]:
    tests = Conditions(writing.variables)
    rules = sorted(writing.rules, key=lambda rule: -rule.weight / max(1, len(rule.conditions)))
    for rule in rules:
        yield f"if {tests.of_rule(rule)}:"
        yield INDENT + writing.given(rule.leaf)
    yield f"return {writing.nothing}"


def _ordered(writing: _Writing) -> Iterator[str]:
    for branch in ordered_branches(writing.rules):
        tests = [writing.valued(condition) for condition in branch.conditions]
        if branch.without is not None:
            missing = writing.missing(branch.without)
            if missing:
                yield f"if {' and '.join([*tests, missing])}:"
                yield f"{INDENT}return {writing.nothing}  # no value"
            continue
        line = writing.given(branch.leaf)  # type: ignore[arg-type]  # a branch without `without`
        if tests:
            yield f"if {' and '.join(tests)}:"
            line = INDENT + line
        yield line


def _nested(writing: _Writing) -> Iterator[str]:
    for step in nested_steps(writing.rules, missing_last=True):
        indent = INDENT * step.depth
        if isinstance(step, Answer):
            yield indent + writing.given(step.leaf)
        elif isinstance(step, Missing):
            yield f"{indent}if {writing.missing(step.column)}:"
            yield f"{indent}{INDENT}return {writing.nothing}  # no value"
        else:
            yield f"{indent}if {writing.valued(step.condition)}:"


def table_of_nodes(rules: RuleSet, inputs: Mapping[int, int], labels: Mapping[int, str]) -> dict[str, Any]:
    """Return the tree as a table, and the categories that it asks for.

    Parameters
    ----------
    rules : RuleSet
    inputs : mapping from int to int
        The place of each tested column among the columns that are read.
    labels : mapping from int to str
        Python for each cluster.

    Returns
    -------
    dict
        ``nodes``: for each inner node, Python text of the place of its column; of the number that a value must not
        exceed, or the places of the categories of which it must be one; and of where it goes if so and if not: to a
        node, or to the leaf ``~n``. ``leaves``: Python text of the cluster of each leaf, and ``leaf_nodes`` the node
        that it is. ``root``: where it begins.
        ``categories``: by column, those that the tree asks for, whose places these are.
    """
    asking = [(index, node) for index, node in enumerate(rules.nodes) if not isinstance(node, Leaf)]
    leaves = [(index, node) for index, node in enumerate(rules.nodes) if isinstance(node, Leaf)]
    at = {index: place for place, (index, _) in enumerate(asking)}
    at |= {index: ~place for place, (index, _) in enumerate(leaves)}
    categories: dict[int, dict[Any, int]] = {}
    nodes = []
    for _, node in asking:
        if isinstance(node, Membership):
            known = categories.setdefault(node.column, {})
            asked = repr(tuple(known.setdefault(value, len(known)) for value in node.values))
        else:
            _, bound = bounds(node.condition(rules.columns[node.column], True))
            assert bound is not None
            asked = threshold_text(rules.columns[node.column], bound)
        nodes.append(f"({inputs[node.column]}, {asked}, {at[node.left]}, {at[node.right]})")
    return {
        "nodes": nodes,
        "leaves": [labels[leaf.cluster] for _, leaf in leaves],
        "leaf_nodes": [index for index, _ in leaves],
        "root": at[0],
        "categories": {column: tuple(known) for column, known in categories.items()},
    }
