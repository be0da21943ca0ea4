"""Rules matched to the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, all_at_once
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import Between, ConditionVisitor, NoneOf, OneOf
from shallowrules.rules.nodes import Rule
from shallowrules.rules.words.explaining import Row
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER, label_type
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value
from shallowrules.trees.tree import compare

__all__ = ["find_rules", "labels_of", "match_rules", "read_columns", "read_rows"]


def read_columns(columns: Sequence[RuleColumn], tested: Iterable[int], data: Any) -> tuple[int, dict[int, Column]]:
    """Return how many rows a table has, and its tested columns by number, as the rules compare them.

    The parameters and errors are those of `match_rules`.
    """
    table = Table.of(data, names=[column.name for column in columns])
    present = {column.name: column for column in table.columns}
    wanted = {feature: columns[feature] for feature in tested}
    given = [column for column in wanted.values() if column.name in present]
    checks: list[Callable[[], Any]] = [partial(_refuse_absent, list(wanted.values()), list(present))]
    checks += [partial(column.read, present[column.name]) for column in given]
    _, *read = all_at_once(checks)
    return table.n_rows, dict(zip(wanted, read, strict=True))


def _refuse_absent(wanted: Sequence[RuleColumn], present: Sequence[str]) -> None:
    """Raise DataError naming the tested columns that a table does not have."""
    absent = [repr(column.name) for column in wanted if column.name not in present]
    if absent:
        has = f"it has: {', '.join(map(repr, present))}" if present else "it has no columns"
        raise DataError(
            f"the rules test column{'s' if len(absent) > 1 else ''} {', '.join(absent)}, which the table does not "
            f"have; {has}"
        )


def read_rows(columns: Sequence[RuleColumn], tested: Iterable[int], data: Any) -> Iterator[Row]:
    """Yield the rows of a table by the numbers of the tested columns; the parameters are those of `match_rules`."""
    n_rows, read = read_columns(columns, tested, data)
    values = {feature: column.values.tolist() for feature, column in read.items()}
    absent = {feature: column.absent for feature, column in read.items()}
    for i in range(n_rows):
        yield {feature: None if absent[feature][i] else of_column[i] for feature, of_column in values.items()}


def match_rules(rules: Sequence[Rule], columns: Sequence[RuleColumn], tested: Iterable[int], data: Any) -> NDArray[Any]:
    """Return the cluster of each row by matching the rules, `NO_CLUSTER` where no rule matches.

    Parameters
    ----------
    rules : sequence of Rule
    columns : sequence of RuleColumn
        The columns that the rules are over.
    tested : iterable of int
        Those that some rule tests.
    data : Table, dataframe, mapping of columns, or array-like of shape (n_rows, n_columns)

    Raises
    ------
    DataError
        If a tested column is missing, or holds values of a different type than the rules compare.
    """
    return labels_of(rules, find_rules(rules, columns, tested, data))


def labels_of(rules: Sequence[Rule], places: NDArray[np.int32]) -> NDArray[Any]:
    """Return the cluster of each row, given the result of `find_rules`."""
    clusters = [rule.cluster for rule in rules]
    return np.array([*clusters, NO_CLUSTER], dtype=label_type(clusters))[places]


def find_rules(
    rules: Sequence[Rule], columns: Sequence[RuleColumn], tested: Iterable[int], data: Any
) -> NDArray[np.int32]:
    """Return the place of each row's rule among the rules, -1 where no rule matches.

    The parameters and errors are those of `match_rules`.
    """
    n_rows, read = read_columns(columns, tested, data)
    matching = {feature: _Matching(columns[feature], column) for feature, column in read.items()}
    places = np.full(n_rows, -1, dtype=np.int32)
    for place, rule in enumerate(rules):
        matches = np.ones(n_rows, dtype=bool)
        for condition in rule.conditions:
            matches &= matching[condition.feature](condition)
        places[matches] = place
    return places


class _Matching(ConditionVisitor[NDArray[np.bool_]]):
    """One column of a table; called with a condition, it gives the rows that meet it."""

    def __init__(self, column: RuleColumn, given: Column) -> None:
        self.present = ~given.absent
        if column.is_numeric:
            self.numbers = given.numbers()
        else:
            self.values = tuple(dict.fromkeys(column.values))
            self.positions = given.positions(self.values)

    def between(self, condition: Between) -> NDArray[np.bool_]:
        """Return the rows whose number is between the bounds."""
        matches = self.present.copy()
        if condition.upper is not None:
            matches &= compare(self.numbers, condition.upper)[0]
        if condition.lower is not None:
            matches &= compare(self.numbers, condition.lower)[1]
        return matches

    def one_of(self, condition: OneOf) -> NDArray[np.bool_]:
        """Return the rows that have one of the categories."""
        return self.present & np.isin(self.positions, self._places(condition.values))

    def none_of(self, condition: NoneOf) -> NDArray[np.bool_]:
        """Return the rows with a category other than these."""
        return self.present & ~np.isin(self.positions, self._places(condition.values))

    def _places(self, values: Sequence[Value]) -> list[int]:
        return [i for i, value in enumerate(self.values) if value in values]
