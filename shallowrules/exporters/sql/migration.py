"""SQL that keeps clusters in a database, as a migration: a file that creates it, and one that drops it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from shallowrules.errors import OptionError, OptionName
from shallowrules.exporters.sql.dialects import find_dialect
from shallowrules.exporters.sql.exporter import plain_sql, signature, target_of
from shallowrules.exporters.sql.labels import cluster_type
from shallowrules.exporters.sql.options import IN_STATEMENTS, QUOTES, SqlOptions
from shallowrules.exporters.sql.writing import WRITING, dropping
from shallowrules.rules import RuleSet

__all__ = ["write_migration"]


def write_migration(rules: RuleSet, **options: Any) -> dict[str, str]:
    """Return an up and a down file by their names.

    Parameters
    ----------
    rules : RuleSet
    **options
        Of `SqlOptions`; the style is one that keeps something in a database.

    Raises
    ------
    OptionError, ExportError
        As `SqlExporter` does, and for a style that keeps nothing.
    """
    settings = SqlOptions(**options)
    if settings.style not in IN_STATEMENTS:
        raise OptionError(
            f"a migration keeps clusters in a database: choose one of {', '.join(IN_STATEMENTS)} for ",
            OptionName("style"),
            f", not {settings.style!r}",
        )
    dialect = replace(find_dialect(settings.dialect), quotes=QUOTES[settings.identifiers])
    writing, target = WRITING[dialect.name or "ansi"], target_of(settings, dialect)
    made, table = (".".join(map(dialect.identifier, name)) for name in (target, settings.table_parts))
    column = dialect.identifier(settings.cluster_column)
    up = [plain_sql(rules, **options).rstrip()]
    if settings.style in ("update", "column"):
        name = f"{settings.table_parts[-1]}_{settings.cluster_column}"
        down = dropping("column", table, column)
        if settings.style == "update":
            up.insert(0, writing.added.format(table=table, column=column, type=cluster_type(rules, settings, writing)))
    else:
        name = target[-1]
        arguments = signature(rules, settings) if settings.style == "function" else ""
        down = dropping(_kind(settings, dialect.name), f"{made}{arguments}")
    stem = re.sub(r"[^\w-]+", "_", name)
    between = ";\n\nGO\n\n" if dialect.name == "tsql" else ";\n\n"  # T-SQL resolves a column before it exists
    return {f"{stem}.up.sql": f"{between.join(up)};\n", f"{stem}.down.sql": f"{down};\n"}


def _kind(settings: SqlOptions, dialect: str) -> str:
    """Return the word for a style's object in the statement that drops it."""
    if settings.style == "function":
        return "macro" if dialect == "duckdb" else "function"
    if settings.materialized and dialect != "clickhouse":
        return "materialized view"
    return settings.style
