"""Noise: left out with a warning, or a cluster of rules of its own, whose label is -1 wherever none is NULL or None."""

from __future__ import annotations

import csv
import re
from collections import Counter
from io import BytesIO

import numpy as np
import openpyxl
import pandas as pd
import pytest
from commandline import call
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans, MeanShift
from sklearn.datasets import make_blobs
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tablesinparts import TableParts

from shallowrules import ExplainableKMeans, RuleSet, Table, export
from shallowrules.errors import DataError, OptionError, RulesFormatError, ShallowRulesWarning
from shallowrules.exporters.html.scatter import Points
from shallowrules.rules import changes_between
from shallowrules.tables.given import column_of
from shallowrules.tables.labels import next_free
from shallowrules.verification import verify

BLOBS = make_blobs(400, 2, centers=4, random_state=3)[0]
X = np.vstack([BLOBS, np.random.default_rng(0).uniform(-14, 14, (100, 2))]).round(3)
HDB = HDBSCAN(min_cluster_size=20, copy=True)
LABELS = HDB.fit(X).labels_
NOISE = LABELS == -1
GIVEN = [HDB, LABELS, LABELS.astype(float), pd.Series(LABELS), column_of("label", LABELS)]

pytestmark = pytest.mark.filterwarnings("ignore:the rules give:shallowrules.errors.ShallowRulesWarning")


@pytest.fixture(scope="module")
def model():
    return ExplainableKMeans(clusterer=HDB, noise="cluster", max_leaves=9, random_state=0).fit(X)


def noise_of(rules):
    [cluster] = [cluster for cluster in rules.clusters if cluster.noise]
    return cluster


@pytest.mark.parametrize("clusterer", [HDB, DBSCAN(eps=1.5), make_pipeline(StandardScaler(), DBSCAN(eps=0.3))], ids=str)
def test_noise_that_is_left_out_is_said_with_its_count(clusterer):
    noise = clusterer.fit_predict(X) == -1
    with pytest.warns(ShallowRulesWarning, match=rf"calls {noise.sum()} of 500 rows noise.*noise='cluster'"):
        model = ExplainableKMeans(clusterer=clusterer).fit(X)
    assert model.rules_.statistics.left_out == noise.sum()
    np.testing.assert_array_equal(model.reference_labels_ == -1, noise)


@pytest.mark.parametrize("clusterer", GIVEN, ids=lambda each: type(each).__name__)
def test_noise_has_rules_of_its_own(clusterer):
    model = ExplainableKMeans(clusterer=clusterer, noise="cluster").fit(X)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(model.reference_labels_, np.where(NOISE, 4, LABELS))
    cluster = noise_of(model.rules_)
    assert (cluster.index, cluster.label, cluster.name, cluster.title) == (4, -1, "noise", "-1 (noise)")
    assert len(model.rules_.rules_of(4)) == 1
    assert model.rules_.statistics.left_out == 0
    assert not any("noise" in note or "-1" in note for note in model.rules_.statistics.notes)
    precision, recall, *_ = precision_recall_fscore_support(NOISE, model.labels_ == 4, average="binary")
    assert (cluster.precision, cluster.recall) == pytest.approx((precision, recall))


@pytest.mark.parametrize("method", ["exshallow", "exkmc"])
def test_more_leaves_find_more_of_the_noise(method):
    recalls = []
    for max_leaves in (None, 7, 10):
        options = {"method": method, "max_leaves": max_leaves, "random_state": 0, "noise": "cluster"}
        model = ExplainableKMeans(clusterer=HDB, **options).fit(X)
        again = ExplainableKMeans(clusterer=LABELS, **options).fit(X)
        assert model.rules_.nodes == again.rules_.nodes
        assert model.n_leaves_ <= (max_leaves or 5)
        if method == "exshallow":  # all others have one leaf each
            assert len(model.rules_) - len(model.rules_.rules_of(4)) == 4
        nodes = model.rules_.nodes
        for node in nodes:  # no cut between noise and noise
            if hasattr(node, "left"):
                sides = [getattr(nodes[side], "cluster", None) for side in (node.left, node.right)]
                assert sides[0] is None or sides[0] != sides[1]
        recalls.append(noise_of(model.rules_).recall)
    assert recalls[0] < 0.4 < recalls[1] < recalls[2]
    assert recalls[2] > 0.6


def test_every_form_gives_noise_minus_one(model):
    rules = model.rules_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(rules.assign(X), model.labels_)
    assert set(model.labels_.tolist()) == {0, 1, 2, 3, 4}
    for comparison in verify(rules, X, ["duckdb", "sqlite"]):
        assert comparison.disagreements == 0, comparison
    wanted = np.where(model.labels_ == 4, -1, model.labels_).tolist()
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    frame.loc[len(frame)] = [np.nan, np.nan]
    functions = {}
    for name, options in (("python", {"vectorized": True}), ("pandas", {})):
        namespace = {}
        exec(export(rules, name, **options), namespace)
        functions[name] = namespace
    by_row = functions["python"]["assign_cluster"]
    assert [by_row(row) for row in frame.to_dict("records")] == [*wanted, None]
    assert functions["pandas"]["assign_cluster"](frame).tolist() == [*wanted, pd.NA]
    assert functions["python"]["assign_clusters"](frame).tolist() == [*model.labels_.tolist(), -1]
    for exporter in ("sql", "pmml", "dbt"):
        assert "-1" in str(export(rules, exporter))
    by_name = {}
    exec(export(rules, "python", cluster_as="name"), by_name)
    assert Counter(map(by_name["assign_cluster"], frame.to_dict("records")))["noise"] == wanted.count(-1)
    with pytest.raises(OptionError, match=r"otherwise is -1, which is cluster -1 \(noise\)"):
        export(rules, "sql", style="case", otherwise=-1)
    labels = {"-1", "0", "1", "2", "3"}
    page, svg = export(rules, "html", points=Points(((0, 0, 4), (1, 1, -1), (2, 2, 0)))), export(rules, "svg")
    assert set(re.findall(r'<span class="pill k\d">(.*?)</span>', page)) == labels
    assert set(re.findall(r'<text class="no"[^>]*>(.*?)</text>', page)) == labels
    assert set(re.findall(r'<span class="vh">Cluster (.*?)</span>', page)) == labels
    assert set(re.findall(r'<span class="src">(\S+) <small>', page)) == labels
    confusion = page[page.index('<table class="confusion">') :]
    assert re.findall(r'<th scope="col">(.*?)</th>', confusion)[:5] == ["0", "1", "2", "3", "-1"]
    assert re.findall(r'<text x="\d+" y="\d+">(.*?)</text>\n', page) == ["0", "-1"]
    assert set(re.findall(r'font-weight="700" fill="#fff">(.*?)</text>', svg)) == labels
    changes = changes_between(rules, ExplainableKMeans(2, random_state=0).fit(X).rules_, X)
    for card in (rules._repr_html_(), changes._repr_html_()):
        assert set(re.findall(r'<b class="pill"[^>]*>(.*?)</b>', card)) == labels
        assert ">-1</b> noise" in card
    renumbered = rules.with_numbers({4: 9})
    assert not changes_between(rules, renumbered, X)
    renamed = changes_between(rules, renumbered.with_names({-1: "Outliers"}))
    assert renamed.cluster_lines == ["cluster -1 (Outliers) was called 'noise'"]
    book = openpyxl.load_workbook(BytesIO(export(rules, "xlsx")))
    assert [cell.value for cell in book["Clusters"][1]][-1] == "Cluster -1"
    assert {-1} == {row[0] for name in ("Rules", "Differences") for row in book[name].values if row[1] == "noise"}
    rule = rules.rules_of(4)[0]
    assert (rule.cluster, rule.label) == (4, -1)
    assert repr(rule).startswith("Rule(cluster -1, ")
    assert "<h4>Rule of cluster -1</h4>" in rule._repr_html_()
    explained = rules.explain(frame[:-1])[wanted.index(-1)]
    assert repr(explained).startswith("Explanation(cluster -1, ")
    assert "<h4>Cluster -1 (noise)</h4>" in explained._repr_html_()
    for found in (rules.to_frame(), rules.clusters_frame()):
        assert set(found["cluster"]) == {-1, 0, 1, 2, 3}
        assert set(found["name"][found["cluster"] == -1]) == {"noise"}


@pytest.mark.parametrize("draw", ["plot", "plot_heat", "plot_silhouettes"])
def test_every_picture_shows_noise_as_minus_one(model, draw):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = model.plot_silhouettes(X) if draw == "plot_silhouettes" else getattr(model.rules_, draw)()
    texts = [text.get_text() for text in (*ax.texts, *ax.get_yticklabels())]
    pyplot.close("all")
    assert any(text == "-1" or text.startswith("-1: noise (") for text in texts)
    assert not any(text == "4" or text.startswith("4: ") for text in texts)


def test_noise_is_kept_in_the_document_and_may_be_renamed(model):
    rules = RuleSet.from_json(model.rules_.to_json())
    assert rules == model.rules_
    assert [cluster.title for cluster in rules.with_names({4: "Outliers"}).clusters][-1] == "-1 (Outliers)"
    assert rules.with_names({-1: "Outliers"}, {-1: "Far"}) == rules.with_names({4: "Outliers"}, {4: "Far"})
    with pytest.raises(DataError, match="no cluster 7 to name; the rules have 0, 1, 2, 3, -1"):
        rules.with_names({7: "Outliers"})
    document = rules.to_dict()
    document["clusters"][0]["noise"] = True
    with pytest.raises(RulesFormatError, match="several clusters are marked as noise"):
        RuleSet.from_dict(document)


@pytest.mark.slow
def test_noise_of_a_clusterer_with_centers():
    clusterer = MeanShift(bandwidth=4, cluster_all=False)
    with pytest.warns(ShallowRulesWarning, match="MeanShift calls .* noise"):
        ExplainableKMeans(clusterer=clusterer).fit(X)
    model = ExplainableKMeans(clusterer=clusterer, noise="cluster").fit(X)
    noise = clusterer.fit(X).labels_ == -1
    np.testing.assert_array_equal(model.reference_labels_ == model.classes_[-1], noise)
    assert noise_of(model.rules_).index == model.classes_[-1]


def test_without_noise_nothing_is_noise():
    plain, asked = (ExplainableKMeans(clusterer=KMeans(4, random_state=0), noise=n).fit(X) for n in ("drop", "cluster"))
    assert plain.rules_ == asked.rules_
    named = ExplainableKMeans(clusterer=np.where(NOISE, "-1", "a"), noise="cluster").fit(X)  # texts mark none
    assert not any(cluster.noise for cluster in named.rules_.clusters)


def test_the_next_free_number():
    assert [next_free(numbers) for numbers in ([], [0, 1], [5, 9], [2**63 - 1, 0], [-7])] == [0, 2, 10, 1, 0]
    model = ExplainableKMeans(clusterer=np.where(NOISE, -1, LABELS * 5 + 3), noise="cluster").fit(X)
    assert model.classes_.tolist() == [3, 8, 13, 18, 19]


def test_a_table_in_parts_has_the_rules_of_fit():
    table = Table.of({"a": X[:, 0], "b": X[:, 1], "label": LABELS})
    parts = TableParts([table.take(np.arange(200)), table.take(np.arange(200, 500))])
    in_parts = ExplainableKMeans(noise="cluster").fit_partitions(parts, labels="label").rules_
    whole = ExplainableKMeans(clusterer=LABELS, noise="cluster").fit(table.select(["a", "b"])).rules_
    assert in_parts.nodes == whole.nodes
    facts = [[(c.index, c.name, c.noise, c.precision, c.recall) for c in r.clusters] for r in (in_parts, whole)]
    assert facts[0] == facts[1]


def test_the_command_line_keeps_the_label(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": LABELS}).to_csv("t.csv", index=False)
    fit = call("fit", "t.csv", "--labels", "label", "--noise", "cluster", "--max-leaves", "9", "-o", "r.json")
    assert fit.exit_code == 0
    rules = RuleSet.from_json("r.json")
    assert noise_of(rules).index == 4
    rows = pd.DataFrame({"a": [*X[:, 0], None], "b": [*X[:, 1], 1.0]})
    rows.to_csv("new.csv", index=False)
    result = call("label", "r.json", "new.csv", "-o", "labelled.csv")
    assert result.exit_code == 0
    assert "-1 (noise)" in result.stderr
    with open("labelled.csv", newline="") as file:
        found = [row["cluster"] for row in csv.DictReader(file)]
    assert found == ["" if label == -1 else str(-1 if label == 4 else label) for label in rules.assign(rows).tolist()]
    assert "-1" in found
    result = call("fit", "t.csv", "-k", "3", "--noise", "cluster", "-o", "k.json")
    assert result.exit_code == 2
    assert "--noise applies to --labels only" in result.stderr
