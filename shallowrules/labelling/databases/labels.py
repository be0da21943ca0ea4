"""A table of keys and their clusters, into which each run merges the rows whose cluster, or rules, have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shallowrules.errors import DataError, counted
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.labelling.databases.application import CLUSTER_COLUMN, INTO, KEY
from shallowrules.labelling.databases.inspecting import Database, DatabaseObject
from shallowrules.tables.names import find_name, show_absent

__all__ = ["RULES", "STAMP", "Labels", "find_key"]

RULES, STAMP = "rules_sha256", "labelled_at"
"""The columns beside keys and clusters: the rules that gave a row its cluster, and when."""

SOURCE = "shallowrules_source"
"""What a statement calls the table whose rows have labels."""


@dataclass(frozen=True)
class Labels:
    """The statements that make a table of labels and merge rows into it.

    Parameters
    ----------
    database : Database
    table : tuple of str
        The table whose rows have labels.
    into : DatabaseObject
        The table of labels.
    key : tuple of str
        Columns that identify a row.
    new_columns : sequence of str
        Columns of the cluster's number, and of its name.
    index : str
        A name for an index.
    """

    database: Database
    table: tuple[str, ...]
    into: DatabaseObject
    key: tuple[str, ...]
    new_columns: Sequence[str]
    index: str

    @property
    def columns(self) -> list[str]:
        """The columns of the table, in order."""
        return [*self.key, *self.new_columns, RULES, STAMP]

    def check_names(self) -> None:
        """Raise DataError for a name that two columns would have, or that SQL has for something else."""
        fold, into = self.database.dialect.names.fold, self.into.name[-1]
        folded = [fold(name) for name in self.columns]
        if twice := {name for name in folded if folded.count(name) > 1}:
            raise DataError(
                f"a table of labels would have the column {min(twice)!r} twice: rename the key in a view, or "
                "choose a different name for the cluster with ",
                CLUSTER_COLUMN,
            )
        if into.casefold() in (SOURCE, "excluded"):
            raise DataError(f"a table of labels cannot have the name {into!r}: choose another with ", INTO)

    def _quoted(self, names: Sequence[str]) -> list[str]:
        return [self.database.dialect.identifier(name) for name in names]

    def empty(self) -> str:
        """Return a query for no rows, with the columns of the key."""
        return f"SELECT {', '.join(self._quoted(self.key))}\nFROM {self.database.quoted(self.table)}\nWHERE 1 = 0"

    def completing(self, number: str) -> list[str]:
        """Return the statements that turn a table of keys into one of labels; `number` is the clusters' type."""
        database, writing = self.database, WRITING[self.database.dialect.name]
        kinds = [number, writing.text, writing.text, database.facts.stamp[0]]
        table = database.quoted(self.into.name)
        added = [
            writing.added.format(table=table, column=name, type=kind)
            for name, kind in zip(self._quoted(self.columns[len(self.key) :]), kinds, strict=True)
        ]
        index, key = database.dialect.identifier(self.index), ", ".join(self._quoted(self.key))
        return [*added, database.fill(database.facts.primary_key, self.into, key=key, index=index)]

    def removal(self) -> str:
        """Return the statement that deletes the labels of keys that the table no longer has."""
        quoted, into = self.database.quoted, self.database.dialect.identifier(self.into.name[-1])
        same = " AND ".join(
            self.database.facts.same.format(one=f"{SOURCE}.{name}", other=f"{into}.{name}")
            for name in self._quoted(self.key)
        )
        return (
            f"DELETE FROM {quoted(self.into.name)}\n"
            f"WHERE NOT EXISTS (SELECT 1 FROM {quoted(self.table)} AS {SOURCE} WHERE {same})"
        )

    def merge(self, query: str, rules: str) -> str:
        """Return the statement that merges the rows of a query into the table.

        Parameters
        ----------
        query : str
            For keys, clusters and their names.
        rules : str
            The SHA-256 of the rules.
        """
        dialect, facts, texts = self.database.dialect, self.database.facts, self.database.dialect.texts
        into, changed_form = dialect.identifier(self.into.name[-1]), WRITING[dialect.name].changed
        cluster, name, hashed, stamp = self._quoted(self.columns[len(self.key) :])
        changed = []
        for column in (cluster, name, hashed):
            there, wanted = f"{into}.{column}", facts.inserted.format(column=column)
            if column == name:  # even where a collation treats texts as equal
                there, wanted = (texts.cast or texts.column).format(column=there), texts.literal.format(literal=wanted)
            changed.append(changed_form.format(column=there, value=wanted))
        always = "{stamp}" in facts.merge
        assigned = [cluster, name, hashed, *([] if always else [stamp])]
        key = ", ".join(self._quoted(self.key))
        end = facts.merge.format(
            key=key,
            assigned=", ".join(f"{column} = {facts.inserted.format(column=column)}" for column in assigned),
            changed=" OR ".join(changed),
            stamp=f"{into}.{stamp}" if always else "",
            inserted_stamp=facts.inserted.format(column=stamp),
        )
        return (
            f"INSERT INTO {self.database.quoted(self.into.name)} ({', '.join(self._quoted(self.columns))})\n"
            f"SELECT {key}, {cluster}, {name}, {dialect.string(rules)}, {facts.stamp[1]}\n"
            f"FROM (\n{query}\n) AS {SOURCE}\nWHERE 1 = 1\n{end}"
        )


def find_key(database: Database, table: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return columns that tell every row of a table from the others, as the table calls them.

    Raises
    ------
    DataError
        If one is missing, or two rows agree in all of them, or a row has no value in one.
    """
    source = database.source
    found = [find_name(name, source.names, database.dialect.names.fold) for name in names]
    for name, there in zip(names, found, strict=True):
        if there is None:
            raise DataError(f"{source.rows} has no column {show_absent(name, source.names)}: name others with ", KEY)
    key = tuple(name for name in found if name is not None)
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
            raise DataError(
                f"{said} {what} {', '.join(map(repr, key))} of {source.rows}: name other columns with ", KEY
            )
    return key
