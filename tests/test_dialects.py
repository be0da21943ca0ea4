"""The dialects that nothing here runs: their SQL parses, and a page has every fact that it relies on, with a source."""

import re
from pathlib import Path

import pytest
import sqlglot
from rulesets import example_of_categories, example_rules, make_rules, names_for, text_rules

from shallowrules.engines import ENGINES
from shallowrules.errors import ExportError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS, STYLES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "dialects.md").read_text(encoding="utf-8")
DOCUMENTED = [name for name in DIALECTS if name not in ENGINES]

ORACLE_ALONE = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|(-?\d+(?:\.\d+)?(?:e-?\d+)?)d\b| DEFAULT NULL ON CONVERSION ERROR"""
)
"""A quoted text or name; or what sqlglot cannot parse: a literal of type BINARY_DOUBLE, a function's default."""


def all_rules():
    """Return rule sets of all kinds of columns: as they are, as text, with missing words, imputed."""
    whole = make_rules([("n", "integer"), ("x", "float")], (0, 2**53 + 1, 0, (1, 2.0**60, 1, 2)))
    return [example_rules(), example_of_categories(), text_rules(1.5), text_rules(1.5, 2.5), whole]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_parses(dialect, style):
    for rules in all_rules():
        text = export(rules, "sql", dialect=dialect, style=style, columns=names_for(dialect, rules))
        if dialect == "oracle":
            text = ORACLE_ALONE.sub(lambda found: found[1] or found[2] or "", text)
        if style == "where":
            predicates = [
                part for part in re.split(r"^-- (?:cluster|NaN) .*$", text, flags=re.MULTILINE) if part.strip()
            ]
            text = f"SELECT {', '.join(f'CASE WHEN {part} THEN 1 END' for part in predicates)}"
        elif style == "case":
            text = f"SELECT {text[text.index('CASE') :]}"
        assert isinstance(sqlglot.parse_one(text, dialect=DIALECTS[dialect].name), sqlglot.exp.Query)


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
    assert all(len(row) == 3 and row[2].strip(" |") for row in rows)


@pytest.mark.parametrize("imputed", [None, 2.5])
def test_oracle_reads_text_by_the_point_whatever_the_session_says(imputed):
    text = export(text_rules(1.5, imputed), "sql", dialect="oracle")
    assert "NANVL" not in text
    assert not re.search(r"CAST\([^()]*AS (BINARY_DOUBLE|NUMBER)", text)
    reading = r"TO_BINARY_DOUBLE\(REPLACE\(.*?, '\.', SUBSTR\(TO_CHAR\(0\.5, 'FM0D0'\), 2, 1\)\) DEFAULT NULL ON"
    assert re.search(reading, text)
    assert "THEN BINARY_DOUBLE_INFINITY" in text


def test_tsql_takes_no_text_without_a_digit_for_a_number():
    text = export(text_rules(1.5), "sql", dialect="tsql")
    for before, _ in re.findall(r"(WHEN [^\n]*?)THEN TRY_CAST(\()", text):
        assert "LIKE '%[0-9]%' AND NOT" in before


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
    text = export(make_rules([("c", "text")], (0, "a", 0, (0, "b", 1, 2))), "sql", dialect=dialect)
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


@pytest.mark.parametrize("style", STYLES)
def test_ansi_says_that_nan_may_get_a_cluster(style):
    floats, integers = (make_rules([("x", kind)], (0, 1, 0, 1)) for kind in ("float", "integer"))
    caveat = "-- NaN may get a cluster: "
    assert export(floats, "sql", style=style).startswith(caveat)
    assert caveat not in export(integers, "sql", style=style)
    assert caveat not in export(floats, "sql", style=style, dialect="trino")
