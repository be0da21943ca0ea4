"""Given labels come back as they were given, in every form of the rules."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from commandline import call
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules import ExplainableKMeans, export
from shallowrules.errors import ExportError, OptionError, ShallowRulesWarning
from shallowrules.rules import RuleSet
from shallowrules.tables.labels import MAX_LABEL, MIN_LABEL, own_numbers
from shallowrules.verification import verify

GROUPS = np.repeat([0, 1, 2], 8)
X = pd.DataFrame({"x": GROUPS * 10.0 + np.tile(np.arange(8) / 8, 3), "i": np.tile(np.arange(8), 3)})

whole_labels = st.lists(
    st.one_of(
        st.integers(-3, 3), st.integers(MIN_LABEL, MAX_LABEL), st.sampled_from([2**31, -(2**31), 2**53 + 1])
    ).filter(lambda label: label != -1),
    min_size=3,
    max_size=3,
    unique=True,
)
names = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=3, max_size=3, unique=True)


def fitted(labels):
    return ExplainableKMeans(clusterer=labels).fit(X)


def clusters_by_python(rules, **options):
    namespace = {}
    exec(export(rules, "python", **options), namespace)
    return [namespace["assign_cluster"](row) for row in X.to_dict("records")]


def clusters_by_sql(rules, **options):
    with duckdb.connect() as database:
        database.register("data", X)
        text = export(rules, "sql", dialect="duckdb", style="select", **options)
        return [row[-1] for row in database.execute(text).fetchall()]


@pytest.mark.slow
@given(whole_labels)
@example([1, 2, 3])
@example([MIN_LABEL, 0, MAX_LABEL])
@example([2**53, 2**53 + 1, -2])
@draws(30, deadline=None)
def test_whole_labels_are_those_of_every_form(labels):
    given_labels = [labels[i] for i in GROUPS]
    model = fitted(given_labels)
    rules = RuleSet.from_dict(model.rules_.to_dict())
    assert model.classes_.tolist() == sorted(labels)
    for row, label in enumerate(model.classes_):
        np.testing.assert_allclose(model.cluster_centers_[row], X[np.equal(given_labels, label)].mean())
    assert {str(cluster.index) for cluster in rules.clusters} == {cluster.title for cluster in rules.clusters}
    for found in (model.labels_, model.reference_labels_, model.predict(X), model.fit_predict(X), rules.assign(X)):
        assert found.tolist() == given_labels
        assert found.dtype == (np.int32 if max(map(abs, labels)) < 2**31 else np.int64) or min(labels) == -(2**31)
    assert clusters_by_python(rules) == clusters_by_sql(rules) == given_labels
    assert all(comparison.disagreements == 0 for comparison in verify(rules, X))
    sheet = export(rules, "markdown")
    assert all(f"\n## Cluster {label}\n" in sheet.replace("\\", "") for label in labels)
    assert model.score(X) == pytest.approx(-model.inertia_)


@pytest.mark.parametrize(
    "container",
    [
        list,
        np.array,
        pd.Series,
        lambda labels: np.array(labels, dtype=float),
        lambda labels: pd.Series(labels, dtype="Int64"),
    ],
    ids=["list", "array", "series", "floats", "nullable"],
)
def test_whole_labels_in_any_container(container):
    model = fitted(container([[1, 2, 5][i] for i in GROUPS]))
    assert model.classes_.tolist() == [1, 2, 5]
    assert model.labels_.dtype == np.int32


@pytest.mark.parametrize(
    ("labels", "why"),
    [([-1, 4, 7], "contain -1"), ([5, 2**63, 2**64], "beyond 64 bits"), ([2**70, 2**70 + 1, 0], "beyond")],
)
def test_labels_that_cannot_be_kept_are_numbered_from_0_on(labels, why):
    with pytest.warns(ShallowRulesWarning, match=why):
        model = fitted([labels[i] for i in GROUPS])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.labels_.tolist() == [sorted(labels).index(labels[i]) for i in GROUPS]
    assert [cluster.name for cluster in model.rules_.clusters] == [str(label) for label in sorted(labels)]


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_whole_numbers_beside_a_missing_label_are_not_merged(missing):
    labels = [[2**53, 2**53 + 1, 3][i] for i in GROUPS]
    model = fitted([missing, *labels[1:]])
    assert model.labels_.tolist() == labels
    assert model.reference_labels_.tolist() == [-1, *labels[1:]]


def test_a_label_without_weight_leaves_the_others_as_they_are():
    model = ExplainableKMeans(clusterer=[[1, 2, 3][i] for i in GROUPS]).fit(X, sample_weight=(GROUPS != 1) * 1.0)
    assert model.classes_.tolist() == [1, 3]
    assert set(model.labels_.tolist()) == {1, 3}


@pytest.mark.slow
@given(names)
@example(["it's", "", 'a "b"'])
@draws(30, deadline=None)
def test_text_labels_have_numbers_and_by_choice_their_names(given_names):
    labels = [given_names[i] for i in GROUPS]
    model = fitted(np.array(labels, dtype=object))
    rules = model.rules_
    assert model.classes_.tolist() == [0, 1, 2]
    numbers = [sorted(given_names).index(name) for name in labels]
    assert model.labels_.tolist() == rules.assign(X).tolist() == numbers
    assert clusters_by_python(rules) == clusters_by_sql(rules) == numbers
    assert clusters_by_python(rules, cluster_as="name") == clusters_by_sql(rules, cluster_as="name") == labels


def test_an_empty_name_is_refused_where_it_is_null():
    rules = fitted(np.array([["", "b", "c"][i] for i in GROUPS], dtype=object)).rules_
    with pytest.raises(ExportError, match="treats as NULL, no cluster; use number for cluster_as"):
        export(rules, "sql", dialect="oracle", style="case", cluster_as="name")
    assert "THEN ''" in export(rules, "sql", dialect="postgres", style="case", cluster_as="name")


@pytest.mark.parametrize("exporter", ["sql", "python"])
def test_clusters_go_by_number_or_name_and_nothing_else(exporter):
    with pytest.raises(OptionError, match="unknown cluster_as 'label'; use one of: number, name"):
        export(make_rules([("x", "float")], 0), exporter, cluster_as="label")


def test_rules_that_were_written_earlier_keep_their_numbers():
    rules = RuleSet.from_json(Path(__file__).parents[1] / "documents/labels.json")
    assert [cluster.index for cluster in rules.clusters] == list(range(len(rules.clusters)))
    assert any(cluster.name != str(cluster.index) for cluster in rules.clusters)


def test_the_command_line_gives_the_labels_of_the_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = [[1, 2, 30][i] for i in GROUPS]
    X.assign(segment=labels).to_csv("t.csv", index=False)
    assert call("run", "t.csv", "--labels", "segment", "-o", "out").exit_code == 0
    rules = RuleSet.from_json("out/rules.json")
    assert clusters_by_python(rules) == clusters_by_sql(rules) == labels
    assert call("label", "out/rules.json", "t.csv", "-o", "labelled.csv").exit_code == 0
    with open("labelled.csv", newline="", encoding="utf-8") as stream:
        assert [int(row["cluster"]) for row in csv.DictReader(stream)] == labels
    assert call("verify", "out/rules.json", "t.csv").exit_code == 0


@pytest.mark.parametrize("options", [["--labels", "CLUSTER"], ["-k", "3", "--exclude", "CLUSTER"]])
def test_select_gives_no_second_column_of_a_name(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    X.assign(CLUSTER=GROUPS).to_csv("t.csv", index=False)
    refused = call("run", "t.csv", *options, "--style", "select", "-o", "out")
    assert refused.exit_code == 3
    assert (
        "the table already has a column 'CLUSTER'; give the new one a different name with --cluster-column"
        in refused.stderr
    )
    assert not Path("out").exists()
    assert call("fit", "t.csv", *options, "-o", "rules.json").exit_code == 0
    assert call("export", "rules.json", "sql", "--style", "select").exit_code == 3
    written = call("export", "rules.json", "sql", "--style", "select", "--column", "CLUSTER=old")
    assert 'AS "cluster"' in written.stdout


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([3, 1], (3, 1)),
        ([1.0, 2.0], (1, 2)),
        ([1.5, 2], ()),
        (["1", "2"], ()),
        ([True, False], ()),
        ([-1, 0], ()),
        ([2**63], ()),
        ([float("inf")], ()),
    ],
)
def test_which_labels_are_their_own_numbers(labels, numbers):
    assert own_numbers(labels) == numbers
