"""Rules as CASE expressions: flat, with branches in some order, or as the tree."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from shallowrules.exporters.decision_list import Branch, ordered_branches
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.predicates import Predicates
from shallowrules.rules import Condition, Leaf, RuleSet

__all__ = ["flat_cases", "nested_case", "ordered_cases", "ordered_predicates"]


def flat_cases(branches: Sequence[Mapping[str, Any]], otherwise: str | None, dialect: Dialect) -> dict[str, Any]:
    """Return the template's data for CASE, from branches in any order.

    Parameters
    ----------
    branches : sequence of mappings
        With ``predicate`` and ``label``.
    otherwise : str or None
        SQL for the rows of no branch; None for NULL.
    dialect : Dialect
    """
    most = dialect.limits.branches or sys.maxsize
    parts: list[dict[str, Any]] = [
        {"branches": branches[start : start + most], "otherwise": None} for start in range(0, len(branches), most)
    ]
    if otherwise is not None:
        if len(parts[-1]["branches"]) == most:
            parts.append({"branches": []})
        parts[-1]["otherwise"] = otherwise
    return {"parts": parts, "marker": None}


def ordered_cases(
    rules: RuleSet, labels: Mapping[int, str], predicates: Predicates, otherwise: str | None, unused: str
) -> dict[str, Any]:
    """Return the template's data for CASE, from branches that rely on those before them.

    Parameters
    ----------
    rules : RuleSet
    labels : mapping from int to str
        SQL for each cluster.
    predicates : Predicates
    otherwise : str or None
        SQL for rows without a cluster; None for NULL.
    unused : str
        SQL for a label that no cluster has.
    """
    dialect, found = predicates.dialect, list(ordered_predicates(rules, predicates))
    is_long = len(found) > (dialect.limits.branches or sys.maxsize)
    marker = unused if is_long and otherwise is None else None  # COALESCE goes on to the next CASE at NULL
    without = otherwise or marker or "NULL"
    branches = [
        {"predicate": predicate, "label": without if cluster is None else labels[cluster]}
        for predicate, cluster in found
    ]
    last = branches.pop()["label"] if len(branches) > 1 else None
    return {**flat_cases(branches, last, dialect), "marker": marker}


def ordered_predicates(rules: RuleSet, predicates: Predicates) -> Iterator[tuple[str, int | None]]:
    """Yield a predicate and a cluster for each branch of a CASE that gives each row its cluster, None for no cluster.

    The last branch takes all rows that are left, whatever its predicate says.
    """
    predicates = predicates.behind_missing()

    def told(branch: Branch) -> tuple[tuple[Condition, ...], int | None]:
        return branch.conditions, branch.leaf

    for (conditions, leaf), alike in groupby(ordered_branches(rules, early=True), told):
        branches = list(alike)
        if leaf is not None:
            yield predicates.of_all(conditions), branches[0].cluster
            continue
        columns = [branch.without for branch in branches if branch.without is not None]
        missing = [predicates.without_value(column, rules.columns[column]) for column in columns]
        if any(missing):
            yield predicates.of_all(conditions, " OR ".join(filter(None, missing))), None


def nested_case(rules: RuleSet, predicates: Predicates, labels: Mapping[int, str], without: str) -> str:
    """Return a CASE that gives each row its cluster by the questions of the tree, one inside the other.

    It is as deep as the tree, and meant only for an engine: each row gets only the questions of the tree.

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
