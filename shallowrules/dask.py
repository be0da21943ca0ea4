"""Labels for tables of Dask: each partition is labelled by itself, where it is.

It needs the extra ``dask``.
"""

from __future__ import annotations

from typing import Any

from shallowrules.errors import DataError, MissingExtraError, OptionError, counted
from shallowrules.rules import RuleSet
from shallowrules.tables.labels import label_type

__all__ = ["assign"]

SERIES = "cluster"
"""The name of the column of labels."""


def assign(table: Any, rules: RuleSet) -> Any:
    """Return the cluster of each row of a table of Dask, computed when it is asked for.

    Each label is that of `RuleSet.assign`, however the rows are cut into partitions.

    Parameters
    ----------
    table : dask.dataframe.DataFrame, or dask.array.Array of shape (n_rows, n_columns)
        The raw columns; found by name in a dataframe, by position in an array. Columns that no rule tests need not be
        there in a dataframe.
    rules : RuleSet

    Returns
    -------
    dask.dataframe.Series or dask.array.Array of shape (n_rows,)
        Of int32, or int64 where a label needs it; -1 where no rule matches. A series is called "cluster" and has the
        index of the dataframe: ``frame.assign(cluster=assign(frame, rules))`` adds it.

    Raises
    ------
    DataError
        If a tested column is missing, or the table has a different number of dimensions or columns. If a partition
        holds values of a different type than the rules compare: when the labels are computed.
    OptionError
        If `table` is not a table of Dask.
    MissingExtraError
        If Dask is not installed.
    """
    try:
        import dask.array
        import dask.dataframe
    except ImportError:
        raise MissingExtraError("labels for tables of Dask", "dask", "dask") from None
    dtype = label_type(rule.cluster for rule in rules.rules)
    names = [column.name for column in rules.columns]
    tested = [names[feature] for feature in rules.tested_columns]
    if isinstance(table, dask.dataframe.DataFrame):
        lacking = [name for name in tested if name not in table.columns]
        if lacking:
            raise DataError(
                f"the rules test column {lacking[0]!r}, which the table does not have; "
                f"it has: {', '.join(map(repr, table.columns))}"
            )
        return table[tested].map_partitions(_labels, rules, meta=(SERIES, dtype))
    if isinstance(table, dask.array.Array):
        if table.ndim != 2 or table.shape[1] != len(names):
            raise DataError(
                f"the rules are over {counted(len(names), 'column')}, and the array has the shape {table.shape}; "
                f"give an array of the shape (n_rows, {len(names)})"
            )
        whole_rows: Any = dask.array.rechunk(table, {1: -1})  # type: ignore[no-untyped-call]
        return whole_rows.map_blocks(rules.assign, dtype=dtype, drop_axis=1)
    raise OptionError(f"table is a {type(table).__name__}: give a dataframe or an array of Dask, or call rules.assign")


def _labels(frame: Any, rules: RuleSet) -> Any:
    """Return the labels of a partition, with its index."""
    import pandas

    return pandas.Series(rules.assign(frame), index=frame.index, name=SERIES)
