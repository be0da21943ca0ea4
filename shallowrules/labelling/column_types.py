"""The declared types of a table's columns in a database, in the words that the exporter of SQL takes."""

from __future__ import annotations

from collections.abc import Mapping

from shallowrules.errors import OptionError
from shallowrules.exporters.sql import DIALECTS, declared_types, dialect_of_database
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import DatabaseSource, open_rows

__all__ = ["column_types", "dialect_of", "table_facts"]

POSTGRES = (
    "SELECT a.attname, format_type(a.atttypid, a.atttypmod) "
    "|| CASE WHEN c.collisdeterministic THEN '' ELSE coalesce(' COLLATE ' || quote_ident(c.collname), '') END "
    "FROM pg_catalog.pg_attribute AS a LEFT JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation "
    "WHERE a.attrelid = {table}::regclass AND a.attnum > 0"
)
"""A deterministic collation treats no two texts as equal, whatever its order."""

DUCKDB = (
    "SELECT current_setting('default_collation') <> '' OR EXISTS (SELECT 1 FROM "
    "(SELECT sql, internal FROM duckdb_tables() UNION ALL SELECT sql, internal FROM duckdb_views()) "
    "WHERE NOT internal AND sql ILIKE '%collate%')"
)
"""Whether a column of text may have a collation: DuckDB does not report which columns have one."""

OWN_TABLE = (
    "SELECT bool_and(coalesce(type = 'duckdb', false)) FROM "
    "(SELECT database_name, table_name FROM duckdb_tables() UNION ALL SELECT NULL, view_name FROM duckdb_views()) "
    "LEFT JOIN duckdb_databases() USING (database_name) WHERE lower(table_name) = lower({table})"
)
"""Whether DuckDB stores a table itself; a view may read files, whose statistics leave NaN out."""


def table_facts(rows: DatabaseRows) -> dict[str, str | Mapping[str, str]]:
    """Return the dialect of a database and the declared types of a table there, by the names of each `Fact`.

    Raises
    ------
    DataError
        If the database cannot be reached, or has no such table.
    """
    with open_rows(rows) as source:
        return {"types": column_types(source), "dialect": dialect_of(source)}


def dialect_of(source: DatabaseSource) -> str:
    """Return the SQL of a database: MariaDB's where a MySQL URL leads to one; "ansi" where it is not known."""
    if getattr(source.connection.dialect, "is_mariadb", False):
        return "mariadb"
    return dialect_of_database(source.rows.backend) or "ansi"


def column_types(source: DatabaseSource) -> Mapping[str, str]:
    """Return the declaration of each column of a table by its name, empty if it is not known; none for a query."""
    if source.rows.table is None:
        return {}
    backend = source.connection.dialect.name
    known = _READERS[backend](source) if backend in _READERS else {}
    return {name: known.get(name, "") for name in source.names}


def _of_postgres(source: DatabaseSource) -> Mapping[str, str]:
    asked = POSTGRES.format(table=DIALECTS["postgres"].string(source.relation))
    return dict(map(tuple, source.connection.exec_driver_sql(asked)))


def _of_mysql(source: DatabaseSource) -> Mapping[str, str]:
    described = source.connection.exec_driver_sql(f"SHOW FULL COLUMNS FROM {source.relation}")
    return {str(name): f"{kind} COLLATE {order}" if order else str(kind) for name, kind, order, *_ in described}


def _of_duckdb(source: DatabaseSource) -> Mapping[str, str]:
    collated = source.connection.exec_driver_sql(DUCKDB).scalar_one()
    asked = OWN_TABLE.format(table=DIALECTS["duckdb"].string(source.rows.name_parts[-1]))
    unknown = {"VARCHAR"} if collated else set()
    if not source.connection.exec_driver_sql(asked).scalar_one():
        unknown |= {"DOUBLE", "FLOAT"}
    types = {str(name): str(kind) for name, kind, *_ in source.described}
    return {name: "" if kind in unknown else kind for name, kind in types.items()}


def _of_sqlite(source: DatabaseSource) -> Mapping[str, str]:
    """Return the declared type from the statement that created the table; a view has none."""
    *schema, table = source.rows.name_parts
    master = ".".join([*map(source.quote, schema), "sqlite_master"])
    is_it = f"type = 'table' AND name = {DIALECTS['sqlite'].string(table)} COLLATE NOCASE"
    statement = source.connection.exec_driver_sql(f"SELECT sql FROM {master} WHERE {is_it}").scalar()
    try:
        return {} if statement is None else declared_types(str(statement), [table], DIALECTS["sqlite"])
    except OptionError:  # a virtual table, or something that only SQLite knows
        return {}


_READERS = {
    "postgresql": _of_postgres,
    "mysql": _of_mysql,
    "mariadb": _of_mysql,
    "duckdb": _of_duckdb,
    "sqlite": _of_sqlite,
}
