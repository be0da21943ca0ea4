"""Rows of a database: typed by their values, streamed, sampled; names and passwords that do no harm."""

from __future__ import annotations

import math
import re
import shlex
import sqlite3
from decimal import Decimal

import numpy as np
import pytest
from commandline import call
from databases import File, on
from draws import draws
from hypothesis import HealthCheck, given, reject
from hypothesis import strategies as st
from rulesets import hostile_names, hostile_texts

from shallowrules import RuleSet, export
from shallowrules.errors import DataError, EngineError, OptionError
from shallowrules.sources import DatabaseRows, read_table
from shallowrules.sources.column_builder import ColumnBuilder
from shallowrules.sources.connecting import connect, find_url, hide_password

pytest.importorskip("sqlalchemy")
duckdb = pytest.importorskip("duckdb")

fuzzed = draws(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows_of(database, table, **options):
    return DatabaseRows(database.url, f'"{table}"', **options)


def test_columns_keep_their_types(database, fill):
    kinds = database.types
    columns = [("n", kinds["integer"]), ("x", kinds["float"]), ("t", kinds["text"]), ("b", kinds["boolean"])]
    columns += [("cents", "DECIMAL(12,2)"), ("whole", "DECIMAL(10,0)"), ("day", "DATE")]
    big = 2**53 + 1
    rows = [
        (big, 0.1, "a", True, Decimal("7.00"), Decimal(7), "2024-03-31"),
        (None, None, None, None, None, None, None),
        (-(2**63), -1e300, "%s :p {{ %% \\ '\"é\u2028", False, Decimal("-0.50"), Decimal(-9), "2024-04-01"),
    ]
    fill("kinds", columns, rows)
    table = read_table(rows_of(database, "kinds"))
    found = {column.name: column for column in table.columns}
    whole = "float" if database.dialect == "sqlite" else "integer"  # SQLite has no decimals: the test wrote doubles
    types = {"n": "integer", "x": "float", "t": "text", "b": "boolean", "cents": "float", "whole": whole, "day": "date"}
    assert {name: column.type for name, column in found.items() if name != "whole"} == {
        name: kind for name, kind in types.items() if name != "whole"
    }
    assert found["whole"].is_numeric
    assert all(column.absent.tolist() == [False, True, False] for column in table.columns)
    present = [0, 2]
    assert found["n"].values[present].tolist() == [big, -(2**63)]
    assert found["x"].values[present].tolist() == [0.1, -1e300]
    assert found["t"].values[present].tolist() == ["a", rows[2][2]]
    assert found["b"].values[present].tolist() == [True, False]
    assert found["cents"].values[present].tolist() == [7.0, -0.5]
    assert found["whole"].values[present].tolist() == [7, -9]


EXACT = {
    "sqlite": [("REAL", 0.1, 0.1)],
    "duckdb": [("FLOAT", 0.1, float(np.float32(0.1)))],
    "postgres": [("REAL", 0.1, float(np.float32(0.1))), ("CHAR(5)", "a", "a")],
    "mysql": [
        ("FLOAT", 16777217.0, 16777216.0),
        ("FLOAT", 0.1, float(np.float32(0.1))),
        ("BIT(40)", 2**33, 2**33),
        ("CHAR(5)", "a", "a"),
    ],
}
"""By dialect: a declared type, what is put into a column of it, and the value that the column has then."""


def test_values_are_those_that_the_column_has(database, fill):
    """Not their shortest text, nor six digits of it, nor padded."""
    cases = EXACT[database.dialect]
    columns = [(f"c{number}", kind) for number, (kind, _, _) in enumerate(cases)]
    fill("exact", columns, [[given for _, given, _ in cases]])
    for options in ({}, {"sample": 1}):
        table = read_table(rows_of(database, "exact", **options))
        assert [column.values.tolist() for column in table.columns] == [[held] for _, _, held in cases]


OTHERS = {
    "duckdb": [
        *(("INTEGER[]", "[1]"), ("BIT", "101"), ("BLOB", "a"), ("JSON", "7"), ("BIGNUM", "7"), ("TIME", "12:00")),
        ("UUID", "00000000-0000-0000-0000-000000000007"),
    ],
    "postgres": [
        *(
            ("TIMETZ", "12:00+02"),
            ("JSONB", "7"),
            ("MONEY", "1.5"),
            ("POINT", "(1,2)"),
            ("MACADDR", "08:00:2b:01:02:03"),
        ),
        *(
            ("INTEGER[]", "{1}"),
            ("TIMETZ", "12:00+02"),
            ("TIME", "12:00"),
            ("XML", "<a/>"),
            ("INET", "10.0.0.1"),
            ("BYTEA", "a"),
        ),
        ("OID", "7"),
    ],
    "mysql": [("BLOB", "a"), ("BINARY(3)", "a")],
}
"""By dialect: types that are neither numbers nor categories, and a value of each."""


@on("duckdb", "postgres", "mysql")
def test_what_is_neither_a_number_nor_a_category(database, fill):
    """Whatever its driver makes of it: text, a number, or an error."""
    cases = OTHERS[database.dialect]
    fill("others", [(f"c{j}", kind) for j, (kind, _) in enumerate(cases)], [[value for _, value in cases]])
    table = read_table(rows_of(database, "others"))
    assert {kind: column.type for (kind, _), column in zip(cases, table.columns, strict=True)} == {
        kind: "other" for kind, _ in cases
    }


def test_a_query_and_chosen_columns(database, fill):
    fill("some", [("n", database.types["integer"]), ("x", database.types["float"])], [(i, i / 2) for i in range(9)])
    query = f"SELECT n, x * 2 AS twice, '100%s' AS t FROM {database.quote('some')} WHERE n > 2;  "
    table = read_table(DatabaseRows(database.url, query=query), exclude=["n"])
    assert table.names == ["twice", "t"]
    assert sorted(table["twice"].values.tolist()) == [3, 4, 5, 6, 7, 8]
    assert set(table["t"].values) == {"100%s"}


def test_a_sample_is_drawn_by_its_seed(database, fill):
    fill("many", [("n", database.types["integer"])], [(i,) for i in range(500)])
    read = [
        sorted(read_table(rows_of(database, "many", sample=50, seed=seed))["n"].values.tolist()) for seed in (1, 1, 2)
    ]
    assert read[0] == read[1] != read[2]
    assert len(set(read[0])) == 50
    assert max(read[0]) > 100
    assert read_table(rows_of(database, "many", sample=1000)).n_rows == 500


def test_more_rows_than_a_batch(database, fill, monkeypatch):
    monkeypatch.setattr("shallowrules.sources.database.BATCH_ROWS", 7)
    rows = [(i if i % 3 else None, 0.5 if i < 40 else None) for i in range(50)]
    fill("batches", [("n", database.types["integer"]), ("x", database.types["float"])], rows)
    table = read_table(rows_of(database, "batches"))
    assert table.n_rows == 50
    assert table["n"].type == "integer"
    assert sorted(table["n"].values[~table["n"].absent].tolist()) == [i for i in range(50) if i % 3]
    assert int(table["x"].absent.sum()) == 10


def test_what_a_database_refuses_is_its_own_answer(database, fill):
    fill("empty", [("n", database.types["integer"])], [])
    with pytest.raises(DataError, match="nowhere"):
        read_table(DatabaseRows(database.url, "nowhere"))
    with pytest.raises(DataError, match="nix"):
        read_table(DatabaseRows(database.url, query="SELECT nix"))
    with pytest.raises(DataError, match="no rows"):
        read_table(rows_of(database, "empty"))


@fuzzed
@given(data=st.data())
def test_hostile_names_and_texts_come_back(database, data):
    """They keep their types; in databases that keep truth values as 0 and 1, the declared one."""
    names = hostile_names.map(_usual if isinstance(database, File) else _of_a_server)
    table, truth, *columns = data.draw(st.lists(names, min_size=3, max_size=4, unique_by=str.lower))
    texts = data.draw(st.lists(hostile_texts.filter(lambda text: "\0" not in text), min_size=1, max_size=3))
    _check_read(database, table, truth, columns, texts)


def test_a_name_of_two_lines_keeps_its_type(database):
    """Reading the output of SHOW CREATE TABLE by lines loses it."""
    _check_read(database, "t", '"\n"', ['"'], ["a"])


def _usual(name):
    return name.replace("\0", "")[:20].strip() or "x"


def _of_a_server(name):
    """MariaDB takes no character beyond the first plane in a name, and its client reads "\\r\\n" as "\\n"."""
    return _usual(re.sub(r"[^\0-\uFFFF]|\r(?=\n)", "", name))


def _check_read(database, table, truth, columns, texts):
    if len({name.lower() for name in (truth, *columns)}) <= len(columns):
        return
    declared = [(truth, database.types["boolean"]), *((name, database.types["text"]) for name in columns)]
    try:
        database.create(table, declared, [[True] + [text] * len(columns) for text in texts])
    except (EngineError, sqlite3.Error, duckdb.Error):
        reject()  # a name that this database cannot have
    try:
        quoted = '"' + table.replace('"', '""') + '"'
        found = read_table(DatabaseRows(database.url, quoted))
        assert found.names == [truth, *columns]
        assert found[truth].type == "boolean"
        assert found[truth].values.tolist() == [True] * len(texts)
        for name in columns:
            assert sorted(found[name].values.tolist()) == sorted(texts)
    finally:
        database.drop(table)


@on("postgres")
def test_rules_are_not_compiled(database):
    with connect(find_url(database.url)) as connection:
        connection.rollback()
        assert connection.exec_driver_sql("SHOW jit").scalar() == "off"


@pytest.mark.slow
def test_rules_of_a_table_are_those_of_its_file(database, fill, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("sample", "wine", "-o", "wine.csv").exit_code == 0
    wine = read_table("wine.csv")
    kinds = [(column.name, database.types[column.type]) for column in wine.columns]
    fill("wines", kinds, list(zip(*(column.values.tolist() for column in wine.columns), strict=True)))
    assert call("fit", "wine.csv", "-k", "3", "-o", "file.json").exit_code == 0
    done = call("fit", "--database", database.url, "--table", "wines", "-k", "3", "-o", "database.json")
    assert done.exit_code == 0, done.output
    one, other = RuleSet.from_json("file.json"), RuleSet.from_json("database.json")
    assert (one.nodes, one.columns) == (other.nodes, other.columns)
    done = call("run", "--database", database.url, "--table", "wines", "-k", "3", "--style", "select")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "wines_rules" / "rules.sql").read_text()
    types = dict(kinds)
    assert text == export(other, "sql", dialect=database.dialect, table=["wines"], style="select", types=types)
    assert call("path", "--database", database.url, "--table", "wines", "-k", "3", "--sample", "100").exit_code == 0


# Without a database ------------------------------------------------------------------------------------


def column_of(*batches):
    builder = ColumnBuilder("x")
    for batch in batches:
        builder.add(tuple(batch))
    return builder.column()


CELLS = st.one_of(
    st.none(), st.integers(-(2**64), 2**64), st.floats(), st.decimals(allow_nan=False, allow_infinity=False), st.text()
)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_batches_are_one_column(batches):
    """However the rows are cut into batches, the column is the same."""
    whole, cut = column_of([cell for batch in batches for cell in batch]), column_of(*batches)
    assert (whole.type, whole.absent.tolist()) == (cut.type, cut.absent.tolist())
    present = ~whole.absent
    assert list(map(repr, whole.values[present].tolist())) == list(map(repr, cut.values[present].tolist()))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, None, 2**63 - 1], "integer"),
        ([1, 2**63], "float"),
        ([1, 0.5], "float"),
        ([Decimal("1.0"), 2], "float"),
        ([Decimal("1"), None], "integer"),
        ([math.nan, None], "float"),
        (["1", 1], "other"),
        ([b"x"], "other"),
        ([True, None], "boolean"),
        ([True, 1], "other"),
    ],
)
def test_types_by_values(cells, kind):
    assert column_of(cells).type == kind
    assert column_of(*([cell] for cell in cells)).type == kind


def test_a_column_declared_as_truth_values_that_holds_other_numbers(tmp_path):
    file = File("sqlite", tmp_path / "file.db")
    file.create("t", [("b", "BOOLEAN")], [[0], [2]])
    column = read_table(DatabaseRows(file.url, "t"))["b"]
    assert (column.type, column.values.tolist()) == ("integer", [0, 2])


def test_what_is_not_one_thing_to_read(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    said = []
    for options, status, named in (
        ("--database sqlite:///x.db", 2, "--table or --query"),
        ("--database sqlite:///x.db --table t --query 'SELECT 1'", 2, "--table or --query"),
        ("--database sqlite:///x.db --table t file.csv", 2, "exclude each other"),
        ("file.csv --query 'SELECT 1'", 2, "--query .* database"),
        ("file.csv --sample 5", 2, "--sample .* database"),
        ("--database sqlite:///x.db --table t", 3, "no file x.db"),
        ("--database nonsense --table t", 2, "not a URL"),
        ("--database @prod --table t", 3, "no file shallowrules.toml"),
        ("--database sqlite:///x.db --table a..b", 2, "'a..b' .*table name"),
        ("", 2, "'TABLE'"),
    ):
        done = call("fit", "-k", "2", *shlex.split(options))
        message = " ".join(done.stderr.partition("Error: ")[2].split())
        assert done.exit_code == status, (options, message)
        assert re.search(named, message), (options, message)
        if options:  # else the words are click's
            said.append((options, message))
    words(said)


def test_a_message_to_python_names_its_parameters():
    with pytest.raises(OptionError, match=r"^database needs either table or query: the rows to read$"):
        DatabaseRows("sqlite:///x.db")


SECRET = "s3cr3t:p@ss/w%20rd"


def test_a_password_is_in_no_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "shallowrules.toml").write_text(
        '[databases.env]\nurl = "postgresql://me@127.0.0.1:1/shop"\npassword_env = "SHOP_PASSWORD"\n'
        '[databases.file]\nurl = "mysql://me@127.0.0.1:1/shop"\npassword_file = "secret"\n'
        '[databases.unset]\nurl = "mysql://me@127.0.0.1:1/shop"\npassword_env = "NOT_SET_HERE"\n'
    )
    assert find_url("@env").password == find_url("@file").password == SECRET
    for name in ("@env", "@file", "postgresql://me:hidden@127.0.0.1:1/shop", "mysql://me:hidden@127.0.0.1:1/shop"):
        done = call("fit", "--database", name, "--table", "t", "-k", "2")
        assert done.exit_code == 3
        assert SECRET not in done.output
        assert "hidden" not in done.output
    for name in ("unset", "none"):
        with pytest.raises(OptionError, match=name):
            find_url(f"@{name}")
    with open("shallowrules.toml", "a", encoding="utf-8") as file:
        file.write('[databases.odd]\nurl = "mysql://me@127.0.0.1:1/shop"\npasword = "hidden"\n')
    with pytest.raises(DataError, match="odd.*'pasword'") as error:
        find_url("@env")
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:SECRET@host/db",
        "postgresql://me:SEC/RET@host/db",
        "postgresql://me:SEC@RET@host/db",
        "postgresql://me:SEC RET@host/db",
        "postgresql://host/db?user=me&password=SECRET&x=1",
        "mysql://host/db?passwd=SECRET",
        "cannot reach host=x password=SECRET port=1",
    ],
)
def test_passwords_are_hidden_in_any_form(text):
    shown = hide_password(text)
    assert "SEC" not in shown
    assert "RET" not in shown
    assert "host" in shown


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgres", "mysql"])
def test_a_password_is_in_nothing_that_is_said_or_written(place, running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = running(place)
    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[place])
    if place == "mysql":
        server.query(
            "GRANT SELECT ON test.* TO reader@localhost",
            ["CREATE USER IF NOT EXISTS reader@localhost IDENTIFIED BY 'h1dd3n-w0rd'"],
        )
    user = {"postgres": "shallowrules", "mysql": "reader"}[place]
    url = re.sub("://[^/]*@", f"://{user}:h1dd3n-w0rd@", server.url)
    kinds = [("id", server.types["integer"]), *((name, server.types["float"]) for name in "xy")]
    rng = np.random.default_rng(0)
    server.create("points", kinds, [[i, *map(float, rng.normal(size=2))] for i in range(60)])
    try:
        refused = call("run", "--database", url, "--table", "points", "-k", "2")
        assert "This works" in refused.output
        assert "--exclude id" in refused.output
        done = call("run", "--database", url, "--table", "points", "-k", "2", "--exclude", "id")
        missing = call("run", "--database", url, "--table", "nowhere", "-k", "2", "-o", "other")
    finally:
        server.drop("points")
    assert (refused.exit_code, done.exit_code, missing.exit_code) == (3, 0, 3)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 6
    for text in (refused.output, done.output, missing.output, *(path.read_text() for path in files)):
        assert "h1dd3n-w0rd" not in text
