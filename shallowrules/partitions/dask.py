"""Dask's dataframes and arrays: each partition is a part, and Dask's workers do the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from shallowrules.errors import DataError, MissingExtraError, counted
from shallowrules.partitions.base import CallPart, Part, Partitions, Result, State, find_kinds, merge_all
from shallowrules.tables.table import Table

__all__ = ["DaskParts"]

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
"""Names of this machine: a cluster whose workers have one of these runs here."""


class DaskParts(Partitions):
    """The partitions of a Dask dataframe, or the blocks of rows of an array.

    They are computed again in every pass unless they are in the workers' memory (``frame.persist()``). A part whose
    worker dies is computed on another one, as Dask does by itself. Results come from the workers directly where all of
    them are on this machine or the client says so (``Client(direct_to_workers=True)``), and otherwise through the
    scheduler.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array of shape (n_rows, n_columns)
    columns, exclude : sequence of str
        Columns to take, all by default, and columns to exclude.

    Raises
    ------
    DataError
        If the partitions have different columns, or there are no rows; in a pass, if the client or its
        cluster goes away.
    MissingExtraError
        If `distributed` is not installed.
    """

    def __init__(self, data: Any, columns: Sequence[str] | None = None, exclude: Sequence[str] = ()) -> None:
        try:
            self._dask, self._distributed = import_module("dask"), import_module("distributed")
        except ImportError:
            raise MissingExtraError("a table of Dask", "distributed", "dask") from None
        try:
            self._client = self._distributed.default_client()
        except ValueError:
            raise DataError("there is no Dask client; create one first (distributed.Client)") from None
        self._columns, self._exclude = columns, tuple(exclude)
        self._delayed = _delayed(data)
        found = self._run(find_kinds, None)
        if found is None:
            raise DataError("the Dask table has no rows")
        super().__init__(found.checked(), "a table of Dask")

    def _map_reduce(self, function: Callable[[Part, State], Result], state: State) -> Result | None:
        return self._run(CallPart(function, self.kinds), state)

    def _run(self, function: Callable[[Table, str, Any], Result | None], state: Any) -> Result | None:
        """Return the merged results of a function of each partition, its name, and the state."""
        try:
            return self._computed(function, state)
        except Exception as error:
            lost = isinstance(error, CancelledError | self._distributed.comm.CommClosedError)
            if self._client.status == "running" and not lost:
                raise
            raise DataError(
                "the client of Dask, or its cluster, went away before the work on the table was done: connect to a "
                "running cluster (distributed.Client), and fit again"
            ) from error

    def _reaches_workers(self) -> bool | None:
        """Return True if the workers are on this machine; otherwise None, and the client decides."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return all(urlsplit(address).hostname in LOOPBACK for address in workers) or None

    def _computed(self, function: Callable[[Table, str, Any], Result | None], state: Any) -> Result | None:
        # A task, not scattered data: if a worker dies, another one repeats its work.
        pickle = self._distributed.protocol.pickle
        sent = self._dask.delayed(pickle.loads, pure=False)(pickle.dumps(state))
        call = self._dask.delayed(_call_partition, pure=False)
        tasks = [
            call(function, partition, i, sent, self._columns, self._exclude)
            for i, partition in enumerate(self._delayed)
        ]
        futures = self._client.compute(tasks)
        try:
            direct = self._reaches_workers()
            results = (self._client.gather(done, direct=direct) for done in self._distributed.as_completed(futures))
            return merge_all(None, (result for result in results if result is not None))
        finally:
            with suppress(Exception):  # a closed client cancels nothing, and the error is reported elsewhere
                self._client.cancel(futures)


def _call_partition(
    function: Callable[[Table, str, Any], Any],
    partition: Any,
    number: int,
    state: Any,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
) -> Any:
    """Return a function's result for a partition, None for one without rows."""
    if not len(partition):
        return None
    table = Table.of(partition)
    wanted = [name for name in columns or table.names if name not in exclude]
    return function(table.select(wanted), f"partition {number}", state)


def _delayed(data: Any) -> list[Any]:
    """Return the partitions of a dataframe, or the blocks of an array, as objects of `dask.delayed`."""
    if hasattr(data, "npartitions") and hasattr(data, "to_delayed") and not hasattr(data, "rechunk"):
        return list(data.to_delayed())
    if data.ndim != 2:
        raise DataError(f"expected an array of rows and columns, got one of {counted(data.ndim, 'dimension')}")
    return list(np.asarray(data.rechunk({1: -1}).to_delayed(), dtype=object).ravel())
