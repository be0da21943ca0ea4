"""Rows of a database reach the file in batches: the same file as if all were held, and none where something fails."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from commandline import call
from databases import SERVERS
from draws import few
from rulesets import make_rules

from shallowrules.errors import DataError
from shallowrules.labelling import rows as labelling
from shallowrules.sources import database

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

COLUMNS = [
    ("x", "float"),
    ("i", "integer"),
    ("word", "text"),
    ("truth", "boolean"),
    ("sparse", "text"),
    ("none", "float"),
]


def write_table(shop, n_rows=23):
    """Write a table of which some rows lack values of some columns, so that batches are of several types."""
    draw = random.Random(0)
    rows = [
        [
            None if k % 7 == 3 else draw.uniform(0, 1),
            2**60 + k if k < 12 else None,
            draw.choice(["a", "é,\n", '"', "1"]),
            None if k < 4 else bool(k % 2),
            "late" if k > 15 else None,
            None,
        ]
        for k in range(n_rows)
    ]
    shop.create("visits", [(name, shop.types[kind]) for name, kind in COLUMNS], rows)
    make_rules([("x", "float")], (0, 0.5, 4, 5)).to_json("rules.json")


def label(url, target):
    return call("label", "rules.json", "--database", url, "--table", "visits", "-o", target, "--force")


@pytest.fixture
def added(monkeypatch):
    """Fetch three rows at a time, and return the sizes of the batches added to the rows that wait to be written."""
    sizes = []
    add = labelling.RowParts.add

    def spy(parts, columns):
        sizes.append(len(columns[0].values))
        add(parts, columns)

    monkeypatch.setattr(labelling.RowParts, "add", spy)
    monkeypatch.setattr(database, "BATCH_ROWS", 3)
    return sizes


def hold_all(monkeypatch):
    """Label rows as if the rules could not be compared with batches."""
    monkeypatch.setattr(labelling, "_fetch_batches", lambda *_: None)


@pytest.mark.parametrize("ending", few(["csv", "parquet", "jsonl"]))
def test_batches_make_the_file_that_all_rows_at_once_make(shop, added, monkeypatch, ending):
    if shop.dialect in SERVERS and ending == "jsonl":
        return  # as csv
    write_table(shop)
    done = label(shop.url, f"streamed.{ending}")
    assert done.exit_code == 0, done.output
    assert added == [3] * 7 + [2]
    added.clear()
    hold_all(monkeypatch)
    assert label(shop.url, f"whole.{ending}").exit_code == 0
    assert added == [23]
    assert Path(f"streamed.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_a_database_that_fails_between_batches_leaves_the_old_file(shop, added, monkeypatch):
    write_table(shop)
    fetch = database.DatabaseSource.fetch

    def failing(source, *arguments):
        for k, batch in enumerate(fetch(source, *arguments)):
            if k == 2:
                raise DataError("the connection is lost")
            yield batch

    monkeypatch.setattr(database.DatabaseSource, "fetch", failing)
    Path("old.csv").write_text("old")
    for target in ("new.csv", "old.csv"):
        before = sorted(Path().iterdir())
        done = label(shop.url, target)
        assert done.exit_code == 3
        assert "the connection is lost" in done.stderr
        assert sorted(Path().iterdir()) == before
    assert Path("old.csv").read_text() == "old"
    assert added == [3, 3] * 2


def write_sqlite(path, columns, rows):
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE visits ({columns})")
    connection.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "values", "sizes"),
    [
        ("other", [1, 2, 3, 4.5, 5, 6], [3, 3]),  # whole numbers beside others
        ("other", [1, None, 2**60 + 1, 0.5, None, None], [3, 3]),
        ("other", [1, 2, 3, "four", 5, 6], [3, 3, 6]),  # the rows are fetched again
        ("other", ["1", None, None, 2, None, None], [3, 3, 6]),
        ("x", [1, 2**60 + 1, 3, 0.25, 5, None], [3, 3, 6]),  # as doubles are two of the whole numbers one
    ],
)
def test_columns_of_several_types_are_as_if_all_rows_were_held(tmp_path, added, monkeypatch, column, values, sizes):
    monkeypatch.chdir(tmp_path)
    rows = [(value, 0) if column == "x" else (k / 10, value) for k, value in enumerate(values)]
    write_sqlite("t.db", "x, other", rows)
    make_rules([("x", "float")], (0, 0.25, 4, 5)).to_json("rules.json")
    for ending in ("csv", "parquet"):
        added.clear()
        assert label("sqlite:///t.db", f"streamed.{ending}").exit_code == 0
        assert added == sizes
        with monkeypatch.context() as patched:
            hold_all(patched)
            assert label("sqlite:///t.db", f"whole.{ending}").exit_code == 0
        assert Path(f"streamed.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


@pytest.mark.usefixtures("added")
def test_what_the_rules_refuse_names_the_row_of_the_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_sqlite("t.db", "x BOOLEAN", [(k,) for k in (0, 1, 1, 0, 7, 1)])
    make_rules([("x", "boolean")], (0, True, 4, 5)).to_json("rules.json")
    done = label("sqlite:///t.db", "out.csv")
    assert done.exit_code == 3
    assert "row 5 has 7" in " ".join(done.stderr.split())
    assert not Path("out.csv").exists()
