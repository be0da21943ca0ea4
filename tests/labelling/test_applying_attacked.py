"""Labels in a database whose tables have triggers, heirs and columns that write themselves, and in odd sessions."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commandline import call
from databases import SMALL_LABELS, execute, on, schema_of
from rulesets import make_rules

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")


def apply(database, style, *arguments, table="small", rules="rules.json"):
    return call("label", rules, "--database", database.url, "--table", table, "--apply", style, "--yes", *arguments)


def rows(database, table, columns):
    return sorted(map(tuple, database.query(f"SELECT {columns} FROM {table}")), key=repr)


@on("postgres")
@pytest.mark.parametrize("style", ["update", "column"])
def test_a_column_that_an_heir_has_for_itself_is_not_written_on(shop, style):
    """PostgreSQL would merge both into one column."""
    shop.query("CREATE TABLE heir (cluster BIGINT) INHERITS (small)")
    try:
        shop.query("INSERT INTO heir VALUES (0.25, 1, 777)")
        before = schema_of(shop)
        refused = apply(shop, style)
        assert refused.exit_code == 3
        said = " ".join(refused.stderr.split())
        assert all(part in said for part in ("heir inherits", "column 'cluster'"))
        assert (schema_of(shop), shop.query("SELECT cluster FROM heir")) == (before, [("777",)])
        assert apply(shop, style, "--cluster-column", "segment").exit_code == 0
        assert shop.query("SELECT cluster, segment FROM heir") == [("777", "0")]
    finally:
        shop.query("DROP TABLE heir")


SWALLOW = {
    "postgres": [
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER swallows BEFORE UPDATE ON small FOR EACH ROW EXECUTE FUNCTION swallow()",
    ],
    "sqlite": ["CREATE TRIGGER swallows BEFORE UPDATE ON small BEGIN SELECT RAISE(IGNORE); END"],
    "mysql": ["CREATE TRIGGER swallows BEFORE UPDATE ON small FOR EACH ROW SET NEW.x = -NEW.x"],
}


@on(*SWALLOW)
@pytest.mark.parametrize("batch", [[], ["--batch", "2"]])
def test_rows_that_a_trigger_keeps_from_their_label_are_told(shop, batch):
    """In MariaDB it changes a column that the rules test."""
    execute(shop, "ALTER TABLE small ADD COLUMN id INTEGER")
    if batch and shop.dialect == "sqlite":
        return  # a primary key cannot be added there
    if batch:
        by = "SERIAL" if shop.dialect == "postgres" else "INTEGER AUTO_INCREMENT"
        execute(shop, f"ALTER TABLE small ADD COLUMN number {by} PRIMARY KEY")
    for statement in SWALLOW[shop.dialect]:
        execute(shop, statement)
    before = schema_of(shop)
    try:
        refused = apply(shop, "update", *batch)
        assert refused.exit_code == 3, refused.output
        said = " ".join(refused.stderr.split())
        assert all(part in said for part in ("trigger", "policy"))
        if not batch:
            assert schema_of(shop) == before
    finally:
        execute(shop, "DROP TRIGGER swallows ON small" if shop.dialect == "postgres" else "DROP TRIGGER swallows")
        if shop.dialect == "postgres":
            shop.query("DROP FUNCTION swallow")
    done = apply(shop, "update", *batch)
    assert done.exit_code == 0, done.output


POLICIES = (
    "CREATE RULE nothing AS ON UPDATE TO small DO INSTEAD NOTHING",
    "ALTER TABLE small ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
    "CREATE TABLE small_1 () INHERITS (small); INSERT INTO small_1 VALUES (0.25, 1); "
    "CREATE RULE nothing AS ON UPDATE TO small DO INSTEAD NOTHING",
)


@on("postgres")
@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_a_rule_or_a_policy_keeps_from_their_label_are_told(shop, policy):
    """As the owner, who is not a superuser: a superuser would pass."""
    shop.query(policy)
    shop.query("CREATE ROLE owner LOGIN")
    shop.query("GRANT ALL ON SCHEMA public TO owner; ALTER TABLE small OWNER TO owner")
    if "SECURITY" in policy:
        shop.query("CREATE POLICY all_seen ON small FOR SELECT USING (true)")
        shop.query("CREATE POLICY some_written ON small FOR UPDATE USING (x > 0.5)")
    if "small_1" in policy:
        shop.query("ALTER TABLE small_1 OWNER TO owner")
    before = schema_of(shop)
    url = re.sub("://[^/]*@", "://owner@", shop.url)
    try:
        refused = call("label", "rules.json", "--database", url, "--table", "small", "--apply", "update", "--yes")
        assert refused.exit_code == 3, refused.output
        said = " ".join(refused.stderr.split())
        assert all(part in said for part in ("trigger", "policy"))
        assert schema_of(shop) == before
    finally:
        shop.query("DROP TABLE IF EXISTS small_1")
        shop.query("ALTER TABLE small OWNER TO CURRENT_USER")
        shop.query("DROP OWNED BY owner; DROP ROLE owner")


@on("mysql")
@pytest.mark.parametrize("batch", [[], ["--batch", "1"]])
def test_a_column_that_writes_itself_stays_as_it_is(shop, batch):
    shop.query("ALTER TABLE small ADD COLUMN id INTEGER AUTO_INCREMENT PRIMARY KEY")
    changed = "`when\nSET ``x`` =`"
    shop.query(f"ALTER TABLE small ADD COLUMN {changed} TIMESTAMP DEFAULT '2001-01-01' ON UPDATE CURRENT_TIMESTAMP")
    before = rows(shop, "small", f"id, {changed}")
    assert apply(shop, "update", *batch).exit_code == 0
    assert rows(shop, "small", f"id, {changed}") == before
    found = [label for (label,) in shop.query("SELECT cluster FROM small ORDER BY id")]
    assert found == [None if label is None else str(label) for label in SMALL_LABELS]


@on("mysql")
@pytest.mark.parametrize("style", ["view", "table", "update"])
def test_an_empty_text_is_one_in_a_session_where_it_is_null(shop, style):
    make_rules([("t", "text")], (0, "", 0, (0, "A", 1, 2))).to_json("texts.json")
    [[mode]] = shop.query("SELECT @@GLOBAL.sql_mode")
    shop.create("texts", [("t", shop.types["text"])], [["A"], [""], ["b"]])
    before = schema_of(shop)
    try:
        shop.query("SET GLOBAL sql_mode = 'EMPTY_STRING_IS_NULL,STRICT_TRANS_TABLES'")
        assert apply(shop, style, table="texts", rules="texts.json").exit_code == 0
        labelled = "texts" if style == "update" else "texts_clusters"
        assert rows(shop, labelled, "t, cluster") == [("", "0"), ("A", "1"), ("b", "2")]
        assert apply(shop, style, "--undo", table="texts", rules="texts.json").exit_code == 0
        assert schema_of(shop) == before
    finally:
        shop.query(f"SET GLOBAL sql_mode = '{mode}'")
        shop.drop("texts")


@on("mysql")
@pytest.mark.parametrize("mode", ["STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "TRADITIONAL"])
def test_a_strict_session_ends_no_statement_that_writes(shop, mode):
    """A BIT that is not valid UTF-8 text is a warning in a query, and used to be an error in statements that write."""
    rules = make_rules([("n", "integer")], (0, 200, 0, (0, 2**53 - 1, 1, 2)))
    replace(rules, columns=(replace(rules.columns[0], nulls=("NA", "-999"), imputed=-3),)).to_json("bits.json")
    [[before]] = shop.query("SELECT @@GLOBAL.sql_mode")
    shop.query("CREATE TABLE bits (n BIT(40))")
    shop.query("INSERT INTO bits VALUES (184), (1099511627775), (7)")
    try:
        shop.query(f"SET GLOBAL sql_mode = '{mode}'")
        for style in ("view", "table", "update"):
            done = apply(shop, style, table="bits", rules="bits.json")
            assert done.exit_code == 0, done.output
            labelled = "bits" if style == "update" else "bits_clusters"
            assert rows(shop, labelled, "n + 0, cluster") == [("1099511627775", "1"), ("184", "0"), ("7", "0")]
            assert apply(shop, style, "--undo", table="bits", rules="bits.json").exit_code == 0
    finally:
        shop.query(f"SET GLOBAL sql_mode = '{before}'")
        shop.drop("bits")


@on("sqlite")
@pytest.mark.parametrize("style", ["update", "column"])
def test_a_column_of_a_table_that_was_made_anew_is_not_ours(shop, style):
    assert apply(shop, style).exit_code == 0
    execute(shop, "DROP TABLE small")
    execute(shop, 'CREATE TABLE small (x REAL, i INTEGER, "cluster" INTEGER)')
    execute(shop, "INSERT INTO small VALUES (0.25, 1, 777)")
    for more in ([], ["--replace"], ["--undo"]):
        refused = apply(shop, style, *more)
        assert refused.exit_code == 3
        assert "already, which" in " ".join(refused.stderr.split())
        assert shop.query("SELECT * FROM small") == [(0.25, 1, 777)]


@on("sqlite")
def test_two_columns_of_one_table_are_known_each(shop):
    for column in ("cluster", "segment"):
        assert apply(shop, "update", "--cluster-column", column).exit_code == 0
    for column in ("cluster", "segment"):
        assert apply(shop, "update", "--cluster-column", column, "--undo").exit_code == 0


@pytest.mark.parametrize("name", ["shallowrules_low", "shallowrules_high"])
def test_a_table_of_the_name_of_a_temporary_one_stays(shop, name):
    """Also where a session looks for temporary tables last."""
    execute(shop, f"CREATE TABLE {name} (id INTEGER)")
    execute(shop, f"INSERT INTO {name} VALUES (5)")
    execute(shop, "CREATE TABLE keyed (x DOUBLE PRECISION, i BIGINT, id INTEGER PRIMARY KEY)")
    execute(shop, "INSERT INTO keyed VALUES (0.25, 1, 1), (0.75, 3, 2), (0.75, 4, 3)")
    if shop.dialect == "postgres":
        shop.query("ALTER ROLE CURRENT_USER SET search_path = public, pg_temp")
    try:
        done = apply(shop, "update", "--batch", "1", table="keyed")
        assert done.exit_code == 0, done.output
        assert [str(label) for (label,) in shop.query("SELECT cluster FROM keyed ORDER BY id")] == ["0", "1", "2"]
        assert [int(n) for (n,) in shop.query(f"SELECT id FROM {name}")] == [5]
    finally:
        if shop.dialect == "postgres":
            shop.query("ALTER ROLE CURRENT_USER RESET search_path")
        for table in (name, "keyed"):
            execute(shop, f"DROP TABLE {table}")


@on("sqlite", "duckdb", "postgres")
@pytest.mark.parametrize("style", ["view", "table"])
def test_what_would_be_gone_with_the_connection_is_refused(shop, words, style):
    schema = "pg_temp" if shop.dialect == "postgres" else "TEMP"
    refused = apply(shop, style, "--into", f"{schema}.v")
    assert refused.exit_code == 3
    said = " ".join(refused.stderr.partition("Error: ")[2].split())
    assert all(part in said for part in ("with the connection", "--into"))
    if (shop.dialect, style) == ("sqlite", "view"):
        words(said)
