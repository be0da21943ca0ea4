"""The mark of an object that was made here: a comment on it, or a row of a table.

A mark has neither quotes nor backslashes, so that it is the same literal in every database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

__all__ = ["Mark"]

_MARK = re.compile(
    r"made by shallowrules: (?P<style>view|table|update|column|labels) of (?P<table>[\w.~%-]+), "
    r"clusters by (?P<cluster_as>number|name|both)( as (?P<type>\w+))?, "
    r"rules SHA-256 (?P<rules>[0-9a-f]{64})(, SQL (?P<sql>[0-9a-f]{16}))?(?P<unfinished>, unfinished)?"
)


@dataclass(frozen=True)
class Mark:
    """The record of how an object was made.

    Parameters
    ----------
    style : str
        How labels were applied: "view", "table", "update", "column" or "labels".
    table : tuple of str
        The name of the table that is labelled, in parts; without its schema where the object is in it.
    cluster_as : str
        What stands for a cluster: "number", "name" or "both".
    rules : str
        The SHA-256 of the rules.
    sql : str
        The beginning of the SHA-256 of the CASE expression, which also depends on the types of columns, the guards and
        the version; empty where an earlier version made the object.
    type : str
        The type of a column of numbers that is written on; else empty.
    unfinished : bool
        Whether rows may still be without their label.
    """

    style: str
    table: tuple[str, ...]
    cluster_as: str
    rules: str
    sql: str = ""
    type: str = ""
    unfinished: bool = False

    def __str__(self) -> str:
        table = ".".join(quote(part, safe="").replace(".", "%2E") for part in self.table)
        as_type, sql = (self.type and f" as {self.type}"), (self.sql and f", SQL {self.sql}")
        return (
            f"made by shallowrules: {self.style} of {table}, clusters by {self.cluster_as}{as_type}, "
            f"rules SHA-256 {self.rules}{sql}{', unfinished' if self.unfinished else ''}"
        )

    @property
    def literal(self) -> str:
        """The mark as SQL."""
        return f"'{self}'"

    def is_of(self, rules: str, cluster_as: str) -> bool:
        """Whether it was made from these rules, with these values for clusters."""
        return (self.rules, self.cluster_as) == (rules, cluster_as)

    @classmethod
    def read(cls, text: str | None) -> Mark | None:
        """Return the mark that a comment holds; None for any other comment."""
        found = _MARK.fullmatch(text or "")
        if found is None:
            return None
        table: Sequence[str] = [unquote(part) for part in found["table"].split(".")]
        return cls(
            **{name: found[name] or "" for name in ("style", "cluster_as", "rules", "sql", "type")},
            table=tuple(table),
            unfinished=bool(found["unfinished"]),
        )
