"""Labels applied to the table ``small`` of a database, and what is there afterwards."""

from __future__ import annotations

from commandline import call
from databases import SMALL, SMALL_LABELS, schema_of
from rulesets import make_rules

COMPUTED = ("sqlite", "postgres")
"""Databases with a computed column."""

OTHER = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 7, (1, 3, 8, 9)))
"""Other rules than `small_rules`: the clusters 7, 8 and 9 in place of 0, 1 and 2."""

OTHER_LABELS = [None if label is None else label + 7 for label in SMALL_LABELS]


def apply(database, *arguments, table="small", rules="rules.json", **settings):
    return call("label", rules, "--database", database.url, "--table", table, "--apply", *arguments, **settings)


def applied(database, style, *arguments, **settings):
    """Apply, and return what was said."""
    done = apply(database, style, "--yes", *arguments, **settings)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def refused(database, *arguments, **settings):
    """Apply what is refused; return the message. Nothing has changed."""
    before = schema_of(database)
    done = apply(database, *arguments, "--yes", **settings)
    assert done.exit_code == 1, done.output
    assert schema_of(database) == before
    return " ".join(done.stderr.partition("Error: ")[2].split())


def target(style):
    """Return which of the tables has the labels."""
    return "small" if style in ("update", "column") else "small_clusters"


def labelled(database, name="small", column="cluster"):
    """Return the rows of the table ``small``, or of what was made of it, with their labels."""
    quote = database.quote
    return _as_texts(database.query(f"SELECT {quote('x')}, {quote('i')}, {quote(column)} FROM {quote(name)}"))


def expected(labels=SMALL_LABELS):
    """Return the rows of the table ``small`` with labels."""
    return _as_texts((*row, label) for row, label in zip(SMALL, labels, strict=True))


def _as_texts(rows):
    return sorted((tuple(None if cell is None else f"{float(cell):g}" for cell in row) for row in rows), key=repr)
