"""More ways to keep clusters in a database, executed: functions, materialized views, migrations, number and name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from databases import marked
from rulesets import make_rules

from shallowrules.errors import EngineError, ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS, write_migration
from shallowrules.exporters.sql.functions import FUNCTIONS
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.verification.engines import ENGINES

NAN = float("nan")
NAMES = ["A", "it's \\ `x` $$ %s :p", "é😀"]
COLUMNS = [("it's", "text"), ("Months", "integer"), ("paid", "float")]
ROWS = [
    *((text, months, 0.25) for text in ("one", "it's $", "One", "one ", None) for months in (12, 13, None)),
    *(("it's $", 12, paid) for paid in (0.5, 0.75, None, NAN, float("inf"), -1e300)),
    ("one", 2**53 + 1, NAN),
]


def rules_of(threshold=12):
    rules = make_rules(COLUMNS, (0, "one", (1, threshold, 0, 1), (2, 0.5, 2, 0)))
    clusters = tuple(replace(c, name=NAMES[c.index]) for c in rules.clusters)
    return replace(rules, clusters=clusters)


def labels_of(rules, rows):
    columns = zip(*rows, strict=True)
    labels = rules.assign({name: list(values) for (name, _), values in zip(COLUMNS, columns, strict=True)}).tolist()
    return [None if label == -1 else label for label in labels]


@pytest.fixture
def filled(engine):
    """Make the table `customers`; return its rows, without those that the engine cannot hold."""
    rows = [row for row in ROWS if engine.dialect != "mysql" or row[2] is None or abs(row[2]) < float("inf")]
    if engine.dialect == "sqlite":
        rows = [row for row in rows if row[2] == row[2]]
    declared = [("i", engine.types["integer"]), *((name, engine.types[kind]) for name, kind in COLUMNS)]
    if engine.dialect == "clickhouse":  # the tests' own database is of an engine that changes no table
        [[before]] = engine.query("SELECT currentDatabase()")
        engine.query("CREATE DATABASE kept ENGINE = Atomic")
        engine.query("USE kept")
    engine.create("loaded", declared, [(i, *row) for i, row in enumerate(rows)])
    engine.query(WRITING[engine.dialect].table.format(name="customers", query="SELECT * FROM loaded"))
    yield rows
    if engine.dialect == "clickhouse":
        engine.query(f"USE {before}")
        engine.query("DROP DATABASE kept")
    else:
        engine.drop("customers")
        engine.drop("loaded")


def answers(engine, query):
    found = {int(i): None if label is None else int(label) for i, label in engine.query(query)}
    return [found[i] for i in range(len(found))]


def called(engine, name="customers_cluster"):
    arguments = ", ".join(engine.quote(column) for column, _ in COLUMNS)
    return f"SELECT {engine.quote('i')}, {engine.quote(name)}({arguments}) FROM customers"


FUNCTIONAL = [name for name in ENGINES if name in FUNCTIONS]
RUN = [name for name in ENGINES if name != "spark"]  # which makes no table here


@pytest.mark.parametrize("engine", marked(*FUNCTIONAL), indirect=True)
@pytest.mark.parametrize("threshold", [12, 2**53])
@pytest.mark.parametrize("guards", ["usual", "full"])
def test_a_function_gives_each_row_its_cluster(engine, filled, threshold, guards):
    rules = rules_of(threshold)
    if engine.dialect == "mysql" and threshold > 12:  # it would round a double
        with pytest.raises(ExportError, match="compared as a whole number beyond the doubles"):
            export(rules, "sql", dialect="mysql", style="function")
        return
    files = write_migration(
        rules, dialect=engine.dialect, style="function", table="customers", guards=guards, otherwise=None
    )
    assert sorted(files) == ["customers_cluster.down.sql", "customers_cluster.up.sql"]
    up, down = (files[f"customers_cluster.{way}.sql"] for way in ("up", "down"))
    engine.query(up.rstrip(";\n"))
    try:
        assert answers(engine, called(engine)) == labels_of(rules, filled)
    finally:
        engine.query(down.rstrip(";\n"))


def test_what_no_function_can_take_is_refused():
    with pytest.raises(ExportError, match="has no style 'function': write a view, or a function for bigquery, "):
        export(rules_of(), "sql", dialect="sqlite", style="function")
    with pytest.raises(ExportError, match="no argument for column 'Months', compared as a whole number beyond"):
        export(rules_of(2**53), "sql", dialect="snowflake", style="function")
    with pytest.raises(ExportError, match="has \\$\\$, which ends a function of snowflake: write a view"):
        export(rules_of(), "sql", dialect="snowflake", style="function", cluster_as="name")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_parsed_alone_says_so(dialect):
    for style in ("view", "select"):
        text = export(rules_of(), "sql", dialect=dialect, style=style)
        is_run = dialect in {engine.dialect for engine in ENGINES.values()}
        assert ("-- Parsed, not executed" in text) == (style == "view" and not is_run)


@pytest.mark.parametrize("engine", marked("postgres", "clickhouse"), indirect=True)
def test_a_materialized_view_has_the_clusters(engine, filled):
    files = write_migration(rules_of(), dialect=engine.dialect, style="view", materialized=True, table="customers")
    up, down = (files[f"customers_clusters.{way}.sql"] for way in ("up", "down"))
    engine.query(up.rstrip(";\n"))
    try:
        query = f"SELECT {engine.quote('i')}, {engine.quote('cluster')} FROM customers_clusters"
        assert answers(engine, query) == labels_of(rules_of(), filled)
    finally:
        engine.query(down.rstrip(";\n"))


def test_a_materialized_view_is_a_view_where_there_is_one():
    for dialect in DIALECTS:
        options = {"dialect": dialect, "style": "view", "materialized": True}
        if WRITING[dialect].materialized is None:
            with pytest.raises(ExportError, match="has no materialized views; make a table"):
                export(rules_of(), "sql", **options)
        else:
            assert "CREATE MATERIALIZED VIEW" in export(rules_of(), "sql", **options)
    with pytest.raises(OptionError, match="goes with a view, not with style='table'"):
        export(rules_of(), "sql", style="table", materialized=True)


@pytest.mark.parametrize("engine", marked(*RUN), indirect=True)
@pytest.mark.parametrize("style", ["view", "table", "update", "column"])
def test_a_migration_goes_up_and_down(engine, filled, style):
    options = {"dialect": engine.dialect, "style": style, "table": "customers"}
    if style == "column" and WRITING[engine.dialect].column is None:
        with pytest.raises(ExportError, match="has no style 'column'"):
            write_migration(rules_of(), **options)
        return
    on_table = style in ("update", "column")
    name = "customers_cluster" if on_table else "customers_clusters"
    files = write_migration(rules_of(), **options)
    assert sorted(files) == [f"{name}.down.sql", f"{name}.up.sql"]
    [before, *_] = engine.query("SELECT * FROM customers")
    for statement in filter(str.strip, files[f"{name}.up.sql"].split(";\n")):
        engine.query(statement)
    query = f"SELECT {engine.quote('i')}, {engine.quote('cluster')} FROM {'customers' if on_table else name}"
    assert answers(engine, query) == labels_of(rules_of(), filled)
    engine.query(files[f"{name}.down.sql"].rstrip(";\n"))
    assert len(engine.query("SELECT * FROM customers")[0]) == len(before)
    if not on_table:
        with pytest.raises(EngineError, match="(?i)customers_clusters"):
            engine.query(query)


def test_a_migration_keeps_something():
    with pytest.raises(OptionError, match="one of view, table, update, column, function for style, not 'select'$"):
        write_migration(rules_of(), style="select")


@pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
@pytest.mark.parametrize("style", ["select", "view", "table"])
def test_number_and_name(engine, filled, style):
    options = {"table": "customers", "cluster_as": "both", "otherwise": -5, "output_columns": ["i"]}
    text = export(rules_of(), "sql", dialect=engine.dialect, style=style, **options)
    columns = ", ".join(map(engine.quote, ("i", "cluster", "cluster_name")))
    if style == "select":
        rows = engine.query(f"SELECT {columns} FROM (\n{text}\n) AS made")
    else:
        engine.query(text)
        rows = engine.query(f"SELECT {columns} FROM customers_clusters")
        engine.query(f"DROP {style} customers_clusters")
    found = {int(i): (int(number), name) for i, number, name in rows}
    wanted = [(-5, None) if label is None else (label, NAMES[label]) for label in labels_of(rules_of(), filled)]
    assert [found[i] for i in range(len(found))] == wanted


@pytest.mark.parametrize("engine", marked("sqlite", "duckdb"), indirect=True)
def test_a_name_is_that_of_our_number_beside_a_column_of_the_table_called_alike(engine):
    """An engine takes the first one where both are in a query."""
    rules = rules_of()
    engine.create(
        "t", [("cluster", "INTEGER"), ("it's", "TEXT"), ("Months", "INTEGER"), ("paid", "REAL")], [(2, "one", 5, 0.1)]
    )
    options = {"dialect": engine.dialect, "table": "t", "cluster_as": "both", "style": "select"}
    try:
        [row] = engine.query(export(rules, "sql", **options))
        assert (int(row[-2]), row[-1]) == (0, NAMES[0])
        types = {"cluster": "INTEGER", "it's": "TEXT", "Months": "INTEGER", "paid": "REAL"}
        with pytest.raises(ExportError, match="already has a column 'cluster'"):
            export(rules, "sql", **options, types=types)
        text = export(rules, "sql", **options, types=types, output_columns=["Months"])
        [row] = engine.query(text)
        assert (int(row[0]), int(row[1]), row[2]) == (5, 0, NAMES[0])
    finally:
        engine.drop("t")


def test_a_migration_spells_names_as_its_text_does():
    files = write_migration(rules_of(), dialect="postgres", style="update", table="Customers", identifiers="folded")
    assert 'ALTER TABLE Customers\nADD COLUMN "cluster" SMALLINT;' in files["Customers_cluster.up.sql"]
    assert files["Customers_cluster.down.sql"] == 'ALTER TABLE Customers\nDROP COLUMN "cluster";\n'
    files = write_migration(rules_of(), dialect="tsql", style="update", table="t")
    assert ";\n\nGO\n\n" in files["t_cluster.up.sql"]


def test_arguments_are_what_a_parameter_can_be():
    types = {"it's": 'VARCHAR(20) COLLATE "de_DE"', "Months": "bigserial", "paid": "NUMERIC(5, 2)"}
    text = export(rules_of(), "sql", dialect="postgres", style="function", types=types)
    assert """("it's" VARCHAR(20), "Months" bigINT, "paid" NUMERIC(5, 2))""" in text
    assert 'CREATE FUNCTION "t_cluster" AS' in export(
        rules_of(), "sql", dialect="clickhouse", style="function", table="d.t"
    )
    with pytest.raises(ExportError, match="a function of ClickHouse is not in a database"):
        export(rules_of(), "sql", dialect="clickhouse", style="function", into="d.f")


def test_both_goes_with_a_query_and_takes_no_name_twice():
    with pytest.raises(OptionError, match="'both' goes with a query"):
        export(rules_of(), "sql", style="update", cluster_as="both")
    rules = make_rules([("x", "float"), ("cluster_name", "text")], (0, 0.5, 0, 1))
    with pytest.raises(ExportError, match="already has a column 'cluster_name'"):
        export(rules, "sql", style="view", cluster_as="both")


@pytest.mark.parametrize("dialect", WRITING)
def test_the_smallest_type_holds_every_number(dialect):
    """Numbers at the ends of each type's range; the next one needs the next type."""
    sizes = WRITING[dialect].numbers
    for place, (name, bits) in enumerate(sizes):
        ends = [-(1 << (bits - 1)), (1 << (bits - 1)) - 1]
        assert {WRITING[dialect].type_of([0, end]) for end in ends} == {name}
        if place + 1 < len(sizes):
            assert {WRITING[dialect].type_of([end]) for end in (ends[0] - 1, ends[1] + 1)} == {sizes[place + 1][0]}
