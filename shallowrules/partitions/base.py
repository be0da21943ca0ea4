"""Tables in parts, and how the parts get the same columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, Finding
from shallowrules.sources.base import check_names
from shallowrules.tables.column import Column, ColumnType
from shallowrules.tables.conversion import PLAIN, Conversion
from shallowrules.tables.table import Table
from shallowrules.tables.times import TIME_TYPES

__all__ = [
    "CallPart",
    "ColumnKind",
    "KindsFound",
    "Mergeable",
    "Part",
    "Partitions",
    "Result",
    "State",
    "TableParts",
    "ThreadedPartitions",
    "WholeTable",
    "as_part",
    "find_kinds",
    "has_values",
    "merge_all",
]

State = TypeVar("State")


class Mergeable(Protocol):
    """Results from a part, which can be merged with those of other parts."""

    def merged(self, other: Self) -> Self:
        """Return the result of both parts; it does not depend on their order."""


Result = TypeVar("Result", bound=Mergeable)


@dataclass(frozen=True, eq=False)
class Part(Table):
    """Some rows of a table, at least one.

    Parameters
    ----------
    origin : str
        Where they are from, for messages: a file, or "partition 17".
    """

    origin: str = ""


@dataclass(frozen=True)
class ColumnKind:
    """The kind of a column in all parts.

    Parameters
    ----------
    type : {"integer", "float", "date", "timestamp", "timestamptz", "duration", "text", "boolean", "other"}
    dtype : str
        NumPy's type of the numbers, "object" for other values.
    conversion : Conversion
        The conversion needed by the text of any file.
    has_values : bool
        Whether a value may be present. A column without values goes with one of any type.
    declared : bool
        Whether the type is declared, as in Parquet files, and not found from the values: then whole numbers in one part
        are not floats in another.
    """

    type: ColumnType
    dtype: str = "object"
    conversion: Conversion = PLAIN
    has_values: bool = True
    declared: bool = False

    @classmethod
    def of(cls, column: Column) -> ColumnKind:
        """Return the kind of a column in one part, by its values."""
        dtype = column.values.dtype.newbyteorder("=").str if column.is_numeric else "object"
        return cls(column.type, dtype, column.conversion, not column.absent.all())

    def merged(self, other: ColumnKind) -> ColumnKind | None:
        """Return the kind of a column in both; None where the types do not match."""
        conversion = _both(self.conversion, other.conversion)
        for one, another in ((self, other), (other, self)):
            if not another.has_values and (one.type != another.type or not one.has_values):
                return replace(one, conversion=conversion)
        numbers = {self.type, other.type} <= {"integer", "float"}
        declared = self.declared and other.declared
        if self.type != other.type and (declared or not numbers):
            return None
        if not numbers:
            return replace(self, conversion=conversion)
        kind: ColumnType = "float" if "float" in (self.type, other.type) else "integer"
        dtype = np.result_type(np.dtype(self.dtype), np.dtype(other.dtype))
        if kind == "integer" and dtype.kind == "f":  # of int64 and uint64
            kind = "float"
        return ColumnKind(kind, dtype.str, conversion, declared=declared)

    def apply(self, column: Column) -> Column:
        """Return a column of one part with its type in all parts."""
        if self.type in ("integer", "float"):
            if not column.is_numeric:  # it has no values
                column = replace(column, values=np.zeros(len(column.values)), missing=np.ones(len(column.values), bool))
            values, missing = column.values, column.absent
            if self.type == "float":
                values = values.astype(self.dtype, copy=False)
                if column.missing is not None:
                    values = np.where(missing, np.array(np.nan, self.dtype), values)
                return Column(column.name, "float", values, conversion=self.conversion)
            values = np.where(missing, 0, values) if values.dtype.kind == "f" else values
            values = values.astype(self.dtype, copy=False)
            return Column(column.name, "integer", values, missing if missing.any() else None, self.conversion)
        if column.type == self.type:
            return replace(column, conversion=self.conversion)
        if self.type in TIME_TYPES:  # it has no values
            n_rows = len(column.values)
            return Column(column.name, self.type, np.zeros(n_rows, self.dtype), np.ones(n_rows, bool))
        values = column.values.astype(object)
        values[column.absent] = None
        return Column(column.name, self.type, values, conversion=self.conversion)


def _both(one: Conversion, other: Conversion) -> Conversion:
    """Return the conversion needed by text that needed either of two."""
    if one == other:
        return one
    told = one if one.decimal != "." or one.format else other
    return replace(told, nulls=tuple(sorted({*one.nulls, *other.nulls})), dates=one.dates or other.dates)


@dataclass(frozen=True, eq=False)
class KindsFound:
    """The kinds of the columns of some parts, and conflicts between them.

    Parameters
    ----------
    kinds : mapping from str to (ColumnKind, str)
        By name, with the part that it was found in first.
    names : tuple of str
    clash : str
        The conflict; empty if there is none.
    origin : str
        The first part in the order of their names, which decides the order of the columns.
    """

    kinds: Mapping[str, tuple[ColumnKind, str]]
    names: tuple[str, ...]
    clash: str = ""
    origin: str = ""

    @classmethod
    def of(cls, table: Table, origin: str) -> KindsFound:
        """Return the kinds of one part."""
        return cls({c.name: (ColumnKind.of(c), origin) for c in table.columns}, tuple(table.names), origin=origin)

    def merged(self, other: KindsFound) -> KindsFound:
        """Return the kinds of both; names are in the order of the part whose origin comes first."""
        if other.origin < self.origin:
            return other.merged(self)
        clash = self.clash or other.clash or name_clash(self.names, self.origin, other.names, other.origin)
        if clash:
            return replace(self, clash=clash)
        kinds = {}
        for name, (kind, origin) in self.kinds.items():
            also, there = other.kinds[name]
            both = kind.merged(also)
            if both is None:
                clash = (
                    f"column {name!r} is {kind.type} in {origin} and {also.type} in {there}: a table has one type for "
                    "a column"
                )
                return replace(self, clash=clash)
            kinds[name] = (both, there if not kind.has_values and also.has_values else origin)
        return KindsFound(kinds, self.names, origin=self.origin)

    def checked(self) -> dict[str, ColumnKind]:
        """Return the kinds of the columns in all parts; DataError names those that do not match."""
        if self.clash:
            raise DataError(self.clash)
        check_names(self.names)
        return {name: kind for name, (kind, _) in self.kinds.items()}


def name_clash(names: Sequence[str], origin: str, others: Sequence[str], other_origin: str) -> str:
    """Return the difference between the names of two parts; empty if there is none."""
    for lacking, where, from_where in (
        ([name for name in names if name not in set(others)], other_origin, origin),
        ([name for name in others if name not in set(names)], origin, other_origin),
    ):
        if lacking:
            return (
                f"{where} has no column {lacking[0]!r}, which {from_where} has: all parts of a table have the same "
                "columns"
            )
    return ""


def as_part(table: Table, kinds: Mapping[str, ColumnKind], origin: str) -> Part:
    """Return a table as a part, with the columns that all parts have."""
    return Part(tuple(kind.apply(table[name]) for name, kind in kinds.items()), table.n_rows, origin)


class CallPart:
    """Calls a function with a table as a part, in whatever process has the table."""

    def __init__(self, function: Callable[[Part, Any], Any], kinds: Mapping[str, ColumnKind]) -> None:
        self.function, self.kinds = function, kinds

    def __call__(self, table: Table, origin: str, state: Any) -> Any:
        """Return the function's result for the part."""
        return self.function(as_part(table, self.kinds, origin), state)


def find_kinds(table: Table, origin: str, state: None) -> KindsFound:
    """Return the kinds of the columns of one part, as a function of a part that has no kinds yet."""
    return KindsFound.of(table, origin)


def call(function: Callable[[Part, State], Result], part: Part, state: State) -> Result:
    """Return a function's result for a part; an error is raised again with the part's place."""
    try:
        return function(part, state)
    except DataError as error:
        findings = [replace(finding, file=finding.file or part.origin) for finding in error.findings]
        raise DataError(f"{part.origin}: {error}", findings=findings) from error


class Partitions(ABC):
    """A table in parts.

    Parameters
    ----------
    kinds : mapping from str to ColumnKind
        Of all columns, in order.
    where : str
        Where the rows are from, for messages.

    Attributes
    ----------
    all_names : list of str
        The columns of the source, also those that were not taken, in order.
    format : str
        "csv", "json", "parquet"; empty where the rows are in no file.
    column_notes : dict from str to tuple of Finding
        By the name of a column: findings about it that have to be reported.
    kept : dict
        Results of passes that are needed again, by what they depend on.
    """

    def __init__(self, kinds: Mapping[str, ColumnKind], where: str) -> None:
        self.kinds = dict(kinds)
        self.where = where
        self.all_names = list(kinds)
        self.format = ""
        self.column_notes: dict[str, tuple[Finding, ...]] = {}
        self.kept: dict[Any, Any] = {}

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.kinds)

    @property
    def types(self) -> dict[str, ColumnType]:
        """The type of each column, by name."""
        return {name: kind.type for name, kind in self.kinds.items()}

    def map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result:
        """Return a function's result for all parts.

        Parameters
        ----------
        function : callable
            Called with each part that has rows, and `state`; in threads, or in other processes, to which both are
            pickled. It changes neither.
        state : object

        Returns
        -------
        result
            The results of `function`, merged by their method ``merged(other)``, in any order.

        Raises
        ------
        DataError
            If there are no rows. Exceptions of `function` are raised here; a DataError names the part.
        """
        result = self._map_reduce(partial(call, function), state)
        if result is None:
            raise DataError(f"{self.where}: there are no rows")
        return result

    @abstractmethod
    def _map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result | None:
        """Return the result of `map_reduce`, None if no part has rows."""

    def zero_padded(self) -> set[str]:
        """Return columns whose whole numbers are written with leading zeros, as codes are, as far as a sample tells."""
        return set()

    def count_distinct(self, name: str) -> int | None:
        """Return how many different values a column has; None where that cannot be told in little memory."""
        return None


class WholeTable(Partitions):
    """A table in memory as its only part; its columns keep computed results.

    Parameters
    ----------
    table : Table
    where : str
    """

    def __init__(self, table: Table, where: str) -> None:
        super().__init__({column.name: ColumnKind.of(column) for column in table.columns}, where)
        self.table = table

    def _map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result | None:
        return function(Part(self.table.columns, self.table.n_rows, self.where), state) if self.table.n_rows else None

    def count_distinct(self, name: str) -> int | None:
        """Return how many different values a column has."""
        return self.table[name].n_distinct

    def first(self) -> Table:
        """Return the whole table."""
        return self.table

    def complete(self, names: Sequence[str]) -> WholeTable:
        """Return the rows that have a value in each of these columns."""
        return self.with_table(self.table.take(has_values(self.table, names)))

    def with_table(self, table: Table) -> WholeTable:
        """Return other rows of the same source."""
        whole = WholeTable(table, self.where)
        whole.all_names, whole.format = self.all_names, self.format
        return whole


def has_values(table: Table, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return the rows in which none of some columns lacks a value."""
    lacking = np.zeros(table.n_rows, bool)
    for name in names:
        lacking |= table[name].absent
    return ~lacking


class ThreadedPartitions(Partitions):
    """Parts that come into this process one after another, and are worked on by its threads."""

    rereads = True
    """Whether every pass reads the rows and converts them."""

    def __init__(self, kinds: Mapping[str, ColumnKind], where: str, n_threads: int = 1) -> None:
        super().__init__(kinds, where)
        self.n_threads = n_threads

    @abstractmethod
    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts."""

    def first(self) -> Table:
        """Return the first part."""
        with closing(self.parts()) as parts:
            return next(parts)

    def complete(self, names: Sequence[str]) -> ThreadedPartitions:
        """Return the rows that have a value in each of these columns."""
        return CompleteRows(self, names)

    def _map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result | None:
        result: Result | None = None
        running: set[Future[Result]] = set()
        with ThreadPoolExecutor(self.n_threads) as pool:
            for part in self.parts():
                if not part.n_rows:
                    continue
                if len(running) > self.n_threads:  # one more part than threads is in memory
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    result = merge_all(result, (future.result() for future in done))
                running.add(pool.submit(function, part, state))
            return merge_all(result, (future.result() for future in running))


def merge_all(result: Result | None, others: Iterable[Result]) -> Result | None:
    """Return merged results, None if there are none."""
    for other in others:
        result = other if result is None else result.merged(other)
    return result


class CompleteRows(ThreadedPartitions):
    """The rows of a table in parts that have a value in each of some columns."""

    def __init__(self, table: ThreadedPartitions, names: Sequence[str]) -> None:
        super().__init__(table.kinds, table.where, table.n_threads)
        self.all_names, self.format = table.all_names, table.format
        self._table, self._complete = table, tuple(names)

    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts."""
        with closing(self._table.parts()) as parts:
            for part in parts:
                rows = part.take(has_values(part, self._complete))
                yield as_part(rows, self.kinds, part.origin)


class TableParts(ThreadedPartitions):
    """Tables in memory that are parts of one table.

    Parameters
    ----------
    tables : sequence of Table
        With the same columns; DataError says what does not match.
    n_threads : int
    """

    rereads = False

    def __init__(self, tables: Sequence[Table], n_threads: int = 1) -> None:
        found = [KindsFound.of(table, f"partition {i}") for i, table in enumerate(tables) if table.n_rows]
        all_found = merge_all(None, found)
        if all_found is None:
            raise DataError("there are no rows")
        super().__init__(all_found.checked(), f"{len(tables)} tables", n_threads)
        self.tables = list(tables)

    def parts(self) -> Generator[Part, None, None]:
        """Yield the parts."""
        yield from (as_part(table, self.kinds, f"partition {i}") for i, table in enumerate(self.tables) if table.n_rows)
