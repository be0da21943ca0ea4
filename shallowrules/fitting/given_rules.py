"""Rules that were not grown from a table, measured on it as those of a fit are: edited ones, and old ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.given_labels import UNLABELLED
from shallowrules.encoding import categories
from shallowrules.errors import DataError, counted
from shallowrules.fitting.describing import describe_tree
from shallowrules.fitting.finishing import leafless_note, record_of
from shallowrules.fitting.whole import TableData
from shallowrules.measures.metrics import partition_cost
from shallowrules.rules import Cut, Leaf, Node, RuleColumn, RuleSet, Value, format_value, match_clusters
from shallowrules.rules.figures import normalized_cost
from shallowrules.rules.matching import match_rules
from shallowrules.rules.nodes import derive_rules
from shallowrules.rules.words.changes import count_pairs
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.trees.tree import LEAF, Tree, sum_up

__all__ = ["Measuring"]


class Measuring:
    """Measures rules on the rows of a table, against its clustering.

    Parameters
    ----------
    data : TableData
        The table, clustered with the settings that the rules were made with.
    rules : RuleSet
        Those whose clusters the clustering of the table is numbered like: the same numbers if it is the clustering
        that they follow, else by the rows that they share; given labels keep theirs.
    """

    def __init__(self, data: TableData, rules: RuleSet) -> None:
        self.data = data
        self.rules = rules
        table = data.encoding.table
        lacking = [rules.columns[i].name for i in rules.tested_columns if rules.columns[i].name not in table.names]
        if lacking:
            raise DataError(
                f"the rules test {', '.join(map(repr, lacking))}, which is not among the columns that are used: "
                f"{', '.join(map(repr, table.names))}"
            )
        counted = slice(None) if data.fit_weight is None else data.fit_weight > 0
        self._labels = rules.assign(table)[counted]
        self._followed = data.reference.labels[counted]
        self._weight = None if data.fit_weight is None else data.fit_weight[counted]
        self._pairs = count_pairs(self._followed, self._labels)
        statistics = rules.statistics
        self.is_same_clustering = statistics.rows == len(self._labels) and math.isclose(
            statistics.reference_cost, data.reference_cost, rel_tol=1e-9
        )
        self.numbers, self.merged = self._numbering()

    def _numbering(self) -> tuple[tuple[int, ...], Mapping[int, int]]:
        """Return the number of each reference cluster, and for merged ones that of the merged cluster.

        Rules may have been renumbered, or merged, since they were fitted; the numbering that reproduces their agreement
        is chosen.
        """
        by_overlap = self._by_overlap()
        for numbers in (self.data.reference.classes, by_overlap) if self.is_same_clustering else ():
            for merged in ({}, self._joined(numbers)):
                if self._agrees(numbers, merged):
                    return numbers, merged
        return by_overlap, {}

    def _by_overlap(self) -> tuple[int, ...]:
        """Return for each reference cluster the number of the cluster that shares its rows, or its label."""
        reference, rules = self.data.reference, self.rules
        if reference.labelled:
            by_name = {cluster.name: cluster.index for cluster in rules.clusters}
            known: Mapping[int, int] = {i: by_name[name] for i, name in enumerate(reference.names) if name in by_name}
        else:
            known = match_clusters({pair: rows for pair, rows in self._pairs.items() if pair[0] != UNLABELLED})
        others = count(1 + max(cluster.index for cluster in rules.clusters))
        return tuple(known[i] if i in known else next(others) for i in range(len(reference.names)))

    def _joined(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return, for clusters of the reference that the rules lack, the one that shares most of their rows."""
        joined: dict[int, int] = {}
        known = {cluster.index for cluster in self.rules.clusters}
        for i, number in enumerate(numbers):
            shared = {label: rows for (one, label), rows in self._pairs.items() if one == i and label != NO_CLUSTER}
            if number not in known and shared:
                joined[number] = max(shared, key=lambda label: (shared[label], -label))
        return joined

    def together(self) -> list[list[int]]:
        """Return the groups of several clusters of the clustering, by its own numbers, that are one in the rules."""
        joined = self._joined(self.numbers)
        groups: dict[int, list[int]] = {}
        for own, number in zip(self.data.reference.classes, self.numbers, strict=True):
            groups.setdefault(joined.get(number, number), []).append(own)
        return [group for group in groups.values() if len(group) > 1]

    def _agrees(self, numbers: Sequence[int], merged: Mapping[int, int]) -> bool:
        """Return whether rules and clustering agree, with these numbers, as much as the rules say."""
        same = (
            np.array([*(merged.get(number, number) for number in numbers), NO_CLUSTER])[self._followed] == self._labels
        )
        found = float(np.average(same, weights=self._weight))
        return math.isclose(found, self.rules.statistics.agreement, rel_tol=1e-9)

    def measure(
        self, nodes: Sequence[Node], *, merged: Mapping[int, int] | None = None, notes: Sequence[str] = ()
    ) -> RuleSet:
        """Return rules, measured.

        Parameters
        ----------
        nodes : sequence of Node
            Over the columns of `rules`. A cluster that the clustering does not have has no rows there.
        merged : mapping from int to int, optional
            The number of the merged cluster, for each cluster that is part of one.
        notes : sequence of str

        Raises
        ------
        DataError
            If a rule holds for no row, or asks for a category that no row has.
        """
        data, columns, merged = self.data, self.rules.columns, _chained(self.merged, merged or {})
        leaf = _leaf_of_rows(nodes, columns, data.encoding.table)
        used = leaf if data.fit_weight is None else leaf[data.fit_weight > 0]
        rows = np.bincount(used[used >= 0], minlength=len(nodes)).astype(np.int64)
        for rule in derive_rules(nodes, columns, 1.0):
            if not rows[rule.leaf]:
                raise DataError(f"the rule {rule} of cluster {rule.cluster} holds for no row of the table")
        if (used < 0).any():
            raise DataError(
                f"{counted(int((used < 0).sum()), 'row')} of the table match no rule, because values are missing"
            )
        classes = [*self.numbers]
        classes += sorted({node.cluster for node in nodes if isinstance(node, Leaf)} - set(classes))
        place = {number: i for i, number in enumerate(classes)}
        tree = self._tree(nodes, leaf, rows, classes, place)
        labels = np.where(leaf == LEAF, np.int32(LEAF), tree.cluster[leaf])
        positions = np.array([place[merged.get(number, number)] for number in classes] + [LEAF], dtype=np.int32)
        statistics = self.rules.statistics
        leafless = set(np.setdiff1d(data.kept_centers, tree.cluster[tree.leaves]).tolist())
        lost = [tree.names[i] for i in sorted(leafless) if classes[i] not in merged]
        notes = (*data.reference.notes, *notes, *leafless_note(lost, len(data.kept_centers)))
        rules, _ = describe_tree(
            tree,
            data.labelled(labels, positions[data.reference.labels], len(classes), leaf),
            record_of(data, statistics.method, statistics.tradeoff, notes),
            _over(nodes, columns, data.encoding.table, tree),
            data.parameters.n_threads,
        )
        return replace(rules, clusters=tuple(sorted(rules.clusters, key=lambda cluster: cluster.index)))

    def price(self) -> tuple[float, float]:
        """Return the cost of the rules on the table, as a multiple of its clustering's, and the conditions per row.

        Unlike for `measure`, a rule may hold for no row.
        """
        data, rules = self.data, self.rules
        weight = np.ones(data.encoding.table.n_rows) if data.fit_weight is None else data.fit_weight
        leaf = _leaf_of_rows(rules.nodes, rules.columns, data.encoding.table)
        size, place = np.zeros((2, len(rules.nodes)), dtype=np.int32)
        numbers = {cluster.index: i for i, cluster in enumerate(rules.clusters)}
        for rule in rules:
            size[rule.leaf], place[rule.leaf] = rule.size, numbers[rule.cluster]
        cost = partition_cost(
            data.encoding.X_cluster,
            place[leaf],
            data.fit_weight,
            data.parameters.n_threads,
            data.encoding.cluster_ranges,
        )
        return normalized_cost(cost, data.reference_cost, finite=True), float(np.average(size[leaf], weights=weight))

    def _tree(
        self,
        nodes: Sequence[Node],
        leaf: NDArray[np.int32],
        rows: NDArray[np.int64],
        classes: Sequence[int],
        place: Mapping[int, int],
    ) -> Tree:
        """Return the nodes as a tree without model columns and thresholds."""
        weight = self.data.fit_weight
        reached = leaf >= 0
        sums = np.bincount(leaf[reached], None if weight is None else weight[reached], len(nodes)).astype(np.float64)
        inner = np.array([not isinstance(node, Leaf) for node in nodes])
        left, right = (
            np.array([LEAF if isinstance(node, Leaf) else getattr(node, side) for node in nodes], dtype=np.int32)
            for side in ("left", "right")
        )
        sum_up(left, right, rows, sums)
        cluster = [place[node.cluster] if isinstance(node, Leaf) else LEAF for node in nodes]
        names = dict(zip(self.numbers, self.data.reference.names, strict=True))
        labelled = self.data.reference.labelled
        return Tree(
            np.where(inner, 0, LEAF).astype(np.int32),
            np.zeros(len(nodes)),
            left,
            right,
            np.array(cluster, dtype=np.int32),
            rows,
            sums,
            tuple(names[number] if labelled and number in names else str(number) for number in classes),
            tuple(classes),
        )


def _chained(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    """Return the groups of clusters that two merges make together."""
    return {**second, **{number: second.get(to, to) for number, to in first.items()}}


def _leaf_of_rows(nodes: Sequence[Node], columns: Sequence[RuleColumn], table: Table) -> NDArray[np.int32]:
    """Return the leaf that each row reaches, `LEAF` where a value that is tested is missing."""
    numbered = [replace(node, cluster=i) if isinstance(node, Leaf) else node for i, node in enumerate(nodes)]
    tested = sorted({node.column for node in nodes if not isinstance(node, Leaf)})
    found = match_rules(derive_rules(numbered, columns, 1.0), columns, tested, table)
    return found.astype(np.int32)


def _over(nodes: Sequence[Node], columns: Sequence[RuleColumn], table: Table, tree: Tree) -> tuple[Node, ...]:
    """Return nodes over the columns of a table, their rows those of a tree."""
    place = {name: i for i, name in enumerate(table.names)}
    found: list[Node] = []
    for index, node in enumerate(nodes):
        if isinstance(node, Leaf):
            found.append(replace(node, rows=int(tree.rows[index]), weight=float(tree.weight[index])))
            continue
        name = columns[node.column].name
        column = table[name]
        if isinstance(node, Cut):
            threshold = math.floor(node.threshold) if column.is_whole else node.threshold
            found.append(replace(node, column=place[name], threshold=threshold))
            continue
        _refuse_unknown(node.values, categories(column), name)
        found.append(replace(node, column=place[name]))
    return tuple(found)


def _refuse_unknown(values: Sequence[Value], known: Sequence[Value], name: str) -> None:
    lacking = [format_value(value) for value in values if value not in known]
    if lacking:
        raise DataError(f"the rules test for {', '.join(lacking)} of column {name!r}, which no row of the table has")
