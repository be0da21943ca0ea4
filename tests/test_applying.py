"""Labels in a user's database: made, known again, made anew, taken away; each time, what is there afterwards."""

from __future__ import annotations

import re

import pytest
from commandline import call
from databases import SMALL, SMALL_LABELS, schema_of
from rulesets import make_rules, small_rules

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

STYLES = ("view", "table", "update", "column")
COMPUTED = ("sqlite", "postgres")
"""Databases with a computed column."""

OTHER = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 7, (1, 3, 8, 9)))
"""Other rules: the clusters 7, 8 and 9 in place of 0, 1 and 2."""

OTHER_LABELS = [None if label is None else label + 7 for label in SMALL_LABELS]


def test_the_labels_are_those_of_the_tree():
    x, i = zip(*SMALL, strict=True)
    rows = {"x": list(x), "i": list(i)}
    for rules, labels in ((small_rules(), SMALL_LABELS), (OTHER, OTHER_LABELS)):
        assert [None if c == -1 else c for c in rules.assign(rows).tolist()] == labels


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


def labelled(database, name, column="cluster"):
    """Return the rows of the small table with their labels, as texts."""
    quote = database.quote
    rows = database.query(f"SELECT {quote('x')}, {quote('i')}, {quote(column)} FROM {quote(name)}")
    return as_texts(rows)


def expected(labels=SMALL_LABELS):
    rows = ((*row, label) for row, label in zip(SMALL, labels, strict=True))
    return as_texts(rows)


def as_texts(rows):
    return sorted((tuple(None if cell is None else f"{float(cell):g}" for cell in row) for row in rows), key=repr)


@pytest.fixture
def other():
    OTHER.to_json("other.json")


def target(style):
    return "small" if style in ("update", "column") else "small_clusters"


@pytest.mark.parametrize("style", STYLES)
def test_applied_made_anew_and_taken_away(shop, other, style):
    if style == "column" and shop.dialect not in COMPUTED:
        assert "has no style 'column'" in refused(shop, style)
        return
    before = schema_of(shop)
    applied(shop, style)
    assert labelled(shop, target(style)) == expected()
    assert "of other rules" in refused(shop, style, rules="other.json")
    applied(shop, style, "--replace", rules="other.json")
    assert labelled(shop, target(style)) == expected(OTHER_LABELS)
    assert applied(shop, style, "--undo").endswith(f"in {shop.url}")
    assert schema_of(shop) == before


@pytest.mark.parametrize("style", STYLES)
def test_a_dry_run_shows_all_and_changes_nothing(shop, style):
    if style == "column" and shop.dialect not in COMPUTED:
        return
    before = schema_of(shop)
    done = apply(shop, style, "--dry-run")
    assert done.exit_code == 0, done.output
    assert {"view": "CREATE VIEW", "table": "CREATE TABLE", "update": "UPDATE", "column": "GENERATED"}[
        style
    ] in done.stdout
    assert "SHA-256" in done.stdout
    assert re.findall(r"^ (0|1|2|none) +(\d+) ", done.stderr, re.MULTILINE) == [
        ("0", "2"),
        ("none", "2"),
        ("2", "1"),
        ("1", "1"),
    ]
    assert schema_of(shop) == before
    applied(shop, style)
    made = schema_of(shop)
    undone = apply(shop, style, "--undo", "--dry-run")
    assert undone.exit_code == 0
    assert "DROP" in undone.stdout
    assert schema_of(shop) == made
    applied(shop, style, "--undo")
    assert schema_of(shop) == before
