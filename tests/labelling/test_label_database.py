"""The rows of a database, written to a file with their clusters."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from commandline import call
from databases import SERVERS, SMALL, SMALL_LABELS, schema_of
from rulesets import make_rules, small_rules

from shallowrules.sources import read_table

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")


def label(database, *arguments, table="small", **settings):
    table = [] if table is None else ["--table", table]
    return call("label", "rules.json", "--database", database.url, *table, *arguments, **settings)


def rows_of(path):
    table = read_table(path)
    columns = [
        [None if gone else v for v, gone in zip(c.values.tolist(), c.absent, strict=True)] for c in table.columns
    ]
    return table.names, sorted(zip(*columns, strict=True), key=repr)


LABELLED = sorted(((*row, label) for row, label in zip(SMALL, SMALL_LABELS, strict=True)), key=repr)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_every_row_is_written_with_its_cluster(small, ending):
    if small.dialect in SERVERS and ending != "csv":
        return  # the file is written as of any other database
    before = schema_of(small)
    done = label(small, "-o", f"out.{ending}")
    assert done.exit_code == 0, done.output
    assert rows_of(f"out.{ending}") == (["x", "i", "cluster"], LABELLED)
    assert schema_of(small) == before


def test_of_a_query_and_of_a_sample(small):
    query = "SELECT i, x AS wide, 'a,b' AS note FROM small WHERE i IS NOT NULL"
    done = label(small, "--query", query, "--column", "x=wide", "-o", "out.csv", table=None)
    assert done.exit_code == 0, done.output
    names, rows = rows_of("out.csv")
    assert names == ["i", "wide", "note", "cluster"]
    assert rows == sorted(((i, x, "a,b", label) for x, i, label in LABELLED if i is not None), key=repr)
    written = []
    for seed in ("1", "1", "2"):
        assert label(small, "--sample", "2", "--seed", seed, "-o", "out.csv", "--force").exit_code == 0
        written.append(Path("out.csv").read_text())
    assert written[0] == written[1]
    assert all(row in LABELLED for row in rows_of("out.csv")[1])


def test_clusters_go_by_their_names_and_a_taken_name_is_refused(small):
    rules = small_rules()
    names = ["a'b", "c", "d"]
    replace(rules, clusters=tuple(replace(c, name=n) for c, n in zip(rules.clusters, names, strict=True))).to_json(
        "rules.json"
    )
    assert label(small, "-o", "out.csv").exit_code == 0
    assert {row[-1] for row in rows_of("out.csv")[1]} == {*names, None}
    done = label(small, "-o", "other.csv", "--cluster-column", "I")
    assert done.exit_code == 3
    assert "already has a column 'i': name the new one with --cluster-column" in " ".join(done.stderr.split())
    assert not Path("other.csv").exists()


KINDS = {
    "postgres": ["NUMERIC(20,4)", "DATE", "TIMESTAMP", "BOOLEAN", "TEXT", "BIGINT", "DOUBLE PRECISION"],
    "mysql": ["DECIMAL(20,4)", "DATE", "DATETIME", "BOOLEAN", "TEXT", "BIGINT", "DOUBLE"],
    "duckdb": ["DECIMAL(20,4)", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR", "BIGINT", "DOUBLE"],
    "sqlite": ["NUMERIC", "TEXT", "TEXT", "BOOLEAN", "TEXT", "BIGINT", "DOUBLE"],
}


def test_columns_of_every_kind_are_written(shop):
    names = ["money", "day", "moment", "truth", "word", "whole", "x"]
    columns = list(zip(names, KINDS[shop.dialect], strict=True))
    rows = [
        [Decimal("12.5"), "2026-11-22", "2026-11-22 08:30:15", True, 'é "q"\n%s', 2**63 - 1, 0.25],
        [None, None, None, None, None, None, None],
        [Decimal("-0.75"), "1999-01-01", "1999-01-01 00:00:00", False, ",;\t:p", -5, 0.75],
    ]
    shop.create("kinds", columns, rows)
    make_rules([("x", "float")], (0, 0.5, 4, 5)).to_json("rules.json")
    for ending in ("parquet", "csv"):
        done = label(shop, "-o", f"out.{ending}", table="kinds")
        assert done.exit_code == 0, done.output
        found = {row["cluster"]: row for row in _dicts(f"out.{ending}")}
        assert list(found[None].values()) == [None] * 8
        for cluster, given in ((4, rows[0]), (5, rows[2])):
            money, day, moment, truth, word, whole, x, _ = found[cluster].values()
            assert (money, bool(truth), word, whole, x) == (float(given[0]), *given[3:])
            assert (str(day)[:10], str(moment)[:19]) == (given[1], given[2])


def _dicts(path):
    import duckdb

    found = duckdb.sql(f"SELECT * FROM '{path}'")
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_what_is_missing_is_said(small):
    done = label(small, "-o", "out.csv", "--column", "x=wide")
    assert done.exit_code == 3
    assert "the rules test 'wide', which table small in" in " ".join(done.stderr.split())
    assert not Path("out.csv").exists()
    (Path("t.csv")).write_text("x,i\n1,2\n")
    done = call("label", "rules.json", "t.csv", "-o", "out.csv", "--column", "x=wide")
    assert done.exit_code == 3
    assert "t.csv: there is no column 'wide', which the rules test" in " ".join(done.stderr.split())
