"""Consistency checks between the parts of a rule set.

`check_structure` asks whether the nodes are a tree over the columns whose leaves carry the clusters; if so, the rules
can be derived from them. `check_figures` then compares every figure that follows from others with these. Only the
figures that need the training rows remain unchecked: the costs, recall within the bounds that precision sets, and the
means and shares of clusters within those that their columns set. Figures that are not finite are accepted: no document
has any.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from shallowrules.errors import OptionError, RulesFormatError, counted
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import Between, ConditionVisitor, NoneOf, OneOf
from shallowrules.rules.figures import Cluster, Statistics, normalized_cost
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node, Rule, rules_length
from shallowrules.tables.dates import FORMATS
from shallowrules.tables.labels import NO_CLUSTER, is_label
from shallowrules.tables.number_format import NumberFormat
from shallowrules.tables.times import time_range
from shallowrules.tables.values import Value, is_code_text

__all__ = ["TOLERANCE", "check_figures", "check_structure"]

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
"""The range of a column of integers: those of int64 and of uint64."""

MAX_COUNT = 2**63 - 1

MAX_LENGTH = 300_000_000
"""Characters of all rules together. A chain of 3,000 nodes over 3,000 columns has 140 million, and 4,504,500 conditions
that take 430 MB and 0.8 s; the written form of rules has a bound of its own."""

TOLERANCE = 1e-6
"""The relative difference allowed between a figure and the one that follows from the others (a share: of 1; a mean: of
the largest value of its column). Sums of floats depend on their order; six digits are more than any report shows."""

MAX_SHARE = 1 + 1e-9


def _refuse(message: str) -> NoReturn:
    raise RulesFormatError(message)


def check_structure(
    columns: Sequence[RuleColumn], nodes: Sequence[Node], clusters: Sequence[Cluster], statistics: Statistics
) -> None:
    """Check that the nodes form one tree over the columns, and that the clusters are those of its leaves.

    Raises
    ------
    RulesFormatError
        Naming the part that is at fault.
    """
    names = [*(column.name for column in columns), *statistics.other_columns]
    if len(set(names)) != len(names):
        _refuse("two columns have the same name")
    for column in columns:
        fault = _reading_fault(column) or _column_fault(column)
        if fault:
            _refuse(f"column {column.name!r} {fault}")
    _check_tree(nodes, columns)
    length = rules_length(nodes, columns)
    if length > MAX_LENGTH:
        _refuse(f"its rules have about {length:,} characters together, which is more than {MAX_LENGTH:,}")
    _check_clusters(nodes, clusters)
    if not 0 < statistics.rows <= MAX_COUNT or not 0 < statistics.weight <= sys.float_info.max:
        _refuse("statistics.rows and statistics.weight must be positive, and rows at most 2**63 - 1")
    if not 0 <= statistics.left_out <= MAX_COUNT:
        _refuse(f"statistics.left_out is {statistics.left_out}, not from 0 to 2**63 - 1")


def _check_tree(nodes: Sequence[Node], columns: Sequence[RuleColumn]) -> None:
    """Check every node, and that each but the root has one parent before it."""
    parents = [0] * len(nodes)
    for index, node in enumerate(nodes):
        if isinstance(node, Leaf):
            if not 0 <= node.rows <= MAX_COUNT or not 0 <= node.weight <= sys.float_info.max:
                _refuse(f"nodes[{index}] has a negative number of rows or weight, or more than 64 bits hold")
            if (node.rows == 0) != (node.weight == 0):
                _refuse(f"nodes[{index}] has {node.rows} rows of weight {node.weight}: only rows with weight count")
            continue
        if not 0 <= node.column < len(columns):
            _refuse(f"nodes[{index}] tests column {node.column}; there are {len(columns)} columns")
        fault = _node_fault(node, columns[node.column])
        if fault:
            _refuse(f"nodes[{index}] {fault}")
        for child in (node.left, node.right):
            if not index < child < len(nodes):
                _refuse(f"nodes[{index}] has child {child}: children must come after their parent (no cycles)")
            parents[child] += 1
    for index, count in enumerate(parents[1:], start=1):
        if count != 1:
            _refuse(f"nodes[{index}] has {count} parents; in a tree it has one")


def _check_clusters(nodes: Sequence[Node], clusters: Sequence[Cluster]) -> None:
    """Check that the clusters are those of the leaves, each once and with a unique name."""
    carried = {node.cluster for node in nodes if isinstance(node, Leaf)}
    listed = [cluster.index for cluster in clusters]
    if len(set(listed)) != len(listed) or set(listed) != carried:
        _refuse(f"the clusters listed ({sorted(listed)}) are not those of the leaves ({sorted(carried)})")
    for label in listed:
        if not is_label(label):
            why = "marks a row in no cluster" if label == NO_CLUSTER else "is beyond 64 bits"
            _refuse(f"{label} is the number of a cluster, but it {why}")
    if sum(cluster.noise for cluster in clusters) > 1:
        _refuse("several clusters are marked as noise; at most one may be")
    names: dict[str, int] = {}
    for cluster in clusters:
        if names.setdefault(cluster.name, cluster.index) != cluster.index:
            _refuse(f"the clusters {names[cluster.name]} and {cluster.index} have the same name, {cluster.name!r}")


def _node_fault(node: Cut | Membership, column: RuleColumn) -> str | None:
    """Return the fault in a node's test of a column, to follow "the node"."""
    if column.is_numeric != isinstance(node, Cut):
        return f"tests the {column.type} column {column.name!r} by {'a cut' if isinstance(node, Cut) else 'categories'}"
    if isinstance(node, Cut):
        fault = _number_fault(node.threshold, column)
        if fault is None and column.is_time and node.threshold == time_range(column.type)[-1]:
            fault = "the last there is"
        return fault and f"cuts the {column.type} column {column.name!r} at a threshold that is {fault}"
    known = [value for value in node.values if _among(value, column.values)]
    if not node.values or len(known) < len(node.values):
        return f"compares {column.name!r} with {list(node.values)!r}, not all of which are values of the column"
    if len(set(node.values)) < len(node.values):
        return f"compares {column.name!r} with {list(node.values)!r}, a value twice"
    return None


def _among(value: Value, values: Sequence[Value]) -> bool:
    """Return whether a category is one of several; True is not the number 1."""
    return any(type(value) is type(other) and value == other for other in values)


def _number_fault(number: Any, column: RuleColumn) -> str | None:
    """Return why a column cannot hold a number, to follow "that is"."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return f"not a number ({number!r})"
    if column.is_whole:
        if not isinstance(number, int):
            return f"not a whole number ({number!r})"
        if column.is_time:
            return None if number in time_range(column.type) else "beyond the years 1 to 9999"
        return None if MIN_INTEGER <= number <= MAX_INTEGER else "beyond 64 bits"
    return None if -sys.float_info.max <= number <= sys.float_info.max else "not finite"


def _column_fault(column: RuleColumn) -> str | None:
    """Return the fault in the figures of a column, to follow its name."""
    mean, minimum, maximum = column.mean, column.minimum, column.maximum
    if column.separation is not None and not 0 <= column.separation <= MAX_SHARE:
        return f"has the separation {column.separation}, which is not from 0 to 1"
    if column.is_numeric:
        if mean is None or minimum is None or maximum is None:
            return f"is of type {column.type} and has no mean, minimum or maximum"
        if column.values or column.shares:
            return f"is of type {column.type} and has values"
        for what, number in (("minimum", minimum), ("maximum", maximum)):
            fault = _number_fault(number, column)
            if fault:
                return f"is of type {column.type} and has a {what} that is {fault}"
        if minimum > maximum:
            return f"has its minimum {minimum} above its maximum {maximum}"
        return f"has the mean {mean}, outside {minimum} to {maximum}" if _outside(mean, column) else None
    if not (mean is minimum is maximum is None):
        return f"is of type {column.type} and has a mean, minimum or maximum"
    kind = bool if column.type == "boolean" else str
    if not column.values or not all(type(value) is kind for value in column.values):
        return f"is of type {column.type} and has the values {list(column.values)!r}"
    if len(set(column.values)) != len(column.values):
        return "has a value twice"
    return _shares_fault(column.shares, column, total=1)


def _reading_fault(column: RuleColumn) -> str | None:
    """Return the fault in the reading of a column, to follow its name."""
    if column.decimal not in (".", ",") or (column.decimal == "," and not column.is_numeric):
        return f"is of type {column.type} and has the decimal separator {column.decimal!r}"
    codes = [*column.values, *([] if column.imputed is None else [column.imputed])]
    if column.codes and not (column.type == "text" and all(isinstance(c, str) and is_code_text(c) for c in codes)):
        return f"is of codes, which are whole numbers below 2**53 as texts, and is of type {column.type} with {codes!r}"
    if column.dates and (column.type not in ("date", "timestamp") or column.dates not in FORMATS):
        return f"is of type {column.type} and has dates written as {column.dates!r}"
    if column.format and not (column.is_numeric and not column.is_time and _is_format(column)):
        return f"is of type {column.type} and has the format {column.format!r}"
    if column.nulls and column.type == "boolean":
        return "is of type boolean, which has no text that means a missing value"
    if any(token != token.strip(" ") for token in column.nulls):
        return "has spaces around a text that means a missing value"
    if column.imputed is None:
        return None
    if column.is_numeric:
        fault = _number_fault(column.imputed, column)
        return fault and f"is of type {column.type} and replaces missing values with something that is {fault}"
    if type(column.imputed) is not (bool if column.type == "boolean" else str):
        return f"is of type {column.type} and replaces missing values with {column.imputed!r}"
    return None


def _is_format(column: RuleColumn) -> bool:
    """Return whether a column has a format as `NumberFormat.example` shows it, with the column's decimal separator."""
    try:
        found = NumberFormat.of(column.format)
    except OptionError:
        return False
    return not found.is_plain and (found.example, found.decimal) == (column.format, column.decimal)


def _shares_fault(shares: Sequence[float], column: RuleColumn, total: int) -> str | None:
    """Return the fault in the shares of a column's values, which sum to `total`."""
    if len(shares) != len(column.values):
        return f"has {len(shares)} shares for {len(column.values)} values"
    if not all(0 <= share <= MAX_SHARE for share in shares):
        return "has a share that is not from 0 to 1"
    if abs(sum(shares) - total) > TOLERANCE:
        return f"has shares that sum to {sum(shares):.7g}, not to {total}"
    return None


def _outside(mean: float, column: RuleColumn) -> bool:
    """Return whether a mean cannot be one of values from a column's minimum to its maximum."""
    minimum, maximum = float(cast(float, column.minimum)), float(cast(float, column.maximum))
    slack = TOLERANCE * max(abs(minimum), abs(maximum))
    return math.isfinite(mean) and not minimum - slack <= mean <= maximum + slack


def check_figures(
    columns: Sequence[RuleColumn], rules: Sequence[Rule], clusters: Sequence[Cluster], statistics: Statistics
) -> None:
    """Check that figures agree with those from which they follow.

    Parameters
    ----------
    columns : sequence of RuleColumn
    rules : sequence of Rule
        All of them: one per leaf.
    clusters : sequence of Cluster
    statistics : Statistics

    Raises
    ------
    RulesFormatError
        Naming the figure, and its correct value.
    """
    _check_sums(rules, clusters, statistics)
    for cluster in clusters:
        fault = _profile_fault(cluster, columns)
        if fault:
            _refuse(f"cluster {cluster.index} has {fault}")
    for index, column in enumerate(columns):
        _check_whole_of_clusters(index, column, clusters)
    known = [column.separation for column in columns if column.separation is not None]
    if known and not math.isclose(sum(known), 1, rel_tol=TOLERANCE):
        _refuse(f"the separation of the columns sums to {sum(known):.7g}, not to 1")
    for rule in rules:
        for condition in rule.conditions:
            most = _MaxShare()(condition)
            if rule.share > most + TOLERANCE or (rule.rows and not most):
                _refuse(
                    f"nodes[{rule.leaf}] has {counted(rule.rows, 'row')}, more than there are with {condition} "
                    f"by the figures of column {condition.column.name!r}"
                )
    _check_agreement(rules, clusters, statistics)
    _check_statistics(rules, statistics)
    _check_totals(columns, clusters, statistics)


def _check_sums(rules: Sequence[Rule], clusters: Sequence[Cluster], statistics: Statistics) -> None:
    """Check that rows and weights of leaves, clusters and the table add up."""
    rows = dict.fromkeys((cluster.index for cluster in clusters), 0)
    weight = dict.fromkeys(rows, 0.0)
    for rule in rules:
        rows[rule.cluster] += rule.rows
        weight[rule.cluster] += rule.weight
        if not statistics.weighted:
            where = f"nodes[{rule.leaf}]"
            _check_close(f"{where}: weight", rule.weight, rule.rows, "its rows, which have no weights,")
    for cluster in clusters:
        where = f"cluster {cluster.index}"
        if cluster.rows != rows[cluster.index]:
            _refuse(f"{where} has {counted(cluster.rows, 'row')}, its leaves have {rows[cluster.index]}")
        _check_close(f"{where}: weight", cluster.weight, weight[cluster.index], "its leaves")
        _check_share(f"{where}: share", cluster.share, cluster.weight / statistics.weight, "the weights")
    if statistics.rows != sum(rows.values()):
        _refuse(f"statistics.rows is {statistics.rows}, which is not the sum over the clusters, {sum(rows.values())}")
    _check_close("statistics.weight", statistics.weight, sum(weight.values()), "the clusters")


def _check_close(what: str, found: float, derived: float, source: str) -> None:
    if not math.isclose(found, derived, rel_tol=TOLERANCE):
        _refuse(f"{what} is {found}, but {source} give {derived:.7g}")


def _check_range(what: str, found: float) -> None:
    if not 0 <= found <= MAX_SHARE:
        _refuse(f"{what} is {found}, not a share from 0 to 1")


def _check_share(what: str, found: float, derived: float, source: str) -> None:
    _check_range(what, found)
    if abs(found - derived) > TOLERANCE:
        _refuse(f"{what} is {found}, but {source} give {derived:.7g}")


def _profile_fault(cluster: Cluster, columns: Sequence[RuleColumn]) -> str | None:
    """Return the fault in the means and shares of a cluster, to follow "has"."""
    if len(cluster.means) != len(columns):
        return f"{len(cluster.means)} means for {len(columns)} columns"
    shares = cluster.shares or ((),) * len(columns)
    if len(shares) != len(columns):
        return f"shares of {len(shares)} columns, not of {len(columns)}"
    for column, mean, of_values in zip(columns, cluster.means, shares, strict=True):
        if (mean is None) == column.is_numeric:
            return f"{'no' if mean is None else 'a'} mean of the {column.type} column {column.name!r}"
        if mean is not None and cluster.rows and _outside(mean, column):
            return f"the mean {mean} of column {column.name!r}, outside {column.minimum} to {column.maximum}"
        fault = None
        if not column.is_numeric or of_values:
            fault = _shares_fault(of_values, column, total=1 if cluster.rows else 0)
        if fault:
            return f"a column {column.name!r} that {fault}"
    return None


def _check_whole_of_clusters(index: int, column: RuleColumn, clusters: Sequence[Cluster]) -> None:
    """Check that the mean and the shares of a column are those of the clusters, by their share."""
    filled = [cluster for cluster in clusters if cluster.rows]
    if column.is_numeric:
        mean = sum(cluster.share * cast(float, cluster.means[index]) for cluster in filled)
        largest = max(abs(cast(float, column.minimum)), abs(cast(float, column.maximum)))
        # Products of a share and a subnormal number are rounded to a few digits, or to 0.
        if abs(mean - cast(float, column.mean)) > 2 * TOLERANCE * largest + sys.float_info.min:
            _refuse(f"column {column.name!r} has the mean {column.mean}, but the clusters give {mean:.7g}")
        return
    for place, (value, share) in enumerate(zip(column.values, column.shares, strict=True)):
        derived = sum(cluster.share * cluster.shares[index][place] for cluster in filled)
        if abs(derived - share) > TOLERANCE:
            _refuse(f"column {column.name!r} has the share {share} of {value!r}, but the clusters give {derived:.7g}")


class _MaxShare(ConditionVisitor[float]):
    """The largest share of the rows that can satisfy a condition, by the figures of its column."""

    def between(self, condition: Between) -> float:
        """Return 0 where no number from the column's minimum to its maximum is between the bounds, else 1."""
        column, lower, upper = condition.column, condition.lower, condition.upper
        lowest, highest = cast(float, column.minimum), cast(float, column.maximum)
        if lower is not None and lower >= lowest:
            lowest = lower + 1 if column.is_whole else math.nextafter(lower, math.inf)
        if upper is not None:
            highest = min(highest, upper)
        return 1.0 if lowest <= highest else 0.0

    def one_of(self, condition: OneOf) -> float:
        """Return the share of the accepted categories."""
        column = condition.column
        pairs = zip(column.values, column.shares, strict=True)
        return sum(share for value, share in pairs if value in condition.values)

    def none_of(self, condition: NoneOf) -> float:
        """Return the share of the other categories."""
        column = condition.column
        pairs = zip(column.values, column.shares, strict=True)
        return sum(share for value, share in pairs if value not in condition.values)


def _check_agreement(rules: Sequence[Rule], clusters: Sequence[Cluster], statistics: Statistics) -> None:
    """Check precision, recall and agreement: all three share out the weight on which both clusterings agree."""
    reference = 0.0
    for cluster in clusters:
        where, precision, recall = f"cluster {cluster.index}", cluster.precision, cluster.recall
        for what, share in (("precision", precision), ("recall", recall)):
            _check_range(f"{where}: {what}", share)
        if not cluster.rows and max(precision, recall) > 0:
            _refuse(f"{where} has no rows, but the precision {precision} and the recall {recall}, not 0")
        if min(precision, recall) == 0 and max(precision, recall) > TOLERANCE:
            _refuse(f"{where} has the precision {precision} and the recall {recall}: both are 0 or neither")
        if recall > 0:
            reference += cluster.share * precision / recall
    if reference > 1 + TOLERANCE:
        _refuse(
            f"by precision and recall the unrestricted clusters hold {reference:.7g} of the weight, more than there is"
        )
    derived = sum(cluster.share * cluster.precision for cluster in clusters)
    _check_share("statistics.agreement", statistics.agreement, derived, "the clusters' precision and share")
    of_cluster: dict[int, list[Rule]] = {cluster.index: [] for cluster in clusters}
    for rule in rules:
        of_cluster[rule.cluster].append(rule)
    for cluster in clusters:
        _check_precision(cluster, of_cluster[cluster.index])


def _check_precision(cluster: Cluster, rules: Sequence[Rule]) -> None:
    """Check the precision of the rules of a cluster, which average to its own."""
    known = [(rule, rule.precision) for rule in rules if rule.precision is not None]
    if not known:
        return
    if len(known) < len(rules):
        _refuse(f"some leaves of cluster {cluster.index} have a precision, and others have none")
    for rule, precision in known:
        _check_share(f"nodes[{rule.leaf}]: precision", precision, precision if rule.rows else 0.0, "no rows")
    derived = sum(rule.weight * precision for rule, precision in known) / (cluster.weight or 1.0)
    _check_share(f"cluster {cluster.index}: precision", cluster.precision, derived, "its leaves")


def _check_statistics(rules: Sequence[Rule], statistics: Statistics) -> None:
    """Check the figures of the whole that follow from the tree, or from one another."""
    s = statistics
    if min(s.cost, s.reference_cost, s.tradeoff) < 0:
        _refuse("statistics.cost, statistics.reference_cost and statistics.tradeoff must not be negative")
    _check_close("statistics.wad", s.wad, sum(rule.share * rule.depth for rule in rules), "the leaves")
    _check_close("statistics.waes", s.waes, sum(rule.share * rule.size for rule in rules), "the leaves")
    if math.isfinite(s.cost) and math.isfinite(s.reference_cost):
        price = normalized_cost(s.cost, s.reference_cost, finite=True)
        _check_close("statistics.normalized_cost", s.normalized_cost, price, "the costs")


def _check_totals(columns: Sequence[RuleColumn], clusters: Sequence[Cluster], statistics: Statistics) -> None:
    """Check that all clusters have a total or none does, and that these sum to that of the table."""
    totals = [cluster.total for cluster in clusters if cluster.total is not None]
    unmeasured = [cluster.unmeasured for cluster in clusters]
    if statistics.measure is None or statistics.total is None:
        if totals or any(unmeasured) or statistics.measure is not None or statistics.total is not None:
            _refuse("clusters have totals, or statistics has a measure or a total, without all of these")
        return
    if statistics.measure in {column.name for column in columns}:
        _refuse(f"statistics.measure is {statistics.measure!r}, which is a column of the rules")
    if len(totals) < len(clusters):
        _refuse(f"a cluster has no total of {statistics.measure!r}")
    for cluster in clusters:
        if not 0 <= cluster.unmeasured <= cluster.rows:
            _refuse(f"cluster {cluster.index} has unmeasured {cluster.unmeasured}, not from 0 to its rows")
    if abs(sum(totals) - statistics.total) > TOLERANCE * sum(map(abs, totals)):
        _refuse(f"statistics.total is {statistics.total}, but the clusters give {sum(totals):.7g}")
