"""Labels in a user's database: created, recognized, created again, dropped; each time with the objects that are there
afterwards."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from applications import COMPUTED, OTHER, OTHER_LABELS, applied, apply, expected, labelled, refused, target
from commandline import call
from databases import SMALL, SMALL_LABELS, execute, on, schema_of
from rulesets import small_rules

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

STYLES = ("view", "table", "update", "column")


@pytest.fixture
def other(shop):
    """Write other rules beside them."""
    OTHER.to_json("other.json")


def test_the_labels_are_those_of_the_tree():
    x, i = zip(*SMALL, strict=True)
    rows = {"x": list(x), "i": list(i)}
    for rules, labels in ((small_rules(), SMALL_LABELS), (OTHER, OTHER_LABELS)):
        assert [None if c == -1 else c for c in rules.assign(rows).tolist()] == labels


@pytest.mark.parametrize("style", STYLES)
def test_applied_made_anew_and_taken_away(shop, other, style):
    if style == "column" and shop.dialect not in COMPUTED:
        assert "style 'column'" in refused(shop, style)
        return
    before = schema_of(shop)
    applied(shop, style)
    assert labelled(shop, target(style)) == expected()
    assert "of other rules" in refused(shop, style, rules="other.json")
    said = applied(shop, style, "--replace", rules="other.json")
    assert ("index" in said) == (style == "table")
    assert labelled(shop, target(style)) == expected(OTHER_LABELS)
    assert re.search(r"dropped (view|table|column) .* \w+://", applied(shop, style, "--undo"))
    assert schema_of(shop) == before


def test_a_view_is_what_is_made_where_nothing_else_is_said(shop):
    done = call("label", "rules.json", "--database", shop.url, "--table", "small", "--apply")
    assert done.exit_code == 0, done.output
    assert labelled(shop, "small_clusters") == expected()
    assert "dropped view" in applied(shop, "view", "--undo")


def test_a_table_shows_its_rows_by_cluster_as_a_dry_run_does(shop):
    shown = [apply(shop, "table", *more).stderr for more in (("--dry-run",), ("--yes",))]
    rows = [re.findall(r"^ (0|1|2|without a cluster) +(\d+) ", text, re.MULTILINE) for text in shown]
    assert rows[0] == rows[1] == [("0", "2"), ("without a cluster", "2"), ("1", "1"), ("2", "1")]


@pytest.mark.parametrize("style", ["view", "update", "column"])
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
    assert re.findall(r"^ (0|1|2|without a cluster) +(\d+) ", done.stderr, re.MULTILINE) == [
        ("0", "2"),
        ("without a cluster", "2"),
        ("1", "1"),
        ("2", "1"),
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


@pytest.mark.parametrize("style", ["view", "table"])
def test_a_table_that_gained_a_column_is_applied_anew(shop, style):
    applied(shop, style)
    execute(shop, "ALTER TABLE small ADD COLUMN more INTEGER DEFAULT 5")
    applied(shop, style, "--replace")
    assert labelled(shop, "small_clusters") == expected()
    assert {int(more) for [more] in shop.query("SELECT more FROM small_clusters")} == {5}


def test_a_second_update_of_the_same_rules_needs_no_word_and_follows_the_rows(shop):
    first = applied(shop, "update")
    assert "wrote 4 rows" in first
    assert "updating" not in first
    again = apply(shop, "update")  # without --yes: nothing is written, and nobody has to be asked
    assert again.exit_code == 0, again.output
    said = " ".join(again.output.split())
    assert re.search(r"\bno rows need updating.* 0 rows", said)
    execute(shop, "UPDATE small SET x = 0.25 WHERE i = 4")
    execute(shop, "UPDATE small SET cluster = 77 WHERE i = 3")
    assert re.search(r"\b3 rows need updating.* 3 rows", applied(shop, "update"))
    assert sorted(label for *_, label in labelled(shop) if label is not None) == ["0", "0", "0", "0", "1"]
    assert len(labelled(shop)) == len(SMALL)


@pytest.mark.parametrize("style", ["view", "update", "column"])
def test_names_and_what_stands_for_no_cluster(shop, style):
    if style == "column" and shop.dialect not in COMPUTED:
        return
    rules = small_rules()
    names = ["a'b %s :p", 'Ä \\ "q"', "a'b %s :P"]
    clusters = tuple(replace(c, name=name) for c, name in zip(rules.clusters, names, strict=True))
    replace(rules, clusters=clusters).to_json("rules.json")
    before = schema_of(shop)
    for replaced in ([], ["--replace", "--else", "none"]):  # the column of numbers makes room for one of texts
        if replaced:
            applied(shop, style, *replaced, "--cluster-as", "name", "--cluster-column", "Seg ment")
        else:
            applied(shop, style, "--else", "-5", "--cluster-column", "Seg ment")
    quote = shop.quote
    found = shop.query(f"SELECT {quote('Seg ment')} FROM {quote(target(style))}")
    assert Counter(label for [label] in found) == {names[0]: 2, names[1]: 1, names[2]: 1, "none": 2}
    applied(shop, style, "--undo", "--cluster-column", "Seg ment")
    assert schema_of(shop) == before


def test_a_column_that_has_another_name_there(shop):
    execute(shop, f"CREATE VIEW renamed AS SELECT x AS {shop.quote('Wide %s')}, i FROM small")
    applied(shop, "table", "--column", "x=Wide %s", "--into", "there", table="renamed")
    found = shop.query("SELECT cluster, count(*) FROM there WHERE cluster IS NOT NULL GROUP BY 1 ORDER BY 1")
    assert [(int(label), int(rows)) for label, rows in found] == [(0, 2), (1, 1), (2, 1)]


@on("postgres")
def test_the_rights_of_others_on_a_view_stay_when_it_is_made_anew(shop):
    shop.query('CREATE ROLE "Read er"')
    try:
        applied(shop, "view")
        shop.query('GRANT SELECT ON small_clusters TO "Read er"', ["GRANT SELECT ON small_clusters TO PUBLIC"])
        asked = "SELECT relacl FROM pg_class WHERE relname = 'small_clusters'"
        [[before]] = shop.query(asked)
        applied(shop, "view", "--replace")
        [[after]] = shop.query(asked)
        assert set(after.strip("{}").split(",")) == set(before.strip("{}").split(","))
    finally:
        shop.query('DROP ROLE "Read er"', ["DROP VIEW small_clusters"])


@on("postgres", "mysql")
def test_in_another_schema(shop):
    shop.query("CREATE SCHEMA `o'ther`" if shop.dialect == "mysql" else 'CREATE SCHEMA "o\'ther"')
    quoted = shop.quote("o'ther")
    try:
        applied(shop, "view", "--into", '"o\'ther"."lab.els"')
        assert labelled_in(shop, f"{quoted}.{shop.quote('lab.els')}") == ["0", "0", "1", "2", None, None]
        applied(shop, "view", "--replace", "--into", '"o\'ther"."lab.els"')
        applied(shop, "view", "--undo", "--into", '"o\'ther"."lab.els"')
    finally:
        shop.query(f"DROP SCHEMA {quoted}")


def labelled_in(database, name):
    return sorted((row[0] for row in database.query(f"SELECT cluster FROM {name}")), key=str)
