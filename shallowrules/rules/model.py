"""The rules of a tree: the view of a clustering for exporters, `assign` and people.

A `RuleSet` keeps the tree's nodes as plain data and derives the rules from them. How they are matched to a table,
renamed, written as JSON, checked and measured is in `matching`, `relabelling`, `documents`, `validation` and
`shallowrules.fitting.describing`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, counted
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import printable
from shallowrules.rules.documents import document
from shallowrules.rules.documents.document import Setting
from shallowrules.rules.documents.pickled import reading, stamped
from shallowrules.rules.earlier import Clustering, Flow
from shallowrules.rules.figures import Cluster, Statistics, show_figure
from shallowrules.rules.frames import clusters_frame, conditions_frame
from shallowrules.rules.matching import find_rules, labels_of, match_rules, read_rows
from shallowrules.rules.measured import check_histograms, check_standings
from shallowrules.rules.nodes import Leaf, Node, Rule, derive_rules
from shallowrules.rules.relabelling import named_clusters, new_numbers, renumbered_clusters
from shallowrules.rules.shown import Shown, load_displays
from shallowrules.rules.validation import check_figures, check_structure
from shallowrules.rules.words.contrasts import Contrast, contrasts_of
from shallowrules.rules.words.explaining import Explanation, explain_row
from shallowrules.tables.rows import Scalar, single_row

__all__ = ["RuleSet"]


@dataclass(frozen=True, eq=False)
class RuleSet(Shown):
    """Disjoint rules that give every complete row its cluster.

    Iterating gives the rules, largest cluster first; ``print`` shows them one per line, and a
    notebook the tree and a table.

    Parameters
    ----------
    columns : tuple of RuleColumn
        All columns of the training table, tested or not, in their order.
    nodes : tuple of Cut, Membership or Leaf
        The tree in raw units: node 0 is the root, children come after their parent.
    clusters : tuple of Cluster
        The clusters that have a leaf, ascending by index.
    statistics : Statistics
        Figures on the training rows.
    settings : mapping from str to value
        The options that the command line made them with; empty where these are unknown.
    clustering : Clustering or None
        The clustering that they explain, from which a later fit can continue; None if unknown.
    flow : Flow or None
        The clusters of the table's rows by the rules from which the fit continued; None if there were none.

    Raises
    ------
    RulesFormatError
        If the parts do not form a tree over the columns and clusters, or a figure contradicts another.
    """

    columns: tuple[RuleColumn, ...]
    nodes: tuple[Node, ...]
    clusters: tuple[Cluster, ...]
    statistics: Statistics
    settings: Mapping[str, Setting] = field(default_factory=dict)
    clustering: Clustering | None = None
    flow: Flow | None = None

    def __post_init__(self) -> None:
        check_structure(self.columns, self.nodes, self.clusters, self.statistics)
        check_figures(self.columns, self.rules, self.clusters, self.statistics)
        check_histograms(self.columns, self.clusters)
        check_standings(self.columns, self.clusters)
        if self.clustering is not None:
            self.clustering.check(len(self.columns))
        if self.flow is not None:
            self.flow.check({cluster.index for cluster in self.clusters})

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """One rule per leaf: largest cluster first, and its largest leaf first."""
        of_cluster = {cluster.index: cluster for cluster in self.clusters}
        found = derive_rules(self.nodes, self.columns, self.statistics.weight)
        found.sort(key=lambda rule: (-of_cluster[rule.cluster].weight, rule.cluster, -rule.weight, rule.leaf))
        n_rules = Counter(rule.cluster for rule in found)
        found = [replace(rule, noise=True) if of_cluster[rule.cluster].noise else rule for rule in found]
        return tuple(
            replace(rule, precision=of_cluster[rule.cluster].precision)
            if rule.precision is None and n_rules[rule.cluster] == 1
            else rule
            for rule in found
        )

    @cached_property
    def tested_columns(self) -> tuple[int, ...]:
        """Indices of the columns that some rule tests, ascending."""
        return tuple(sorted({node.column for node in self.nodes if not isinstance(node, Leaf)}))

    @cached_property
    def separation(self) -> tuple[tuple[RuleColumn, float], ...]:
        """The columns that separate the clusters, each with its share, the largest first; empty if not known."""
        shares = [(column, column.separation) for column in self.columns if column.separation is not None]
        return tuple(sorted(shares, key=lambda pair: -pair[1]))

    @cached_property
    def contrasts(self) -> Mapping[int, tuple[Contrast, ...]]:
        """What sets each cluster apart from all other rows, by its index: every column, the clearest first."""
        return contrasts_of(self.columns, self.clusters, self.tested_columns)

    def rules_of(self, cluster: int) -> tuple[Rule, ...]:
        """Return the rules of one cluster, largest leaf first."""
        return tuple(rule for rule in self.rules if rule.cluster == cluster)

    @cached_property
    def by_size(self) -> tuple[Cluster, ...]:
        """The clusters, largest first."""
        return tuple(sorted(self.clusters, key=lambda cluster: (-cluster.weight, cluster.index)))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        return self.rules[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return stamped({"document": json.dumps(self.to_dict())})

    def __setstate__(self, state: dict[str, Any]) -> None:
        with reading(state) as parts:
            if "document" not in parts:  # written before 0.2, from memory
                given = {name: parts[name] for name in self.__dataclass_fields__ if name in parts}
                parts["document"] = json.dumps(RuleSet(**given).to_dict())
            vars(self).update(vars(RuleSet.from_dict(json.loads(parts["document"]))))

    def __repr__(self) -> str:
        parts = (
            counted(len(self), "rule"),
            counted(len(self.clusters), "cluster"),
            counted(len(self.columns), "column"),
        )
        return f"RuleSet({', '.join(parts)})"

    def __str__(self) -> str:
        titles = {cluster.index: cluster.title for cluster in self.clusters}
        lines = [
            f"cluster {printable(titles[rule.cluster])}: {printable(str(rule))}  "
            f"({counted(rule.rows, 'row')}, {rule.share:.1%})"
            for rule in self.rules
        ]
        s = self.statistics
        lines.append(
            f"cost {show_figure(s.normalized_cost, '.3f')} times that of the clustering without rules; "
            f"conditions per row {s.waes:.2f}, questions per row {s.wad:.2f}"
        )
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree, with the rows of every leaf; needs the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure, as large as the tree needs. Texts are as large as the axes allow.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        return load_displays("pictures").plot_tree(self, ax)

    def plot_heat(self, ax: Any = None) -> Any:
        """Draw the means of every cluster in the columns that separate them most, as the page has them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure, as large as the map needs.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        DataError
            If there is a single cluster, so that there is no other to compare it with.
        MissingExtraError
            If matplotlib is not installed: it needs the extra ``plot``.
        """
        return load_displays("pictures").plot_heat(self, ax)

    @overload
    def assign(self, table: Mapping[Any, Scalar]) -> int: ...
    @overload
    def assign(self, table: Any) -> NDArray[Any]: ...
    def assign(self, table: Any) -> Any:
        """Return the cluster of each row by matching the rules, -1 where no rule matches.

        Several threads may call it on the same rules at the same time.

        Parameters
        ----------
        table : Table, dataframe, mapping of columns, or array-like of shape (n_rows, n_columns)
            The raw columns; found by name where there are names, else by position. Columns
            that no rule tests need not be there in a named table.

            Or one row: a mapping from column name to a single value, None where it is missing.

        Returns
        -------
        ndarray of int32, shape (n_rows,)
            int64 where a label needs it. For one row given by name, an int: its cluster.

        Raises
        ------
        DataError
            If a tested column is missing, or holds values of a different type than the rules compare; if a mapping has
            columns and single values.
        """
        row = single_row(table)
        labels = match_rules(self.rules, self.columns, self.tested_columns, table if row is None else row)
        return labels if row is None else int(labels[0])

    @overload
    def assign_with_precision(self, table: Mapping[Any, Scalar]) -> tuple[int, float]: ...
    @overload
    def assign_with_precision(self, table: Any) -> tuple[NDArray[Any], NDArray[np.float64]]: ...
    def assign_with_precision(self, table: Any) -> Any:
        """Return the cluster of each row, as `assign` does, and the precision of the rule that it matches.

        Parameters
        ----------
        table : Table, dataframe, mapping of columns, or array-like of shape (n_rows, n_columns)
            Or one row, as for `assign`.

        Returns
        -------
        labels : ndarray of int32, shape (n_rows,)
            Those of `assign`.
        precision : ndarray of float64, shape (n_rows,)
            `Rule.precision`, from 0 to 1; NaN where no rule matches. For one row both are single numbers.

        Raises
        ------
        DataError
            As `assign` does; also if the precision of a rule is not known.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shallowrules import ExplainableKMeans
        >>> flowers = load_iris(as_frame=True).data
        >>> rules = ExplainableKMeans(3, random_state=0).fit(flowers).rules_
        >>> labels, precision = rules.assign_with_precision(flowers)
        >>> precision[labels == 2].round(3)[:2]
        array([1., 1.])
        """
        found = self.rule_precisions()
        row = single_row(table)
        places = find_rules(self.rules, self.columns, self.tested_columns, table if row is None else row)
        labels = labels_of(self.rules, places)
        precision = np.array([*(found[rule.leaf] for rule in self.rules), np.nan])[places]
        return (labels, precision) if row is None else (int(labels[0]), float(precision[0]))

    def rule_precisions(self) -> dict[int, float]:
        """Return the precision of each rule by its leaf.

        Raises
        ------
        DataError
            If that of a rule is not known.
        """
        unknown = next((rule for rule in self.rules if rule.precision is None), None)
        if unknown is not None:
            raise DataError(
                f"the precision of each rule is not known: cluster {unknown.label} has "
                f"{counted(len(self.rules_of(unknown.cluster)), 'rule')}, and only the precision of the whole cluster "
                "was measured, by an earlier version; fit the rules again"
            )
        return {rule.leaf: rule.precision for rule in self.rules if rule.precision is not None}

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return the conditions of all rules as a frame, a row for each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, or one of these modules, default="pandas"

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            In the order of the rules, and of the conditions within each:

            - ``cluster`` (Int64): its `Cluster.label`, the number that exports give, -1 for noise.
            - ``name`` (String), ``rule`` (Int64): ``rules[rule]`` is the rule.
            - ``column`` (String): the column that is tested; null for a rule that every row meets.
            - ``kind`` (String): "between", "one of", "none of" or "every row".
            - ``lower``, ``upper`` (Float64): a number is above the one and at most the other; null leaves a side open.
            - ``lower_date`` and ``upper_date`` (Date), ``…_timestamp`` (Datetime), ``…_timestamptz`` (Datetime in UTC),
              ``…_duration`` (Duration), where rules test a column of that type, and ``…_integer`` (Int64) where a
              double would round a bound: in place of ``lower`` and ``upper``, and used in the same way.
            - ``values`` (List of String): the categories, truth values as "true" and "false".
            - ``condition`` (String): the condition as text.
            - ``rows`` (Int64), ``share`` (Float64): the rule's training rows, and their share of the weight.
            - ``precision``, ``recall`` (Float64): those of the cluster.

        Raises
        ------
        OptionError
            If it is none of these backends.
        MissingExtraError
            If it is not installed.
        """
        return conditions_frame(self.rules, self.clusters, backend)

    def clusters_frame(self, backend: Any = "pandas") -> Any:
        """Return the clusters as a frame, a row for each, largest first.

        Its columns are ``cluster`` (Int64, as in `to_frame`), ``name`` and ``note`` (String), ``rows`` (Int64),
        ``weight``, ``share``, ``precision``, ``recall`` and ``total`` (Float64, as in `Cluster`), ``n_rules`` (Int64)
        and ``rules`` (String): their conditions as text. The parameter, the frame and the errors are those of
        `to_frame`.
        """
        return clusters_frame(self.rules, self.by_size, backend)

    def summary(self) -> dict[str, float]:
        """Return the figures of the rules by name, all of them numbers, as logs of experiments take them.

        ``print(rules)`` shows the rules themselves.

        Returns
        -------
        dict from str to int or float
            ``n_rows``, ``n_clusters``, ``n_rules``, ``n_columns`` (tested ones), ``cost`` (the normalized cost),
            ``agreement``, ``conditions`` (WAES), ``questions`` (WAD), and ``smallest`` and ``largest``: the share of
            these clusters in the weight.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shallowrules import ExplainableKMeans
        >>> rules = ExplainableKMeans(3, random_state=0).fit(load_iris(as_frame=True).data).rules_
        >>> rules.summary()["n_rules"], round(rules.summary()["cost"], 3)
        (3, 1.037)
        """
        figures = self.statistics
        shares = [cluster.share for cluster in self.by_size]
        return {
            "n_rows": figures.rows,
            "n_clusters": len(self.clusters),
            "n_rules": len(self),
            "n_columns": len(self.tested_columns),
            "cost": figures.normalized_cost,
            "agreement": figures.agreement,
            "conditions": figures.waes,
            "questions": figures.wad,
            "smallest": shares[-1],
            "largest": shares[0],
        }

    def explain(self, table: Any) -> list[Explanation]:
        """Return why each row has its cluster, and the smallest change of one value that would move it.

        Parameters
        ----------
        table : Table, dataframe, mapping of columns, or array-like of shape (n_rows, n_columns)
            As for `assign`.

        Returns
        -------
        list of Explanation
            ``print`` shows one as text. A change is measured in ranges of the training values of its column; one to
            another category counts as a whole range.

        Raises
        ------
        DataError
            If a tested column is missing, or holds values of a different type than the rules compare.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shallowrules import ExplainableKMeans
        >>> flowers = load_iris(as_frame=True).data
        >>> rules = ExplainableKMeans(3, random_state=0).fit(flowers).rules_.with_names({1: "small"})
        >>> print(rules.explain(flowers[60:61])[0])
        cluster 0 (medium petal length (cm))
          petal length (cm) is 3.5: 2 < petal length (cm) <= 5.1
        the smallest change of one value that would move it: petal length (cm) from 3.5 to 2 makes it cluster 1 (small)
        what sets the cluster apart:
          sepal width (cm): lower than outside in 86% of pairs
          petal width (cm): higher than outside in 63% of pairs
          sepal length (cm): higher than outside in 60% of pairs
          petal length (cm): higher than outside in 60% of pairs
        """
        return [
            explain_row(self.nodes, self.columns, self.rules, self.clusters, self.contrasts, row)
            for row in read_rows(self.columns, self.tested_columns, table)
        ]

    def explain_row(self, row: Mapping[Any, Scalar]) -> Explanation:
        """Return why one row has its cluster, as `explain` does.

        Parameters
        ----------
        row : mapping from column name to a single value
            None where it is missing. Columns that no rule tests need not be there.

        Raises
        ------
        DataError
            As `explain` does; also if it is not such a mapping.
        """
        table = single_row(row)
        if table is None:
            raise DataError(
                f"a row must be a mapping from column name to a single value, not a {type(row).__name__}: use explain "
                "for a table, and `.to_dict()` of a row of pandas"
            )
        return self.explain(table)[0]

    def trained_totals(self, measure: str) -> dict[int | None, float]:
        """Return the share of each cluster in the total of a column in training.

        It is empty where the share is not known, or where rows had weights, so that it is not a share of rows.
        """
        statistics = self.statistics
        shares = {cluster.index: statistics.share_of_total(cluster) for cluster in self.clusters}
        known: dict[int | None, float] = {index: share for index, share in shares.items() if share is not None}
        is_of_rows = statistics.measure == measure and not statistics.weighted
        return known if is_of_rows and len(known) == len(shares) else {}

    def without_histograms(self) -> RuleSet:
        """Return the same rules without the data for pictures: histograms, and the confusion of the clusterings."""
        return replace(
            self,
            columns=tuple(replace(column, edges=()) for column in self.columns),
            clusters=tuple(
                replace(cluster, histograms=(), reference_clusters=(), reference_weights=())
                for cluster in self.clusters
            ),
        )

    def with_names(self, names: Mapping[int, str], notes: Mapping[int, str] | None = None) -> RuleSet:
        """Return the same rules with names, and notes, that a person gives to clusters.

        Parameters
        ----------
        names, notes : mapping from int to str
            By the numbers of clusters, noise by its `index` or by -1. Other clusters keep theirs; an empty note removes
            a note.

        Raises
        ------
        DataError
            If a number is that of no cluster, a name is blank, or two clusters would have one name.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shallowrules import ExplainableKMeans
        >>> model = ExplainableKMeans(3, random_state=0).fit(load_iris(as_frame=True).data)
        >>> named = model.rules_.with_names({0: "Broad leaves"}, {0: "Seen in dry years."})
        >>> named.clusters[0].title
        '0 (Broad leaves)'
        """
        return replace(self, clusters=named_clusters(self.clusters, names, notes or {}))

    def with_numbers(self, numbers: Mapping[int, int]) -> RuleSet:
        """Return the same rules with other numbers for their clusters.

        Parameters
        ----------
        numbers : mapping from int to int
            The new number of each, by the old one; also of clusters without a rule, which other figures may name. Other
            clusters keep theirs.

        Raises
        ------
        DataError
            If two clusters would have one number, or one would have the number that is the name of another.
        """
        found = new_numbers(self.clusters, numbers)
        nodes = tuple(
            replace(node, cluster=found[node.cluster]) if isinstance(node, Leaf) else node for node in self.nodes
        )
        flow = None if self.flow is None else self.flow.renumbered(found)
        return replace(self, nodes=nodes, clusters=renumbered_clusters(self.clusters, found), flow=flow)

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON-ready data, format ``shallowrules/2``."""
        return document.dump(
            self.columns, self.nodes, self.clusters, self.statistics, self.settings, self.clustering, self.flow
        )

    @classmethod
    def from_dict(cls, data: Any) -> RuleSet:
        """Rebuild the rules from `to_dict`'s data, validating everything."""
        return cls(*document.load(data))

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the rules as JSON text, and write it to `path` if one is given."""
        return document.write(self.to_dict(), path)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of `to_json()`, in hexadecimal digits: outputs name their rules by it."""
        return hashlib.sha256(self.to_json().encode("utf-8", "surrogatepass")).hexdigest()

    @classmethod
    def from_json(cls, path: document.Source) -> RuleSet:
        """Read rules from JSON.

        Parameters
        ----------
        path : str, bytes, Path or open file
            The path of a file, the text of `to_json`, its bytes, or a file open for reading.

        Raises
        ------
        RulesFormatError
            If it is not a complete, valid document of format ``shallowrules/2``.
        OSError
            If it cannot be read.
        """
        return document.read_file(path, cls.from_dict)
