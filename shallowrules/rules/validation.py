"""What must hold between the parts of a rule set."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shallowrules.errors import RulesFormatError
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.document import is_number, is_text, is_values, is_whole
from shallowrules.rules.figures import Cluster, Statistics
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node
from shallowrules.table import Value

__all__ = ["validate"]

MOST_CLUSTER = np.iinfo(np.int32).max


def validate(
    columns: Sequence[RuleColumn], nodes: Sequence[Node], clusters: Sequence[Cluster], statistics: Statistics
) -> None:
    """Check that nodes form one tree over known columns and that clusters match its leaves."""

    def refuse(message: str) -> None:
        raise RulesFormatError(message)

    n_nodes = len(nodes)
    names = [column.name for column in columns]
    if len(set(names)) != len(names):
        refuse("two columns have the same name")
    for column in columns:
        fault = _column_fault(column)
        if fault:
            refuse(f"column {column.name!r} {fault}")
    parents = [0] * n_nodes
    for index, node in enumerate(nodes):
        if isinstance(node, Leaf):
            if node.rows < 0 or node.weight < 0:
                refuse(f"nodes[{index}] has a negative number of rows or weight")
            continue
        if not 0 <= node.column < len(names):
            refuse(f"nodes[{index}] tests column {node.column}; there are {len(names)} columns")
        fault = _node_fault(node, columns[node.column])
        if fault:
            refuse(f"nodes[{index}] {fault}")
        for child in (node.left, node.right):
            if not index < child < n_nodes:
                refuse(f"nodes[{index}] has child {child}: children must come after their parent (no cycles)")
            parents[child] += 1
    for index, count in enumerate(parents[1:], start=1):
        if count != 1:
            refuse(f"nodes[{index}] has {count} parents; in a tree it has one")
    carried = {node.cluster for node in nodes if isinstance(node, Leaf)}
    listed = [cluster.index for cluster in clusters]
    if len(set(listed)) != len(listed) or set(listed) != carried or min(listed) < 0:
        refuse(f"the clusters listed ({sorted(listed)}) are not those of the leaves ({sorted(carried)})")
    if max(listed) > MOST_CLUSTER:
        refuse(f"cluster {max(listed)} is beyond {MOST_CLUSTER}, the largest number that a label can be")
    for cluster in clusters:
        fault = _profile_fault(cluster, columns)
        if fault:
            refuse(f"cluster {cluster.index} has {fault}")
    if statistics.weight <= 0 or statistics.rows <= 0:
        refuse("statistics.rows and statistics.weight must be positive")
    if statistics.left_out < 0:
        refuse("statistics.left_out must not be negative")
    rows = dict.fromkeys(listed, 0)
    weight = dict.fromkeys(listed, 0.0)
    for node in nodes:
        if isinstance(node, Leaf):
            rows[node.cluster] += node.rows
            weight[node.cluster] += node.weight
    shares = {"statistics.agreement": statistics.agreement}
    for cluster in clusters:
        where = f"cluster {cluster.index}"
        shares |= {f"{where}: {name}": getattr(cluster, name) for name in ("share", "precision", "recall")}
        if cluster.rows != rows[cluster.index]:
            refuse(f"{where} has {cluster.rows} rows, its leaves have {rows[cluster.index]}")
        if not math.isclose(cluster.weight, weight[cluster.index], rel_tol=1e-6):
            refuse(f"{where} has weight {cluster.weight}, its leaves have {weight[cluster.index]}")
    if statistics.rows != sum(cluster.rows for cluster in clusters):
        refuse(f"statistics.rows is {statistics.rows}, which is not the sum over the clusters")
    for where, share in shares.items():
        if not 0 <= share <= 1 + 1e-9:
            refuse(f"{where} is {share}, not a share from 0 to 1")


def _node_fault(node: Cut | Membership, column: RuleColumn) -> str | None:
    """Return what is wrong with a node's test of a column, to follow "the node"."""
    if column.is_numeric != isinstance(node, Cut):
        return f"tests the {column.type} column {column.name!r} by {'a cut' if isinstance(node, Cut) else 'categories'}"
    if isinstance(node, Cut):
        bound: Any = node.threshold
        if not is_number(bound) or not -sys.float_info.max <= bound <= sys.float_info.max:
            return f"does not cut {column.name!r} at a finite number"
        if column.type == "integer" and not is_whole(bound):
            return f"cuts the integer column {column.name!r} at {bound!r}"
        return None
    if not is_values(node.values):
        return f"compares {column.name!r} with {node.values!r}"
    unknown = [value for value in node.values if not _among(value, column.values)]
    if unknown or not node.values:
        return f"compares {column.name!r} with {node.values!r}, which is not among the column's values"
    return None


def _among(value: Value, values: Sequence[Value]) -> bool:
    """Return whether a category is one of several; ``True == 1`` does not make a number one."""
    return any(type(value) is type(other) and value == other for other in values)


def _column_fault(column: RuleColumn) -> str | None:
    """Return what is wrong with the figures of a column, to follow its name."""
    minimum, maximum = column.minimum, column.maximum
    fault = _reading_fault(column)
    if fault:
        return fault
    if column.is_numeric:
        if column.mean is None or minimum is None or maximum is None:
            return f"is of type {column.type} and has no mean, minimum or maximum"
        if column.values or column.shares:
            return f"is of type {column.type} and has values"
        return f"has its minimum {minimum} above its maximum {maximum}" if minimum > maximum else None
    if not (column.mean is minimum is maximum is None):
        return f"is of type {column.type} and has a mean, minimum or maximum"
    kind = bool if column.type == "boolean" else str
    if not column.values or not all(type(value) is kind for value in column.values):
        return f"is of type {column.type} and has the values {list(column.values)!r}"
    if len(set(column.values)) != len(column.values):
        return "has a value twice"
    return _shares_fault(column.shares, column)


def _reading_fault(column: RuleColumn) -> str | None:
    """Return what is wrong with how a column is read, to follow its name."""
    if column.decimal not in (".", ",") or (column.decimal == "," and not column.is_numeric):
        return f"is of type {column.type} and has the decimal separator {column.decimal!r}"
    if column.nulls and column.type == "boolean":
        return "is of type boolean, and no text means a missing value in it"
    if any(token != token.strip(" ") for token in column.nulls):
        return "has spaces around a text that means a missing value"
    if column.imputed is None:
        return None
    kinds: dict[str, Any] = {"integer": is_whole, "float": is_number, "text": is_text}
    if not kinds.get(column.type, lambda value: isinstance(value, bool))(column.imputed):
        return f"is of type {column.type} and takes missing values as {column.imputed!r}"
    if column.is_numeric and not -sys.float_info.max <= cast(float, column.imputed) <= sys.float_info.max:
        return "takes missing values as a number that is not finite"
    return None


def _profile_fault(cluster: Cluster, columns: Sequence[RuleColumn]) -> str | None:
    """Return what is wrong with the means and shares of a cluster, to follow "has"."""
    if len(cluster.means) != len(columns):
        return f"{len(cluster.means)} means for {len(columns)} columns"
    shares = cluster.shares or ((),) * len(columns)
    if len(shares) != len(columns):
        return f"shares of {len(shares)} columns, not of {len(columns)}"
    for column, mean, of_values in zip(columns, cluster.means, shares, strict=True):
        if (mean is None) == column.is_numeric:
            return f"{'no' if mean is None else 'a'} mean of the {column.type} column {column.name!r}"
        fault = None if column.is_numeric and not of_values else _shares_fault(of_values, column)
        if fault:
            return f"a column {column.name!r} that {fault}"
    return None


def _shares_fault(shares: Sequence[float], column: RuleColumn) -> str | None:
    if len(shares) != len(column.values):
        return f"has {len(shares)} shares for {len(column.values)} values"
    if not all(0 <= share <= 1 + 1e-9 for share in shares):
        return "has a share that is not from 0 to 1"
    return None
