"""The precision of a row's rule beside its cluster: the double of the tree's leaf in every form, and no other label."""

from __future__ import annotations

import csv
import json
import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from commandline import call, refused
from databases import File, marked
from draws import drawn, few
from rulesets import change, example_rules, make_rules
from sklearn.tree import DecisionTreeClassifier
from tablesinparts import check_equal, cut

from shallowrules import ExplainableKMeans, RuleSet, Tree, rules_of_tree
from shallowrules.errors import DataError, ExportError, OptionError, RulesFormatError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS, STYLES
from shallowrules.exporters.sql.options import QUERIES
from shallowrules.rules import Cut, Leaf
from shallowrules.verification.engines import ENGINES

KINDS = {"size": "float", "visits": "integer", "plan": "text", "active": "boolean"}
SEEDS = range(drawn(40, 4))


@cache
def fitted(seed):
    """Return rules with several leaves for a cluster, their training rows, labels and weights."""
    random = np.random.default_rng(seed)
    n_rows = 240
    labels = np.where(random.random(n_rows) < 0.2, -1, random.integers(0, 3, n_rows))
    noise = labels == -1
    frame = pd.DataFrame(
        {
            "size": np.where(noise, random.uniform(-2, 8, n_rows), random.normal(3 * labels, 1.0)).round(2),
            "visits": np.where(
                noise, random.integers(0, 12, n_rows), random.integers(0, 4, n_rows) + 4 * (labels == 1)
            ),
            "plan": random.choice(["it's", "b", "é "], n_rows),
            "active": (labels == 2) ^ (random.random(n_rows) < 0.1),
        }
    )
    frame.loc[labels == 0, "plan"] = "b"
    weight = random.integers(1, 8, n_rows) / 4 if seed % 3 == 0 else None
    method, max_leaves = [("exshallow", 9), ("exkmc", 8), ("exkmc", 12)][seed % 3]
    model = ExplainableKMeans(
        clusterer=labels, noise="cluster", max_leaves=max_leaves, method=method, scale="minmax", random_state=0
    )
    with warnings.catch_warnings(action="ignore"):  # few rows get their given label
        rules = model.fit(frame, sample_weight=weight).rules_
    return rules, frame, labels, np.ones(n_rows) if weight is None else weight


def leaf_of(rules, row):
    """Return the leaf that a row reaches, None where a value is missing."""
    index = 0
    while not isinstance(node := rules.nodes[index], Leaf):
        value = row[node.column]
        if value is None or value != value:
            return None
        index = (
            node.left if (value <= node.threshold if isinstance(node, Cut) else value in node.values) else node.right
        )
    return index


def measured(rules, frame, labels, weight):
    """Return the precision of each leaf, counted on the training rows."""
    noise = next((cluster.index for cluster in rules.clusters if cluster.noise), -1)
    agreed, whole = {}, {}
    rows = frame.itertuples(index=False)
    for row, label, heavy in zip(rows, np.where(labels == -1, noise, labels), weight, strict=True):
        leaf = leaf_of(rules, row)
        whole[leaf] = whole.get(leaf, 0.0) + heavy
        agreed[leaf] = agreed.get(leaf, 0.0) + heavy * (rules.nodes[leaf].cluster == label)
    return {leaf: agreed[leaf] / whole[leaf] for leaf in whole}


def asked_rows(rules, frame, seed):
    """Return rows to label: some of training, with gaps, and rows on thresholds."""
    random = np.random.default_rng(seed)
    rows = [list(row) for row in frame.sample(40, random_state=seed).astype(object).itertuples(index=False)]
    for node in rules.nodes:
        if isinstance(node, Cut):
            row = [*rows[random.integers(len(rows))]]
            row[node.column] = node.threshold
            rows.append(row)
    for row in rows[::4]:
        row[random.integers(len(row))] = None
    return [tuple(row) for row in rows]


def expected(rules, precision, rows):
    """Return the label and the precision of each row, None for both where no rule matches."""
    labels = {cluster.index: cluster.label for cluster in rules.clusters}
    leaves = [leaf_of(rules, row) for row in rows]
    return [(None, None) if leaf is None else (labels[rules.nodes[leaf].cluster], precision[leaf]) for leaf in leaves]


def as_frame(rows):
    columns = dict(zip(KINDS, zip(*rows, strict=True), strict=True))
    return pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in columns.items()})


def module(rules, form, **options):
    namespace = {"__name__": "emitted"}
    exec(export(rules, form, with_precision=True, **options), namespace)
    return namespace


def of_arrays(rules, labels, precision):
    """Return the labels and precisions of arrays, in which -1 means no rule."""
    told = {cluster.index: cluster.label for cluster in rules.clusters}
    pairs = zip(labels.tolist(), precision.tolist(), strict=True)
    return [(None, None) if label == -1 and math.isnan(found) else (told[label], found) for label, found in pairs]


@pytest.fixture(params=SEEDS)
def case(request):
    rules, frame, labels, weight = fitted(request.param)
    precision = measured(rules, frame, labels, weight)
    rows = asked_rows(rules, frame, request.param)
    return rules, precision, rows, expected(rules, precision, rows)


def test_each_leaf_has_the_precision_of_its_training_rows(case):
    rules, precision, _, _ = case
    assert max(len(rules.rules_of(cluster.index)) for cluster in rules.clusters) > 1
    assert {rule.leaf: rule.precision for rule in rules} == precision
    assert RuleSet.from_json(rules.to_json()) == rules
    for cluster in rules.clusters:
        leaves = [node.precision for node in rules.nodes if isinstance(node, Leaf) and node.cluster == cluster.index]
        assert (leaves == [None]) == (len(leaves) == 1)  # that of a single leaf is the cluster's


@pytest.mark.parametrize("weight", [None, "weight"])
def test_parts_of_a_table_give_the_precision_of_the_whole(weight):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(500, 2)).round(2), columns=["a", "b"])
    centers, options = np.array([[-1, -1], [1, 0], [0, 1.0]]), {"max_leaves": 8, "tradeoff": 0.0}
    heavy = pd.Series(random.integers(1, 5, 500) / 4)
    parts = cut(frame if weight is None else frame.assign(weight=heavy), 4)
    of_parts = ExplainableKMeans(**options).fit_partitions(parts, centers=centers, sample_weight=weight)
    whole = ExplainableKMeans(clusterer=centers, **options).fit(frame, sample_weight=None if weight is None else heavy)
    assert len({rule.precision for rule in whole.rules_}) > 3
    check_equal(of_parts, whole)


def test_an_edit_measures_the_precision_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, frame, labels, _ = fitted(1)
    frame.assign(label=labels).to_csv("t.csv", index=False)
    call("fit", "t.csv", "--labels", "label", "--noise", "cluster", "--max-leaves", "6", "-o", "rules.json")
    before = RuleSet.from_json("rules.json")
    first, second = (cluster.index for cluster in before.clusters[:2])
    call("edit", "rules.json", "--merge", f"{first},{second}", "--table", "t.csv", "-o", "merged.json")
    merged = RuleSet.from_json("merged.json")
    for rules in (before, merged):
        joined = np.where(labels == second, first, labels) if rules is merged else labels
        assert {rule.leaf: rule.precision for rule in rules} == measured(rules, frame, joined, np.ones(len(frame)))
    assert len(merged.rules_of(first)) > 1


def test_python_gives_the_precision_of_the_leaf(case):
    rules, _, rows, wanted = case
    frame = as_frame(rows)
    labels, precision = rules.assign_with_precision(frame)
    assert of_arrays(rules, labels, precision) == wanted
    assert labels.tolist() == rules.assign(frame).tolist()
    label, found = rules.assign_with_precision(dict(zip(KINDS, rows[0], strict=True)))
    assert (type(label), type(found)) == (int, float)
    for style in ("nested", "flat", "ordered"):
        emitted = module(rules, "python", style=style, vectorized=True)
        given = [dict(zip(KINDS, row, strict=True)) for row in rows]
        assert [emitted["assign_cluster_with_precision"](row) for row in given] == wanted
        assert [emitted["assign_cluster"](row) for row in given] == [label for label, _ in wanted]
    found = emitted["assign_clusters_with_precision"](frame)
    assert of_arrays(rules, *found) == wanted
    assert emitted["assign_clusters"](frame).tolist() == labels.tolist()


def test_frames_give_the_precision_of_the_leaf(case):
    rules, _, rows, wanted = case
    frame = as_frame(rows)
    frame.index = np.zeros(len(frame), int)  # no index tells rows apart
    emitted = module(rules, "pandas")
    found = emitted["assign_cluster_with_precision"](frame)
    assert [*found.columns] == ["cluster", "cluster_precision"]
    assert found.dtypes.astype(str).tolist() == ["Int64", "Float64"]
    pairs = found.astype(object).itertuples(index=False)
    assert [tuple(None if value is pd.NA else value for value in pair) for pair in pairs] == wanted
    assert emitted["assign_cluster"](frame).equals(found["cluster"])
    emitted = module(rules, "polars", cluster_column="segment")
    types = dict(zip(KINDS, (pl.Float64, pl.Int64, pl.String, pl.Boolean), strict=True))
    frame = pl.DataFrame(rows, schema=types, orient="row")
    found = frame.lazy().with_columns(emitted["assign_cluster_with_precision"]()).collect()
    assert found.select("segment", "segment_precision").rows() == wanted
    assert found.columns == [*KINDS, "segment", "segment_precision"]
    assert frame.select(emitted["assign_cluster"]()).to_series().equals(found["segment"])


@pytest.mark.parametrize("form", ["python", "pandas", "polars"])
def test_a_module_without_precision_is_as_before(form):
    options = {"vectorized": True} if form == "python" else {}
    assert "recision" not in export(example_rules(), form, **options)


@pytest.mark.parametrize("form", ["python", "pandas", "polars"])
def test_one_rule_for_all_rows(form):
    model = ExplainableKMeans(1, random_state=0).fit(pd.DataFrame({"x": [1.0, 2.0]}))
    emitted = module(model.rules_, form, cluster_as="name")
    function = emitted["assign_cluster_with_precision"]
    if form == "python":
        assert function({}) == ("0", 1.0)
    elif form == "pandas":
        assert function(pd.DataFrame({"y": [1, 2]})).to_numpy().tolist() == [["0", 1.0]] * 2
    else:
        assert pl.DataFrame({"y": [1, 2]}).select(function()).rows() == [("0", 1.0)] * 2


# --- SQL


@pytest.fixture
def keeping(engine):
    """Return the engine, with a database that tables can be made in."""
    if engine.dialect != "clickhouse":  # the tests' own database is of an engine that changes no table
        yield engine
        return
    [[before]] = engine.query("SELECT currentDatabase()")
    engine.query("CREATE DATABASE kept ENGINE = Atomic")
    engine.query("USE kept")
    yield engine
    engine.query(f"USE {before}")
    engine.query("DROP DATABASE kept")


def pairs_in(engine, source):
    """Return the label and precision of each row of a table or query, in the order of their numbers."""
    columns = ", ".join(map(engine.quote, ("i", "cluster", "cluster_precision")))
    found = {int(i): pair for i, *pair in engine.query(f"SELECT {columns} FROM {source}")}
    return [
        (None, None) if pair == [None, None] else (int(pair[0]), float(pair[1])) for _, pair in sorted(found.items())
    ]


def check_engine(engine, style, seed):
    """Check that a query or table has the cluster and the precision of the leaf that each row reaches."""
    rules, frame, labels, weight = fitted(seed)
    rows = asked_rows(rules, frame, seed)
    declared = [("i", engine.types["integer"]), *((name, engine.types[kind]) for name, kind in KINDS.items())]
    text = export(
        rules,
        "sql",
        dialect=engine.dialect,
        table="asked",
        style=style,
        with_precision=True,
        output_columns=["i"] if seed % 2 else (),
    )
    engine.create("asked", declared, [(i, *row) for i, row in enumerate(rows)])
    try:
        if style == "select":
            found = pairs_in(engine, f"(\n{text}\n) AS made")
        else:
            engine.query(text)
            found = pairs_in(engine, "asked_clusters")
            engine.drop("asked_clusters")
    finally:
        engine.drop("asked")
    assert found == expected(rules, measured(rules, frame, labels, weight), rows)


@pytest.mark.parametrize("engine", marked(*ENGINES), indirect=True)
def test_a_query_gives_the_precision_of_the_leaf(engine):
    for seed in SEEDS if engine.dialect in ("sqlite", "duckdb") else SEEDS[:1]:
        check_engine(engine, "select", seed)


@pytest.mark.parametrize("engine", marked(*(name for name in ENGINES if name != "spark")), indirect=True)
def test_a_table_gives_the_precision_of_the_leaf(keeping):  # Spark makes no table here
    for seed in SEEDS[:2]:
        check_engine(keeping, "table", seed)


@pytest.mark.parametrize("dialect", few(DIALECTS, 4))
def test_a_query_of_every_dialect_has_the_column_beside_the_cluster(dialect):
    rules, *_ = fitted(0)
    both = {"cluster_as": "both"}
    for style, options in (("select", {}), ("view", both), ("table", {**both, "output_columns": ["visits"]})):
        text = export(rules, "sql", dialect=dialect, style=style, with_precision=True, **options)
        [line] = [line for line in text.splitlines() if " AS " in line and "cluster_precision" in line]
        assert line.strip().startswith("END")
        assert all(f"THEN {DIALECTS[dialect].number(rule.precision)}" in text for rule in rules)
    assert "cluster_precision" not in export(rules, "sql", dialect=dialect, style="select")


def test_a_long_case_is_split_for_the_precision_too():
    """Spark takes a hundred branches in a CASE."""
    numbers, labels = pd.DataFrame({"x": np.arange(240.0)}), np.arange(240) % 3
    tree = DecisionTreeClassifier(max_leaf_nodes=130, random_state=0).fit(numbers, labels)
    rules = rules_of_tree(Tree.from_sklearn(tree), numbers, reference=labels)
    assert len(rules) > 100
    text = export(rules, "sql", dialect="spark", style="select", with_precision=True)
    assert text.count("COALESCE(") >= 2


@pytest.mark.parametrize("style", sorted({*STYLES} - {*QUERIES}))
def test_other_styles_refuse_it(style):
    with pytest.raises(OptionError, match=f"with_precision goes with a query .*not with style='{style}'"):
        export(example_rules(), "sql", style=style, with_precision=True)


def test_a_column_of_the_table_keeps_its_name():
    rules = make_rules([("x", "float"), ("Cluster_Precision", "float")], (0, 1.0, 0, 1))
    for style in QUERIES:
        with pytest.raises(ExportError, match="already has a column 'Cluster_Precision'.*cluster_column"):
            export(rules, "sql", style=style, with_precision=True)
        assert "segment_precision" in export(rules, "sql", style=style, with_precision=True, cluster_column="segment")


# --- label


def written(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return [
            (None, None) if row["cluster"] == "" else (int(row["cluster"]), float(row["cluster_precision"]))
            for row in csv.DictReader(stream)
        ]


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """Write rules and a table to label; return what its rows get."""
    monkeypatch.chdir(tmp_path)
    rules, frame, labels, weight = fitted(3)
    rows = asked_rows(rules, frame, 3)
    rules.to_json("rules.json")
    as_frame(rows).to_csv("t.csv", index=False)
    return rows, expected(rules, measured(rules, frame, labels, weight), rows)


def test_a_file_gets_the_precision(labelled):
    _, wanted = labelled
    result = call("label", "rules.json", "t.csv", "-o", "out.csv", "--with-precision")
    assert result.exit_code == 0, result.output
    assert written("out.csv") == wanted
    call("label", "rules.json", "t.csv", "-o", "plain.csv")
    with open("out.csv", encoding="utf-8") as out, open("plain.csv", encoding="utf-8") as plain:
        assert [line.rpartition(",")[0] for line in out.read().splitlines()] == plain.read().splitlines()
    call("label", "rules.json", "t.csv", "-o", "out.parquet", "--with-precision")
    table = pl.read_parquet("out.parquet")
    assert table.columns == [*KINDS, "cluster", "cluster_precision"]
    assert table.select("cluster", "cluster_precision").rows() == wanted
    call("label", "rules.json", "t.csv", "-o", "out.xlsx", "--with-precision")
    sheet = pl.from_pandas(pd.read_excel("out.xlsx", engine="openpyxl"))
    assert sheet["cluster_precision"].to_list() == [found for _, found in wanted]


def test_several_files_and_a_database_get_the_precision(labelled):
    rows, wanted = labelled
    with open("t.csv", encoding="utf-8") as stream:
        head, *lines = stream.read().splitlines(keepends=True)
    for name, part in (("1.csv", lines[:20]), ("2.csv", lines[20:])):
        with open(name, "w", encoding="utf-8") as stream:
            stream.writelines([head, *part])
    assert call("label", "rules.json", "1.csv", "2.csv", "-o", "out.csv", "--with-precision").exit_code == 0
    assert written("out.csv") == wanted
    pytest.importorskip("sqlalchemy")
    database = File("sqlite", "t.db")
    database.create("t", [(name, database.types[kind]) for name, kind in KINDS.items()], rows)
    source = ("--database", "sqlite:///t.db", "--table", "t")
    assert call("label", "rules.json", *source, "-o", "db.csv", "--with-precision").exit_code == 0
    assert written("db.csv") == wanted
    for style in ("view", "table"):
        result = call("label", "rules.json", *source, "--apply", style, "--into", f"made_{style}", "--with-precision")
        assert result.exit_code == 0, result.output
        found = database.query(f"SELECT cluster, cluster_precision FROM made_{style}")
        assert [tuple(row) for row in found] == wanted
    for style in ("update", "column", "labels"):
        key = ("--key", "visits") if style == "labels" else ()
        message = refused("label", "rules.json", *source, "--apply", style, *key, "--with-precision", status=2)
        assert message == f"--with-precision goes with a view or a table, not with {style!r}"


def test_a_file_with_a_column_of_the_name_is_refused(labelled):
    rows, _ = labelled
    as_frame(rows).assign(Cluster_precision=1).to_csv("t.csv", index=False)
    message = refused("label", "rules.json", "t.csv", "-o", "out.csv", "--with-precision")
    assert message == "the table already has a column 'Cluster_precision': name the new one with --cluster-column"
    options = ("-o", "out.csv", "--with-precision", "--cluster-column", "c")
    assert call("label", "rules.json", "t.csv", *options).exit_code == 0


# --- rules whose precision is not known


def unmeasured():
    """Return rules as an earlier version wrote them: a cluster of two leaves has a precision, these do not."""
    rules, *_ = fitted(0)
    nodes = tuple(replace(node, precision=None) if isinstance(node, Leaf) else node for node in rules.nodes)
    return replace(rules, nodes=nodes)


def test_unknown_precision_is_refused_with_the_remedy(tmp_path, monkeypatch):
    rules, known = unmeasured(), fitted(0)[0]
    assert rules.assign({name: [None] for name in KINDS}).tolist() == [-1]
    words = (
        r"the precision of each rule is not known: cluster -1 has \d+ rules, .* earlier version; fit the rules again"
    )
    for given in (
        lambda: rules.assign_with_precision({name: [None] for name in KINDS}),
        *(
            lambda form=form, options=options: export(rules, form, with_precision=True, **options)
            for form, options in (("sql", {"style": "select"}), ("python", {}), ("pandas", {}), ("polars", {}))
        ),
    ):
        with pytest.raises(DataError, match=words):
            given()
    several = {rule.cluster for rule in known if len(known.rules_of(rule.cluster)) > 1}
    assert {rule.cluster for rule in rules if rule.precision is None} == several
    monkeypatch.chdir(tmp_path)
    rules.to_json("rules.json")
    pd.DataFrame({name: [1] for name in KINDS}).to_csv("t.csv", index=False)
    message = refused("label", "rules.json", "t.csv", "-o", "out.csv", "--with-precision")
    assert message.startswith("the precision of each rule is not known: cluster")


def test_precision_that_contradicts_the_cluster_is_refused():
    rules, *_ = fitted(0)
    document = json.loads(rules.to_json())
    index = next(i for i, node in enumerate(document["nodes"]) if "precision" in node)
    cluster = document["nodes"][index]["cluster"]
    for value, words in (
        (None, rf"some leaves of cluster {cluster} have a precision, and others have none"),
        (1.5, rf"nodes\[{index}\]: precision is 1.5, not a share"),
        (0.123, rf"cluster {cluster}: precision is .*, but its leaves give"),
    ):
        changed = json.loads(json.dumps(document))
        change("nodes", index, "precision", value)(changed)
        with pytest.raises(RulesFormatError, match=words):
            RuleSet.from_dict(changed)
