"""The options of the exporter ``"sql"``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from shallowrules.errors import OptionError, OptionName, check_choice
from shallowrules.exporters.base import ClusterAs, check_names, check_path, check_text, precision_column_of
from shallowrules.exporters.options import on_command_line
from shallowrules.exporters.sql.ddl import declared_types
from shallowrules.exporters.sql.declared import Guards
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.rules import INT64
from shallowrules.sources.qualified_names import split_table

__all__ = [
    "CLUSTER_COLUMN",
    "COLUMNS",
    "COUNTING",
    "INDENTS",
    "IN_STATEMENTS",
    "LABELLING_STYLES",
    "MEASURE",
    "OTHERWISE",
    "OUTPUT_COLUMNS",
    "QUERIES",
    "QUOTES",
    "STYLES",
    "TYPES",
    "WITH_CLUSTER_COLUMN",
    "SqlOptions",
]

Style = Literal["where", "case", "ordered", "select", "view", "table", "update", "column", "function", "check", "drift"]
STYLES: tuple[str, ...] = get_args(Style)
SqlClusterAs = Literal[ClusterAs, "both"]
Identifiers = Literal["quoted", "folded", "as-in-table"]
QUOTES: Mapping[str, Literal["always", "folded", "needed"]] = {
    "quoted": "always",
    "folded": "folded",
    "as-in-table": "needed",
}
"""The names that are quoted, by the values of `SqlOptions.identifiers`."""

LABELLING_STYLES = ("where", "case", "ordered", "select")
"""The styles that label each row with its cluster."""

INDENTS = {**dict.fromkeys(("select", "view", "table"), 2), **dict.fromkeys(("check", "drift"), 4)}
"""Blanks before CASE in a query, by style."""

IN_STATEMENTS = ("view", "table", "update", "column", "function")
"""The styles that put a query or an expression into a statement."""

WITH_CLUSTER_COLUMN = ("select", "view", "table", "column")
"""The styles that add a column to those of the table."""

QUERIES = ("select", "view", "table")
"""The styles that are a query, or contain one."""

COUNTING = ("check", "drift")
"""The styles that count the rows of each cluster."""

WITHOUT_ELSE = ("where",)
"""The styles in which a row without a cluster gets nothing."""

COLUMNS, CLUSTER_COLUMN, OTHERWISE = OptionName("columns"), OptionName("cluster_column"), OptionName("otherwise")
TYPES, DDL, IDENTIFIERS = OptionName("types"), OptionName("ddl"), OptionName("identifiers")
OUTPUT_COLUMNS, CLUSTER_AS = OptionName("output_columns"), OptionName("cluster_as")
MEASURE, WITH_PRECISION = OptionName("measure"), OptionName("with_precision")


@dataclass(frozen=True)
class SqlOptions:
    """Options of the exporter ``"sql"``.

    Parameters
    ----------
    dialect : str
        The database's SQL, as sqlglot calls it (duckdb, sqlite, postgres, mysql, …), or an alias such as postgresql;
        an unknown one lists all.
    table : str, or sequence of its parts
        Table that ``select`` reads. Dots separate schema and table, and a part in double quotes may hold
        dots: ``"my.schema".table``.
    style : {"where", "case", "ordered", "select", "view", "table", "update", "column", "function", "check", "drift"}
        One predicate per cluster; one CASE expression that gives the cluster's number; a shorter one, in which a
        branch relies on those before it; a query of every column and the cluster. What keeps it: a view or a new table
        of that query; an update of a column of the table, where the cluster changes; a column that the database
        computes; a function of the tested columns. To look at the table: a query to run after loading (rows by cluster
        against training, rows without one, new texts), or the shift of each cluster's share.
    columns : mapping from str to str
        Name that the database has in place of that of the training table.
    types : mapping from str to str
        Declared types of columns, by their names in the database; conditions then have only the guards that these
        types need. If any type is given, every tested column needs one.
    ddl : str or path, optional
        A file with the CREATE TABLE of the table, which has all types.
    guards : {"usual", "full"}
        The types that conditions are right for: those given, or else the usual types of numbers and texts; or any type.
    identifiers : {"quoted", "folded", "as-in-table"}
        Names: all in quotes; without quotes where they need none, for a table that was made without, so that
        MonthlyCharges is monthlycharges in PostgreSQL and MONTHLYCHARGES in Snowflake; or, where the types are given,
        in quotes only where the table's names need them.
    output_columns : sequence of str
        The table's columns that a query returns beside the cluster, by their names in the database; by default all.
    cluster_column : str
        Name of the column that holds the cluster.
    cluster_as : {"number", "name", "both"}
        What a row gets for a cluster: its number; its name, the label that it was given; or both, the name in a column
        of its own, that of the number with ``_name``.
    with_precision : bool
        Whether a query has one more column, named like that of the cluster with ``_precision``: the precision of the
        row's rule, the share of its training rows that are in the cluster without rules too, from 0 to 1; NULL where no
        rule matches.
    into : str, or sequence of its parts, optional
        Name of the view, table or function that is made; by default that of the table with ``_clusters``, or
        ``_cluster`` for a function.
    materialized : bool
        Whether a view is a materialized one.
    otherwise : str or int, optional
        What a row without a cluster gets, in place of NULL: a whole number, or with cluster_as="name" a text, that is
        no cluster's.
    measure : str, optional
        A column of numbers that ``check`` and ``drift`` add up by cluster, as the rules call it.
    template : str or path, optional
        A jinja2 template of your own in place of the shipped one; trusted like a program.
    """

    dialect: str = field(default="ansi", metadata=on_command_line(unprefixed=True, default_from="dialect"))
    table: str | Sequence[str] = field(default="data", metadata=on_command_line(unprefixed=True, default_from="table"))
    style: Style = field(default="where", metadata=on_command_line(unprefixed=True))
    columns: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("column", unprefixed=True))
    types: Mapping[str, str] = field(default_factory=dict, metadata=on_command_line("type", default_from="types"))
    ddl: str | Path | None = field(default=None, metadata=on_command_line("types"))
    guards: Guards = "usual"
    identifiers: Identifiers = "quoted"
    output_columns: Sequence[str] = field(default=(), metadata=on_command_line(listed=True))
    cluster_column: str = field(default="cluster", metadata=on_command_line(unprefixed=True))
    cluster_as: SqlClusterAs = "number"
    with_precision: bool = False
    into: str | Sequence[str] | None = None
    materialized: bool = False
    otherwise: str | int | None = field(default=None, metadata=on_command_line("else"))
    measure: str | None = None
    template: str | Path | None = None

    def __post_init__(self) -> None:
        check_choice("style", self.style, STYLES, option="style")
        style = OptionName("style", self.style)
        find_dialect(self.dialect)
        split_table(self.table)
        _check_texts(self.columns, COLUMNS, "must map the old name of a column to its new one")
        _check_texts(self.types, TYPES, "must map the name of a column in the database to its type")
        check_choice("guards", self.guards, get_args(Guards), option="guards")
        check_choice("identifiers", self.identifiers, QUOTES, option="identifiers")
        if self.identifiers == "folded" and self.knows_table:
            raise OptionError(IDENTIFIERS, " 'folded' is for a table whose names are not known: choose 'as-in-table'")
        if self.identifiers == "as-in-table" and not self.knows_table:
            raise OptionError(IDENTIFIERS, " 'as-in-table' needs the table's names and types; give them with ", DDL)
        check_text("cluster_column", self.cluster_column)
        check_choice("cluster_as", self.cluster_as, get_args(SqlClusterAs), option="cluster_as")
        if self.cluster_as == "both" and self.style not in QUERIES:
            raise OptionError(CLUSTER_AS, f" 'both' goes with a query ({', '.join(QUERIES)}), not with ", style)
        if self.with_precision and self.style not in QUERIES:
            raise OptionError(WITH_PRECISION, f" goes with a query ({', '.join(QUERIES)}), not with ", style)
        check_names("output_columns", self.output_columns)
        if self.output_columns and self.style not in QUERIES:
            raise OptionError(OUTPUT_COLUMNS, f" goes with a query ({', '.join(QUERIES)}), not with ", style)
        if self.into is not None:
            split_table(self.into)
        if self.materialized and self.style != "view":
            raise OptionError(OptionName("materialized"), " goes with a view, not with ", style)
        check_path("ddl", self.ddl)
        if self.ddl is not None:
            _ = self.table_types  # report a wrong file before the work
        if self.otherwise is not None and self.style in WITHOUT_ELSE:
            raise OptionError(OTHERWISE, " goes with a style that labels rows, not with ", style)
        if self.otherwise is not None and self.cluster_as != "name":
            _check_number(self.otherwise)
        if self.measure is not None:
            check_text("measure", self.measure)
            if self.style not in COUNTING:
                raise OptionError(MEASURE, f" goes with {' and '.join(COUNTING)}, not with ", style)

    @property
    def is_typed(self) -> bool:
        """Whether the text is for the types of the columns."""
        return self.guards == "usual" and self.knows_table

    @property
    def knows_columns(self) -> bool:
        """Whether all columns of a query are known, so that a new one cannot clash with the table's."""
        return bool(self.output_columns) or self.knows_table

    @property
    def knows_table(self) -> bool:
        """Whether the names and types of the table's columns are given."""
        return bool(self.types) or self.ddl is not None

    @property
    def table_parts(self) -> list[str]:
        """The parts of the table's name."""
        return split_table(self.table)

    @property
    def new_columns(self) -> list[str]:
        """The columns that a query has besides those of the table."""
        return [name for name in (self.cluster_column, self.precision_column, self.name_column) if name is not None]

    @property
    def name_column(self) -> str | None:
        """The column of the cluster's name, next to that of its number, if there is one."""
        return f"{self.cluster_column}_name" if self.cluster_as == "both" else None

    @property
    def precision_column(self) -> str | None:
        """The column of the precision of the row's rule, if there is one."""
        return precision_column_of(self.cluster_column) if self.with_precision else None

    @property
    def target(self) -> list[str]:
        """The parts of the new object's name."""
        if self.into is not None:
            return split_table(self.into)
        *schema, name = self.table_parts
        return [*schema, f"{name}_cluster" if self.style == "function" else f"{name}_clusters"]

    @cached_property
    def table_types(self) -> Mapping[str, str]:
        """The declared types of columns, by their names in the database; none if they are not known."""
        if self.ddl is None:
            return self.types
        try:
            statements = Path(self.ddl).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise OptionError(DDL, f" {self.ddl}: it cannot be read: {error}") from error
        return declared_types(statements, self.table_parts, find_dialect(self.dialect))


def _check_texts(given: object, option: OptionName, must: str) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for pair in given.items() for text in pair):
        raise OptionError(option, f" {must}")


def _check_number(value: str | int) -> None:
    try:
        number = int(str(value))  # a float would lose its fraction, and True become 1
    except ValueError:
        raise OptionError(OTHERWISE, f" is {value!r}, and clusters are numbers; use a whole number, or names") from None
    if number not in INT64:
        raise OptionError(OTHERWISE, f" is {value!r}, beyond 64 bits")
