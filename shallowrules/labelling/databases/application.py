"""How labels are put into a database, as a person asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from shallowrules.errors import OptionError, OptionName, check_choice
from shallowrules.exporters.sql import SqlOptions
from shallowrules.exporters.sql.options import QUERIES, SqlClusterAs, Style

__all__ = ["APPLIED_STYLES", "CLUSTER_COLUMN", "INTO", "KEY", "Application"]

APPLIED_STYLES = ("view", "table", "update", "column", "labels")

INTO, KEY, CLUSTER_COLUMN = map(OptionName, ("into", "key", "cluster_column"))


@dataclass(frozen=True, kw_only=True)
class Application:
    """How labels are put into a database.

    Parameters
    ----------
    style : {"view", "table", "update", "column", "labels"}
        A view or a new table of every column and the cluster; a column of the table, which is written; a column that
        the database computes; a table of keys and their clusters, into which each run merges those that have changed.
    into : str, or sequence of its parts, optional
        Name of the view or table; by default that of the table with ``_clusters``, or ``_labels``.
    key : sequence of str
        The columns that tell the rows of the table apart; labels alone need them.
    cluster_column : str
    cluster_as : {"number", "name", "both"}
    with_precision : bool
    otherwise : str or int, optional
        As `SqlOptions` has them; only a view and a table have the precision.
    columns : mapping from str to str
        What the database calls columns of the rules that have another name there.
    replace : bool
        Whether to recreate an object that was made here.
    batch : int, optional
        How many rows an update writes in one transaction; by default all of a table of up to a million rows or without
        a primary key, and `BATCH_ROWS` of a longer one.
    lock_timeout : float
        Seconds to wait for a lock that another transaction holds.

    Raises
    ------
    OptionError
        If the style is not known, or options do not go together.
    """

    style: str
    into: str | Sequence[str] | None = None
    key: Sequence[str] = ()
    cluster_column: str = "cluster"
    cluster_as: SqlClusterAs = "number"
    with_precision: bool = False
    otherwise: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False
    batch: int | None = None
    lock_timeout: float = 10.0

    def __post_init__(self) -> None:
        check_choice("style", self.style, APPLIED_STYLES, option="apply")
        if self.into is not None and self.writes_on_table:
            raise OptionError(
                INTO, f" names a view or a table, and {self.style!r} adds a column: name it with ", CLUSTER_COLUMN
            )
        if self.batch is not None and (self.style != "update" or self.batch < 1):
            raise OptionError(OptionName("batch"), " is a number of rows, at least 1, and goes with 'update'")
        if self.key and self.style != "labels":
            raise OptionError(KEY, " names columns that tell rows apart, for ", OptionName("apply", "labels"))
        if self.with_precision and self.style not in QUERIES:
            raise OptionError(OptionName("with_precision"), f" goes with a view or a table, not with {self.style!r}")
        if self.style == "labels" and self.cluster_as == "name":
            raise OptionError(OptionName("cluster_as"), " 'name' does not go with labels, which have both")

    def sql_options(self, table: Sequence[str]) -> SqlOptions:
        """Return the options of the SQL exporter that do not depend on the database."""
        is_labels, into = self.style == "labels", self.into
        if is_labels and into is None:
            into = [*table[:-1], f"{table[-1]}_labels"]
        return SqlOptions(
            style="select" if is_labels else cast("Style", self.style),
            table=table,
            into=into,
            cluster_column=self.cluster_column,
            cluster_as="both" if is_labels else self.cluster_as,
            with_precision=self.with_precision,
            otherwise=self.otherwise,
            output_columns=self.key,
        )

    @property
    def writes_on_table(self) -> bool:
        """Whether the table itself is changed."""
        return self.style in ("update", "column")
