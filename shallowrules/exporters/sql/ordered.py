"""Rules as the branches of one CASE, each of which relies on those before it, the style ``ordered``; or as the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shallowrules.exporters.decision_list import ordered_branches
from shallowrules.exporters.sql.predicates import Predicates
from shallowrules.rules import Leaf, RuleSet

__all__ = ["nested_case", "ordered_predicates"]


def ordered_predicates(rules: RuleSet, predicates: Predicates) -> Iterator[tuple[str, int | None]]:
    """Yield a predicate and a cluster for each branch of a CASE that gives each row its cluster, None for no cluster.

    The last branch takes all rows that are left, whatever its predicate says.

    Parameters
    ----------
    rules : RuleSet
    predicates : Predicates
    """
    predicates = predicates.behind_missing()
    for branch in ordered_branches(rules):
        without = ""
        if branch.without is not None:
            without = predicates.without_value(branch.without, rules.columns[branch.without])
            if not without:
                continue
        yield predicates.of_all(branch.conditions, without), branch.cluster


def nested_case(rules: RuleSet, predicates: Predicates, labels: Mapping[int, str], without: str) -> str:
    """Return a CASE that gives each row its cluster by the questions of the tree, one inside the other.

    It is as deep as the tree, and for an engine alone: a row is asked only what the tree asks it.

    Parameters
    ----------
    rules : RuleSet
    predicates : Predicates
    labels : mapping from int to str
        SQL for each cluster.
    without : str
        SQL for rows without one.
    """
    predicates = predicates.behind_missing()

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
