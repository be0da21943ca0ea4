"""The styles that keep clusters in a database, executed: view, table, update, column, and the drift of the shares."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from databases import marked
from draws import draws
from goldenfiles import assert_golden
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from rulesets import FRAGMENTS, make_rules

from shallowrules.errors import ExportError, OptionError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS
from shallowrules.exporters.sql.writing import WRITING
from shallowrules.verification.engines import ENGINES

KEPT = ("view", "table", "update", "column", "drift")

EACH_ENGINE = pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
UPDATES = [name for name in ENGINES if name != "spark"]  # which updates no table of its own formats

CONTRACTS = ("Two year", 'it\'s "q" \\ `b` %s :p', "é😀")


def rules_of(names=None):
    rules = make_rules(
        [("contract", "text"), ("months", "integer"), ("paid", "float")],
        (0, CONTRACTS[0], (1, 12, 0, 1), (0, CONTRACTS[1], 2, (2, 0.5, 3, 4))),
    )
    named = dict(enumerate(names or []))
    clusters = tuple(replace(c, name=named.get(c.index, c.name)) for c in rules.clusters)
    return replace(rules, clusters=clusters)


ROWS = [
    *((contract, months, 0.25) for contract in CONTRACTS for months in (12, 13)),
    *((contract, 5, paid) for contract in (*CONTRACTS, "two year", "other", None) for paid in (0.5, 0.75, None)),
    ("Two year", None, 1.0),
]


@pytest.fixture
def filled(engine):
    """Make the table `customers`; return the cluster of each row by its number."""
    columns = [("i", "integer"), ("contract", "text"), ("months", "integer"), ("paid", "float")]
    declared = [(name, engine.types[kind]) for name, kind in columns]
    if engine.dialect == "clickhouse":  # the tests' own database is of an engine that changes no table
        [[before]] = engine.query("SELECT currentDatabase()")
        engine.query("CREATE DATABASE kept ENGINE = Atomic")
        engine.query("USE kept")
    engine.create("customers", declared, [(i, *row) for i, row in enumerate(ROWS)])
    if engine.dialect == "clickhouse":
        engine.query("CREATE TABLE ordered ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM customers")
        engine.query("EXCHANGE TABLES ordered AND customers")
    contracts, months, paid = zip(*ROWS, strict=True)
    labels = rules_of().assign({"contract": list(contracts), "months": list(months), "paid": list(paid)}).tolist()
    yield {i: None if label == -1 else label for i, label in enumerate(labels)}
    if engine.dialect == "clickhouse":
        engine.query(f"USE {before}")
        engine.query("DROP DATABASE kept")
    else:
        engine.drop("customers")


def found(engine, table, column="cluster"):
    rows = engine.query(f"SELECT {engine.quote('i')}, {engine.quote(column)} FROM {engine.quote(table)}")
    return {int(i): label for i, label in rows}


def numbers(labels):
    return {i: None if label is None else int(label) for i, label in labels.items()}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_golden(dialect):
    texts = []
    for style in KEPT:
        try:
            text = export(rules_of(), "sql", dialect=dialect, style=style, table="shop.customers", otherwise=None)
        except ExportError as error:
            text = f"-- {error}\n"
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        texts.append(text)
    assert_golden(f"kept.{dialect}.sql", "\n".join(texts))


@EACH_ENGINE
@pytest.mark.parametrize("style", ["view", "table"])
def test_a_view_and_a_table_have_the_clusters_of_the_tree(engine, filled, style):
    engine.query(export(rules_of(), "sql", dialect=engine.dialect, style=style, table="customers"))
    try:
        assert numbers(found(engine, "customers_clusters")) == filled
    finally:
        engine.query(f"DROP {style} {engine.quote('customers_clusters')}")


@pytest.mark.parametrize("engine", marked(*UPDATES), indirect=True)
@pytest.mark.parametrize("cluster_as", ["number", "name"])
def test_an_update_gives_each_row_its_cluster_and_changes_no_row_twice(engine, filled, cluster_as):
    names = ["A", "a", "á", "it's \\ `x` %s :p", "é😀"]
    rules = rules_of(names)
    facts = WRITING[engine.dialect]
    kind = facts.type_of([0]) if cluster_as == "number" else facts.text
    engine.query(f"ALTER TABLE {engine.quote('customers')} ADD COLUMN {engine.quote('segment')} {kind}")
    options = {"dialect": engine.dialect, "style": "update", "table": "customers", "cluster_column": "segment"}
    text = export(rules, "sql", cluster_as=cluster_as, **options)
    changed = re.sub(r"\nSETTINGS .*", "", text[text.rindex("\nWHERE") :])
    count = f"SELECT count(*) FROM {engine.quote('customers')}{changed}"
    assert int(engine.query(count)[0][0]) == sum(label is not None for label in filled.values())
    engine.query(text)
    labels = found(engine, "customers", "segment")
    if cluster_as == "number":
        assert numbers(labels) == filled
    else:
        assert labels == {i: None if label is None else names[label] for i, label in filled.items()}
    assert int(engine.query(count)[0][0]) == 0
    other = export(rules_of(["a", "A", "á", *names[3:]]), "sql", cluster_as=cluster_as, **options)
    engine.query(other)  # names that a collation takes for one another are changed
    if cluster_as == "name":
        assert found(engine, "customers", "segment") == {
            i: None if label is None else ["a", "A", "á", *names[3:]][label] for i, label in filled.items()
        }


@EACH_ENGINE
def test_a_computed_column_follows_its_row_or_is_refused(engine, filled):
    options = {"dialect": engine.dialect, "style": "column", "table": "customers"}
    if WRITING[engine.dialect].column is None:
        with pytest.raises(ExportError, match="has no style 'column': .*; make a view"):
            export(rules_of(), "sql", **options)
        return
    engine.query(export(rules_of(), "sql", **options))
    assert numbers(found(engine, "customers")) == filled


@EACH_ENGINE
def test_drift_is_the_shift_of_each_share(engine, filled):
    rules = rules_of()
    rows = engine.query(export(rules, "sql", dialect=engine.dialect, style="drift", table="customers"))
    shares = {cluster.index: cluster.share for cluster in rules.clusters}
    counts = {label: list(filled.values()).count(label) for label in (*shares, None)}
    assert [int(row[0]) for row in rows] == [*(c.index for c in sorted(rules.clusters, key=lambda c: -c.share)), -1]
    for label, _, n, share, trained, shift in rows:
        cluster = None if int(label) == -1 else int(label)
        assert int(float(n)) == counts[cluster]
        assert float(share) == pytest.approx(counts[cluster] / len(filled), abs=1e-3)
        assert float(trained) == pytest.approx(shares.get(cluster, 0.0), abs=1e-5)
        assert float(shift) == pytest.approx(float(share) - float(trained), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
@pytest.mark.parametrize("style", ["case", "ordered"])
def test_spark_runs_the_sql_for_databricks(engine, filled, style):
    case = export(rules_of(), "sql", dialect="databricks", style=style)
    rows = engine.query(f"SELECT {engine.quote('i')}, {case}\nFROM {engine.quote('customers')}")
    assert numbers({int(i): label for i, label in rows}) == filled


@EACH_ENGINE
def test_a_row_without_a_cluster_gets_what_is_said(engine, filled):
    case = export(rules_of(), "sql", dialect=engine.dialect, style="case", otherwise="-5")
    rows = engine.query(f"SELECT {engine.quote('i')}, {case}\nFROM {engine.quote('customers')}")
    assert {int(i): int(label) for i, label in rows} == {i: -5 if c is None else c for i, c in filled.items()}


@draws(30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.sampled_from(FRAGMENTS), min_size=5, max_size=5), column=st.sampled_from(FRAGMENTS))
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"], indirect=True)
def test_hostile_names_stay_names(engine, names, column):
    rules = rules_of([f"{name}{i}" for i, name in enumerate(names)])
    title = f"{column} cluster".replace("\0", "").strip()
    engine.create("t", [("contract", engine.types["text"]), ("months", engine.types["integer"])], [("Two year", 5)])
    engine.query(f"ALTER TABLE t ADD COLUMN {engine.quote('paid')} {engine.types['float']}")
    try:
        target = f"{title}_view"
        text = export(
            rules,
            "sql",
            dialect=engine.dialect,
            style="view",
            table="t",
            into=[target],
            cluster_column=title,
            cluster_as="name",
        )
        engine.query(text)
        try:
            assert engine.query(f"SELECT {engine.quote(title)} FROM {engine.quote(target)}") == [(f"{names[0]}0",)]
        finally:
            engine.query(f"DROP VIEW {engine.quote(target)}")
    finally:
        engine.drop("t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "where", "otherwise": 9}, "goes with a style that labels rows, not with style='where'"),
        ({"style": "case", "otherwise": "2"}, "which is cluster 2"),
        ({"style": "case", "otherwise": "none"}, "clusters are numbers"),
        ({"style": "case", "otherwise": 2.5}, "otherwise is 2.5, and clusters are numbers"),
        ({"style": "case", "otherwise": True}, "otherwise is True, and clusters are numbers"),
        ({"style": "case", "otherwise": 2**63}, "beyond 64 bits"),
        ({"style": "view", "into": ""}, "table"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises((OptionError, ExportError), match=message):
        export(rules_of(), "sql", **options)


@pytest.mark.parametrize("style", ["select", "view", "table", "column"])
def test_the_new_column_is_none_of_the_table(style):
    with pytest.raises(ExportError, match="already has a column 'months'"):
        export(rules_of(), "sql", dialect="sqlite", style=style, cluster_column="Months")


def test_no_update_overwrites_what_the_rules_read():
    with pytest.raises(ExportError, match="the rules are about the column 'months', which an update would overwrite"):
        export(rules_of(), "sql", dialect="sqlite", style="update", cluster_column="MONTHS")


def test_the_view_stands_beside_its_table():
    text = export(rules_of(), "sql", style="view", table='"my.schema".t')
    assert 'CREATE VIEW "my.schema"."t_clusters" AS' in text
    assert 'CREATE VIEW "v" AS' in export(rules_of(), "sql", style="view", table='"my.schema".t', into="v")


@EACH_ENGINE
def test_a_column_has_the_name_that_it_is_given_or_it_is_refused(engine):
    """MariaDB removes blanks in front of the names that a query gives."""
    if engine.dialect == "spark":
        return  # which makes no table here
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    engine.create("t", [("x", engine.types["float"])], [(0.25,)])
    refused = []
    for before in ("\x01", "\t", "\n", " ", "\x7f", "\xa0", "_", "%", "'"):
        name = f"{before}y"
        try:
            query = export(rules, "sql", dialect=engine.dialect, style="select", table="t", cluster_column=name)
        except ExportError as error:
            assert "drops the blanks before the name" in str(error)  # noqa: PT017
            refused.append(before)
            continue
        assert engine.query(f"SELECT {engine.quote(name)} FROM (\n{query}\n) AS made") == [("0",)]
    engine.drop("t")
    assert refused == (["\x01", "\t", "\n", " ", "\x7f"] if engine.dialect == "mysql" else [])
