"""The options of the exporter ``"dbt"``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from shallowrules.errors import OptionError, OptionName, check_choice
from shallowrules.exporters.base import check_names
from shallowrules.exporters.dbt.jinja import QUOTE, call
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.sql import SqlOptions
from shallowrules.exporters.sql.dialect import JINJA_MARK
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.rules import RuleSet
from shallowrules.sources.qualified_names import split_table
from shallowrules.tables.names import find_name

__all__ = ["DbtOptions"]

Materialized = Literal["view", "table", "incremental"]

MODEL, CLUSTER_COLUMN, TABLE, MAX_SHIFT, TYPES, KEY, UPDATED_AT, MATERIALIZED = map(
    OptionName, ("model", "cluster_column", "table", "max_shift", "types", "key", "updated_at", "materialized")
)


@dataclass(frozen=True)
class DbtOptions:
    """Options of the exporter ``"dbt"``.

    Parameters
    ----------
    dialect : str
        The warehouse's SQL; the names are those of the exporter sql.
    table : str, or sequence of its parts
        The model's input: the name of another model, or a source and its table, ``shop.customers``.
    model : str, optional
        The model's name; by default that of the table with ``_clusters``.
    columns : mapping from str to str
        Name that the warehouse has in place of that of the training table.
    types : mapping from str to str
        Declared types of columns, by their names in the warehouse; every tested column needs one. The model then has
        only these columns, under a contract, and conditions have only the guards that these types need.
    ddl : str or path, optional
        A file with the CREATE TABLE of the table, which has all types.
    cluster_column : str
        Name of the column that holds the cluster's number.
    materialized : {"view", "table", "incremental"}
        What dbt makes of the model; an incremental run labels the rows that are new or updated.
    key : sequence of str
        The columns that identify a row, for an incremental model.
    updated_at : str, optional
        The column that says when a row was last updated, for an incremental model; without it, only new rows are
        labelled.
    sources : bool
        Whether to declare the source; dbt refuses one that is declared twice.
    max_shift : float
        How much the share of a cluster, or of rows without one, may differ from training until a test fails.
    """

    dialect: str = field(default="ansi", metadata=on_command_line(default_from="dialect"))
    table: str | Sequence[str] = field(default="data", metadata=on_command_line(default_from="table"))
    model: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("column"))
    types: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("type", default_from="types"))
    ddl: str | Path | None = field(default=None, metadata=on_command_line("types"))
    cluster_column: str = "cluster"
    materialized: Materialized = "view"
    key: Sequence[str] = field(default=(), metadata=on_command_line(listed=True))
    updated_at: str | None = None
    sources: bool = True
    max_shift: float = 0.05

    def __post_init__(self) -> None:
        check_names("key", self.key)
        types = self.table_types
        if len(split_table(self.table)) > 2:
            raise OptionError(TABLE, " must be the name of a model, or of a source and its table: 'shop.customers'")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name):
            raise OptionError(MODEL, f" must consist of ASCII letters, digits and _, not {self.name!r}")
        check_choice("materialized", self.materialized, get_args(Materialized), option="materialized")
        _check_name(self.cluster_column, CLUSTER_COLUMN)
        if any(name.casefold() == self.cluster_column.casefold() for name in types):
            raise OptionError(CLUSTER_COLUMN, f" {self.cluster_column!r} is a column of the table; use another name")
        if self.materialized != "incremental" and (self.key or self.updated_at is not None):
            option = KEY if self.key else UPDATED_AT
            raise OptionError(option, f" goes with 'incremental', not {self.materialized!r}: change ", MATERIALIZED)
        if self.materialized == "incremental" and not self.key:
            raise OptionError("an incremental model needs the columns that identify a row: name them with ", KEY)
        for option, names in ((KEY, self.key), (UPDATED_AT, () if self.updated_at is None else (self.updated_at,))):
            for name in names:
                _check_name(name, option)
                if types and name not in types:
                    raise OptionError(
                        option,
                        f" {name!r} has no type, and the model lists only columns with a type: give it with ",
                        TYPES,
                    )
        is_number = isinstance(self.max_shift, int | float) and not isinstance(self.max_shift, bool)
        if not is_number or not 0 <= self.max_shift <= 1:
            raise OptionError(MAX_SHIFT, f" must be a share from 0 to 1, not {self.max_shift!r}")

    @cached_property
    def table_types(self) -> Mapping[str, str]:
        """The declared types of columns, by their names in the warehouse; none if they are not known."""
        sql = SqlOptions(dialect=self.dialect, table=self.table, columns=self.columns, types=self.types, ddl=self.ddl)
        return sql.table_types

    @property
    def name(self) -> str:
        """The name of the model."""
        return f"{split_table(self.table)[-1]}_clusters" if self.model is None else str(self.model)

    @property
    def read(self) -> str:
        """The call that gives the model's input."""
        parts = split_table(self.table)
        return call("source" if len(parts) > 1 else "ref", parts)

    @property
    def has_contract(self) -> bool:
        """Whether dbt can hold the model to types: all are known, and names and the cluster's number can be written."""
        types, writing = self.table_types, WRITING[find_dialect(self.dialect).name or "ansi"]
        is_cast = writing.cast is not None or len(writing.numbers) == 1
        return bool(types) and all(types.values()) and not any(map(QUOTE.search, types)) and is_cast

    def names_of(self, rules: RuleSet) -> list[str]:
        """Return the names of the columns of rules in the warehouse, which may differ in case from those given."""
        given = [self.columns.get(column.name, column.name) for column in rules.columns]
        return [find_name(name, self.table_types, str.casefold) or name for name in given]


def _check_name(name: object, option: OptionName) -> None:
    if not isinstance(name, str) or not name or JINJA_MARK.search(name) or QUOTE.search(name):
        raise OptionError(option, f" must be a name without quotes, backslashes and marks of Jinja, not {name!r}")
