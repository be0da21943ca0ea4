"""The SQL exporter: its text, and its results in SQLite and DuckDB."""

import itertools
import math
import re
import sqlite3
from contextlib import closing
from dataclasses import MISSING, fields, replace

import numpy as np
import pytest
from draws import draws, spread
from goldenfiles import assert_golden
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    moderate_float,
    names_for,
    route,
    rule_sets,
)
from sqltables import EXECUTED, Database

from shallowrules.errors import ExportError, RulesFormatError
from shallowrules.exporters import export
from shallowrules.exporters.sql import ALIASES, DIALECTS, LABELLING_STYLES, Dialect
from shallowrules.exporters.sql.dialect import Names, Nan, Numbers, Texts
from shallowrules.exporters.sql.predicates import Predicates

duckdb = pytest.importorskip("duckdb")


def labels_by(style, engine, rules, rows, template):
    """Return the label of every row by executing one style of export."""
    with Database(engine, rules, rows) as database:
        if style == "select":
            found = database.query(export(rules, "sql", dialect=engine, style="select"))
            return {row[0]: -1 if row[-1] is None else row[-1] for row in found}
        if style in ("case", "ordered"):
            case = export(rules, "sql", dialect=engine, style=style)
            found = database.query(f'SELECT "row number", {case} FROM "data"')
            return {row: -1 if label is None else label for row, label in found}
        labels = dict.fromkeys(range(len(rows)), -1)
        # A template splits the predicates whatever is in a name; splitting at comments is tested apart.
        predicates = export(rules, "sql", dialect=engine, template=template).split("\x00")
        for cluster, predicate in zip(rules.by_size, predicates, strict=False):
            for (row,) in database.query(f'SELECT "row number" FROM "data" WHERE {predicate}'):
                assert labels[row] == -1, "rules overlap"
                labels[row] = cluster.index
        return labels


@pytest.mark.parametrize("style", LABELLING_STYLES)
@pytest.mark.parametrize("engine", EXECUTED)
@draws(25)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_executed_sql_is_the_tree(engine, style, predicates, data, seed):
    floats = {"floats": moderate_float} if engine == "sqlite" else {}
    rules = data.draw(rule_sets(kinds=MIXED, categories=hostile_texts, **floats))
    rows = boundary_rows(rules, seed)
    labels = labels_by(style, engine, rules, rows, predicates)
    assert [labels[i] for i in range(len(rows))] == [route(rules, row) for row in rows]


@pytest.mark.parametrize("engine", EXECUTED)
@draws(40)
@given(rules=rule_sets(hostile_names, moderate_float, hostile_names, max_depth=3), seed=st.integers(0, 2**32))
def test_hostile_names_are_contained(engine, predicates, rules, seed):
    rows = boundary_rows(rules, seed, 10)
    expected = dict(enumerate(route(rules, row) for row in rows))
    for style in LABELLING_STYLES:
        assert labels_by(style, engine, rules, rows, predicates) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("style", [*LABELLING_STYLES, "check"])
def test_golden(dialect, style):
    rules = example_rules()
    columns = names_for(dialect, rules)
    text = export(rules, "sql", dialect=dialect, style=style, table="shop.customers", columns=columns)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert_golden(f"{style}.{dialect}.sql", text)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_golden_categories(dialect):
    assert_golden(f"categories.{dialect}.sql", export(example_of_categories(), "sql", dialect=dialect, style="case"))


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("it's", {"ansi": "'it''s'", "mysql": "_utf8mb4 'it''s'", "bigquery": r"'it\'s'", "tsql": "N'it''s'"}),
        (
            "a\\'b",
            {
                "postgres": "('a' || CHR(92) || '''b')",
                "clickhouse": r"'a\\''b'",
                "spark": "('a' || CHAR(92) || CHAR(39) || 'b')",
            },
        ),
        ("a\nb", {"duckdb": "'a\nb'", "bigquery": r"'a\nb'", "snowflake": r"'a\nb'"}),
        ("a\0b", {"sqlite": "('a' || CHAR(0) || 'b')", "duckdb": "('a' || CHR(0) || 'b')"}),
        (
            "a\\b\r\n",
            {
                "mysql": "CONCAT(_utf8mb4 'a', CHAR(92 USING utf8mb4), _utf8mb4 'b', CHAR(13 USING utf8mb4), "
                "_utf8mb4 '\n')"
            },
        ),
        ("\0", {"mysql": "CONCAT(CHAR(0 USING utf8mb4))", "sqlite": "(CHAR(0))", "tsql": "(NCHAR(0))"}),
        ("é😀", {"ansi": "'é😀'", "tsql": "N'é😀'"}),
        ("", {"ansi": "''"}),
    ],
)
def test_text_literals(text, literals):
    for dialect, literal in literals.items():
        assert DIALECTS[dialect].string(text) == literal


def test_texts_that_sql_cannot_hold():
    for dialect in ("ansi", "postgres"):
        with pytest.raises(ExportError, match="cannot hold the character 0"):
            export(make_rules([("c", "text")], (0, "a\0", 0, 1)), "sql", dialect=dialect)
    with pytest.raises(ExportError, match="treats an empty text as NULL"):
        export(make_rules([("c", "text")], (0, "", 0, 1)), "sql", dialect="oracle")
    with pytest.raises(ExportError, match="an unpaired surrogate"):
        DIALECTS["duckdb"].string("\ud800")


def test_the_collation_of_a_column_does_not_matter_in_sqlite():
    rules = make_rules([("c", "text")], (0, "A", 0, (0, "B", 1, 2)))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE data (c TEXT COLLATE NOCASE, d TEXT COLLATE RTRIM)")
        connection.executemany("INSERT INTO data VALUES (?, ?)", [(v, v) for v in ("A", "a", "A ", "B", "b")])
        for name in ("c", "d"):
            text = export(rules, "sql", dialect="sqlite", style="select", columns={"c": name}, guards="full")
            assert [row[-1] for row in connection.execute(text)] == [0, 2, 2, 1, 2]


def test_duckdb_reads_yes_and_no_as_boolean_and_rules_still_hold(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,flag\nyes,true\nno,false\n,\n")
    rules = make_rules([("c", "text"), ("flag", "boolean")], (0, "yes", 0, (1, True, 1, 2)))
    with duckdb.connect() as connection:
        query = export(rules, "sql", dialect="duckdb", style="select", table=[str(path)])
        assert [row[-1] for row in connection.execute(query).fetchall()] == [0, 2, None]


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alias):
    assert export(example_rules(), "sql", dialect=alias) == export(example_rules(), "sql", dialect=ALIASES[alias])


def test_where_is_one_predicate_under_one_comment_per_cluster():
    rules = make_rules([("a", "float"), ("b", "integer")], (0, 1.5, (1, 3, 0, 1), 0), {0: "zero", 1: "1"})
    text = export(rules, "sql")
    blocks = re.split(r"^-- cluster (.+): .*\n", text, flags=re.MULTILINE)
    assert re.fullmatch(r"(-- [^\n]*\n)+-- NaN may get a cluster, [^\n]*\n\n", blocks[0])
    assert dict(zip(blocks[1::2], (block.strip() for block in blocks[2::2]), strict=True)) == {
        "0 (zero)": '(\n  ("a" <= 1.5e0 AND "b" <= 3)\n  OR ("a" > 1.5e0)\n)',
        "1": '"a" <= 1.5e0 AND "b" > 3',
    }


@pytest.mark.parametrize(
    ("value", "literals"),
    [
        (12.8, {"ansi": "12.8e0", "duckdb": "12.8e0", "mysql": "12.8e0", "postgres": "12.8::FLOAT8"}),
        (12.8, {"sqlite": "CAST(12.8 AS NUMERIC)"}),
        (-0.0, {"ansi": "0.0e0", "sqlite": "CAST(0.0 AS NUMERIC)", "postgres": "0.0::FLOAT8", "spark": "0.0D"}),
        (1e22, {"ansi": "1e22", "oracle": "1e22d", "snowflake": "CAST('1e22' AS DOUBLE)"}),
        (1e22, {"sqlite": "CAST(1e22 AS NUMERIC)"}),
        (-5e-324, {"duckdb": "-5e-324", "postgres": "-5e-324::FLOAT8"}),
        (3, {"duckdb": "3.0e0", "sqlite": "CAST(3.0 AS NUMERIC)"}),
    ],
)
def test_double_literals(value, literals):
    rules = make_rules([("x", "float")], (0, value, 0, 1))
    for dialect, literal in literals.items():
        text = export(rules, "sql", dialect=dialect, guards="full")
        assert re.search(rf"<= {re.escape(literal)}( AND|$)", text, re.MULTILINE), (dialect, text)


@pytest.mark.parametrize("engine", EXECUTED)
@pytest.mark.parametrize("bound", [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0])
def test_integer_columns_keep_every_neighbour(engine, bound, predicates):
    rules = make_rules([("n", "integer")], (0, bound, 0, 1))
    rows = [(value,) for value in range(bound - 2, bound + 3) if -(2**63) <= value < 2**63]
    labels = labels_by("where", engine, rules, rows, predicates)
    assert list(labels.values()) == [route(rules, row) for row in rows]


@pytest.mark.parametrize("digits", [17, 18, 19])
def test_a_bound_of_nines_is_told_from_numbers_of_one_more_digit(digits):
    bound = 10**digits - 1
    rules = make_rules([("n", "integer")], (0, bound, 0, 1))
    with duckdb.connect() as database:
        values = ", ".join(f"({bound + step}::UBIGINT)" for step in (-2000, -1, 0, 1, 2, 1000, 5000))
        database.execute(f"CREATE TABLE data AS SELECT * FROM (VALUES {values}) AS numbers(n)")
        found = database.execute(export(rules, "sql", dialect="duckdb", style="select")).fetchall()
    assert dict(found) == {value: int(value > bound) for value, _ in found}


AS_DOUBLES = [name for name, dialect in DIALECTS.items() if dialect.numbers.beside_integers == "as doubles"]


@pytest.mark.parametrize("name", AS_DOUBLES)
def test_a_double_that_a_bound_rounds_up_to_is_kept_out(name):
    """These engines compare a column of doubles with the double nearest to a whole number."""
    bound = 2**53 + 3  # as a double one more
    text = export(make_rules([("n", "integer")], (0, bound, 0, 1)), "sql", dialect=name)
    text = re.sub("^--.*", "", text, flags=re.MULTILINE)
    assert re.findall(r"(?<=[<>=] )\d+", text) == [str(bound), str(bound + 1)] * 2


def test_narrow_and_decimal_columns_are_compared_as_doubles():
    rules = make_rules([("x", "float")], (0, 0.1, 0, 1))
    for kind, value, label in [("REAL", 0.1, 1), ("DECIMAL(9,2)", 0.1, 0), ("INTEGER", 1, 1)]:
        with Database("duckdb", rules, [(value,)], types=(kind, "BIGINT")) as database:
            [row] = database.query(export(rules, "sql", dialect="duckdb", style="select"))
        assert row[-1] == label == route(rules, (float(np.float32(0.1)) if kind == "REAL" else value,))


def test_nan_guard_only_where_it_is_needed():
    rules = make_rules([("x", "float"), ("n", "integer")], (0, 1.0, 0, (0, 2.0, 1, (1, 5, 2, 3))))
    texts = {name: re.sub("^--.*", "", export(rules, "sql", dialect=name), flags=re.MULTILINE) for name in DIALECTS}
    guarded = {name for name, text in texts.items() if re.search("inf|9e999", text, re.IGNORECASE)}
    assert guarded == {
        *("duckdb", "postgres", "snowflake", "spark", "databricks", "oracle", "sqlite", "trino", "redshift"),
    }
    lines = export(rules, "sql", dialect="postgres", style="case").splitlines()
    assert {line.split(" THEN ")[1] for line in lines if "Infinity" in line} == {"2", "3"}


NUMBER_TYPES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "DECIMAL(4,1)": (-999, 999),
    "DECIMAL(38,10)": (-(10**27), 10**27),
    "FLOAT": ("-inf", "inf"),
    "DOUBLE": ("-inf", "inf"),
}


@pytest.mark.parametrize("kind", NUMBER_TYPES)
@pytest.mark.parametrize("type_of_rule", ["integer", "float"])
def test_duckdb_keeps_nan_out_of_every_type_of_number_at_its_ends(kind, type_of_rule):
    import duckdb

    rules = make_rules([("x", type_of_rule)], (0, 5, 0, (0, 7, 1, 2)))
    lowest, highest = NUMBER_TYPES[kind]
    given = [(lowest, 0), (5, 0), (6, 1), (7, 1), (8, 2), (highest, 2), ("NULL", None)]
    given += [("'nan'", None), ("'-nan'", None)] if kind in ("FLOAT", "DOUBLE") else []
    values = ", ".join(
        f"({row}, CAST({repr(v) if v in ('inf', '-inf') else v} AS {kind}))" for row, (v, _) in enumerate(given)
    )
    case = export(rules, "sql", dialect="duckdb", style="case")
    with duckdb.connect() as database:
        found = database.execute(f"SELECT {case} FROM (VALUES {values}) AS t(row, x) ORDER BY row").fetchall()
    assert [label for (label,) in found] == [label for _, label in given]


def test_duckdbs_guard_against_nan_is_short():
    """Rules of eight leaves over columns of doubles: at most 2.5 times the text of ANSI SQL; it used to be four
    times."""
    rules = balanced_rules(8)
    assert len(export(rules, "sql", dialect="duckdb")) < 2.5 * len(export(rules, "sql", dialect="ansi"))


class Ranked:
    """A double of an engine that sorts NaN in one of three ways."""

    def __init__(self, value, sorts):
        self.key = {"highest": 1, "lowest": -1}.get(sorts) if math.isnan(value) else 0
        self.value = value

    def __le__(self, other):
        if self.key is None:
            return False
        return self.key < 0 or (self.key == 0 and self.value <= other)

    def __gt__(self, other):
        return self.key is not None and not self <= other

    def __ge__(self, other):
        return self.key is not None and (self.key > 0 or (self.key == 0 and self.value >= other))


@pytest.mark.parametrize(
    ("said", "sorts"),
    [
        ("highest", "highest"),
        ("compares false", "compares false"),
        *(("not between", sorts) for sorts in ("highest", "lowest", "compares false")),
    ],
)
@draws(60)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_wherever_nan_sorts_it_gets_no_cluster(said, sorts, data, seed):
    """A made-up dialect, whose predicates Python understands, and an engine that sorts NaN as the dialect says."""
    infinity = None if said == "compares false" else "math.inf"
    made_up = replace(
        DIALECTS["ansi"],
        nan=Nan(sorts=said, infinity=infinity, finite=None, infinite=None, is_nan=None),
        numbers=replace(DIALECTS["ansi"].numbers, double="{digits}"),
    )
    rules = data.draw(rule_sets(kinds=("float",)))
    predicates = Predicates([f"x{j}" for j in range(len(rules.columns))], made_up)
    for row in boundary_rows(rules, seed):
        values = {f"x{j}": Ranked(math.nan if x is None else x, sorts) for j, x in enumerate(row)}
        matched = [-1]
        for rule in rules:
            text = predicates.of_rule(rule)
            python = text.replace('"', "").replace(" AND ", " and ").replace(" OR ", " or ").replace(" = ", " == ")
            if eval(python, {"math": math}, values):
                matched.append(rule.cluster)
        assert matched[-1] == route(rules, row)
        assert len(matched) <= 2


@pytest.mark.parametrize(
    ("sorts", "infinity", "finite"),
    [
        ("highest", None, None),
        ("not between", None, None),
        ("none", "inf", None),
        ("highest", "inf", "isfinite({value})"),
    ],
)
def test_where_nan_sorts_cannot_be_forgotten_or_contradicted(sorts, infinity, finite):
    with pytest.raises(ValueError, match="infinit"):
        Nan(sorts=sorts, infinity=infinity, finite=finite, infinite=None, is_nan=None)
    with pytest.raises(TypeError, match="nan"):
        Dialect(**{name: value for name, value in vars(DIALECTS["ansi"]).items() if name != "nan"})


def test_every_fact_that_decides_a_label_is_required():
    for kind in (Dialect, Nan, Numbers, Texts):
        decisive = [
            f for f in fields(kind) if f.name not in ("limits", "cautions", "quotes")
        ]  # which decide what else a text says
        assert all(f.default is MISSING is f.default_factory for f in decisive), kind
    assert {f.name for f in fields(Names) if f.default is MISSING} == {"fold", "unquoted", "longest"}


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "make"), spread(itertools.product(EXECUTED, [balanced_rules, chain_rules]), 2))
def test_many_leaves(engine, make, predicates):
    rules = make(1500)
    generator = np.random.default_rng(0)
    scale = 1.0 if len(rules.columns) > 1 else 1500.0
    rows = [tuple(map(float, row)) for row in generator.random((50, len(rules.columns))) * scale]
    expected = dict(enumerate(route(rules, row) for row in rows))
    for style in LABELLING_STYLES:
        assert labels_by(style, engine, rules, rows, predicates) == expected


@pytest.mark.slow
def test_a_rule_with_more_conditions_than_sqlite_chains():
    n_columns = 1010
    tree = 1
    for column in range(n_columns):
        tree = (column, 0.5, tree, 0)
    rules = make_rules([(f"x{j}", "float") for j in range(n_columns)], tree)
    predicate = Predicates([column.name for column in rules.columns], DIALECTS["sqlite"]).of_cluster(rules.rules_of(1))
    with Database("sqlite", rules, [(0.0,) * n_columns, (*(0.0,) * 600, 1.0, *(0.0,) * 409)]) as database:
        assert database.query(f'SELECT "row number" FROM "data" WHERE {predicate}') == [(0,)]


@pytest.mark.parametrize("dialect", EXECUTED)
def test_a_single_leaf_takes_every_row(dialect, predicates):
    rules = make_rules([("x", "float")], 3)
    for style in LABELLING_STYLES:
        assert labels_by(style, dialect, rules, [(1.0,), (None,)], predicates) == {0: 3, 1: 3}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_no_rule_has_a_bound_without_a_literal(value):
    rules = make_rules([("x", "float")], (0, 1.0, 0, 1))
    cut, *leaves = rules.nodes
    with pytest.raises(RulesFormatError, match="finite"):
        replace(rules, nodes=(replace(cut, threshold=value), *leaves))
