"""Codes, whole numbers that are categories: one code in every type and spelling, and in every form of the rules."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from commandline import call, refused
from databases import marked
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import CODES, code_rules, make_rules

from shallowrules.errors import RulesFormatError, ShallowRulesError
from shallowrules.exporters import export
from shallowrules.exporters.sql import cluster_predicates
from shallowrules.rules import RuleSet
from shallowrules.tables.given import column_of
from shallowrules.verification import verify
from shallowrules.verification.engines import ENGINES
from shallowrules.verification.runners.python import define

LEFT, RIGHT = 0, 1
"""The clusters of `CODES`, and of all others."""


def label_of(number):
    """Return the label of a number, None for a missing one."""
    if number is None or number != number:
        return None
    return LEFT if any(float(number) == int(code) for code in CODES) else RIGHT


NUMBERS = (3, -7, 40000, 11, 0, 12, 4, 300, None)
FLOATS = (*map(float, NUMBERS[:-1]), 3.5, -0.0, 2.0**60, None)
"""The last but two is a number that no code is near to."""

PLAIN_TEXTS = {"3": 3, "-7": -7, "40000": 40000, "11": 11, "12": 12, "0": 0, " 3 ": 3}
PADDED_TEXTS = {"3.0": 3, "3.00": 3, "3.": 3, "-7.0": -7, "11.00": 11, "40000.0": 40000, "-0": 0, "0.0": 0}
MISSING_TEXTS = ("", "  ", "nan", "NaN")
STRAYS = ("03", "-03", "+3", "3,0", "3.5", "3e0", "x", "3 4", "0x3", "3\n", "٣", "３", "inf", "1_0", "--3", "3.0.0")


# --- SQL

NUMBER_TYPES = {
    "sqlite": ("INTEGER", "REAL", "NUMERIC(10,2)", ""),
    "duckdb": ("INTEGER", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "HUGEINT"),
    "postgres": ("INTEGER", "BIGINT", "DOUBLE PRECISION", "REAL", "NUMERIC(10,2)", "NUMERIC"),
    "mysql": ("INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)"),
    "clickhouse": tuple(f"Nullable({kind})" for kind in ("Int32", "Int64", "Float64", "Float32", "Decimal(10,2)")),
    "spark": ("INT", "DOUBLE", "DECIMAL(10,2)"),
}
FLOATING = ("DOUBLE", "FLOAT", "REAL", "DOUBLE PRECISION", "Nullable(Float64)", "Nullable(Float32)")
TEXT_TYPES = {
    "sqlite": ("TEXT", ""),
    "duckdb": ("VARCHAR",),
    "postgres": ("TEXT", "VARCHAR(20)"),
    "mysql": ("TEXT CHARACTER SET utf8mb4", "VARCHAR(20) COLLATE utf8mb4_unicode_ci"),
    "clickhouse": ("Nullable(String)",),
    "spark": ("STRING",),
}


def labels_in(engine, declared, cells, rules, **options):
    """Return the label that emitted SQL gives each cell of a column of a declared type."""
    rows = list(enumerate(cells))
    engine.create("codes", [("number_of_row", engine.types["integer"]), ("region", declared)], rows)
    try:
        text = export(rules, "sql", dialect=engine.dialect, style="case", **options)
        found = engine.query(f"SELECT number_of_row, {text} FROM codes ORDER BY number_of_row")
        return [None if label is None else int(label) for _, label in found]
    finally:
        engine.drop("codes")


@pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
@pytest.mark.parametrize("known", ["usual", "full", "typed"])
def test_a_code_is_one_in_every_column_of_numbers(engine, known):
    for declared in NUMBER_TYPES[engine.dialect]:
        cells = list(NUMBERS)
        if declared in FLOATING:
            cells = [x for x in FLOATS if x is None or declared != "FLOAT" or abs(x) < 2**24]
            cells += [math.nan] * engine.holds_nan + [math.inf] * engine.holds_infinity
        elif "," in declared:
            cells += [Decimal("3.00"), Decimal("3.50")]
        options = {"usual": {}, "full": {"guards": "full"}, "typed": {"types": {"region": declared}}}[known]
        if known == "typed" and not declared:
            continue
        found = labels_in(engine, declared, cells, code_rules(), **options)
        assert found == [label_of(cell) for cell in cells], declared
        imputed = labels_in(engine, declared, cells, code_rules("3"), **options)
        assert imputed == [LEFT if label_of(cell) is None else label_of(cell) for cell in cells], declared


@pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
@pytest.mark.parametrize("known", ["usual", "full", "typed"])
def test_a_code_in_a_column_of_text_is_in_its_plain_spelling_or_has_no_cluster(engine, known):
    cells = [*PLAIN_TEXTS, *PADDED_TEXTS, *MISSING_TEXTS, *STRAYS, None]
    wanted = [*map(label_of, PLAIN_TEXTS.values()), *[None] * (len(cells) - len(PLAIN_TEXTS))]
    for declared in TEXT_TYPES[engine.dialect]:
        options = {"usual": {}, "full": {"guards": "full"}, "typed": {"types": {"region": declared}}}[known]
        if known == "typed" and not declared:
            continue
        found = labels_in(engine, declared, cells, code_rules(), **options)
        assert dict(zip(cells, found, strict=True)) == dict(zip(cells, wanted, strict=True)), declared
        imputed = labels_in(engine, declared, cells, code_rules("3"), **options)
        missing = {*MISSING_TEXTS, None}
        wanted_imputed = [LEFT if cell in missing else label for cell, label in zip(cells, wanted, strict=True)]
        assert dict(zip(cells, imputed, strict=True)) == dict(zip(cells, wanted_imputed, strict=True)), declared


def test_engines_that_are_not_run_compare_numbers():
    for dialect in ("trino", "ansi", "tsql", "redshift", "oracle", "bigquery", "snowflake", "databricks"):
        text = export(code_rules(), "sql", dialect=dialect, style="case")
        assert "'3'" not in text
        assert "-7" in text
    for dialect, declared in (("trino", "INTEGER"), ("tsql", "INT"), ("bigquery", "INT64"), ("oracle", "NUMBER(9)")):
        text = export(code_rules(), "sql", dialect=dialect, style="case", types={"region": declared})
        assert "IN (3, -7, 40000)" in text
    # Wherever NaN sorts, it is none of the other codes.
    others = cluster_predicates(code_rules(), dialect="redshift", types={"region": "DOUBLE PRECISION"})[1]
    for guard in ("<= CAST('Infinity' AS", ">= -CAST('Infinity' AS"):
        assert f'"region" {guard} DOUBLE PRECISION)' in others


# --- dataframes and emitted Python

CELLS = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(FLOATS),
    st.sampled_from((math.nan, math.inf, pd.NA, np.int8(3), np.float32(11), np.int64(40000))),
    st.sampled_from((Decimal(3), Decimal("3.00"), Decimal("-7.0"), Decimal("3.5"), Decimal(2**70))),
    st.sampled_from((*PLAIN_TEXTS, *PADDED_TEXTS, *MISSING_TEXTS)),
)


def meaning(cell):
    """Return the label of a cell, given as a Python value."""
    if cell is None or cell is pd.NA:
        return None
    if isinstance(cell, str):
        return label_of({**PLAIN_TEXTS, **PADDED_TEXTS}.get(cell))
    return label_of(cell)


def python_labels(rules, cells):
    """Return the labels of cells by each form of Python."""
    module = define(export(rules, "python", vectorized=True))
    yield "rows", [module["assign_cluster"]({"region": cell}) for cell in cells]
    yield "arrays", [None if label < 0 else label for label in module["assign_clusters"]({"region": cells}).tolist()]
    frame = pd.DataFrame({"region": pd.Series(cells, dtype=object)})
    labels = define(export(rules, "pandas"))["assign_cluster"](frame)
    yield "pandas", [None if pd.isna(label) else int(label) for label in labels]
    yield "assign", [None if label < 0 else label for label in rules.assign({"region": cells}).tolist()]


@draws(300)
@given(st.lists(CELLS, min_size=1, max_size=8), st.sampled_from((None, "3", "11")))
def test_codes_of_any_type_and_spelling_in_python(cells, imputed):
    rules, of_missing = code_rules(imputed), label_of(None if imputed is None else int(imputed))
    for form, labels in python_labels(rules, cells):
        assert labels == [of_missing if (label := meaning(cell)) is None else label for cell in cells], form


@pytest.mark.parametrize("stray", STRAYS)
def test_a_text_that_is_no_code_is_an_error_in_python(stray):
    rules, cells = code_rules(), ["3", stray]
    module = define(export(rules, "python", vectorized=True))
    of_pandas = define(export(rules, "pandas"))["assign_cluster"]
    for label in (
        lambda: [module["assign_cluster"]({"region": cell}) for cell in cells],
        lambda: module["assign_clusters"]({"region": cells}),
        lambda: of_pandas(pd.DataFrame({"region": cells})),
        lambda: rules.assign({"region": cells}),
    ):
        with pytest.raises((TypeError, ShallowRulesError), match="region") as error:
            label()
        assert repr(stray) in str(error.value)
    with pytest.raises(ShallowRulesError, match="row 2"):
        rules.assign({"region": cells})


def test_codes_of_every_type_of_polars():
    polars = pytest.importorskip("polars")
    expression = define(export(code_rules(), "polars"))["assign_cluster"]
    numbers = [3, -7, 11, None]
    wanted = [LEFT, LEFT, RIGHT, None]
    for kind in (polars.Int8, polars.Int64, polars.Int128, polars.Float32, polars.Float64, polars.Decimal(10, 2)):
        frame = polars.DataFrame({"region": polars.Series(numbers, dtype=polars.Int64).cast(kind)})
        assert frame.with_columns(expression())["cluster"].to_list() == wanted, kind
        assert [None if x < 0 else x for x in code_rules().assign(frame).tolist()] == wanted, kind
    for texts in (["3", "-7", "11", None], ["3.0", "-7.00", "11.", ""]):
        frame = polars.DataFrame({"region": texts})
        assert frame.with_columns(expression())["cluster"].to_list() == wanted
        assert (
            frame.with_columns(polars.col("region").cast(polars.Categorical))
            .with_columns(expression())["cluster"]
            .to_list()
            == wanted
        )
    with pytest.raises(TypeError, match="'03'"):
        polars.DataFrame({"region": ["03"]}).with_columns(expression())


def test_words_and_numbers_for_no_value():
    rules = code_rules(nulls=("NA", "-9"))
    cells = ["3", "NA", "-9", "-9.0", -9, -9.0, Decimal("-9.00"), 11]
    for form, labels in python_labels(rules, cells):
        assert labels == [LEFT, *[None] * 6, RIGHT], form


def test_a_categorical_of_pandas_holds_codes():
    from shallowrules import ExplainableKMeans

    region = pd.Categorical([3, 7, 11] * 20)
    frame = pd.DataFrame({"region": region, "x": np.where(region.codes == 1, 5.0, 1.0)})
    rules = ExplainableKMeans(3, random_state=0).fit(frame).rules_
    assert rules.columns[0].codes
    assert rules.assign(frame).tolist() == rules.assign(frame.assign(region=frame["region"].astype(float))).tolist()
    halves = pd.DataFrame({"region": pd.Categorical([0.5, 7, 11] * 20), "x": frame["x"]})
    assert not column_of("region", halves["region"]).conversion.codes


# --- the command line


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """Write a table whose clusters follow from regions, as floats, and rules for it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"region": rng.choice([3, 7, 11], 300), "amount": rng.normal(100, 5, 300).round(2)})
    frame.to_csv("sales.csv", index=False)
    done = call("fit", "sales.csv", "-k", 3, "--categories", "region", "--exclude", "amount", "-o", "rules.json")
    assert done.exit_code == 0, done.stderr
    return frame


def labels_of(path):
    frame = pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path)
    return frame["cluster"].tolist()


def test_files_of_every_spelling_get_the_same_labels(sales):
    rules = RuleSet.from_json("rules.json")
    assert rules.columns[0].codes
    assert set(rules.columns[0].values) == {"3", "7", "11"}
    wanted = rules.assign(sales).tolist()
    kinds = {"float.csv": float, "int.csv": int, "text.csv": str}
    for name, kind in kinds.items():
        sales.assign(region=sales["region"].astype(kind)).to_csv(name, index=False)
    for kind in ("int64", "float64", "float32", "int8", "str"):
        sales.assign(region=sales["region"].astype(kind)).to_parquet(f"{kind}.parquet")
        sales.assign(region=sales["region"].astype(kind)).to_json(f"{kind}.json", orient="records")
    padded = sales["region"].map("{}.00".format)
    sales.assign(region=padded).to_parquet("padded.parquet")
    sales.assign(region=[Decimal(text) for text in padded]).to_parquet("decimal.parquet")
    sales.assign(region=padded).to_csv("padded.csv", index=False)
    files = [*kinds, "padded.parquet", "decimal.parquet", "padded.csv"]
    files += [f"{kind}.{end}" for kind in ("int64", "float64", "float32", "int8", "str") for end in ("parquet", "json")]
    for name in files:
        done = call("label", "rules.json", name, "-o", "labelled.csv", "--force")
        assert done.exit_code == 0, (name, done.stderr)
        assert labels_of("labelled.csv") == wanted, name


def test_a_missing_code_makes_floats_of_the_others(sales):
    frame = sales.assign(region=sales["region"].astype(float))
    frame.loc[5, "region"] = None
    frame.to_csv("gap.csv", index=False)  # 3.0 for 3
    rules = RuleSet.from_json("rules.json")
    wanted = [None if label < 0 else label for label in rules.assign(frame).tolist()]
    done = call("label", "rules.json", "gap.csv", "-o", "labelled.parquet")
    assert done.exit_code == 0, done.stderr
    assert [None if x != x else x for x in labels_of("labelled.parquet")] == wanted
    assert wanted[5] is None


@pytest.mark.parametrize("stray", ["03", "x", "3.5"])
def test_a_file_with_something_else_is_refused(sales, stray):
    for end in ("csv", "json"):
        frame = sales.assign(region=sales["region"].astype(str))
        frame.loc[7, "region"] = stray
        frame.to_csv("new.csv", index=False) if end == "csv" else frame.to_json("new.json", orient="records")
        message = refused("label", "rules.json", f"new.{end}", "-o", "labelled.csv")
        assert "'region'" in message
        assert "row 8" in message
        assert repr(stray) in message


def test_whole_numbers_held_as_floats_are_taken(sales):
    sales.assign(region=sales["region"].astype(float)).to_csv("floats.csv", index=False)
    done = call("fit", "floats.csv", "-k", 3, "--categories", "region", "--exclude", "amount", "-o", "floats.json")
    assert done.exit_code == 0, done.stderr
    assert RuleSet.from_json("floats.json").columns == RuleSet.from_json("rules.json").columns
    sales.assign(region=sales["region"] + 2**53).to_csv("large.csv", index=False)
    message = refused("fit", "large.csv", "-k", 3, "--categories", "region", status=2)
    assert "'region'" in message
    assert "9,007,199,254,740,992" in message


def test_leading_zeros_stay_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{zip_},{i % 7}" for i, zip_ in enumerate(["01067", "10115", "80331"] * 20))
    (tmp_path / "zip.csv").write_text(f"zip,x\n{rows}\n", encoding="utf-8")
    done = call("fit", "zip.csv", "-k", 3, "--categories", "zip", "--exclude", "x", "-o", "rules.json")
    assert done.exit_code == 0, done.stderr
    column = RuleSet.from_json("rules.json").columns[0]
    assert not column.codes
    assert "01067" in column.values


def test_verify_runs_every_form(sales):
    exporters = [each for name in ("sql", "python", "pandas", "polars") for each in ("--exporter", name)]
    done = call("verify", "rules.json", "sales.csv", *exporters)
    assert done.exit_code == 0, done.output


# --- the document


def test_rules_without_the_entry_mean_what_they_did():
    rules = make_rules([("region", "text")], (0, ("3",), LEFT, RIGHT))
    assert '"codes"' not in rules.to_json()
    assert rules.assign({"region": ["3", "3.0", "03"]}).tolist() == [LEFT, RIGHT, RIGHT]
    again = RuleSet.from_dict(json.loads(code_rules().to_json()))
    assert again == code_rules()
    assert '"codes": true' in code_rules().to_json()


@pytest.mark.parametrize("value", ["03", "3.0", "x", str(2**53)])
def test_a_document_of_codes_has_no_other_category(value):
    with pytest.raises(RulesFormatError, match="region"):
        replace(code_rules(), columns=(replace(code_rules().columns[0], values=(*CODES, value)),))
    with pytest.raises(RulesFormatError, match="region"):
        replace(code_rules(), columns=(replace(code_rules().columns[0], imputed=value),))


# --- verify, and databases


@pytest.mark.parametrize("region", [[3, -7, 11.0, None], ["3.0", "-7", "11.00", ""]])
@pytest.mark.parametrize("rules", [code_rules(), code_rules("3"), code_rules(nulls=("NA", "-9"))])
def test_forms_agree_on_boundary_rows(rules, region):
    exporters = ["sql", "python", "pandas", "polars"]
    found = list(verify(rules, pd.DataFrame({"region": region}), dialects=["sqlite", "duckdb"], exporters=exporters))
    assert [(each.form, each.first) for each in found if each.disagreements] == []


DECLARED = {
    "sqlite": ("INTEGER", "REAL", "TEXT"),
    "duckdb": ("INTEGER", "DECIMAL(10,2)", "DOUBLE", "VARCHAR"),
    "postgres": ("INTEGER", "NUMERIC(10,2)", "REAL", "TEXT"),
    "mysql": ("INTEGER", "DECIMAL(10,2)", "DOUBLE", "VARCHAR(20)"),
}


def test_labels_in_a_database(database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code_rules().to_json("rules.json")
    for place, declared in enumerate(DECLARED[database.dialect]):
        table = f"codes{place}"
        database.create(table, [("i", "INTEGER"), ("region", declared)], list(enumerate([3, -7, 11, 12, None])))
        try:
            for style in ("view", "table"):
                where = ("--database", database.url, "--table", table)
                done = call("label", "rules.json", *where, "--apply", style, "--into", f"{table}_{style}", "--yes")
                assert done.exit_code == 0, (declared, done.output)
                found = database.query(f"SELECT cluster FROM {table}_{style} ORDER BY i")
                labels = [None if label is None else int(label) for (label,) in found]
                assert labels == [LEFT, LEFT, RIGHT, RIGHT, None], (declared, style)
            done = call("label", "rules.json", *where, "-o", "labelled.csv", "--force")
            assert done.exit_code == 0, (declared, done.output)
            assert labels_of("labelled.csv")[:4] == [LEFT, LEFT, RIGHT, RIGHT], declared
            done = call("verify", "rules.json", *where)
            assert done.exit_code == 0, (declared, done.output)
        finally:
            database.query(f"DROP VIEW IF EXISTS {table}_view")
            database.query(f"DROP TABLE IF EXISTS {table}_table")
            database.drop(table)
