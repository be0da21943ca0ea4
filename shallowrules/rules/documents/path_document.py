"""Rule sets along the trade-off of one clustering, and the JSON document that holds them.

The trees of a path are over the same rows, columns and clustering, so the document has these once. A tree has only
its own data: nodes, clusters, the figures that depend on it, and which of the columns it has histograms of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallowrules.errors import RulesFormatError
from shallowrules.rules.documents import document
from shallowrules.rules.model import RuleSet

__all__ = ["PATH_FORMAT", "PathTree", "RulePath"]

PATH_FORMAT = "shallowrules-path/1"

SHARED = (
    *("rows", "weight", "weighted", "method", "reference_cost", "labelled", "left_out", "other_columns"),
    *("measure", "total"),
)
"""The statistics that do not depend on the tree."""

TREE_ENTRIES = ("refine", "binned", "nodes", "clusters", "statistics")


@dataclass(frozen=True, eq=False)
class PathTree:
    """A tree of a path: its rules, and the `refine` that grows it at their `tradeoff`."""

    refine: str
    rules: RuleSet


@dataclass(frozen=True, eq=False)
class RulePath:
    """The rules of the trees between the cheapest and the shortest, cheapest first.

    Raises
    ------
    RulesFormatError
        If there are none, or they are not of one clustering of one table.
    """

    trees: tuple[PathTree, ...]

    def __post_init__(self) -> None:
        if not self.trees:
            raise RulesFormatError("a path needs at least one tree")
        for tree in self.trees:
            if not self.is_of_one_table_with(tree.rules):
                raise RulesFormatError(
                    "the trees of a path are over the same columns, rows and clustering; these are not"
                )

    @classmethod
    def of(cls, trees: Sequence[tuple[str, RuleSet]]) -> RulePath:
        """Return the path of rule sets, each after its `refine`.

        Sums over clusters round differently from tree to tree; figures that all share are those of the first. The
        clustering that a later fit would continue from is left out.
        """
        first = trees[0][1]
        shared = {name: getattr(first.statistics, name) for name in SHARED}
        return cls(
            tuple(
                PathTree(
                    refine,
                    replace(
                        rules,
                        columns=tuple(
                            replace(column, edges=own.edges)
                            for column, own in zip(first.columns, rules.columns, strict=True)
                        ),
                        statistics=replace(rules.statistics, **shared),
                        clustering=None,
                        flow=None,
                    ),
                )
                for refine, rules in trees
            )
        )

    def __iter__(self) -> Iterator[PathTree]:
        return iter(self.trees)

    def __len__(self) -> int:
        return len(self.trees)

    def is_of_one_table_with(self, rules: RuleSet) -> bool:
        """Whether rules are for the columns, rows and clustering of the path, judging by their figures."""
        first = self.trees[0].rules
        return (
            [(c.name, c.type, c.minimum, c.maximum, c.values) for c in rules.columns]
            == [(c.name, c.type, c.minimum, c.maximum, c.values) for c in first.columns]
            and rules.statistics.rows == first.statistics.rows
            and abs(rules.statistics.reference_cost - first.statistics.reference_cost)
            <= 1e-9 * first.statistics.reference_cost
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the path as JSON-ready data, format ``shallowrules-path/1``."""
        sets = [tree.rules.to_dict() for tree in self.trees]
        columns = sets[0]["columns"]
        for other in sets:
            for column, found in zip(columns, other["columns"], strict=True):
                if "edges" in found:
                    column["edges"] = found["edges"]
        return {
            "format": PATH_FORMAT,
            "columns": columns,
            "statistics": {name: sets[0]["statistics"][name] for name in SHARED if name in sets[0]["statistics"]},
            "trees": [
                {
                    "refine": tree.refine,
                    "binned": [i for i, column in enumerate(tree.rules.columns) if column.edges],
                    "nodes": found["nodes"],
                    "clusters": found["clusters"],
                    "statistics": {name: value for name, value in found["statistics"].items() if name not in SHARED},
                }
                for tree, found in zip(self.trees, sets, strict=True)
            ],
        }

    @classmethod
    def from_dict(cls, data: Any) -> RulePath:
        """Rebuild a path from `to_dict`'s data, validating everything.

        Raises
        ------
        RulesFormatError
            If it is not a complete, valid document.
        """
        if not isinstance(data, dict) or data.get("format") != PATH_FORMAT:
            found = data.get("format") if isinstance(data, dict) else None
            raise RulesFormatError(
                f'its "format" is {found!r}, not {PATH_FORMAT!r}: `shallowrules path TABLE -k K -o FILE` writes a path'
            )
        columns, shared, trees = (data.get(name) for name in ("columns", "statistics", "trees"))
        if not isinstance(columns, list) or not isinstance(shared, dict) or not isinstance(trees, list):
            raise RulesFormatError("a path has the lists 'columns' and 'trees' and the object 'statistics'")
        return cls(tuple(_read_tree(tree, i, columns, shared) for i, tree in enumerate(trees)))

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the path as JSON text, and write it to `path` if one is given."""
        return document.write(self.to_dict(), path)

    @classmethod
    def from_json(cls, path: document.Source) -> RulePath:
        """Read a path from JSON.

        Parameters
        ----------
        path : str, bytes, Path or open file
            The path of a file, the text of `to_json`, its bytes, or a file open for reading.

        Raises
        ------
        RulesFormatError
            If it is not a complete, valid document of format ``shallowrules-path/1``.
        OSError
            If it cannot be read.
        """
        return document.read_file(path, cls.from_dict)


def _read_tree(tree: Any, number: int, columns: list[Any], shared: dict[str, Any]) -> PathTree:
    """Return a tree of a document, which stores the shared data of all trees only once."""
    where = f"trees[{number}]"
    if not isinstance(tree, dict):
        raise RulesFormatError(f"{where} must be an object")
    lacking = [name for name in TREE_ENTRIES if name not in tree]
    if lacking:
        raise RulesFormatError(f"{where} lacks {', '.join(lacking)}")
    refine, binned, own = tree["refine"], tree["binned"], tree["statistics"]
    if not isinstance(refine, str) or not isinstance(own, dict):
        raise RulesFormatError(f"{where} has a refine that is not text, or statistics that are not an object")
    if not isinstance(binned, list) or not all(type(i) is int and 0 <= i < len(columns) for i in binned):
        raise RulesFormatError(f"{where}.binned must be positions of columns")
    kept = [
        {name: value for name, value in column.items() if name != "edges" or i in binned}
        if isinstance(column, dict)
        else column
        for i, column in enumerate(columns)
    ]
    whole = {
        "format": document.FORMAT,
        "columns": kept,
        "nodes": tree["nodes"],
        "clusters": tree["clusters"],
        "statistics": {**own, **shared},
    }
    try:
        return PathTree(refine, RuleSet.from_dict(whole))
    except RulesFormatError as error:
        raise RulesFormatError(f"{where}: {error}") from error.__cause__
