"""The names of the rules' columns in a database, and the refusal of names that it cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.options import (
    CLUSTER_COLUMN,
    COLUMNS,
    OUTPUT_COLUMNS,
    QUERIES,
    TYPES,
    WITH_CLUSTER_COLUMN,
    SqlOptions,
)
from shallowrules.tables.names import find_name, show_absent

__all__ = ["called_alike", "find_output_columns", "name_columns", "names_in_table", "refuse_lookalikes"]


def find_output_columns(settings: SqlOptions, dialect: Dialect) -> list[str]:
    """Return the columns that a query gives, as the table calls them where that is known."""
    names, types = list(settings.output_columns), settings.table_types
    if types:
        names = names_in_table(names, range(len(names)), types, dialect)
    if (name := called_alike(names, settings)) is not None:
        raise OptionError(
            OUTPUT_COLUMNS, f" has {name!r}, the name of a new column; give that a different name with ", CLUSTER_COLUMN
        )
    return names


def names_in_table(
    names: Sequence[str], tested: Sequence[int], types: Mapping[str, str], dialect: Dialect
) -> list[str]:
    """Return the names of columns as the table has them: a tested one may differ in case, where only one does."""
    found = list(names)
    for index in tested:
        alike = find_name(names[index], types, dialect.names.fold, str.casefold)
        if alike is None:
            raise OptionError(
                f"the table has no column {show_absent(names[index], types)}; give its type with ",
                TYPES,
                ", or its name in the table with ",
                COLUMNS,
            )
        found[index] = alike
    return found


def name_columns(old_names: Sequence[str], settings: SqlOptions) -> list[str]:
    """Return the name of every column in the database."""
    unknown = [old for old in settings.columns if old not in old_names]
    if unknown:
        raise OptionError(
            COLUMNS,
            f" renames {', '.join(map(repr, unknown))}, which the rules do not have; "
            f"their columns are: {', '.join(map(repr, old_names))}",
        )
    names = [settings.columns.get(old, old) for old in old_names]
    takes_all = settings.style in QUERIES and not settings.output_columns
    there = [*names, *(settings.table_types if takes_all else [])]
    if settings.style in WITH_CLUSTER_COLUMN and (name := called_alike(there, settings)) is not None:
        raise ExportError(
            f"the table already has a column {name!r}; give the new one a different name with ", CLUSTER_COLUMN
        )
    return names


def called_alike(names: Sequence[str], settings: SqlOptions) -> str | None:
    """Return the name that is that of a new column in any case, if there is one."""
    new = {name.casefold() for name in settings.new_columns}
    return next((name for name in names if name.casefold() in new), None)


def refuse_lookalikes(names: Sequence[str], tested: Sequence[int], spelt: str, dialect: Dialect) -> None:
    """Refuse tested columns whose names the dialect cannot tell apart."""
    holders: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        holders.setdefault(dialect.fold(name), []).append(index)
    for index in tested:
        same = holders[dialect.fold(names[index])]
        if len(same) > 1:
            raise ExportError(
                f"dialect {spelt!r} treats the columns {' and '.join(repr(names[i]) for i in same)} "
                "as one; rename one in the database and state that with ",
                COLUMNS,
            )
