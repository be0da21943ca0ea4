"""The facts about each database as data: what it stores about objects, and what it can do in one transaction.

In a template, ``{schema}`` (NULL if none is given), ``{name}`` and ``{column}`` are SQL texts, ``{quoted}`` is the
whole name as SQL, ``{text}`` the same as a SQL text, ``{quoted_column}`` the column as SQL, ``{column_text}`` that as a
SQL text, ``{catalog}`` the prefix of SQLite's own tables, ``{place}`` the predicate for DuckDB's objects in the schema,
``{mark}`` a mark as SQL and ``{type}`` the type of a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DATABASES", "REGISTRY", "REGISTRY_COLUMNS", "DatabaseFacts"]

REGISTRY = "shallowrules_objects"
"""The table that records objects made here, where the database keeps no comments on them."""

REGISTRY_COLUMNS = ("kind", "name", "part", "mark", "definition")


@dataclass(frozen=True, kw_only=True)
class DatabaseFacts:
    """How one database identifies objects and runs statements.

    Attributes
    ----------
    title : str
    transactional : bool
        Whether statements that create or drop objects are part of a transaction, and are rolled back with it.
    begin : str or None
        The statement that begins a transaction, where the driver begins none before a statement that creates an object.
    settings : tuple of str
        Statements that turn off settings of the session under which SQL has another meaning.
    patience : tuple of str
        Statements that limit the wait for locks of others to ``{seconds}`` or ``{milliseconds}``.
    schema_of_table : str or None
        A query for the schema in which a table is found by its name, and for the one in which an object is created.
    objects : str
        A query for the kind of an object ("view", "table" or another word) and the comment on it.
    columns : str or None
        A query for the comment on a column; None where columns have none.
    comments : mapping from str to str
        The statement that writes the comment on an object, by its kind; objects of other kinds go to the registry.
    definitions : mapping from str to str
        By the kind of an object in the registry, a query for its definition: if that has changed, somebody has replaced
        the object.
    registry : str
        The statement that creates the registry.
    marked_column : str or None
        The statement that adds an empty column and the comment on it, where two statements are two transactions.
    marked_table : str or None
        The statement that makes a table of a ``{query}`` and the comment on it, where two statements are two
        transactions.
    replaced_view : str or None
        The statement that puts a view of a ``{query}`` in place of another, where two statements are two transactions.
    compares_rows : bool
        Whether a comparison of several columns as one, ``(a, b) > (x, y)``, uses an index.
    temporary : str
        The prefix of a temporary table's name, so that no other table of that name is meant.
    heirs : str or None
        A query for the tables that inherit a table's columns and already have one of the new column's name.
    kept_columns : str or None
        A query for the columns that the database updates by itself unless an update assigns them.
    interferes : str or None
        A query for the number of triggers and policies that may keep an update from rows, or change what it writes.
    rights : str or None
        A query for the statements that restore the rights of others on an object, where dropping it takes them away.
    key : str
        A query for the columns of the primary key, in order.
    many_rows : int or None
        An update of a table with more rows is run in batches; None where no index finds the rows of a batch.
    primary_key : str
        The statement that makes the columns ``{key}`` the key of a table; an ``{index}`` may have a name.
    stamp : tuple of str
        The type of a column of timestamps, and the expression for the current time.
    merge : str
        The end of an INSERT that updates the row of the same ``{key}``, by the assignments ``{assigned}``, where
        ``{changed}`` is true. If it makes these assignments in any case, ``{stamp}`` alone, which becomes
        ``{inserted_stamp}``, depends on ``{changed}``.
    inserted : str
        The inserted value of a ``{column}``, in that end.
    holders : str or None
        A query for the sessions that hold locks on a table: number, user and since when.
    strict : tuple of str
        Statements that make a value which a column cannot hold an error; otherwise it is cut.
    needs_key : bool
        Whether `merge` silently inserts a row a second time into a table without its key.
    same : str
        The predicate that a ``{one}`` key equals the ``{other}``, character by character.
    claim : str or None
        A query that waits at most ``{seconds}`` for the sole right to a ``{name}``, or not at all, and gives 1 if the
        connection has it from then on; None where transactions keep two runs apart.
    session : str or None
        A query for the number of the connection, where a statement continues after its client has gone.
    kill, is_alive : str
        The statement that ends the session ``{number}``, and a query for how many sessions have that number.
    """

    title: str
    transactional: bool
    begin: str | None = None
    settings: tuple[str, ...] = ()
    patience: tuple[str, ...] = ()
    schema_of_table: str | None = None
    objects: str
    columns: str | None
    comments: Mapping[str, str]
    definitions: Mapping[str, str] = field(default_factory=dict)
    registry: str = ""
    marked_column: str | None = None
    marked_table: str | None = None
    replaced_view: str | None = None
    compares_rows: bool = False
    temporary: str = ""
    heirs: str | None = None
    kept_columns: str | None = None
    interferes: str | None = None
    rights: str | None = None
    key: str
    many_rows: int | None = None
    primary_key: str = "ALTER TABLE {quoted}\nADD PRIMARY KEY ({key})"
    stamp: tuple[str, str]
    merge: str = "ON CONFLICT ({key}) DO UPDATE SET {assigned}\nWHERE {changed}"
    inserted: str = "excluded.{column}"
    strict: tuple[str, ...] = ()
    needs_key: bool = False
    same: str = "{one} = {other}"
    holders: str | None = None
    claim: str | None = None
    session: str | None = None
    kill: str = ""
    is_alive: str = ""


_POSTGRES = DatabaseFacts(
    title="PostgreSQL",
    transactional=True,
    patience=("SET lock_timeout = {milliseconds}",),
    compares_rows=True,
    many_rows=1_000_000,
    stamp=("TIMESTAMP WITH TIME ZONE", "CURRENT_TIMESTAMP"),
    temporary="pg_temp.",
    heirs=(
        "WITH RECURSIVE heirs (oid) AS (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass({text}) "
        "UNION SELECT i.inhrelid FROM pg_inherits i JOIN heirs h ON i.inhparent = h.oid) "
        "SELECT CAST(CAST(h.oid AS regclass) AS TEXT) FROM heirs h JOIN pg_attribute a ON a.attrelid = h.oid "
        "WHERE a.attname = {column} AND NOT a.attisdropped"
    ),
    interferes=(
        "SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass({text}) AND NOT tgisinternal) "
        "+ (SELECT count(*) FROM pg_class WHERE oid = to_regclass({text}) "
        "AND (relrowsecurity OR relhassubclass OR relhasrules))"
    ),
    schema_of_table=(
        "SELECT n.nspname, current_schema() FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass({text})"
    ),
    objects=(
        "SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' ELSE 'other' END, "
        "obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relname = {name} AND n.nspname = COALESCE({schema}, current_schema())"
    ),
    columns=(
        "SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a "
        "WHERE a.attrelid = to_regclass({text}) AND a.attname = {column} AND NOT a.attisdropped"
    ),
    comments={
        "view": "COMMENT ON VIEW {quoted} IS {mark}",
        "table": "COMMENT ON TABLE {quoted} IS {mark}",
        "column": "COMMENT ON COLUMN {quoted}.{quoted_column} IS {mark}",
    },
    rights=(
        "SELECT 'GRANT ' || a.privilege_type || ' ON ' || {text} || ' TO ' || "
        "CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END || "
        "CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END "
        "FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a "
        "WHERE c.oid = to_regclass({text}) AND a.grantee <> c.relowner ORDER BY 1"
    ),
    key=(
        "SELECT a.attname FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place) "
        "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number "
        "WHERE i.indrelid = to_regclass({text}) AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place"
    ),
    holders=(
        "SELECT DISTINCT a.pid, a.usename, CAST(a.xact_start AS TEXT) FROM pg_locks l "
        "JOIN pg_stat_activity a ON a.pid = l.pid "
        "WHERE l.relation = to_regclass({text}) AND l.granted AND l.pid <> pg_backend_pid()"
    ),
    claim="SELECT CAST(pg_try_advisory_lock(hashtextextended({name}, 0)) AS INTEGER)",
)

_MARIADB = DatabaseFacts(
    title="MariaDB",
    transactional=False,
    # With the last three, a statement that writes fails where a query only warns, as on a BIT that is not text.
    settings=tuple(
        f"SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, '{mode}', '')"
        for mode in ("EMPTY_STRING_IS_NULL", "TRADITIONAL", "STRICT_TRANS_TABLES", "STRICT_ALL_TABLES")
    ),
    kept_columns=(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = COALESCE({schema}, DATABASE()) "
        "AND TABLE_NAME = {name} AND EXTRA LIKE '%on update%' ORDER BY ORDINAL_POSITION"
    ),
    interferes=(
        "SELECT count(*) FROM information_schema.TRIGGERS "
        "WHERE EVENT_OBJECT_SCHEMA = COALESCE({schema}, DATABASE()) AND EVENT_OBJECT_TABLE = {name}"
    ),
    patience=("SET SESSION lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds}",),
    objects=(
        "SELECT CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' WHEN 'BASE TABLE' THEN 'table' ELSE 'other' END, TABLE_COMMENT "
        "FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE({schema}, DATABASE()) AND TABLE_NAME = {name}"
    ),
    columns=(
        "SELECT COLUMN_COMMENT FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = COALESCE({schema}, DATABASE()) AND TABLE_NAME = {name} AND COLUMN_NAME = {column}"
    ),
    comments={
        "table": "ALTER TABLE {quoted} COMMENT = {mark}",
        "column": "ALTER TABLE {quoted} MODIFY COLUMN {quoted_column} {type} COMMENT {mark}",
    },
    definitions={
        "view": (
            "SELECT VIEW_DEFINITION FROM information_schema.VIEWS "
            "WHERE TABLE_SCHEMA = COALESCE({schema}, DATABASE()) AND TABLE_NAME = {name}"
        ),
    },
    registry=(
        "CREATE TABLE IF NOT EXISTS {quoted} (kind VARCHAR(16), name VARCHAR(64), part VARCHAR(64), "
        "mark VARCHAR(2048), definition LONGTEXT) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    ),
    marked_column="ALTER TABLE {quoted}\nADD COLUMN {quoted_column} {type} COMMENT {mark}",
    marked_table="CREATE TABLE {quoted} COMMENT = {mark} AS\n{query}",
    replaced_view="CREATE OR REPLACE VIEW {quoted} AS\n{query}",
    many_rows=1_000_000,
    stamp=("DATETIME", "UTC_TIMESTAMP()"),
    # Assignments are made in order: the first still sees the columns as they were before the others.
    merge="ON DUPLICATE KEY UPDATE {stamp} = IF({changed}, {inserted_stamp}, {stamp}), {assigned}",
    inserted="VALUES({column})",
    strict=("SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES')",),
    needs_key=True,
    key=(
        "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = COALESCE({schema}, DATABASE()) "
        "AND TABLE_NAME = {name} AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX"
    ),
    holders=(
        "SELECT p.ID, p.USER, CAST(t.trx_started AS CHAR) FROM information_schema.INNODB_TRX t "
        "JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE p.ID <> CONNECTION_ID()"
    ),
    claim="SELECT GET_LOCK({name}, {seconds})",
    session="SELECT CONNECTION_ID()",
    kill="KILL {number}",
    is_alive="SELECT count(*) FROM information_schema.PROCESSLIST WHERE ID = {number}",
)

DATABASES: Mapping[str, DatabaseFacts] = {
    "postgres": _POSTGRES,
    "mysql": _MARIADB,
    "sqlite": DatabaseFacts(
        title="SQLite",
        transactional=True,
        begin="BEGIN IMMEDIATE",
        temporary="temp.",
        many_rows=1_000_000,
        primary_key="CREATE UNIQUE INDEX {catalog}{index} ON {bare} ({key})",
        same="{one} = {other} COLLATE BINARY",
        stamp=("TEXT", "CURRENT_TIMESTAMP"),
        interferes=(
            "SELECT count(*) FROM {catalog}sqlite_master WHERE type = 'trigger' AND tbl_name = {name} COLLATE NOCASE"
        ),
        patience=("PRAGMA busy_timeout = {milliseconds}",),
        objects=(
            "SELECT type, NULL FROM {catalog}sqlite_master WHERE name = {name} COLLATE NOCASE "
            "AND type IN ('table', 'view', 'index')"
        ),
        columns=None,
        comments={},
        definitions={
            "view": "SELECT sql FROM {catalog}sqlite_master WHERE name = {name} COLLATE NOCASE",
            "table": "SELECT sql FROM {catalog}sqlite_master WHERE name = {name} COLLATE NOCASE",
            "column": (
                "SELECT type || ' ' || hidden || ' ' || (SELECT instr(sql, {column_text}) > 0 FROM "
                "{catalog}sqlite_master WHERE type = 'table' AND name = {name} COLLATE NOCASE) "
                "FROM pragma_table_xinfo({name}, COALESCE({schema}, 'main')) WHERE name = {column} COLLATE NOCASE"
            ),
        },
        registry=f"CREATE TABLE IF NOT EXISTS {{quoted}} ({', '.join(f'{part} TEXT' for part in REGISTRY_COLUMNS)})",
        key="SELECT name FROM pragma_table_info({name}, COALESCE({schema}, 'main')) WHERE pk > 0 ORDER BY pk",
    ),
    "duckdb": DatabaseFacts(
        title="DuckDB",
        transactional=True,
        temporary="temp.",
        stamp=("TIMESTAMP WITH TIME ZONE", "CURRENT_TIMESTAMP"),
        objects=(
            "SELECT 'table', comment FROM duckdb_tables() WHERE lower(table_name) = lower({name}) AND {place} "
            "UNION ALL "
            "SELECT 'view', comment FROM duckdb_views() WHERE lower(view_name) = lower({name}) AND {place}"
        ),
        columns=(
            "SELECT comment FROM duckdb_columns() WHERE lower(table_name) = lower({name}) "
            "AND lower(column_name) = lower({column}) AND {place}"
        ),
        comments={
            "view": "COMMENT ON VIEW {quoted} IS {mark}",
            "table": "COMMENT ON TABLE {quoted} IS {mark}",
            "column": "COMMENT ON COLUMN {quoted}.{quoted_column} IS {mark}",
        },
        key=(
            "SELECT unnest(constraint_column_names) FROM duckdb_constraints() "
            "WHERE constraint_type = 'PRIMARY KEY' AND lower(table_name) = lower({name}) AND {place}"
        ),
    ),
}
"""The facts about each database, by the name of its dialect."""
