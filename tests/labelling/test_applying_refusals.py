"""Labels in a user's database: objects that are left alone, refusals before any change, and their wording."""

from __future__ import annotations

import shlex

import pytest
from applications import COMPUTED, OTHER, applied, apply, expected, labelled, refused
from commandline import call
from databases import SMALL, File, execute, on, schema_of
from rulesets import make_rules, small_rules

from shallowrules.errors import DataError, OptionError
from shallowrules.labelling.databases import Application, plan_labels, run_plan
from shallowrules.sources import DatabaseRows

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("CREATE VIEW small_clusters AS SELECT 1 AS one", ("view", "not made by shallowrules")),
        ("CREATE TABLE small_clusters (one INTEGER)", ("table", "not a view")),
    ],
    ids=["view", "table"],
)
def test_what_is_not_ours_is_left_alone(shop, words, made, said):
    execute(shop, made)
    for options in ([], ["--replace"], ["--undo"]):
        message = refused(shop, "view", *options)
        assert all(part in message for part in ("small_clusters", *said))
    if shop.dialect == "sqlite":
        words(message)


def test_a_column_that_is_not_ours_is_left_alone(shop, words):
    name = "cluster" if shop.dialect == "postgres" else "Cluster"
    execute(shop, f"ALTER TABLE small ADD COLUMN {shop.quote(name)} INTEGER")
    for options in ([], ["--replace"], ["--undo"]):
        message = refused(shop, "update", *options)
        assert all(part in message for part in ("column", "not made by shallowrules", "--cluster-column"))
    beside = refused(shop, "view")
    assert all(part in beside for part in (f"column {name!r}", "--cluster-column"))
    if shop.dialect == "sqlite":
        words([("update", message), ("view", beside)])


@on("postgres")
def test_a_column_whose_name_differs_by_case_alone_is_refused(shop):
    """Nothing here would read the table again."""
    shop.query('ALTER TABLE small ADD COLUMN "Cluster" INTEGER')
    for style in ("view", "update", "column"):
        message = refused(shop, style)
        assert all(part in message for part in ("'cluster'", "case", "--cluster-column"))


def test_another_style_is_not_what_was_made(shop):
    applied(shop, "view")
    for option in ("--replace", "--undo"):
        message = refused(shop, "table", option)
        assert all(part in message for part in ("small_clusters", "view", "not a table"))
    applied(shop, "update", "--cluster-column", "label")
    if shop.dialect in COMPUTED:
        message = refused(shop, "column", "--replace", "--cluster-column", "label")
        assert "--apply update" in message


OURS_NO_MORE = {
    "postgres": "COMMENT ON VIEW small_clusters IS 'mine'",
    "duckdb": "COMMENT ON VIEW small_clusters IS 'mine'",
    "mysql": "CREATE OR REPLACE VIEW small_clusters AS SELECT 1 AS one",
    "sqlite": "DROP VIEW small_clusters; CREATE VIEW small_clusters AS SELECT 1 AS one",
}


def test_what_was_made_here_and_is_another_by_now_is_left_alone(shop, words):
    applied(shop, "view")
    for statement in OURS_NO_MORE[shop.dialect].split("; "):
        execute(shop, statement)
    why = "changed since" if shop.dialect in ("mysql", "sqlite") else "not made by"
    for options in ([], ["--replace"], ["--undo"]):
        message = refused(shop, "view", *options)
        assert why in message
    if shop.dialect == "sqlite":
        words(message)


@on("sqlite", "mysql")
def test_a_table_of_the_registrys_name_is_left_alone(shop, words):
    execute(shop, "CREATE TABLE shallowrules_objects (mine INTEGER)")
    message = refused(shop, "view")
    assert "table shallowrules_objects" in message
    if shop.dialect == "sqlite":
        words(message)


@on("sqlite", "mysql")
def test_the_registry_stays_while_it_knows_of_something(shop):
    before = schema_of(shop)
    applied(shop, "view")
    applied(shop, "view", "--into", "second")
    applied(shop, "view", "--undo")
    assert labelled(shop, "second") == expected()
    applied(shop, "view", "--replace", "--into", "second")
    applied(shop, "view", "--undo", "--into", "second")
    assert schema_of(shop) == before


def test_names_that_differ_in_case_are_one_as_the_engine_has_it(shop):
    execute(shop, f"CREATE VIEW {shop.quote('SMALL_Clusters')} AS SELECT 1 AS one")
    if shop.dialect in ("sqlite", "duckdb"):
        assert "not made by shallowrules" in refused(shop, "view")
    else:
        applied(shop, "view")
        assert labelled(shop, "small_clusters") == expected()
        applied(shop, "view", "--undo")
    assert [int(n) for [n] in shop.query(f"SELECT one FROM {shop.quote('SMALL_Clusters')}")] == [1]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["y", "i"], ("test 'x'", "table t")),
        (["x", "i"], ("column 'x' of table t", "dates", "float")),
    ],
    ids=["missing", "dates"],
)
def test_columns_that_are_missing_or_of_another_kind(shop, words, columns, said):
    if shop.dialect == "sqlite" and "x" in columns:
        return  # it declares no types
    shop.create("t", [(columns[0], "DATE"), ("i", "INTEGER")], [])
    for style in ("view", "update"):
        message = refused(shop, style, table="t")
        assert all(part in message for part in said)
    if shop.dialect == "duckdb":
        words(message)


def test_a_view_is_no_table_to_write_on(shop, words):
    execute(shop, "CREATE VIEW seen AS SELECT x, i FROM small")
    message = refused(shop, "update", table="seen")
    assert all(part in message for part in ("seen", "not a table", "column"))
    if shop.dialect == "sqlite":
        words(message)
    applied(shop, "view", table="seen")
    assert labelled(shop, "seen_clusters") == expected()


@on("postgres", "mysql")
def test_a_name_that_would_be_too_long_is_named_otherwise(shop):
    name = "a" * 60
    shop.create(name, [("x", shop.types["float"]), ("i", "INTEGER")], SMALL)
    message = refused(shop, "view", table=name)
    assert all(part in message for part in (f"name '{name}_clusters'", "--into"))
    applied(shop, "view", "--into", "short", table=name)
    assert labelled(shop, "short") == expected()


@on("duckdb", "mysql")
def test_a_computed_column_where_there_is_none(shop):
    assert "style 'column'" in refused(shop, "column")


@on("postgres")
def test_what_is_made_from_a_view_is_named_and_stays(shop):
    applied(shop, "view")
    shop.query("CREATE VIEW built AS SELECT * FROM small_clusters")
    for option in ("--replace", "--undo"):
        message = refused(shop, "view", option)
        assert all(part in message for part in ("view built", "view small_clusters", "Drop", "Nothing has changed"))


@on("postgres")
def test_a_computed_column_that_is_not_immutable_says_what_to_do(shop):
    shop.query("CREATE TYPE moods AS ENUM ('glad', 'sad')")
    try:
        shop.create("people", [("mood", "moods")], [["glad"]])
        make_rules([("mood", "text")], (0, "glad", 0, 1)).to_json("rules.json")
        message = refused(shop, "column", table="people")
        assert all(part in message for part in ("Apply a view", "Nothing has changed"))
    finally:
        shop.query("DROP TYPE moods", ["DROP TABLE people"])


@pytest.mark.slow
@on("sqlite", "duckdb")
def test_where_nobody_can_answer_an_update_wants_a_word(shop, words):
    before = schema_of(shop)
    for arguments in (["update"], ["update", "--batch", "2"]):
        done = apply(shop, *arguments)
        assert done.exit_code == 3
        if "--batch" not in arguments:
            message = " ".join(done.stderr.partition("Error: ")[2].split())
            assert "--yes" in message
            if shop.dialect == "sqlite":
                words(message)
        assert schema_of(shop) == before
    applied(shop, "update")
    made = schema_of(shop)
    assert apply(shop, "update", "--undo").exit_code == 3
    assert schema_of(shop) == made


@pytest.mark.parametrize("answer", ["n\n", "y\n", ""])
def test_who_can_be_asked_is_asked(tmp_path, monkeypatch, answer):
    from shallowrules.cli import applying

    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    before = schema_of(file)
    monkeypatch.setattr(applying, "_somebody_answers", lambda: True)
    done = apply(file, "update", input=answer)
    assert "Continue? [y/N]" in done.stderr
    assert (done.exit_code == 0) == (answer == "y\n")
    assert (schema_of(file) == before) == (answer != "y\n")


@pytest.mark.slow
@on("sqlite", "duckdb", "postgres")
def test_what_changed_between_the_plan_and_its_run_is_seen(shop, words):
    rows = DatabaseRows(shop.url, "small")
    plan = plan_labels(small_rules(), rows, Application(style="view"))
    execute(shop, "CREATE VIEW small_clusters AS SELECT 1 AS one")
    before = schema_of(shop)
    with pytest.raises(DataError, match="not made by shallowrules"):
        run_plan(plan)
    execute(shop, "DROP VIEW small_clusters")
    run_plan(plan)
    assert labelled(shop, "small_clusters") == expected()
    again = plan_labels(OTHER, rows, Application(style="view", replace=True))
    run_plan(plan_labels(small_rules(), rows, Application(style="view"), undo=True))
    with pytest.raises(DataError, match="changed since") as error:
        run_plan(again)
    if shop.dialect == "sqlite":
        words(str(error.value))
    assert schema_of(shop) != before


NOT_TOGETHER = {
    "--apply view -o out.csv": ("-o", "--apply"),
    "--apply update --into t": ("--into", "'update'"),
    "--apply view --batch 5": ("--batch", "1", "'update'"),
    "--apply view --sample 5": ("--table",),
    "--yes": ("--yes", "--apply"),
    "--undo -o out.csv": ("--undo", "--apply"),
    "-o out.csv --else 7": ("--else", "--apply"),
    "--apply view --else 1": ("--else", "cluster 1"),
    "--apply nothing": ("'--apply'", "'nothing'"),
    "--apply view --cluster-column ' '": ("--cluster-column",),
    "": ("-o OUT", "--apply view", "--database"),
}
"""Options, and what the refusal names."""


@pytest.mark.parametrize("options", NOT_TOGETHER)
def test_options_that_do_not_go_together(tmp_path, monkeypatch, words, options):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    file = File("sqlite", tmp_path / "file.db")
    file.create("small", [("x", "REAL"), ("i", "INTEGER")], SMALL)
    before = file.path.read_bytes()
    done = call("label", "rules.json", "--database", file.url, "--table", "small", *shlex.split(options))
    assert done.exit_code == 2
    message = " ".join(done.stderr.partition("Error: ")[2].split())
    assert all(part in message for part in NOT_TOGETHER[options])
    if options != "--apply nothing":  # whose words are click's
        words(message)
    assert file.path.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"rules.json", "file.db"}


def test_a_file_has_nothing_to_apply_to(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n0.5,1\n")
    done = call("label", "rules.json", "t.csv", "--apply", "view")
    assert done.exit_code == 2
    message = " ".join(done.stderr.partition("Error: ")[2].split())
    assert all(part in message for part in ("--apply", "--database"))
    words(message)


def test_a_database_that_labels_are_not_applied_in():
    with pytest.raises(OptionError, match="PostgreSQL, MariaDB, SQLite, DuckDB, not oracle"):
        plan_labels(small_rules(), DatabaseRows("oracle://me@host/x", "t"), Application(style="view"))
