"""SQL for the types that columns are declared as: as a person would write it, without guards that no row needs."""

from __future__ import annotations

import re

import pytest
from databases import marked
from rulesets import make_rules

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS, cluster_predicates, declared_types
from shallowrules.exporters.sql.declared import TYPES, held_by
from shallowrules.exporters.sql.reserved import RESERVED
from shallowrules.rules import DOUBLE_EXACT

TELCO = make_rules(
    [("MonthlyCharges", "float"), ("tenure", "integer"), ("Contract", "text"), ("Senior", "boolean")],
    (2, "Month-to-month", (0, 67.0, 0, (1, 12, 1, 2)), (0, 24.15, (3, True, 3, 4), 5)),
)
DECLARED = {
    "MonthlyCharges": {"oracle": "NUMBER(10,2)", "clickhouse": "Decimal(10,2)"},
    "tenure": {"oracle": "NUMBER(5)", "clickhouse": "Int32", "bigquery": "INT64"},
    "Contract": {"oracle": "VARCHAR2(30)", "clickhouse": "String", "bigquery": "STRING", "spark": "STRING"},
}
USUAL = {"MonthlyCharges": "DECIMAL(10,2)", "tenure": "INTEGER", "Contract": "VARCHAR(30)"}
LOOSE = ("sqlite", "mysql", "tsql", "redshift")
"""Where a column of numbers may hold a text, or no comparison of texts is of their characters alone."""


def types_in(dialect):
    return {name: DECLARED[name].get(dialect, usual) for name, usual in USUAL.items()} | {"Senior": "BOOLEAN"}


def by_hand(dialect):
    """Return the predicates as a person writes them."""
    money, tenure, contract = map(DIALECTS[dialect].identifier, ("MonthlyCharges", "tenure", "Contract"))
    return {
        0: f"{contract} = 'Month-to-month' AND {money} <= 67",
        1: f"{contract} = 'Month-to-month' AND {money} > 67 AND {tenure} <= 12",
        2: f"{contract} = 'Month-to-month' AND {money} > 67 AND {tenure} > 12",
        5: f"{contract} <> 'Month-to-month' AND {money} > 24.15",
    }


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in LOOSE])
def test_typed_text_is_a_persons(dialect):
    predicates = cluster_predicates(TELCO, dialect=dialect, types=types_in(dialect))
    wanted = by_hand(dialect)
    same = {label: _sorted(text) for label, text in predicates.items() if label in wanted}
    if dialect == "postgres":  # a NUMERIC may be NaN there
        same = {label: [part for part in parts if "Infinity" not in part] for label, parts in same.items()}
    assert same == {label: _sorted(text) for label, text in wanted.items()}


def _sorted(text):
    return sorted(re.split(r"\s+AND ", text))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_guard_is_longer_than_without_types(dialect):
    lengths = [
        sum(map(len, cluster_predicates(TELCO, dialect=dialect, **options).values()))
        for options in ({"types": types_in(dialect)}, {"guards": "usual"})
    ]
    assert lengths[0] <= lengths[1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_types_and_says_what_is_not_usual(dialect):
    types = TYPES[DIALECTS[dialect].name]
    assert set(types.others) <= {"numbers", "texts"}
    text = export(TELCO, "sql", dialect=dialect, table="shop.customers")
    for said, these in types.others.values():
        assert said in text
        assert these in text
    assert "this query finds these columns" not in export(TELCO, "sql", dialect=dialect, types=types_in(dialect))


@pytest.mark.parametrize(
    ("threshold", "scale", "written"),
    [
        (2.13, 2, "2.13"),
        (67.0, 2, "67"),
        (2.13, 15, "2.13"),
        (2.13, 16, None),  # beside decimals of so many digits, 2.13 is not the double
        (2.0**40 + 0.5, 3, "1099511627776.5"),
        (2.0**40 + 0.5, 4, None),
        (2.5, 0, "2"),  # of whole numbers
        (-2.5, 0, "-3"),
        (float(DOUBLE_EXACT), 0, None),
        (0.1 + 0.2, 2, "0.30000000000000004e0"),
    ],
)
def test_a_number_is_written_plainly_where_the_column_allows_it(threshold, scale, written):
    rules = make_rules([("x", "float")], (0, threshold, 0, 1))
    predicates = cluster_predicates(rules, dialect="mysql", types={"x": f"DECIMAL(38,{scale})"})
    guarded = cluster_predicates(rules, dialect="mysql", guards="full")
    assert predicates[0] == (guarded[0] if written is None else f"`x` <= {written}")


@pytest.mark.parametrize(
    ("dialect", "written", "single"),
    [
        ("postgres", "2.13", "REAL"),
        ("duckdb", "2.13e0", "FLOAT"),
        ("trino", "2.13e0", "REAL"),
        ("tsql", "2.13e0", "REAL"),
        ("oracle", "2.13d", "BINARY_FLOAT"),
        ("spark", "2.13", "FLOAT"),
    ],
)
def test_a_fraction_beside_what_may_be_a_single_is_a_double(dialect, written, single):
    rules = make_rules([("x", "float")], (0, 2.13, 0, 1))
    for known in ({"guards": "usual"}, {"types": {"x": single}}):
        assert f" <= {written} " in cluster_predicates(rules, dialect=dialect, **known)[0] + " "
    decimal = {"oracle": "NUMBER(9,2)"}.get(dialect, "DECIMAL(9,2)")
    assert " <= 2.13 " in cluster_predicates(rules, dialect=dialect, types={"x": decimal})[0] + " "


@pytest.mark.parametrize(
    ("dialect", "declaration"),
    [
        ("postgres", "CHAR(20)"),
        ("postgres", 'TEXT COLLATE "loose"'),
        ("postgres", "NUMERIC"),
        ("postgres", "citext"),
        ("sqlite", "TEXT COLLATE NOCASE"),
        ("duckdb", "VARCHAR COLLATE NOCASE"),
        ("clickhouse", "FixedString(5)"),
        ("clickhouse", "Enum8('a' = 1)"),
        ("spark", "CHAR(5)"),
        ("mysql", "YEAR"),
        ("oracle", "NUMBER"),
        ("snowflake", "VARIANT"),
    ],
)
def test_of_other_types_nothing_is_known(dialect, declaration):
    assert held_by(DIALECTS[dialect], declaration) is None


# Names ---------------------------------------------------------------------------------------------


def test_names_are_those_of_the_table():
    rules = make_rules([("Monthly Charges", "float"), ("other", "float")], (0, 1.5, 0, 1))
    found = cluster_predicates(rules, dialect="postgres", types={"monthly charges": "INTEGER", "more": "TEXT"})
    assert found == {0: '"monthly charges" <= 1', 1: '"monthly charges" > 1'}
    with pytest.raises(OptionError, match=r"no column 'Monthly Charges' \(the nearest is 'monthly_charges'\).*types"):
        export(rules, "sql", types={"monthly_charges": "INTEGER"})
    with pytest.raises(OptionError, match="no column 'Monthly Charges'"):  # which of the two is not known
        export(rules, "sql", dialect="postgres", types={"MONTHLY CHARGES": "INTEGER", "monthly charges": "INTEGER"})
    renamed = {"columns": {"Monthly Charges": "mc"}, "types": {"mc": "INTEGER"}}
    assert cluster_predicates(rules, dialect="postgres", **renamed)[0] == '"mc" <= 1'


def test_names_that_need_no_quotes_have_none():
    names = ("MonthlyCharges", "monthly charges", "order", "Level", "tenure")
    rules = make_rules([(name, "integer") for name in names], (0, 1, 0, (1, 1, 1, (2, 1, 2, (3, 1, 3, (4, 1, 4, 5))))))
    wanted = {
        "postgres": ["MonthlyCharges", '"monthly charges"', '"order"', '"level"', "tenure"],
        "snowflake": ["MonthlyCharges", '"monthly charges"', '"ORDER"', '"LEVEL"', "tenure"],
        "duckdb": ["MonthlyCharges", '"monthly charges"', '"order"', '"Level"', "tenure"],
    }
    for dialect, spelt in wanted.items():
        text = cluster_predicates(rules, dialect=dialect, identifiers="folded")[5]
        assert [part.split(" > ")[0] for part in text.split(" AND ") if " > 1" in part] == spelt
    types = dict.fromkeys(names, "INTEGER")
    text = cluster_predicates(rules, dialect="postgres", identifiers="as-in-table", types=types)[5]
    assert text == '"MonthlyCharges" > 1 AND "monthly charges" > 1 AND "order" > 1 AND "Level" > 1 AND tenure > 1'
    with pytest.raises(OptionError, match="'as-in-table' needs the table's names and types"):
        export(rules, "sql", identifiers="as-in-table")
    with pytest.raises(OptionError, match="'folded' is for a table whose names are not known"):
        export(rules, "sql", identifiers="folded", types=types)
    alike = make_rules([("Size", "float"), ("size", "float")], (0, 1.0, 0, 1))
    with pytest.raises(ExportError, match="treats the columns 'Size' and 'size' as one"):
        export(alike, "sql", dialect="postgres", identifiers="folded")


def test_a_query_gives_the_columns_that_are_asked_for():
    rules = make_rules([("x", "float")], (0, 1.5, 0, 1))
    for dialect in ("postgres", "oracle"):  # which has an alias for a star
        text = export(rules, "sql", dialect=dialect, style="select", output_columns=["id", "Country name"])
        assert text[text.index("SELECT\n") :].startswith('SELECT\n  "id",\n  "Country name",\n  CASE\n')
        assert text.endswith('FROM "data"\n')
    types = {"x": "INTEGER", "ID": "INTEGER"}
    named = {"style": "view", "output_columns": ["id"], "types": types, "identifiers": "as-in-table"}
    assert 'SELECT\n  "ID",\n' in export(rules, "sql", dialect="postgres", **named)
    with pytest.raises(OptionError, match="no column 'country'"):
        export(rules, "sql", style="select", output_columns=["country"], types=types)
    with pytest.raises(OptionError, match="goes with a query"):
        export(rules, "sql", style="case", output_columns=["id"])
    with pytest.raises(OptionError, match="has 'Cluster', the name of a new column"):
        export(rules, "sql", style="select", output_columns=["Cluster"])
    with pytest.raises(OptionError, match="must be names"):
        export(rules, "sql", style="select", output_columns="id")


def test_types_are_read_from_a_create_table(tmp_path):
    path = tmp_path / "schema.sql"
    path.write_text(
        "CREATE TABLE other (x TEXT);\n"
        'CREATE TABLE shop.customers ("MonthlyCharges" NUMERIC(10, 2) NOT NULL, tenure INT, "Contract" TEXT, '
        '"Senior" BOOLEAN, PRIMARY KEY (tenure));'
    )
    options = {"dialect": "postgres", "table": "shop.customers"}
    declared = {"MonthlyCharges": "NUMERIC(10,2)", "tenure": "INT", "Contract": "TEXT", "Senior": "BOOLEAN"}
    assert export(TELCO, "sql", ddl=path, **options) == export(TELCO, "sql", types=declared, **options)
    lacking = "no CREATE TABLE that lists the columns of 'sales'; the tables that it creates: 'other', 'customers'"
    with pytest.raises(OptionError, match=lacking):
        export(TELCO, "sql", dialect="postgres", table="sales", ddl=path)
    path.write_text("CREATE TABLE customers (")
    with pytest.raises(OptionError, match="CREATE TABLE cannot be parsed as postgres"):
        export(TELCO, "sql", ddl=path, **options)
    with pytest.raises(OptionError, match=r"ddl .*missing\.sql: it cannot be read"):
        export(TELCO, "sql", ddl=tmp_path / "missing.sql", **options)


def test_a_collation_is_part_of_a_declaration():
    found = declared_types("CREATE TABLE t (a TEXT COLLATE NOCASE, b, c REAL)", ["t"], DIALECTS["sqlite"])
    assert found == {"a": "TEXT COLLATE NOCASE", "b": "", "c": "REAL"}


# Engines -------------------------------------------------------------------------------------------

GUARDS = {
    "sqlite": [("REAL", "x <= 9e999", "'abc'"), ("INTEGER", "x <= 9e999", "'abc'")],
    "duckdb": [
        ("DOUBLE", "x <= CAST('Infinity' AS DOUBLE PRECISION)", "'nan'::DOUBLE"),
        ("FLOAT", "x <= CAST('Infinity' AS DOUBLE PRECISION)", "'nan'::FLOAT"),
    ],
    "postgres": [
        ("DOUBLE PRECISION", "x <= 'Infinity'::FLOAT8", "'NaN'"),
        ("REAL", "x <= 'Infinity'::FLOAT8", "'NaN'"),
        ("NUMERIC(10,2)", "x <= 'Infinity'::FLOAT8", "'NaN'"),
    ],
    "spark": [
        ("DOUBLE", "x <= DOUBLE('Infinity')", "double('NaN')"),
        ("FLOAT", "x <= DOUBLE('Infinity')", "float('NaN')"),
    ],
    "mysql": [],
    "clickhouse": [],
}
"""By engine each guard beside a number that is left where types are known, with a value that needs it."""

USUAL_GUARDS = {"duckdb": "(ISFINITE(x) OR ISINF(x))", "sqlite": "x <= CAST(9e999 AS NUMERIC)"}
"""Those that differ where types are not known: the column may be in a file, or declared as text."""


@pytest.mark.parametrize("engine", marked(*GUARDS), indirect=True)
def test_each_guard_that_is_left_is_needed(engine):
    rules = make_rules([("x", "float")], (0, 2.5, 0, 1))
    name = DIALECTS[engine.dialect].identifier("x")
    for declared, guard, value in GUARDS[engine.dialect]:
        engine.create("guarded", [("i", engine.types["integer"]), ("x", declared)], [])
        try:
            engine.query(f"INSERT INTO guarded VALUES (1, {value})")
            usual = USUAL_GUARDS.get(engine.dialect, guard)
            for options, left in (({"types": {"x": declared}}, guard), ({"guards": "usual"}, usual)):
                text = cluster_predicates(rules, dialect=engine.dialect, **options)[1]
                spelt = re.sub(r"\bx\b", lambda _: name, left)
                assert f" AND {spelt}" in text, (declared, text)
                assert engine.query(f"SELECT i FROM guarded WHERE {text}") == []
                without = text.replace(f" AND {spelt}", "")
                assert len(engine.query(f"SELECT i FROM guarded WHERE {without}")) == 1
        finally:
            engine.drop("guarded")


@pytest.mark.parametrize("engine", marked("mysql"), indirect=True)
def test_mariadb_has_a_collation_of_bytes(engine):
    rules = make_rules([("c", "text")], (0, "A", 0, (0, ("B", "é"), 1, 2)))
    declared = "VARCHAR(20) CHARACTER SET {} COLLATE {}_general_ci"
    for charset in ("utf8mb4", "latin1"):
        types = {"c": declared.format(charset, charset)}
        text = cluster_predicates(rules, dialect="mariadb", types=types)
        assert text[0] == "`c` = _utf8mb4 'A' COLLATE utf8mb4_nopad_bin"
        cells = ("A", "a", "A ", "Á", "B", "b", "é", "e", "É", None)
        engine.create("alike", [("i", engine.types["integer"]), ("c", types["c"])], list(enumerate(cells)))
        try:
            found = {
                label: [int(i) for (i,) in engine.query(f"SELECT i FROM alike WHERE {text[label]} ORDER BY i")]
                for label in text
            }
        finally:
            engine.drop("alike")
        assert found == {0: [0], 1: [4, 6], 2: [1, 2, 3, 5, 7, 8]}


@pytest.mark.parametrize("engine", marked("mysql"), indirect=True)
def test_the_comparison_of_bytes_is_needed(engine):
    rules = make_rules([("c", "text")], (0, "A", 0, 1))
    declared = "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    text = cluster_predicates(rules, dialect="mysql", types={"c": declared})[0]
    alike, _, in_bytes = text.partition(" AND ")
    engine.create("guarded", [("i", engine.types["integer"]), ("c", declared)], list(enumerate(("A", "a", "A ", "Á"))))
    try:
        asked = {part: len(engine.query(f"SELECT i FROM guarded WHERE {part}")) for part in (alike, in_bytes, text)}
    finally:
        engine.drop("guarded")
    assert list(asked.values()) == [4, 1, 1]


@pytest.mark.parametrize(
    "engine", marked("sqlite", "duckdb", "postgres", "mysql", "clickhouse", "spark"), indirect=True
)
def test_a_table_made_without_quotes_has_the_folded_names(engine):
    names = ("MonthlyCharges", "Tenure_1", "x")
    rules = make_rules([(name, "integer") for name in names], (0, 1, 0, (1, 1, 1, (2, 1, 2, 3))))
    kind = engine.types["integer"]
    engine.query(
        f"CREATE TABLE unquoted ({', '.join(f'{name} {kind}' for name in names)})" + ENDS.get(engine.dialect, "")
    )
    try:
        engine.query("INSERT INTO unquoted VALUES (2, 2, 2)")
        text = export(rules, "sql", dialect=engine.dialect, style="case", identifiers="folded")
        assert [int(label) for (label,) in engine.query(f"SELECT {text} FROM unquoted")] == [3]
    finally:
        engine.query("DROP TABLE unquoted")


ENDS = {"clickhouse": " ENGINE = Memory", "spark": " USING parquet"}

KEYWORDS = {
    "postgres": "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')",
    "duckdb": "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category IN ('reserved', 'type_function')",
}


@pytest.mark.parametrize("engine", marked(*KEYWORDS), indirect=True)
def test_every_reserved_word_is_known(engine):
    assert {word.upper() for (word,) in engine.query(KEYWORDS[engine.dialect])} <= RESERVED


@pytest.mark.parametrize("engine", marked("sqlite"), indirect=True)
def test_a_text_in_a_column_of_numbers_is_read_as_ever(engine):
    """A declaration in SQLite does not restrict values."""
    rules = make_rules([("flag", "boolean"), ("n", "integer")], (0, True, (1, 5, 0, 1), 2))
    types = {"flag": "INTEGER", "n": "INTEGER"}
    cells = [(1, 3), ("true", 9), ("t", 5), (0, 1), ("false", 1), ("abc", 1), (1, "abc"), (2, 1)]
    engine.create("loose", [("i", "INTEGER"), *types.items()], [(i, *row) for i, row in enumerate(cells)])
    try:
        for style in ("case", "ordered"):
            text = export(rules, "sql", dialect="sqlite", style=style, types=types)
            asked = engine.query(f"SELECT {text} FROM loose ORDER BY i")
            found = [None if label is None else int(label) for (label,) in asked]
            assert found == [0, 1, 0, 2, 2, None, None, None]
    finally:
        engine.drop("loose")


INDEXED = {
    "sqlite": ("EXPLAIN QUERY PLAN ", "USING INDEX ix_{}", {"n": "REAL", "i": "INTEGER", "c": "TEXT"}),
    "postgres": ("EXPLAIN ", "ix_{}", {"n": "NUMERIC(10,2)", "i": "INTEGER", "c": "TEXT"}),
    "mysql": ("EXPLAIN ", "ix_{}", {"n": "DECIMAL(10,2)", "i": "INT", "c": "VARCHAR(20) COLLATE utf8mb4_general_ci"}),
}
"""How each engine tells how it would run a query, and what it says of an index."""


@pytest.mark.parametrize("known", ["typed", "usual"])
@pytest.mark.parametrize("engine", marked(*INDEXED), indirect=True)
def test_a_condition_uses_the_index_of_its_column(engine, known):
    explain, said, types = INDEXED[engine.dialect]
    rows = [(i, i / 100, i, f"w{i}") for i in range(5000)]
    declared = [("k", engine.types["integer"]), *((name, kind) for name, kind in types.items())]
    engine.create("indexed", declared, rows)
    try:
        for name in types:
            engine.query(f"CREATE INDEX ix_{name} ON indexed ({engine.quote(name)})")
        engine.query("ANALYZE TABLE indexed" if engine.dialect == "mysql" else "ANALYZE")
        for name, kind, threshold, label in (
            ("n", "float", 49.5, 1),
            ("i", "integer", 4990, 1),
            ("c", "text", "w7", 0),
        ):
            rules = make_rules([(name, kind)], (0, threshold, 0, 1))
            options = {"types": types} if known == "typed" else {"guards": "usual"}
            text = cluster_predicates(rules, dialect=engine.dialect, **options)[label]
            plan = engine.query(f"{explain}SELECT k FROM indexed WHERE {text}")
            used = [str(row[5]) for row in plan] if engine.dialect == "mysql" else list(map(str, plan))
            assert any(said.format(name) in each for each in used), (text, plan)
    finally:
        engine.drop("indexed")


@pytest.mark.parametrize("engine", marked("duckdb"), indirect=True)
def test_duckdb_filters_while_it_scans(engine):
    rules = make_rules([("n", "float"), ("c", "text")], (0, 49.5, 0, (1, "A", 1, 2)))
    types = {"n": "DECIMAL(10,2)", "c": "VARCHAR"}
    engine.create("scanned", [("n", types["n"]), ("c", types["c"])], [(1.5, "A"), (60, "B")])
    try:
        text = cluster_predicates(rules, dialect="duckdb", types=types)[1]
        [[_, plan]] = engine.query(f"EXPLAIN SELECT n FROM scanned WHERE {text}")
    finally:
        engine.drop("scanned")
    assert "FILTER" not in plan
    assert "Filters" in plan


UNUSUAL = {
    "sqlite": {"c": "TEXT COLLATE NOCASE"},
    "duckdb": {"n": "DECIMAL(38,9)", "c": "VARCHAR COLLATE NOCASE"},
    "postgres": {"n": "NUMERIC", "c": "TEXT COLLATE unusual"},
    "mysql": {"n": "DECIMAL(38,9)"},
    "clickhouse": {"n": "Nullable(Decimal(38, 9))"},
}


@pytest.mark.parametrize("engine", marked(*UNUSUAL), indirect=True)
def test_the_query_of_the_comment_finds_what_is_not_usual(engine):
    if engine.dialect == "postgres":
        engine.query(
            "CREATE COLLATION IF NOT EXISTS unusual (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
    rules = make_rules([("n", "float"), ("c", "text")], (0, 49.5, 0, (1, "A", 1, 2)))
    text = export(rules, "sql", dialect=engine.dialect, table="unusual")
    lines = [line.removeprefix("-- ") for line in text.splitlines()]
    [query] = [lines[i + 1] for i, line in enumerate(lines) if line.endswith("this query finds these columns:")]
    usual = {"n": engine.types["integer"], "c": engine.types["text"]}
    for types in (usual, usual | UNUSUAL[engine.dialect]):
        engine.create("unusual", list(types.items()), [])
        try:
            found = " ".join(map(str, engine.query(query)))
        finally:
            engine.drop("unusual")
        assert bool(found) == (types is not usual), found
        if types is not usual:
            assert all(re.search(rf"\b{name}\b", found) for name in UNUSUAL[engine.dialect])
