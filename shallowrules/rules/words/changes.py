"""The changes from one set of rules to another, in words: rules, and the rows of a table that change cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, counted
from shallowrules.rules.conditions import Between, ConditionVisitor, NoneOf, OneOf, printable
from shallowrules.rules.figures import Cluster
from shallowrules.rules.model import RuleSet
from shallowrules.rules.nodes import Rule
from shallowrules.rules.shown import Shown
from shallowrules.tables.labels import NO_CLUSTER

__all__ = [
    "UNRELATED",
    "ChangedRows",
    "Changes",
    "PairCounts",
    "RuleChange",
    "changes_between",
    "count_pairs",
    "match_clusters",
]

UNRELATED = "the rules have nothing in common: no rule, and no column"

ROWS_SHOWN = 20
"""Maximum number of listed pairs of clusters between which rows move, most rows first."""


@dataclass(frozen=True)
class RuleChange:
    """The change of a rule.

    Attributes
    ----------
    cluster : int
        Of the new rules; of the old ones where the rule is gone.
    old, new : Rule or None
        None if the rule is new, or was removed.
    """

    cluster: int
    old: Rule | None
    new: Rule | None


@dataclass(frozen=True)
class ChangedRows:
    """Rows of a table that were in one cluster and are now in another, None for no cluster."""

    old: int | None
    new: int | None
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Changes(Shown):
    """The changes from one set of rules to another.

    Attributes
    ----------
    old, new : RuleSet
    pairs : mapping from int to int
        The new cluster that each old one became, where there is one.
    rules : tuple of RuleChange
        Rules that moved, are new, or are gone; by cluster of the new rules, then of the old ones.
    unchanged : int
        Rules that stayed.
    rows : int or None
        Rows of the table that was compared; None where none was.
    moved : tuple of ChangedRows
        By number of rows, most first.
    """

    old: RuleSet
    new: RuleSet
    pairs: Mapping[int, int]
    rules: tuple[RuleChange, ...]
    unchanged: int
    rows: int | None = None
    moved: tuple[ChangedRows, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.rules or self.moved or self.cluster_lines or self.column_lines)

    def __repr__(self) -> str:
        moved = "" if self.rows is None else f", {counted(self.n_moved, 'row')} moved"
        return f"Changes({counted(len(self.rules), 'rule')} changed, {self.unchanged:,} unchanged{moved})"

    def __str__(self) -> str:
        if self.is_unrelated:
            lines = [UNRELATED, *self.column_lines]
        else:
            lines = [*self.cluster_lines, *self.column_lines, *self._lines_of_rules(), *self._lines_of_rows()]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data.

        Returns
        -------
        dict
            - ``changed``: whether anything changed. ``unrelated``: whether the rules have nothing in common.
            - ``clusters``: a list of dicts with ``old``, ``old_name``, ``new`` and ``new_name``, the first two None for
              a new cluster, the others for one that is gone.
            - ``untested``, ``tested``: names of columns that are no longer tested, and only now.
            - ``rules``: a list of dicts with ``cluster``, its number in the new rules (in the old ones where the rule
              is gone), ``old`` and ``new``: the rule as text, None where there is none.
            - ``unchanged``: the number of rules that stayed.
            - ``rows``, ``moved_rows``: rows of the table, and those that change cluster; None without a table.
            - ``moved``: a list of dicts with ``old``, ``new`` (numbers of clusters, None for none) and ``rows``.
        """
        old, new = ({c.index: c for c in rules.clusters} for rules in (self.old, self.new))
        pairs: list[tuple[int | None, int | None]] = [*self.pairs.items()]
        pairs += [(index, None) for index in old if index not in self.pairs]
        pairs += [(None, index) for index in new if index not in self.pairs.values()]
        untested, tested = self.columns
        return {
            "changed": bool(self),
            "unrelated": self.is_unrelated,
            "clusters": [
                {
                    "old": _label(old, before),
                    "old_name": _name(old, before),
                    "new": _label(new, now),
                    "new_name": _name(new, now),
                }
                for before, now in pairs
            ],
            "untested": untested,
            "tested": tested,
            "rules": [
                {
                    "cluster": _label(old if change.new is None else new, change.cluster),
                    "old": None if change.old is None else str(change.old),
                    "new": None if change.new is None else str(change.new),
                }
                for change in self.rules
            ],
            "unchanged": self.unchanged,
            "rows": self.rows,
            "moved_rows": None if self.rows is None else self.n_moved,
            "moved": [
                {"old": _label(old, each.old), "new": _label(new, each.new), "rows": each.rows} for each in self.moved
            ],
        }

    @property
    def is_unrelated(self) -> bool:
        """Whether the rules have nothing in common, and no table tells what became of a cluster."""
        return self.rows is None and not self.pairs and not _may_be_related(self.old, self.new)

    @property
    def cluster_lines(self) -> list[str]:
        """The clusters that are new, gone, or have another number or name, a line for each."""
        old, new = _titles(self.old.clusters), _titles(self.new.clusters)
        before, now = ({each.index: each for each in rules.clusters} for rules in (self.old, self.new))
        pairs = [(before[index], now[other]) for index, other in sorted(self.pairs.items())]
        lines = [
            f"cluster {one.title} is now cluster {other.title}" for one, other in pairs if one.label != other.label
        ]
        lines += [
            f"cluster {other.title} was called {one.name!r}"
            for one, other in pairs
            if one.label == other.label and _given(one) != _given(other)
        ]
        lines += [f"cluster {title} is gone" for index, title in old.items() if index not in self.pairs]
        lines += [f"cluster {title} is new" for index, title in new.items() if index not in self.pairs.values()]
        return lines

    @property
    def column_lines(self) -> list[str]:
        """The columns that are no longer tested, or only now, a line for each."""
        untested, tested = self.columns
        lines = [f"column {name} is no longer tested" for name in untested]
        return lines + [f"column {name} is tested now" for name in tested]

    @property
    def columns(self) -> tuple[list[str], list[str]]:
        """The columns that are no longer tested, and those that are tested only now."""
        old, new = _tested(self.old), _tested(self.new)
        return sorted(old - new), sorted(new - old)

    @property
    def n_moved(self) -> int:
        """The rows that change cluster."""
        return sum(moved.rows for moved in self.moved)

    def _lines_of_rules(self) -> list[str]:
        if not self.rules:
            return [f"all {counted(self.unchanged, 'rule')} are unchanged"]
        old, new = _titles(self.old.clusters), _titles(self.new.clusters)
        lines = []
        for change in self.rules:
            if change.new is None:
                lines.append(f"cluster {old[change.cluster]}: {_the_rule(change.old)} is gone")
            elif change.old is None:
                lines.append(f"cluster {new[change.cluster]}: {_the_rule(change.new)} is new")
            else:
                lines.append(f"cluster {new[change.cluster]}: {change.old} is now {change.new}")
        return [*lines, f"{counted(self.unchanged, 'other rule')} as before"] if self.unchanged else lines

    def _lines_of_rows(self) -> list[str]:
        if self.rows is None:
            return []
        old, new = _titles(self.old.clusters), _titles(self.new.clusters)
        lines = [f"{self.n_moved:,} of {counted(self.rows, 'row')} change cluster ({self.n_moved / self.rows:.1%})"]
        for moved in self.moved[:ROWS_SHOWN]:
            before = "no cluster" if moved.old is None else f"cluster {old[moved.old]}"
            after = "no cluster" if moved.new is None else f"cluster {new[moved.new]}"
            lines.append(f"  {counted(moved.rows, 'row')} from {before} to {after}")
        rest = self.moved[ROWS_SHOWN:]
        if rest:
            lines.append(f"  {counted(sum(moved.rows for moved in rest), 'row')} between {len(rest):,} other pairs")
        return lines


def changes_between(
    old: RuleSet,
    new: RuleSet,
    table: Any = None,
    *,
    labels: tuple[NDArray[Any], NDArray[Any]] | None = None,
    same_numbers: bool = False,
) -> Changes:
    """Return the changes from one set of rules to another.

    Parameters
    ----------
    old, new : RuleSet
    table : Table, dataframe, mapping of columns or array-like of shape (n_rows, n_columns), optional
        Rows to label by both. With it, clusters are matched by the rows that they share, without it where they have the
        same rules, so that other numbers for the same clusters do not show as changes; the rest are matched by number,
        where both test some column.
    labels : (array, array) of int, shape (n_rows,), optional
        The labels that both give to the rows of a table, instead of the table.
    same_numbers : bool
        Whether a cluster is the one that had its number before, as where somebody edited the rules.

    Raises
    ------
    DataError
        If the table lacks a column that either tests, or holds values of a different type, or has no rows.
    """
    counts: Counter[tuple[int, int]] | None = None
    if table is not None:
        labels = old.assign(table), new.assign(table)
    if labels is not None:
        counts = count_pairs(*labels)
        if not counts:
            raise DataError("the table has no rows, so none can change its cluster")
    pairs: dict[int, int] = {}
    if not same_numbers:
        pairs = _match_rules(old, new) if counts is None else match_clusters(counts)
    if same_numbers or counts is not None or _may_be_related(old, new):
        left = set(_titles(new.clusters)) - set(pairs.values())
        pairs |= {index: index for index in _titles(old.clusters) if index not in pairs and index in left}
    rules, unchanged = _rule_changes(old, new, pairs)
    if counts is None:
        return Changes(old, new, pairs, rules, unchanged)
    moved = [
        ChangedRows(_known(one), _known(other), rows)
        for (one, other), rows in counts.items()
        if pairs.get(one, one if one == NO_CLUSTER else None) != other
    ]
    moved.sort(key=lambda each: (-each.rows, str(each.old), str(each.new)))
    return Changes(old, new, pairs, rules, unchanged, sum(counts.values()), tuple(moved))


def count_pairs(old: Any, new: Any) -> Counter[tuple[int, int]]:
    """Return the rows of each pair of labels, from the labels of the rows by two sets of rules."""
    pairs, rows = np.unique(np.column_stack([old, new]).astype(np.int64), axis=0, return_counts=True)
    return Counter({(int(one), int(other)): int(n) for (one, other), n in zip(pairs.tolist(), rows, strict=True)})


@dataclass(frozen=True)
class PairCounts:
    """Rows by pairs of clusters, which add up over parts."""

    values: Counter[tuple[int, int]]

    def merged(self, other: PairCounts) -> PairCounts:
        """Return the rows of both parts."""
        return PairCounts(self.values + other.values)


def match_clusters(counts: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """Return the new cluster for each old one, so that they share the most rows in all; none where they share no rows.

    `counts` are the rows by old and new label. No new cluster belongs to two old ones.
    """
    from scipy.optimize import linear_sum_assignment  # whose import takes longer than most commands that read rules

    old, new = (sorted({pair[side] for pair in counts if pair[side] != NO_CLUSTER}) for side in (0, 1))
    shared = np.array([[counts.get((one, other), 0) for other in new] for one in old]).reshape(len(old), len(new))
    rows, columns = linear_sum_assignment(-shared)
    return {old[i]: new[j] for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if shared[i, j]}


def _match_rules(old: RuleSet, new: RuleSet) -> dict[int, int]:
    """Return the new cluster for each old one that has the same rules."""
    by_rules = {frozenset(map(_exactly, new.rules_of(cluster.index))): cluster.index for cluster in new.clusters}
    found = {cluster.index: frozenset(map(_exactly, old.rules_of(cluster.index))) for cluster in old.clusters}
    return {index: by_rules.pop(rules) for index, rules in found.items() if rules in by_rules}


def _may_be_related(old: RuleSet, new: RuleSet) -> bool:
    """Return whether both test a column in common, or one of them tests none."""
    before, now = _tested(old), _tested(new)
    return bool(before & now) or not before or not now


def _given(cluster: Cluster) -> str | None:
    """Return the name that a person gave to a cluster."""
    return cluster.name if cluster.is_named else None


def _tested(rules: RuleSet) -> set[str]:
    return {rules.columns[i].name for i in rules.tested_columns}


def _known(label: int) -> int | None:
    return None if label == NO_CLUSTER else label


def _titles(clusters: Iterable[Cluster]) -> dict[int, str]:
    return {cluster.index: cluster.title for cluster in clusters}


def _label(clusters: Mapping[int, Cluster], index: int | None) -> int | None:
    return None if index is None else clusters[index].label


def _name(clusters: Mapping[int, Cluster], index: int | None) -> str | None:
    return None if index is None else clusters[index].name


def _the_rule(rule: Rule | None) -> str:
    return f"the rule {rule}" if rule is not None and rule.conditions else "the rule that matches every row"


def _rule_changes(old: RuleSet, new: RuleSet, pairs: Mapping[int, int]) -> tuple[tuple[RuleChange, ...], int]:
    """Return how the rules of matched clusters changed, and how many did not."""
    changes: list[RuleChange] = []
    unchanged = 0
    before = {new_index: index for index, new_index in pairs.items()}
    for cluster in new.clusters:
        ours = list(new.rules_of(cluster.index))
        theirs = list(old.rules_of(before[cluster.index])) if cluster.index in before else []
        for key in (_exactly, _shape):
            for rule in list(ours):
                other = next((each for each in theirs if key(each) == key(rule)), None)
                if other is None:
                    continue
                ours.remove(rule)
                theirs.remove(other)
                if key is _exactly:
                    unchanged += 1
                else:
                    changes.append(RuleChange(cluster.index, other, rule))
        changes += [RuleChange(cluster.index, None, rule) for rule in ours]
        changes += [RuleChange(before[cluster.index], rule, None) for rule in theirs]
    for cluster in old.clusters:
        if cluster.index not in pairs:
            changes += [RuleChange(cluster.index, rule, None) for rule in old.rules_of(cluster.index)]
    return tuple(changes), unchanged


def _exactly(rule: Rule) -> Hashable:
    """Return a key that is equal for rules that hold for the same rows."""
    return frozenset(map(_ConditionKey(), rule.conditions))


def _shape(rule: Rule) -> Hashable:
    """Return a key that is equal for rules that differ only in their values."""
    return frozenset(map(_ConditionSide(), rule.conditions))


class _ConditionKey(ConditionVisitor[Hashable]):
    """A condition on a column, by its name."""

    def between(self, condition: Between) -> Hashable:
        """Return the bounds."""
        return condition.column.name, condition.lower, condition.upper

    def one_of(self, condition: OneOf) -> Hashable:
        """Return the categories."""
        return condition.column.name, True, frozenset(condition.values)

    def none_of(self, condition: NoneOf) -> Hashable:
        """Return the categories."""
        return condition.column.name, False, frozenset(condition.values)


class _ConditionSide(ConditionVisitor[Hashable]):
    """The column that a condition tests, and the sides on which it does."""

    def between(self, condition: Between) -> Hashable:
        """Return a key that is equal for the same column and the same open sides."""
        return condition.column.name, condition.lower is None, condition.upper is None

    def one_of(self, condition: OneOf) -> Hashable:
        """Return a key that is equal for the same column and accepted categories."""
        return condition.column.name, True

    def none_of(self, condition: NoneOf) -> Hashable:
        """Return a key that is equal for the same column and excluded categories."""
        return condition.column.name, False
