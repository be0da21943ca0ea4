"""The dialects whose engines are not run here: their SQL parses, and a page has every fact that it relies on, with a
source."""

import math
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
import sqlglot
from draws import few
from numbercases import READINGS, TEXTS
from rulesets import example_of_categories, example_rules, make_rules, names_for, text_rules
from sqlglot import exp
from sqlstyles import styles_of

from shallowrules.errors import ExportError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.verification.engines import ENGINES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")
DOCUMENTED = [name for name in DIALECTS if name not in ENGINES]

ORACLE_ALONE = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(-?\d+(?:\.\d+)?(?:e-?\d+)?)d\b| DEFAULT NULL ON CONVERSION ERROR"""
)
"""A quoted text or name; or what sqlglot cannot parse: a literal of type BINARY_DOUBLE, a function's default."""


def all_rules():
    """Return rule sets of all kinds of columns: as they are, as text, with missing words, imputed."""
    whole = make_rules([("n", "integer"), ("x", "float")], (0, 2**53 + 1, 0, (1, 2.0**60, 1, 2)))
    times = make_rules([("d", "date"), ("t", "timestamp")], (0, 10_000, 0, (1, 10**15, 1, 2)))
    return [example_rules(), example_of_categories(), text_rules(1.5), text_rules(1.5, 2.5), whole, times]


PARSED = {
    "view": exp.Create,
    "table": (exp.Create, exp.Select),  # SELECT … INTO
    "update": (exp.Update, exp.Command),  # ALTER TABLE … UPDATE
    "column": exp.Alter,
    "function": (exp.Create, exp.Command),
}


@pytest.mark.parametrize(
    ("dialect", "style"),
    few(((name, style) for name in DIALECTS for style in styles_of(name)), 30),
)
def test_every_text_parses(dialect, style):
    for rules in all_rules():
        options = {"dialect": dialect, "style": style, "columns": names_for(dialect, rules)}
        try:
            text = export(rules, "sql", **options)
        except ExportError as error:
            assert re.search("a whole number beyond|whose text may be a number", str(error))  # noqa: PT017
            assert style == "function"  # which would round an argument
            assert dialect in ("bigquery", "mysql", "snowflake")
            continue
        if dialect == "oracle":
            text = ORACLE_ALONE.sub(lambda found: found[1] or found[2] or "", text)
        if style == "where":
            _, *blocks = re.split(r"^-- cluster ", text, flags=re.MULTILINE)
            predicates = [block.partition("\n")[2] for block in blocks]
            text = f"SELECT {', '.join(f'CASE WHEN {part} THEN 1 END' for part in predicates)}"
        elif style in ("case", "ordered"):
            text = f"SELECT {text[text.index('CASE') :]}"
        assert isinstance(sqlglot.parse_one(text, dialect=DIALECTS[dialect].name), PARSED.get(style, exp.Query))


def test_every_dialect_keeps_clusters():
    assert set(WRITING) >= set(DIALECTS)


def test_every_dialect_is_executed_or_on_the_page():
    sections = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)
    assert sorted(sections) == sorted(DOCUMENTED)


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_the_page_names_every_function_that_a_dialect_relies_on(dialect):
    facts = DIALECTS[dialect]
    templates = [
        v for part in (facts.nan, facts.texts, facts.numbers) for v in vars(part).values() if isinstance(v, str)
    ]
    used = {name.upper() for name in re.findall(r"([A-Za-z_]\w*)\(", " ".join(templates))}
    [section] = re.findall(rf"^## {dialect}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert not used - {name.upper() for name in re.findall(r"\w+", section)}
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows
    assert all(len(row) == 3 and row[2].strip(" |") for row in rows)


@pytest.mark.parametrize("imputed", [None, 2.5])
def test_oracle_reads_text_by_the_point_whatever_the_session_says(imputed):
    text = export(text_rules(1.5, imputed), "sql", dialect="oracle")
    assert "NANVL" not in text
    assert not re.search(r"CAST\([^()]*AS (BINARY_DOUBLE|NUMBER)", text)
    reading = r"TO_BINARY_DOUBLE\(REPLACE\(.*?, '\.', SUBSTR\(TO_CHAR\(0\.5, 'FM0D0'\), 2, 1\)\) DEFAULT NULL ON"
    assert re.search(reading, text)
    assert "THEN BINARY_DOUBLE_INFINITY" in text


def in_sqlite(node):
    """Return a part of T-SQL as SQLite runs it; TRY_CAST stands for the function `float_of`."""
    if isinstance(node, exp.TryCast):
        return exp.func("float_of", node.this.transform(in_sqlite))
    if isinstance(node, exp.Cast):
        return node.this.transform(in_sqlite)
    if isinstance(node, exp.Convert):
        return node.expression
    return exp.Literal.string(node.name) if isinstance(node, exp.National) else node


def float_of(text):
    """Return a text as a number. A text that is not a number is 0, as '' is in T-SQL, so only patterns keep it out."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return 0.0


def is_like(pattern, text):
    """Return whether LIKE of T-SQL holds, which knows sets of characters."""
    parts = re.findall(r"\[.*?\]|.", pattern, re.DOTALL)
    expression = "".join(".*" if part == "%" else part if part[0] == "[" else re.escape(part) for part in parts)
    return text is not None and re.fullmatch(expression, text, re.DOTALL) is not None


@pytest.mark.parametrize("imputed", [False, True])
@pytest.mark.parametrize("reading", ["float", "comma"])
@pytest.mark.parametrize("threshold", [-1.0, 1.5])
def test_tsql_takes_no_text_without_a_digit_for_a_number(reading, threshold, imputed):
    """Its TRY_CAST('' AS FLOAT) is 0, which used to get a cluster."""
    rules = READINGS[reading].rules(threshold, imputed=imputed)
    case = re.sub("^--.*$", "", export(rules, "sql", dialect="tsql", style="case"), flags=re.MULTILINE)
    tree = sqlglot.parse_one(f"SELECT {case} FROM data", dialect="tsql")
    assert list(tree.find_all(exp.TryCast))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("float_of", 1, float_of)
        connection.create_function("like", 2, is_like)
        connection.execute("CREATE TABLE data (x TEXT)")
        connection.executemany("INSERT INTO data VALUES (?)", [(text,) for text, _ in TEXTS[reading]])
        found = connection.execute(tree.transform(in_sqlite).sql("sqlite")).fetchall()
    for (text, meaning), (cluster,) in zip(TEXTS[reading], found, strict=True):
        assert (-1 if cluster is None else cluster) == READINGS[reading].label(meaning, threshold, imputed=imputed), (
            text
        )


GREATEST_NAN = """
    CREATE TABLE data (x DOUBLE);
    INSERT INTO data VALUES (1), (400), ('NaN'), (NULL), ('Infinity'), ('-Infinity');
    CREATE MACRO infinity() AS CAST('Infinity' AS DOUBLE);
    CREATE MACRO is_nan(x) AS isnan(x);
    CREATE MACRO nanvl(x, y) AS CASE WHEN y IS NOT NULL THEN CASE WHEN isnan(x) THEN y ELSE x END END;
"""
"""Numbers in DuckDB, where NaN is the greatest of them, and what Trino and Oracle have for it."""


@pytest.mark.parametrize("imputed", [None, 2.5, 400.0])
@pytest.mark.parametrize("dialect", ["trino", "oracle", "snowflake"])
def test_nan_has_no_cluster_where_it_is_greatest(dialect, imputed):
    """Trino hands its filters on to such a database, and Oracle's NANVL(x, NULL) is NULL for every x."""
    rules = make_rules([("x", "float")], (0, 390.0, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], imputed=imputed),))
    text = export(rules, "sql", dialect=dialect, style="case").replace('"x"', "x")
    text = re.sub(r"(\d)d\b", r"\1", text)
    for name, number in (("INFINITY", "Infinity"), ("NAN", "NaN")):
        text = text.replace(f"BINARY_DOUBLE_{name}", f"CAST('{number}' AS DOUBLE)")
    with duckdb.connect() as database:
        database.execute(GREATEST_NAN)
        found = database.execute(f"SELECT x, {text} FROM data").fetchall()
    assert len(found) == 6
    for x, cluster in found:
        held = imputed if x is None or math.isnan(x) else x
        assert cluster == (None if held is None else int(held > 390)), (x, text)


@pytest.mark.parametrize(
    ("dialect", "column"),
    [
        ("oracle", '"c" COLLATE BINARY'),
        ("snowflake", "COLLATE(\"c\", 'utf8')"),
        ("bigquery", "COLLATE(`c`, '')"),
        ("tsql", "CAST(CAST([c] AS NVARCHAR(MAX)) AS VARBINARY(MAX))"),
    ],
)
def test_text_is_compared_without_the_collation_of_the_column(dialect, column):
    text = export(make_rules([("c", "text")], (0, "a", 0, (0, "b", 1, 2))), "sql", dialect=dialect, guards="full")
    assert text.count(column) == text.count(DIALECTS[dialect].identifier("c")) == 3


@pytest.mark.parametrize(
    "name", ["_TABLE_x", "_file_", "_Partition", "_ROW_TIMESTAMP", "__root__a", "_COLIDENTIFIER", "a.b", "a(b)", "a\tb"]
)
def test_names_that_bigquery_cannot_have_are_refused(name):
    rules = make_rules([(name, "float")], (0, 1.0, 0, 1))
    with pytest.raises(ExportError, match="bigquery cannot hold a column of the name"):
        export(rules, "sql", dialect="bigquery")
    plain = make_rules([("x", "float")], (0, 1.0, 0, 1))
    with pytest.raises(ExportError, match="bigquery cannot hold a column of the name"):
        export(plain, "sql", dialect="bigquery", style="select", cluster_column=name)
    assert "`x" in export(rules, "sql", dialect="bigquery", columns={name: "x _TABLE_ é-1"}, table=f'"{name}".t')


@pytest.mark.parametrize("style", styles_of("ansi"))
def test_ansi_says_that_nan_may_get_a_cluster(style):
    floats, integers = (make_rules([("x", kind)], (0, 1, 0, 1)) for kind in ("float", "integer"))
    caveat = "-- NaN may get a cluster, "
    assert caveat in export(floats, "sql", style=style)
    assert caveat not in export(integers, "sql", style=style)
    assert caveat not in export(floats, "sql", style=style, dialect="trino")
