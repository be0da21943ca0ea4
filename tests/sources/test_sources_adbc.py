"""PostgreSQL by ADBC: the same types and values as from a cursor, whatever the columns are."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from decimal import Decimal

import pytest
from databases import on
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules.errors import DataError
from shallowrules.sources import DatabaseRows, adbc, read_table
from shallowrules.sources.database import DatabaseSource

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")
adbc_driver_postgresql = pytest.importorskip("adbc_driver_postgresql")
psycopg = pytest.importorskip("psycopg")

pytestmark = on("postgres")


@contextmanager
def by_cursor():
    """Read as where the driver is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "adbc_driver_postgresql", None)
        yield


@contextmanager
def by_adbc():
    """Fail where a cursor would be used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(DatabaseSource, "_build")
        yield


def execute(database, *statements):
    with psycopg.connect(database.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def whole(bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).map(str)


def decimals(precision, scale, nan=True):
    digits = st.integers(-(10**precision) + 1, 10**precision - 1).map(lambda n: str(Decimal(n).scaleb(-scale)))
    return st.one_of(digits, st.just("NaN")) if nan else digits


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5)
DOUBLES = st.floats().map(repr)
ANY_DECIMAL = st.decimals(allow_nan=True, allow_infinity=False, places=None).filter(lambda d: not d.is_snan())

TYPES = {
    "SMALLINT": whole(16),
    "INTEGER": whole(32),
    "BIGINT": whole(64),
    "REAL": st.floats(width=32).map(repr),
    "DOUBLE PRECISION": DOUBLES,
    "NUMERIC": st.one_of(
        ANY_DECIMAL.map(lambda d: "NaN" if d.is_nan() else format(d, "f")).filter(lambda text: len(text) < 400),
        st.sampled_from(["1.0", "0", "9223372036854775808", "-0.0", "1e400", "9007199254740993"]),
    ),
    "NUMERIC(5)": decimals(5, 0),
    "NUMERIC(15)": decimals(15, 0, nan=False),
    "NUMERIC(15,4)": decimals(15, 4),
    "NUMERIC(15,15)": decimals(15, 15, nan=False),
    "NUMERIC(16,1)": decimals(16, 1),
    "NUMERIC(20)": decimals(20, 0),
    "NUMERIC(330,310)": decimals(20, 310, nan=False),
    "BOOLEAN": st.sampled_from(["true", "false"]),
    "TEXT": TEXTS,
    "VARCHAR(5)": TEXTS,
    "CHAR(5)": TEXTS,
    "NAME": ASCII,
    '"char"': ASCII.map(lambda text: text[:1]),
    "mood": st.sampled_from(["glad", "it's", ""]),
    "cents": decimals(6, 2),
    "word": TEXTS,
    "BIT(3)": st.sampled_from(["101", "000"]),
}
"""By the type of a column, texts for values that it holds."""

OTHER = {
    "UUID": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "JSONB": ['{"a": 1}', "7"],
    "BYTEA": [r"\x01"],
    "INTEGER[]": ["{1,2}"],
    "OID": ["7", "4294967295"],
    "MONEY": ["1.5"],
    "INT4RANGE": ["[1,3)"],
    "POINT": ["(1,2)"],
    "pair": ["(1,a)"],
}
"""Types that are neither numbers nor categories."""

FAR = ["infinity", "-infinity", "12000-01-01", "0044-03-15 BC", "0001-01-01", "9999-12-31"]
MOMENTS = st.datetimes().map(lambda moment: moment.isoformat(" ")) | st.sampled_from(FAR)
TYPES |= {
    "DATE": st.dates().map(str) | st.sampled_from(FAR),
    "TIMESTAMP": MOMENTS,
    "TIMESTAMPTZ": MOMENTS.map(lambda text: f"{text}+02" if ":" in text else text),
    "INTERVAL": st.sampled_from(
        ["1 month 2 days 03:00:00.000001", "-1 days +00:00:00.5", "-00:00:00.000001", "1 year"]
    ),
}

TYPES |= {kind: st.sampled_from(texts) for kind, texts in OTHER.items()}

MADE = (
    "CREATE TYPE mood AS ENUM ('glad', 'it''s', '')",
    "CREATE DOMAIN cents AS NUMERIC(6,2)",
    "CREATE DOMAIN word AS TEXT",
    "CREATE TYPE pair AS (a INTEGER, b TEXT)",
)


@pytest.fixture
def types(database):
    """Make the types that the tables have."""
    execute(database, *MADE)
    yield
    execute(database, "DROP TYPE mood", "DROP DOMAIN cents", "DROP DOMAIN word", "DROP TYPE pair")


@st.composite
def tables(draw):
    """Draw the types of some columns, and rows of texts for their values, None for NULL."""
    kinds = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=8))
    cells = [st.none() | TYPES[kind] for kind in kinds]
    return kinds, draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))


@contextmanager
def filled(database, kinds, rows):
    declared = ", ".join(f"c{j} {kind}" for j, kind in enumerate(kinds))
    values = ", ".join(f"%s::{kind}" for kind in kinds)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE drawn ({declared})")
        connection.cursor().executemany(f"INSERT INTO drawn VALUES ({values})", rows)
    try:
        yield
    finally:
        execute(database, "DROP TABLE drawn")


def shown(table):
    """Return everything about a table, as text."""
    return [
        (
            column.name,
            column.type,
            str(column.values.dtype),
            column.absent.tolist(),
            list(map(repr, column.values[~column.absent].tolist())),
            None if column.exact is None else list(map(repr, column.exact.tolist())),
        )
        for column in table.columns
    ]


DRAWN = draws(30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@DRAWN
@given(tables(), st.integers(1, 4) | st.none())
def test_columns_are_those_of_a_cursor(database, types, drawn, sample):
    with filled(database, *drawn):
        rows = DatabaseRows(database.url, "drawn", sample=sample, seed=7)
        with by_adbc():
            copied = shown(read_table(rows))
        with by_cursor():
            assert copied == shown(read_table(rows))


def test_a_column_of_another_type_is_neither_text_nor_a_number(database, types):
    for how in (by_adbc, by_cursor):
        for kind, texts in OTHER.items():
            with filled(database, [kind], [[texts[0]], [None]]), how():
                column = read_table(DatabaseRows(database.url, "drawn"))["c0"]
                assert (column.type, column.absent.tolist()) == ("other", [False, True]), kind


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT 1 / (n - 3) AS x FROM generate_series(1, 9) n", "division by zero"),
        ("SELECT 1 / (n - 99999) AS x FROM generate_series(1, 100000) n", "division by zero"),
        ("SELECT 1 AS x WHERE false", "no rows"),
    ],
)
def test_what_the_database_refuses_is_said_once(database, query, said):
    with by_adbc(), pytest.raises(DataError) as refused:
        read_table(DatabaseRows(database.url, query=query))
    assert re.search(rf"{re.escape(database.url.rpartition('-')[2])}: [^:]*{said}$", str(refused.value))


@pytest.mark.parametrize("way", [by_adbc, by_cursor])
def test_a_sample_is_the_same_after_others_have_read_a_part(database, way):
    """PostgreSQL begins to read a large table where the last reader stopped."""
    rows = DatabaseRows(database.url, "large", sample=20)
    made = "SELECT i AS n, repeat('x', 1000) AS filling FROM generate_series(1, 40000) i"
    execute(database, f"CREATE TABLE large AS {made}")  # more than a quarter of shared_buffers
    try:
        with way():
            before = read_table(rows, columns=["n"])["n"].values.tolist()
            execute(database, "SELECT count(*) FROM (SELECT * FROM large LIMIT 20000) AS part")
            assert read_table(rows, columns=["n"])["n"].values.tolist() == before
    finally:
        execute(database, "DROP TABLE large")


def test_where_it_does_not_connect_a_cursor_reads(database, monkeypatch):
    monkeypatch.setattr(adbc, "_connect", lambda connection, opened: None)
    assert read_table(DatabaseRows(database.url, query="SELECT 7 AS x"))["x"].values.tolist() == [7]


def test_a_password_and_the_settings_of_a_url_go_along(database, monkeypatch):
    """The search path is a setting of the session, the password neither in a message nor in the environment."""
    execute(database, "CREATE SCHEMA hidden_place", "CREATE TABLE hidden_place.inside AS SELECT 5 AS n")
    given = []

    def connect(uri, **options):
        given.append(uri)
        return real(uri, **options)

    real = adbc_driver_postgresql.connect
    monkeypatch.setattr(adbc_driver_postgresql, "connect", connect)
    url = database.url.replace("shallowrules@", "shallowrules:s3cret%20'\\@")
    try:
        with by_adbc():
            rows = DatabaseRows(f"{url}&options=-c%20search_path%3Dhidden_place", "inside")
            assert read_table(rows)["n"].values.tolist() == [5]
            with pytest.raises(DataError) as refused:
                read_table(DatabaseRows(url, query="SELECT 1 / (n - 1) AS x FROM generate_series(1, 2) n"))
    finally:
        execute(database, "DROP SCHEMA hidden_place CASCADE")
    assert "s3cret" not in str(refused.value)
    assert psycopg.conninfo.conninfo_to_dict(given[0])["password"] == "s3cret '\\"


def test_a_change_of_the_table_that_waits_does_not_hold_up_reading(database, monkeypatch):
    """It waits for the connection that has looked at the columns, and the copy would wait behind it."""
    execute(database, "CREATE TABLE changing AS SELECT 1 AS n")
    real = adbc._connect

    def connect(connection, opened):
        execute(database, "SET lock_timeout = '5s'", "ALTER TABLE changing ADD COLUMN m INTEGER")
        return real(connection, opened)

    monkeypatch.setattr(adbc, "_connect", connect)
    try:
        with by_adbc():
            assert read_table(DatabaseRows(database.url, "changing")).names == ["n"]
    finally:
        execute(database, "DROP TABLE changing")


def test_an_interrupt_cancels_the_query(database):
    script = """
        import os, signal, sys, threading
        from shallowrules.sources import DatabaseRows, adbc, read_table
        fetch = adbc._fetch
        def interrupted(query):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            return fetch(query)
        adbc._fetch = interrupted
        try:
            read_table(DatabaseRows(sys.argv[1], query=sys.argv[2]))
        except KeyboardInterrupt:
            print("interrupted")
    """
    query = "SELECT n, pg_sleep(0.01) IS NULL AS slept FROM generate_series(1, 100000) n"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), database.url, query],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.stdout == "interrupted\n", done.stderr
    [[running]] = database.query(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(0.01)%' AND pid <> pg_backend_pid()"
    )
    assert running == "0"
