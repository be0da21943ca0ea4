"""A table of keys and their clusters, into which each run merges the rows whose cluster, or rules, have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shallowrules.errors import DataError, OptionName, counted, nearest
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labelling.databases.inspecting import Database, Thing

__all__ = ["RULES", "STAMP", "Labels", "find_key"]

KEY = OptionName("key")
RULES, STAMP = "rules_sha256", "labelled_at"
SOURCE = "shallowrules_source"


@dataclass(frozen=True)
class Labels:
    """The statements about such a table.

    Parameters
    ----------
    database : Database
    table : tuple of str
        The table whose rows have labels.
    into : Thing
        The table of labels.
    key : tuple of str
        Columns that tell rows apart.
    cluster, name : str
        Columns of the cluster's number, and of its name.
    index : str
        A name for an index.
    """

    database: Database
    table: tuple[str, ...]
    into: Thing
    key: tuple[str, ...]
    cluster: str
    name: str
    index: str

    @property
    def columns(self) -> list[str]:
        """The columns of the table, in order."""
        return [*self.key, self.cluster, self.name, RULES, STAMP]

    def _listed(self, names: Sequence[str], form: str = "{column}", link: str = ", ") -> str:
        identifier = self.database.dialect.identifier
        return link.join(form.format(column=identifier(name)) for name in names)

    def empty(self) -> str:
        """Return a query for the keys of no row."""
        return f"SELECT {self._listed(self.key)}\nFROM {self.database.quoted(self.table)}\nWHERE 1 = 0"

    def completing(self, number: str) -> list[str]:
        """Return what makes of a table of keys one of labels, whose clusters are of some type."""
        database, text = self.database, WRITING[self.database.dialect.name].text
        kinds = [number, text, text, database.facts.stamp[0]]
        added = [
            f"ALTER TABLE {database.quoted(self.into.name)}\nADD COLUMN {self._listed([name])} {kind}"
            for name, kind in zip(self.columns[len(self.key) :], kinds, strict=True)
        ]
        index = database.dialect.identifier(self.index)
        key = self._listed(self.key)
        return [*added, database.fill(database.facts.primary_key, self.into, key=key, index=index)]

    def removal(self) -> str:
        """Return what takes away the labels of keys that the table has no more."""
        quoted, into = self.database.quoted, self.database.dialect.identifier(self.into.name[-1])
        same = self._listed(self.key, f"{SOURCE}.{{column}} = {into}.{{column}}", " AND ")
        return (
            f"DELETE FROM {quoted(self.into.name)}\n"
            f"WHERE NOT EXISTS (SELECT 1 FROM {quoted(self.table)} AS {SOURCE} WHERE {same})"
        )

    def merge(self, query: str, rules: str) -> str:
        """Return what puts the rows of a query for key, cluster and name into the table, of rules with a SHA-256."""
        database, facts = self.database, self.database.facts
        into = database.dialect.identifier(self.into.name[-1])
        others = [self.cluster, self.name, RULES]
        changed = " OR ".join(
            WRITING[database.dialect.name].changed.format(
                column=f"{into}.{self._listed([name])}", value=self._listed([name], facts.inserted)
            )
            for name in others
        )
        always = "{stamp}" in facts.merge
        assigned = self._listed(others if always else [*others, STAMP], f"{{column}} = {facts.inserted}")
        end = facts.merge.format(
            key=self._listed(self.key),
            assigned=assigned,
            changed=changed,
            stamp=f"{into}.{self._listed([STAMP])}" if always else "",
            inserted_stamp=self._listed([STAMP], facts.inserted),
        )
        listed = self._listed(self.columns)
        taken = self._listed([*self.key, self.cluster, self.name])
        return (
            f"INSERT INTO {database.quoted(self.into.name)} ({listed})\n"
            f"SELECT {taken}, {database.dialect.string(rules)}, {facts.stamp[1]}\n"
            f"FROM (\n{query}\n) AS {SOURCE}\nWHERE 1 = 1\n{end}"
        )


def find_key(database: Database, table: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return columns by which every row of a table is told from the others, as the table calls them.

    Raises
    ------
    DataError
        If one is missing, or two rows are alike in them, or a row has no value in one.
    """
    fold, source = database.dialect.names.fold, database.source
    there = {fold(name): name for name in source.names}
    for name in names:
        if fold(name) not in there:
            near = nearest(name, source.names)
            hint = "" if near is None else f" (the nearest is {near!r})"
            raise DataError(f"{source.rows} has no column {name!r}{hint}: name others by ", KEY)
    key = tuple(there[fold(name)] for name in names)
    columns = [database.dialect.identifier(name) for name in key]
    quoted, listed = database.quoted(table), ", ".join(columns)
    missing = " OR ".join(f"{column} IS NULL" for column in columns)
    alike = f"SELECT {listed} FROM {quoted} GROUP BY {listed} HAVING COUNT(*) > 1"
    for query, what in (
        (f"SELECT COUNT(*) FROM {quoted} WHERE {missing}", "without a value in"),
        (f"SELECT COUNT(*) FROM ({alike}) AS {SOURCE}", "more than once in"),
    ):
        if count := int(database.connection.exec_driver_sql(query).scalar_one()):
            said = counted(count, "row" if "without" in what else "key")
            raise DataError(f"{said} {what} {', '.join(map(repr, key))} of {source.rows}: name other columns by ", KEY)
    return key
