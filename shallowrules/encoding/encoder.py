"""How raw columns become the numbers that are clustered and cut.

Three matrices have the same rows. The model matrix holds the raw numbers and, for each value of a column of
categories, a column of 0 and 1. `X_explain`, where cuts live, is all or some of its columns; `X_cluster`, where
distances are taken, has all or some of them brought to comparable scales. Rules are read off the raw columns, so no
scaling is ever inverted.

Whole numbers of 2**53 and more are rounded where they become doubles. Distances are taken between these; cuts live in a
further column that holds the exact order of the numbers, as codes.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.blocks import row_blocks
from shallowrules.encoding.scaling import ReadNumbers, find_scaler, keep_scale, moments, scale_of, scale_rows
from shallowrules.encoding.weighing import ChosenColumns, Weighing, balanced_weight, find_pairs
from shallowrules.measures.summation import WeightFacts
from shallowrules.partitions.merging import Run
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value

__all__ = ["Encoder", "ModelColumn", "select_columns"]


@dataclass(frozen=True)
class ModelColumn:
    """One column of the model matrix, and the raw column that it came from.

    Parameters
    ----------
    source : int
        Position of the raw column in the table.
    kind : {"number", "indicator", "rank", "code"}
        The raw number; 1 where the raw value is the one of `values` and else 0; the raw value's position in
        `values`, which is ``len(values)`` for any other; or how many of `bounds` are less than the raw number.
    values : tuple of str or bool
        Categories, except for a number.
    direction : {1, -1}
        -1 for a number whose sign is turned, because its transformed values fall where it rises.
    bounds : ndarray of int64 or uint64, shape (n_bounds,), or None
        Of a code, ascending: while a tree is grown, the distinct numbers of the training table; then the thresholds of
        the tree. A number is at most ``bounds[i]`` if and only if its code is at most i.
    """

    source: int
    kind: Literal["number", "indicator", "rank", "code"] = "number"
    values: tuple[Value, ...] = ()
    direction: Literal[1, -1] = 1
    bounds: NDArray[np.integer] | None = field(default=None, compare=False)

    def codes(self, column: Column) -> NDArray[np.float64]:
        """Return the code of each number of a raw column, NaN where it is missing."""
        assert self.bounds is not None
        values = column.numbers()
        if values.dtype == self.bounds.dtype:
            codes = np.searchsorted(self.bounds, values).astype(np.float64)
        else:  # NumPy would compare doubles
            bounds = self.bounds.tolist()
            codes = np.fromiter((bisect_left(bounds, value) for value in values.tolist()), np.float64, len(values))
        codes[column.absent] = np.nan
        return codes


@dataclass(frozen=True, eq=False)
class Encoder:
    """Turns a table into matrices, in the way that the training table determined.

    Parameters
    ----------
    columns : tuple of ModelColumn
        The model columns.
    scaler : fitted scikit-learn scaler or None
        Maps the clustered numbers to the clustered space.
    category_weight : float
        The factor of the columns of 0 and 1 in the clustered space.
    imputed : tuple
        By raw column, the value that replaces missing ones, None where none does; empty if no column has one.
    names : tuple of str
        The raw columns to which the positions in `columns` and in `imputed` refer; empty for all of the table's.
    transformer : fitted scikit-learn transformer or None
        Maps the raw table to the clustered space, in place of the scaler and the weight.
    cluster_positions, explain_positions : tuple of int
        Positions of the model columns to cluster by, and of those that rules may test; empty for all of them.
    pairs : mapping from int to (float, float)
        The raw columns of numbers that count as categories, by position: of each, the number that becomes 0, and by how
        much the one that becomes 1 is larger.
    """

    columns: tuple[ModelColumn, ...]
    scaler: Any
    category_weight: float
    imputed: tuple[Number | Value | None, ...] = ()
    names: tuple[str, ...] = ()
    transformer: Any = None
    cluster_positions: tuple[int, ...] = ()
    explain_positions: tuple[int, ...] = ()
    pairs: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def number_places(self) -> dict[int, int]:
        """The position of the model column of each raw column of numbers, by that of the raw column."""
        return {column.source: j for j, column in enumerate(self.columns) if column.kind == "number"}

    def with_columns(self, cluster_columns: Sequence[int] | None, explain_columns: Sequence[int] | None) -> Encoder:
        """Return the encoder with the raw columns to cluster by, and those that rules may test; None is all."""
        coded = {column.source for column in self.columns if column.kind == "code"}
        measured = [j for j, column in enumerate(self.columns) if column.kind != "code"]
        cut = [j for j, column in enumerate(self.columns) if column.kind == "code" or column.source not in coded]
        return replace(
            self,
            cluster_positions=self._positions(cluster_columns, measured),
            explain_positions=self._positions(explain_columns, cut),
        )

    def _positions(self, sources: Sequence[int] | None, among: Sequence[int]) -> tuple[int, ...]:
        """Return which model columns of `among` come from some raw columns, in the order of these; empty for all."""
        by_source: dict[int, list[int]] = {}
        for j in among:
            by_source.setdefault(self.columns[j].source, []).append(j)
        sources = sorted(by_source) if sources is None else sources
        found = tuple(j for source in sources for j in by_source.get(source, ()))
        return () if found == tuple(range(len(self.columns))) else found

    def impute(self, table: Table) -> Table:
        """Return the used columns of a table, with missing values imputed where they should be."""
        return (table.select(self.names) if self.names else table).filled(self.imputed)

    def complete_columns(self, table: Table) -> list[Column]:
        """Return the used columns of a table in which no value may be missing, because none is imputed."""
        names = self.names or table.names
        imputed = self.imputed or (None,) * len(names)
        return [table[name] for name, value in zip(names, imputed, strict=True) if value is None]

    def transform(self, table: Table, matrix: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the model matrix of a table; `matrix` itself if it already is one.

        Parameters
        ----------
        table : Table
            With the columns of the training table, in their order. A category that the training table did not have is 0
            in all columns of its categories.
        matrix : ndarray, shape (n_rows, n_columns), optional
            The same table where it is a matrix.

        Returns
        -------
        ndarray of float32 or float64, shape (n_rows, n_model_columns)
            NaN where a number is missing. Row by row in memory, unless it is `matrix` itself.
        """
        return self.encode_imputed(self.impute(table), matrix)

    def encode_imputed(self, table: Table, matrix: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the model matrix of the result of `impute`; otherwise as `transform`."""
        if (
            matrix is not None
            and not self.imputed
            and self.transformer is None
            and matrix.dtype in (np.float32, np.float64)
            and matrix.dtype.isnative
            and matrix.shape[1] == len(self.columns)
        ):
            return matrix
        is_float32 = all(column.values.dtype == np.float32 for column in table.columns)
        transformed = np.empty((table.n_rows, len(self.columns)), np.float32 if is_float32 else np.float64)
        self._copy_numbers(table, transformed)
        known: dict[int, tuple[tuple[Value, ...], NDArray[np.intp]]] = {}
        for j, column in enumerate(self.columns):
            raw = table.columns[column.source]
            if column.kind == "rank":
                places = raw.positions(column.values)
                transformed[:, j] = np.where(places < 0, len(column.values), places)
            elif column.kind == "indicator":
                if column.source not in known:
                    values = self._values_of(column.source)
                    known[column.source] = values, raw.positions(values)
                values, places = known[column.source]
                transformed[:, j] = places == values.index(column.values[0])
            elif column.kind == "code":
                transformed[:, j] = column.codes(raw)
        return transformed

    def _copy_numbers(self, table: Table, matrix: NDArray[Any]) -> None:
        """Copy the numbers of a table to the model matrix."""
        numbers = []
        for j, column in enumerate(self.columns):
            if column.kind == "number":
                raw = table.columns[column.source]
                numbers.append((j, raw.numbers(), raw.missing, column.direction))
        for rows in row_blocks(*matrix.shape):
            block = matrix[rows]
            for j, values, missing, direction in numbers:
                block[:, j] = values[rows]
                if missing is not None:
                    block[missing[rows], j] = np.nan
                if direction < 0:
                    block[:, j] *= -1

    def _values_of(self, source: int) -> tuple[Value, ...]:
        """Return the categories of a raw column that have a column of 0 and 1."""
        return tuple(
            column.values[0] for column in self.columns if column.source == source and column.kind == "indicator"
        )

    def to_clustered_space(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return rows of the model matrix in the clustered space; the same object if nothing changes."""
        return self.scaled(select_columns(matrix, self.cluster_positions))

    def spaces(
        self, matrix: NDArray[Any], raw: NDArray[Any] | None = None, n_threads: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows of the model matrix as they are explained and as they are clustered; one object if they agree.

        `raw` are the unscaled columns to cluster by, where they were already selected. The result does not depend
        on `n_threads`.
        """
        raw = select_columns(matrix, self.cluster_positions) if raw is None else raw
        one = self.explain_positions == self.cluster_positions
        return raw if one else select_columns(matrix, self.explain_positions), self.scaled(raw, n_threads)

    def explained(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return the columns that rules may test, for rows of the model matrix."""
        return select_columns(matrix, self.explain_positions)

    @property
    def clustered(self) -> list[ModelColumn]:
        """The model columns to cluster by."""
        return [self.columns[j] for j in self.cluster_positions or range(len(self.columns))]

    @property
    def unscaled(self) -> Encoder:
        """The encoder that takes the clustered columns as they are."""
        return replace(self, scaler=None, category_weight=1.0, pairs={})

    def numbers(self) -> tuple[list[int], list[int]]:
        """Return the positions among the clustered columns of those that are scaled, and of all others."""
        scaled = [column.kind == "number" and column.source not in self.pairs for column in self.clustered]
        return [j for j, each in enumerate(scaled) if each], [j for j, each in enumerate(scaled) if not each]

    def scales(self) -> list[tuple[float, float]]:
        """Return the value that becomes 0 in each clustered column, and the unit above it; (0, 1) for categories."""
        numbers, _ = self.numbers()
        found = [self.pairs.get(column.source, (0.0, 1.0)) for column in self.clustered]
        if self.scaler is not None:
            for j, origin, unit in zip(numbers, *(each.tolist() for each in scale_of(self.scaler)), strict=True):
                found[j] = origin, unit
        return found

    def keeping_scales(self, names: Sequence[str], kept: Mapping[str, tuple[float, float]]) -> Encoder:
        """Return the encoder with another scale, as `scales` has it, for numbers by the name of their raw column.

        `names` are those of the raw columns.
        """
        scaled = [self.clustered[j].source for j in self.numbers()[0]]
        known = {source: kept[name] for source, name in enumerate(names) if name in kept}
        pairs = {source: known.get(source, own) for source, own in self.pairs.items()}
        if self.scaler is None:  # a column that once had two numbers keeps its weight
            pairs |= {source: known[source] for source in scaled if known.get(source, (0.0, 1.0)) != (0.0, 1.0)}
            return self if pairs == self.pairs else replace(self, pairs=pairs)
        if not known:
            return self
        places = {place: known[source] for place, source in enumerate(scaled) if source in known}
        return replace(self, scaler=keep_scale(self.scaler, places), pairs=pairs)

    def fitted(
        self,
        scale: str | None,
        weighing: Weighing,
        run: Run,
        read: ReadNumbers,
        ends: NDArray[Any],
        weights: WeightFacts,
    ) -> Encoder:
        """Return the encoder with a scaler for its numbers and a weight for its categories.

        `read` reads the clustered columns as they are; `ends` are theirs, and `run` and `weights` as for `find_scaler`.
        """
        encoder = replace(self, scaler=None, pairs={})
        two: dict[int, tuple[float, float]] = {}
        numbers, _ = encoder.numbers()
        if weighing.takes_pairs and numbers:
            found = find_pairs(run, ChosenColumns(read, numbers), ends[:, numbers])
            places = [j for j, is_pair in zip(numbers, found, strict=True) if is_pair]
            two = {self.clustered[j].source: tuple(ends[:, j].tolist()) for j in places}
            encoder = encoder._weighed(1.0, two)
            numbers, _ = encoder.numbers()
        if scale is not None and numbers:
            scaler = find_scaler(scale, run, ChosenColumns(read, numbers), ends[:, numbers], weights)
            encoder = replace(encoder, scaler=scaler)
        weight = encoder._balanced_weight(run, read, ends, weights) if weighing.is_balanced else weighing.known_weight
        return encoder._weighed(weight, two)

    def _weighed(self, weight: float, two: Mapping[int, tuple[float, float]]) -> Encoder:
        """Return the encoder with a weight of categories, which also sets how far apart the numbers in pairs are."""
        apart = math.sqrt(2) * weight  # two categories differ in two columns
        pairs = {source: (low, (high - low) / apart) for source, (low, high) in two.items()}
        return replace(self, category_weight=weight, pairs=pairs)

    def _balanced_weight(self, run: Run, read: ReadNumbers, ends: NDArray[Any], weights: WeightFacts) -> float:
        """Return the balanced weight of an encoder whose weight is 1."""
        numbers, others = self.numbers()
        spread: dict[bool, dict[int, float]] = {True: {}, False: {}}
        if numbers and others:
            _, variance, _ = moments(run, _Scaled(read, self), self.scaled(ends), weights)
            for j, column in enumerate(self.clustered):
                if ends[0, j] < ends[1, j]:
                    of_kind = spread[j in numbers]
                    of_kind[column.source] = of_kind.get(column.source, 0.0) + float(variance[j])
        return balanced_weight([*spread[True].values()], [*spread[False].values()])

    def scaled(self, raw: NDArray[Any], n_threads: int = 1) -> NDArray[Any]:
        """Return rows of the clustered columns in the clustered space; the same object if nothing changes."""
        numbers, others = self.numbers()
        if not others:
            return raw if self.scaler is None else scale_rows(self.scaler, raw, n_threads)
        scaled = raw.copy()
        if self.scaler is not None:
            scaled[:, numbers] = scale_rows(self.scaler, raw[:, numbers], n_threads)
        sources = [column.source for column in self.clustered]
        scaled[:, [j for j in others if sources[j] not in self.pairs]] *= self.category_weight
        for j in others:
            if sources[j] in self.pairs:
                origin, unit = self.pairs[sources[j]]
                scaled[:, j] = (raw[:, j] - origin) / unit
        return scaled


@dataclass(frozen=True)
class _Scaled:
    """Reads rows in the clustered space of an encoder."""

    read: ReadNumbers
    encoder: Encoder

    def __call__(self, rows: Any) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        raw, weight = self.read(rows)
        return self.encoder.scaled(raw), weight


def select_columns(matrix: NDArray[Any], positions: Sequence[int]) -> NDArray[Any]:
    """Return columns of a matrix, row by row in memory; the matrix itself if no positions are given."""
    return np.take(matrix, positions, axis=1) if len(positions) else matrix
