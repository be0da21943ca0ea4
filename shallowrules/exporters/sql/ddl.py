"""The types of a table's columns, read from the statement that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from shallowrules.errors import OptionError, suggestion
from shallowrules.exporters.sql.dialect import Dialect

__all__ = ["declared_types"]


def declared_types(statements: str, table: Sequence[str], dialect: Dialect) -> Mapping[str, str]:
    """Return the declaration of each column of a table: its type, and its collation, if it has one.

    Parameters
    ----------
    statements : str
        SQL with a CREATE TABLE of that name, or with only one CREATE TABLE.
    table : sequence of str
        The parts of the table's name.
    dialect : Dialect

    Raises
    ------
    OptionError
        If the SQL has no such statement, or cannot be parsed.
    """
    try:
        found = parse(statements, dialect=dialect.name or None)
    except SqlglotError as error:
        raise OptionError(
            f"the CREATE TABLE cannot be parsed as {dialect.name or 'ansi'}: {str(error).splitlines()[0]}", option="ddl"
        ) from error
    tables = {
        made.this.this.name: made.this.expressions
        for made in found
        if isinstance(made, exp.Create) and made.kind == "TABLE" and isinstance(made.this, exp.Schema)
    }
    wanted = table[-1].casefold()
    chosen = [columns for name, columns in tables.items() if name.casefold() == wanted or len(tables) == 1]
    if not chosen:
        created = ", ".join(map(repr, tables)) or "none"
        raise OptionError(
            f"the SQL has no CREATE TABLE that lists the columns of {table[-1]!r}; "
            f"the tables that it creates: {created}{suggestion(table[-1], tables)}",
            option="ddl",
        )
    columns = [each for each in chosen[0] if isinstance(each, exp.ColumnDef | exp.Identifier)]
    return {column.name: _declaration(column, dialect) for column in columns}


def _declaration(column: exp.Expression, dialect: Dialect) -> str:
    if not isinstance(column, exp.ColumnDef) or column.kind is None:
        return ""
    declared = column.kind.sql(dialect=dialect.name)
    for constraint in column.constraints:
        if isinstance(constraint.kind, exp.CollateColumnConstraint):
            declared += f" COLLATE {constraint.kind.this.sql(dialect=dialect.name)}"
    return declared
