"""DuckDB's SQL on Parquet files, whose statistics leave NaN out."""

import math
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from draws import few
from rulesets import make_rules, route

from shallowrules.exporters import export
from shallowrules.exporters.sql import cluster_predicates
from shallowrules.labelling.column_types import column_types
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import open_rows

duckdb = pytest.importorskip("duckdb")

# Values beside NaN, by what the statistics say of them.
PARQUET_COLUMNS = {
    "on both sides": [-3.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 9.0],
    "below every threshold": [-3.0, -2.0],
    "above every threshold": [5.0, 9.0],
    "between two": [1.25, 1.5],
    "constant": [1.5],
    "infinite": [math.inf, -math.inf, 1.5],
    "none": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("imputed", [None, 1.5])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
@pytest.mark.parametrize("values", few(PARQUET_COLUMNS.values(), 3), ids=PARQUET_COLUMNS)
def test_duckdb_over_a_parquet_file_with_nan(tmp_path, values, kind, imputed):
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 1.0, (0, 0.5, 0, (1, 3, 1, 2)), (0, 2.0, 3, 4)))
    if imputed is not None:
        columns = tuple(replace(column, imputed=imputed if column.name == "x" else None) for column in rules.columns)
        rules = replace(rules, columns=columns)
    values = [*values, math.nan, None, math.nan, *values]
    rows = [(x, n) for x in values for n in (1.0, 4.0, math.nan)]  # once whole numbers, now doubles
    filled = [(imputed if x is None or math.isnan(x) else x, n) for x, n in rows] if imputed is not None else rows
    expected = [route(rules, row) for row in filled]
    for row_group_size in (len(rows), 5):
        path = tmp_path / f"{row_group_size}.parquet"
        x, n = zip(*rows, strict=True)
        pq.write_table(pa.table({"x": pa.array(x, kind), "n": n}), path, row_group_size=row_group_size)
        with duckdb.connect() as connection:
            query = export(rules, "sql", dialect="duckdb", style="select", table=[str(path)])
            selected = [row[-1] for row in connection.execute(query).fetchall()]
            case = export(rules, "sql", dialect="duckdb", style="case")
            cased = [row[0] for row in connection.execute(f"SELECT {case} FROM read_parquet('{path}')").fetchall()]
            matched = [-1] * len(rows)
            numbered = f"read_parquet('{path}', file_row_number=true)"
            for cluster, predicate in cluster_predicates(rules, dialect="duckdb").items():
                query = f"SELECT file_row_number FROM {numbered} WHERE {predicate}"
                for (row,) in connection.execute(query).fetchall():
                    assert matched[row] == -1
                    matched[row] = cluster
        assert [-1 if label is None else label for label in selected] == expected
        assert [-1 if label is None else label for label in cased] == expected
        assert matched == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("values", PARQUET_COLUMNS.values(), ids=PARQUET_COLUMNS)
def test_duckdb_has_no_test_for_files_in_a_table_of_its_own(tmp_path, values, kind):
    rules = make_rules([("x", "float")], (0, 1.0, (0, 0.5, 0, 1), (0, 2.0, 2, 3)))
    values = [*values, math.nan, None, math.nan, *values]
    expected = [route(rules, (value,)) for value in values]
    file = tmp_path / "rows.db"
    with duckdb.connect(file) as connection:
        connection.execute(f"CREATE TABLE own (i INTEGER, x {kind})")
        connection.executemany("INSERT INTO own VALUES (?, ?)", list(enumerate(values)))
        connection.execute("CREATE VIEW seen AS SELECT * FROM own")
        connection.execute("CREATE SCHEMA other; CREATE TABLE other.seen (x DOUBLE)")
    known = {}
    for table in ("own", "main.own", "seen", "other.seen"):
        with open_rows(DatabaseRows(f"duckdb:///{file}", table)) as source:
            known[table] = column_types(source)["x"]
    assert known == {"own": kind, "main.own": kind, "seen": "", "other.seen": ""}  # which of them is not asked
    case = export(rules, "sql", dialect="duckdb", style="case", types={"x": kind})
    assert "FINITE" not in case
    assert "not for a view of files" in case
    with duckdb.connect(file) as connection:  # statistics as they come from a file
        labels = [label for (label,) in connection.execute(f"SELECT {case} FROM own ORDER BY i").fetchall()]
    assert [-1 if label is None else label for label in labels] == expected
