"""An update in batches of rows by the primary key, each in its own transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shallowrules.errors import DataError, OptionName
from shallowrules.labelling.databases.inspecting import Database
from shallowrules.tables.conversion import INT64

__all__ = ["Batches"]


@dataclass(frozen=True)
class Batches:
    """An update that is run for a range of keys at a time.

    The ends of a range are rows of two temporary tables, which have the columns of the key: no value of a key is
    written as SQL, and none passes through a driver.

    Parameters
    ----------
    table : str
        As SQL.
    key : tuple of str
        Columns of the primary key.
    size : int
        Rows of a batch.
    """

    table: str
    key: tuple[str, ...]
    size: int

    @classmethod
    def of(cls, database: Database, table: Sequence[str], size: int) -> Batches:
        """Return the batches of a table; DataError if it has no primary key."""
        quoted, key = database.quoted(table), database.key_of(table)
        if not key:
            raise DataError(
                f"table {quoted} has no primary key, which batches need; omit ",
                OptionName("batch"),
                ", or apply a view",
            )
        return cls(quoted, tuple(key), size)

    def run(self, database: Database, update: str) -> Iterator[tuple[int, int]]:
        """Write the batches, and yield after each how many rows have been examined so far, and how many written.

        Parameters
        ----------
        database : Database
        update : str
            The statement, which ends with a condition.
        """
        execute, commit = database.connection.exec_driver_sql, database.connection.commit
        columns = [database.dialect.identifier(name) for name in self.key]
        listed = ", ".join(columns)
        low, high = (database.facts.temporary + name for name in (LOW, HIGH))
        for name in (low, high):
            execute(f"CREATE TEMPORARY TABLE {name} AS SELECT {listed} FROM {self.table} WHERE 1 = 0")
        commit()
        after_low, up_to_high = "", _beyond(database, columns, high, "<=")
        looked_at = written = 0
        while True:
            following = f"SELECT {listed} FROM {self.table}{after_low and f' WHERE {after_low}'} ORDER BY {listed}"
            database.begin()
            execute(f"INSERT INTO {high} {following} LIMIT 1 OFFSET {min(self.size - 1, INT64[-1])}")
            if not execute(f"SELECT count(*) FROM {high}").scalar():
                break
            written += database.write("\nAND ".join(filter(None, [update, after_low, up_to_high])))
            for statement in (f"DELETE FROM {low}", f"INSERT INTO {low} SELECT * FROM {high}", f"DELETE FROM {high}"):
                execute(statement)
            commit()
            after_low = _beyond(database, columns, low, ">")
            looked_at += self.size
            yield looked_at, written
        # Also rows that were added meanwhile with lower keys, or whose keys are NULL, which SQLite allows.
        yield looked_at, written + database.write(update)


LOW, HIGH = "shallowrules_low", "shallowrules_high"


def _beyond(database: Database, columns: Sequence[str], end: str, compared: str) -> str:
    """Return the predicate for the rows whose key lies beyond that in a table, in a form that uses the index."""
    bounds = [f"(SELECT {column} FROM {end})" for column in columns]
    if len(columns) > 1 and database.facts.compares_rows:
        return f"({', '.join(columns)}) {compared} ({', '.join(bounds)})"
    strictly = compared[0]
    *_, (column, bound) = pairs = list(zip(columns, bounds, strict=True))
    found = f"{column} {compared} {bound}"
    for column, bound in reversed(pairs[:-1]):
        found = f"{column} {strictly}= {bound} AND ({column} {strictly} {bound} OR ({column} = {bound} AND {found}))"
    return found
