"""Cuts that a tree has to start with: a table divided by them before anything grows, and trees joined again."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.reference import Reference
from shallowrules.encoding import Encoder, Encoding, ModelColumn, categories
from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.rules import Between, Condition, RuleColumn
from shallowrules.rules.words.written import read_condition
from shallowrules.tables.column import Column
from shallowrules.tables.times import TIME_TYPES, average_text
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.tree import LEAF, compare

__all__ = ["KeptCut", "Region", "Split", "cut_gap", "divide", "join", "kept_cuts", "readable_column", "regions_of"]


@dataclass(frozen=True)
class KeptCut:
    """A cut that a tree has to start with.

    Attributes
    ----------
    text : str
        As it was given.
    feature : int
        Position among the columns that rules may test.
    column : int
        Position among the model columns.
    cut : float
        Rows with at most this value go left.
    lower, upper : float
        A gap in which no other threshold of the column lies.
    direction : {1, -1}
        That of the model column.
    """

    text: str
    feature: int
    column: int
    cut: float
    lower: float
    upper: float
    direction: int


@dataclass(frozen=True, eq=False)
class Region:
    """Rows and centers that a tree is grown for.

    Attributes
    ----------
    rows : ndarray of intp, or None
        None for all rows.
    centers : ndarray of intp
        Positions among those of the reference.
    path_sides : ndarray of uint8, shape (n_explained,), or None
        As in `GrowthInput`.
    """

    rows: NDArray[np.intp] | None
    centers: NDArray[np.intp]
    path_sides: NDArray[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """A kept cut, and the centers on both sides of it."""

    kept: KeptCut
    left: Split | Region
    right: Split | Region


def kept_cuts(texts: Sequence[str], encoding: Encoding) -> list[KeptCut]:
    """Return the cuts that some texts ask for.

    Raises
    ------
    OptionError
        If one cannot be read, or tests a column that rules may not test.
    """
    columns = [readable_column(column) for column in encoding.table.columns] if texts else []
    return [_kept_cut(text, columns, encoding.encoder) for text in texts]


def readable_column(column: Column) -> RuleColumn:
    """Return the facts needed to read a condition on a column: its categories, or its range if it may be 0 and 1."""
    if not column.is_numeric:
        return RuleColumn(column.name, column.type, None, None, None, categories(column))  # type: ignore[arg-type]
    values = column.values[~column.absent] if column.type == "integer" else column.values[:0]
    lowest, highest = (int(values.min()), int(values.max())) if len(values) else (None, None)
    return RuleColumn(column.name, column.type, None, lowest, highest, ())  # type: ignore[arg-type]


def _kept_cut(text: str, columns: Sequence[RuleColumn], encoder: Encoder) -> KeptCut:
    option, given = OptionName("keep"), f" {text!r}"
    try:
        condition = read_condition(text, columns)
    except DataError as error:
        raise OptionError(option, f": {error}") from error
    explained = encoder.explain_positions or range(len(encoder.columns))
    for feature, position in enumerate(explained):
        model = encoder.columns[position]
        if model.source == condition.feature:
            try:
                gap = cut_gap(condition, model)
            except DataError as error:
                raise OptionError(option, f"{given}: {error}") from error
            if gap is not None:
                cut, lower, upper = gap
                return KeptCut(text, feature, position, cut, lower, upper, model.direction)
    if isinstance(condition, Between):
        raise OptionError(
            option, f"{given}: a cut has one bound, on a column that rules may test, such as income <= 40"
        )
    raise OptionError(
        option,
        f"{given}: a tree cannot test this in one step; test one category that the column has, such as city = 'Ulm'",
    )


def cut_gap(condition: Condition, model: ModelColumn) -> tuple[float, float, float] | None:
    """Return the cut that a condition makes in a model column, and a gap with no other threshold; None if none.

    DataError for a cut of codes that is not at a value of the table.
    """
    if isinstance(condition, Between):
        bounds = [bound for bound in (condition.lower, condition.upper) if bound is not None]
        if len(bounds) == 1 and model.bounds is not None:
            code = _code_of(math.floor(bounds[0]), model.bounds)
            return code, code, code + 1
        if len(bounds) != 1 or model.kind != "number":
            return None
        low = float(bounds[0])
        high = low + 1 if condition.column.is_whole else math.nextafter(low, math.inf)
        lower, upper = (low, high) if model.direction > 0 else (-high, -low)
        return lower, lower, upper
    if model.kind == "indicator":
        return (0.5, 0.0, 1.0) if set(condition.values) == set(model.values) else None
    if model.kind == "rank":
        n = len(condition.values)
        return (n - 0.5, n - 1.0, float(n)) if set(condition.values) == set(model.values[:n]) else None
    return None


def _code_of(threshold: int, values: NDArray[np.integer]) -> float:
    """Return the code of a threshold that is one of the values of a table."""
    known = values.tolist()
    place = bisect_right(known, threshold) - 1
    if place < 0 or known[place] != threshold:
        raise DataError(
            "a column with numbers of 2**53 and more can be cut only at its own values; the nearest one is "
            f"{known[place] if place >= 0 else known[0]}"
        )
    return float(place)


def divide(
    encoding: Encoding,
    reference: Reference,
    weight: NDArray[np.float64] | None,
    centers: NDArray[np.integer],
    cuts: Sequence[KeptCut],
) -> Split | Region:
    """Return the regions that kept cuts leave, in their order; a cut is made wherever it has centers on both sides.

    Parameters
    ----------
    encoding : Encoding
    reference : Reference
    weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 do not count.
    centers : ndarray of int
        Positions of those to explain.
    cuts : sequence of KeptCut

    Raises
    ------
    OptionError
        If a cut has clusters, or rows, on one side only.
    """
    if not cuts:
        return Region(None, np.asarray(centers, dtype=np.intp))
    n_rows, n_features = encoding.X_explain.shape
    whole = Region(np.arange(n_rows), np.asarray(centers, dtype=np.intp), np.zeros(n_features, np.uint8))
    tree: Split | Region = whole
    for cut in cuts:
        tree, used = _divided(tree, cut, encoding, reference, weight)
        if not used:
            values = reference.explain_centers[centers, cut.feature] * cut.direction
            raise OptionError(
                OptionName("keep"),
                f" {cut.text!r}: all clusters are on one side of it, so no tree can start with it; "
                f"{_means_of_clusters(encoding, cut.feature, sorted(values.tolist()))}",
            )
    return tree


def _means_of_clusters(encoding: Encoding, feature: int, values: Sequence[float]) -> str:
    """Return the range of the clusters' means in a column, in words, from the ascending ones of a model column."""
    encoder = encoding.encoder
    model = encoder.columns[encoder.explain_positions[feature] if encoder.explain_positions else feature]
    kind = encoding.table.columns[model.source].type
    if model.kind == "indicator":
        return f"of the rows of each it holds for {values[0]:.1%} to {values[-1]:.1%}"
    if model.bounds is not None:
        values = [float(model.bounds[round(value)]) for value in values]
    if model.kind != "rank" and kind in TIME_TYPES:
        low, high = (average_text(kind, value) for value in (values[0], values[-1]))
    else:
        low, high = f"{values[0]:.4g}", f"{values[-1]:.4g}"
    return f"their means of the column are from {low} to {high}"


def _divided(
    tree: Split | Region, cut: KeptCut, encoding: Encoding, reference: Reference, weight: NDArray[np.float64] | None
) -> tuple[Split | Region, bool]:
    """Return a tree whose regions are divided by a cut, and whether any was."""
    if isinstance(tree, Split):
        (left, first), (right, second) = (
            _divided(side, cut, encoding, reference, weight) for side in (tree.left, tree.right)
        )
        return Split(tree.kept, left, right), first or second
    assert tree.rows is not None
    assert tree.path_sides is not None
    goes_left = reference.explain_centers[tree.centers, cut.feature] <= cut.cut
    rows_left = compare(encoding.X_explain[tree.rows, cut.feature], cut.cut)[0]
    counted = np.ones(len(tree.rows), bool) if weight is None else weight[tree.rows] > 0
    if goes_left.all() or not goes_left.any() or not (counted & rows_left).any() or not (counted & ~rows_left).any():
        return tree, False
    sides = []
    for side, rows, bit in ((goes_left, rows_left, 1), (~goes_left, ~rows_left, 2)):
        path_sides = tree.path_sides.copy()
        path_sides[cut.feature] |= bit
        sides.append(Region(tree.rows[rows], tree.centers[side], path_sides))
    return Split(cut, *sides), True


def regions_of(tree: Split | Region) -> list[Region]:
    """Return the regions, from left to right."""
    return [tree] if isinstance(tree, Region) else [*regions_of(tree.left), *regions_of(tree.right)]


def join(tree: Split | Region, grown: Sequence[GrownTree], n_rows: int) -> GrownTree:
    """Return one tree from those of the regions, from left to right.

    Parameters
    ----------
    tree : Split or Region
    grown : sequence of GrownTree
        Their features are model columns, and their centers those of the whole table.
    n_rows : int
        Of the whole table.
    """
    left = list(grown)
    joined = _joined(tree, left)
    labels = np.full(n_rows, LEAF, dtype=np.int32)
    for region, one in zip(regions_of(tree), grown, strict=True):
        labels[slice(None) if region.rows is None else region.rows] = one.labels
    notes = tuple(dict.fromkeys(note for one in grown for note in one.notes))
    return replace(joined, labels=labels, notes=notes, objectives=None)


def _joined(tree: Split | Region, grown: list[GrownTree]) -> GrownTree:
    """Return one tree from the first ones of a list, which are removed from it; its labels mean nothing."""
    if isinstance(tree, Region):
        one = grown.pop(0)
        return replace(one, kept=np.zeros(len(one.feature), bool))
    left, right = _joined(tree.left, grown), _joined(tree.right, grown)
    behind = 1 + len(left.feature)

    def below(name: str) -> NDArray[Any]:
        first, second = getattr(left, name), getattr(right, name)
        return np.concatenate(
            [np.where(first == LEAF, LEAF, first + 1), np.where(second == LEAF, LEAF, second + behind)]
        )

    def with_root(root: float, name: str) -> NDArray[Any]:
        first, second = getattr(left, name), getattr(right, name)
        return np.concatenate([np.array([root], dtype=first.dtype), first, second])

    cut = tree.kept
    return replace(
        left,
        feature=with_root(cut.column, "feature"),
        left=np.concatenate([[1], below("left")]).astype(np.int32),
        right=np.concatenate([[behind], below("right")]).astype(np.int32),
        center=with_root(LEAF, "center"),
        lower=with_root(cut.lower, "lower"),
        upper=with_root(cut.upper, "upper"),
        cut=with_root(cut.cut, "cut"),
        rows=with_root(left.rows[0] + right.rows[0], "rows"),
        weight=with_root(left.weight[0] + right.weight[0], "weight"),
        kept=with_root(True, "kept"),
    )
