"""Spark's dataframes: each partition is one part or several, and Spark's executors do the work."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shallowrules.errors import DataError
from shallowrules.partitions.base import CallPart, Part, Partitions, Result, State, find_kinds, merge_all
from shallowrules.tables.table import Table

__all__ = ["SparkParts"]


class SparkParts(Partitions):
    """The rows of a Spark dataframe, in the Arrow batches that Spark cuts its partitions into.

    They are computed again in every pass unless the dataframe is cached (``frame.cache()``). A task whose executor dies
    is run again, as Spark does by itself.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    columns, exclude : sequence of str
        Columns to take, all by default, and columns to exclude.

    Raises
    ------
    DataError
        If a column is missing, or there are no rows.
    """

    def __init__(self, frame: Any, columns: Sequence[str] | None = None, exclude: Sequence[str] = ()) -> None:
        wanted = [name for name in columns or frame.columns if name not in exclude]
        lacking = [name for name in wanted if name not in frame.columns]
        if lacking:
            raise DataError(
                f"there is no column {lacking[0]!r}; the columns are: {', '.join(map(repr, frame.columns))}"
            )
        self._frame = frame.select(*(f"`{name.replace('`', '``')}`" for name in wanted))
        found = self._run(find_kinds, None)
        if found is None:
            raise DataError("the Spark table has no rows")
        super().__init__(found.checked(), "a table of Spark")

    def _map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result | None:
        result: Result | None = self._run(CallPart(function, self.kinds), state)
        return result

    def _run(self, function: Callable[[Table, str, Any], Any], state: Any) -> Any:
        """Return the merged results of a function of each batch, its name, and the state."""
        sent = self._frame.sparkSession.sparkContext.broadcast(pickle.dumps((function, state)))
        try:
            rows = self._frame.mapInArrow(_Task(sent), "result binary").collect()
            answers = (pickle.loads(row.result) for row in rows)
            return merge_all(None, map(_unwrapped, answers))
        finally:
            sent.destroy()


class _Task:
    """The work of an executor on a partition: one row with the merged result of its batches, pickled."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        function, state = pickle.loads(self.sent.value)
        context = TaskContext.get()
        origin = f"partition {context.partitionId() if context is not None else 0}"
        tables = (Table.of(pyarrow.Table.from_batches([batch])) for batch in batches if batch.num_rows)
        try:
            result = merge_all(None, (function(table, origin, state) for table in tables))
        except DataError as error:  # which Spark would bury in a Java stack trace
            result = error
        if result is not None:
            yield pyarrow.record_batch([pyarrow.array([pickle.dumps(result)], pyarrow.binary())], names=["result"])


def _unwrapped(answer: Any) -> Any:
    if isinstance(answer, DataError):
        raise answer
    return answer
