"""A tree that starts with given cuts: they stay as they are, and the rest is grown around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from strategies import generators
from tables import write_people

from shallowrules import ExplainableKMeans, tradeoff_path
from shallowrules.errors import OptionError
from shallowrules.rules import Cut, Leaf, Membership, RuleSet
from shallowrules.sources import read_table


def objective(model) -> float:
    return model.normalized_cost_ + model.tradeoff * model.waes_


def center_cut(X, model, column, share) -> float:
    """Return a threshold between the means of the clusters in a column, which has rows on both sides."""
    means = np.sort(model.reference_centers_[:, column])
    place = int(share * (len(means) - 1))
    return float(np.round((means[place] + means[place + 1]) / 2, 3))


@draws(60)
@given(generators(), st.data())
def test_the_tree_starts_with_the_cuts_that_are_kept(random, data):
    n, d, k = data.draw(st.integers(40, 200)), data.draw(st.integers(2, 4)), data.draw(st.integers(3, 6))
    X = (random.normal(0, 1, (n, d)) + random.integers(4, size=(n, 1)) * random.normal(0, 2, d)).round(3)
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    X = X.astype(dtype)
    weight = data.draw(st.sampled_from([None, random.integers(0, 3, n) + (np.arange(n) < k + 5)]))
    options = {
        "random_state": 0,
        "scale": data.draw(st.sampled_from([None, "standard"])),
        "refine": data.draw(st.sampled_from(["full", "none"])),
        "method": data.draw(st.sampled_from(["exshallow", "exshallow", "exgreedy", "imm"])),
    }
    free = ExplainableKMeans(k, **{**options, "refine": "none", "scale": None}).fit(X, sample_weight=weight)
    column = data.draw(st.integers(0, d - 1))
    threshold = center_cut(X, free, column, data.draw(st.floats(0, 0.9)))
    free = ExplainableKMeans(k, **{**options, "refine": "none"}).fit(X, sample_weight=weight)
    keep = [f"x{column} <= {threshold!r}", f"x{(column + 1) % d} > 0.25"][: data.draw(st.integers(1, 2))]
    refusal = ""
    try:
        model = ExplainableKMeans(k, **options, keep=keep, n_jobs=2).fit(X, sample_weight=weight)
    except OptionError as error:
        refusal = str(error)
    if refusal:
        assert "all clusters are on one side of it" in refusal
        assert len(keep) == 2 or options["scale"]  # of the second cut, or of the first in columns that are scaled
        return
    root = model.rules_.nodes[0]
    assert isinstance(root, Cut)
    assert (root.column, root.threshold) == (column, threshold)
    if len(keep) == 2:
        below = [model.rules_.nodes[child] for child in (root.left, root.right)]
        assert any(
            isinstance(node, Cut) and (node.column, node.threshold) == ((column + 1) % d, 0.25) for node in below
        )
    counted = slice(None) if weight is None else weight > 0
    assert (model.predict(X)[counted] == model.labels_[counted]).all()
    assert (model.rules_.assign(X) == model.labels_).all()
    again = ExplainableKMeans(k, **options, keep=keep, n_jobs=1).fit(X, sample_weight=weight)
    assert again.rules_ == model.rules_
    if options["refine"] == "full" and options["method"] == "exshallow":
        greedy = ExplainableKMeans(k, **{**options, "refine": "none"}, keep=keep).fit(X, sample_weight=weight)
        assert objective(model) <= objective(greedy) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("city = 'Ulm'", ("Ulm",)),
        ("city <> 'Bonn'", ("Bonn",)),
        ("member = true", (True,)),
        ("member = false", (False,)),
    ],
)
def test_categories_are_kept(tmp_path, monkeypatch, condition, values):
    monkeypatch.chdir(tmp_path)
    table = read_table(write_people(tmp_path / "people.csv"), columns=["income", "city", "member"])
    rules = ExplainableKMeans(4, random_state=0, scale="minmax", keep=[condition]).fit(table).rules_
    root = rules.nodes[0]
    assert isinstance(root, Membership)
    assert root.values == values
    assert (root.column, len(root.values)) == (1 if "city" in condition else 2, 1)


def test_a_kept_cut_is_not_rounded():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(center, 0.5, (400, 2)) for center in ([0, 0], [4, 0], [0, 4], [4, 4])])
    model = ExplainableKMeans(4, random_state=0, keep=["x0 <= 2.0123"], round_within=0.05).fit(X)
    assert model.rules_.nodes[0].threshold == 2.0123
    others = [node.threshold for node in model.rules_.nodes[1:] if isinstance(node, Cut)]
    assert all(len(repr(value).strip("-0.")) <= 3 for value in others)


@pytest.mark.parametrize("flags", [[0, 1], [0, 1, 2]])
def test_a_column_of_0_and_1_is_kept_as_the_sheet_says_it(flags):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"Weekend": np.resize(flags, 240), "x": np.repeat([0.0, 5000.0], 120) + rng.normal(0, 9, 240)})
    for keep in ("Weekend = 0", "Weekend = 1"):
        model = ExplainableKMeans(4, scale="minmax", random_state=0, keep=[keep, "x <= 2,000"])
        if 2 in flags:
            with pytest.raises(OptionError, match="should be <= or > with a number"):
                model.fit(table)
            continue
        rules = model.fit(table).rules_
        assert (rules.columns[rules.nodes[0].column].name, rules.nodes[0].threshold) == ("Weekend", 0)
        assert {node.threshold for node in rules.nodes[1:] if isinstance(node, Cut)} == {2000}


def test_falling_columns_keep_their_cut():
    rng = np.random.default_rng(1)
    x = np.repeat([0.0, 5.0, 10.0], 60) + rng.normal(0, 0.4, 180)
    X = np.column_stack([-x, x])
    whole = X.round().astype(int)
    for table, cut in ((X, "x0 <= -7.125"), (whole, "x0 <= -8")):
        found = ExplainableKMeans(3, random_state=0, keep=[cut], cluster_columns=[1], explain_columns=[0, 1]).fit(table)
        assert (found.rules_.nodes[0].column, found.rules_.nodes[0].threshold) == (0, float(cut.split()[-1]))
        assert (found.rules_.assign(table) == found.labels_).all()


@pytest.mark.slow
def test_along_a_path():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(center, 1.2, (80, 3)) for center in 5 * rng.normal(size=(5, 3))])
    means = np.sort(ExplainableKMeans(5, random_state=0).fit(X).reference_centers_[:, 1])
    keep = [f"x1 <= {round(float(means[1] + means[2]) / 2, 2)}"]
    for rules in (tree.rules for tree in tradeoff_path(ExplainableKMeans(5, random_state=0, keep=keep), X).rule_sets()):
        assert f"x1 <= {rules.nodes[0].threshold}" == keep[0]


def test_what_cannot_be_kept_is_refused():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.6, (60, 2)) for center in ([0, 0], [5, 0], [0, 5])])
    for keep, words in (
        (["x0 <= 99"], "all clusters are on one side of it"),
        (["x7 <= 1"], "should be the name of a column"),
        (["1 < x0 <= 2"], "a cut has one bound"),
        ("x0 <= 1", "must be a list of conditions"),
        ([3], "must be a list of conditions"),
    ):
        with pytest.raises(OptionError, match=words):
            ExplainableKMeans(3, random_state=0, keep=keep).fit(X)
    with pytest.raises(OptionError, match="does not apply to method='exkmc'"):
        ExplainableKMeans(3, random_state=0, keep=["x0 <= 2"], method="exkmc").fit(X)


def without_earlier(path):
    """Return rules without their record of earlier ones."""
    rules = RuleSet.from_json(path)
    kept = [note for note in rules.statistics.notes if "earlier" not in note]
    return replace(rules, flow=None, statistics=replace(rules.statistics, notes=tuple(kept)))


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
def test_a_refit_repeats_the_settings_and_carries_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    (tmp_path / "names.csv").write_text("number,name\n1,Students\n3,Savers\n", encoding="utf-8")
    options = ["--drop-missing", "--exclude", "weight,segment", "--category-weight", "0.3", "--seed", "5"]
    fitted = call("fit", "people.csv", "-k", "4", *options, "--names", "names.csv", "-o", "rules.json")
    assert fitted.exit_code == 0, fitted.stderr
    assert call("refit", "rules.json", "people.csv", "-o", "same.json").exit_code == 0
    assert without_earlier("same.json") == RuleSet.from_json("rules.json")
    write_people(tmp_path / "later.csv", seed=8)
    kept = call("refit", "rules.json", "later.csv", "--keep", "income <= 1200", "-o", "new.json")
    assert kept.exit_code == 0, kept.stderr
    new = RuleSet.from_json(tmp_path / "new.json")
    assert (new.columns[new.nodes[0].column].name, new.nodes[0].threshold) == ("income", 1200)
    assert {"Students", "Savers"} <= {cluster.name for cluster in new.clusters}
    assert new.settings["keep"] == ["income <= 1200"]
    assert call("refit", "new.json", "later.csv", "-o", "again.json").exit_code == 0
    assert without_earlier("again.json") == without_earlier("new.json")
    fewer = call("refit", "new.json", "later.csv", "-k", "3", "--keep", "age <= 30", "-o", "fewer.json")
    assert fewer.exit_code == 0, fewer.stderr
    assert len([node for node in RuleSet.from_json("fewer.json").nodes if isinstance(node, Leaf)]) == 3
    message = refused("refit", "rules.json", "later.csv", "--keep", "salary <= 3", status=2)
    assert "--keep: the condition 'salary <= 3'" in message
    some = ["-k", "3", "--columns", "income", "--keep", "income <= 1200", "--memory", "1GB"]
    assert "--keep does not work on a table in parts" in refused("fit", "later.csv", *some, status=2)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("memory", [[], ["--memory", "64MB"]], ids=["in memory", "in parts"])
def test_a_refit_on_a_table_without_the_columns_is_refused(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 2 * 9 + i / 99},{i % 3 * 9 + i / 77}\n" for i in range(60))
    for name in ("ab", "bc"):
        (tmp_path / f"{name}.csv").write_text(f"{','.join(name)}\n{rows}")
    call("fit", "ab.csv", "-k", 6, "-o", "rules.json")
    message = refused("refit", "rules.json", "bc.csv", *memory)
    assert message.endswith("the table lacks columns that rules.json tests: 'a'")
    message = refused("refit", "rules.json", "ab.csv", "--exclude", "a", *memory, status=2)
    assert message.startswith("rules.json tests 'a', which this fit does not use, so the rows cannot show")


@pytest.mark.slow
def test_a_refit_keeps_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    options = ["--drop-missing", "--exclude", "weight,segment", "--category-weight", "0.3"]
    call("fit", "people.csv", "-k", "4", *options, "-o", "rules.json")
    old = RuleSet.from_json("rules.json")
    shuffled = old.with_numbers({0: 7, 1: 0, 2: 1, 3: 2})
    shuffled.to_json("shuffled.json")
    table = read_table("people.csv")
    assert call("refit", "shuffled.json", "people.csv", "--seed", "9", "-o", "new.json").exit_code == 0
    new = RuleSet.from_json("new.json")
    assert {cluster.index for cluster in new.clusters} == {0, 1, 2, 7}
    assert (new.assign(table) == shuffled.assign(table)).mean() > 0.9
    # What is numbered otherwise than its clustering is measured as it was.
    (tmp_path / "rules.txt").write_text(call("edit", "shuffled.json").stdout, encoding="utf-8")
    again = call("edit", "shuffled.json", "--rules", "rules.txt", "--table", "people.csv", "-o", "again.json")
    assert again.exit_code == 0, again.stderr
    assert RuleSet.from_json("again.json") == shuffled
    more = call("refit", "shuffled.json", "people.csv", "-k", "6", "-o", "more.json")
    assert more.exit_code == 0, more.stderr
    assert {cluster.index for cluster in RuleSet.from_json("more.json").clusters} == {0, 1, 2, 7, 8, 9}


@pytest.mark.slow
def test_drift_says_whether_a_refit_pays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    write_people(tmp_path / "later.csv", seed=8, shift=400)
    options = ["--drop-missing", "--columns", "age,income"]
    call("fit", "people.csv", "-k", "4", *options, "-o", "rules.json")
    same = call("drift", "rules.json", "people.csv", "--refit")
    assert same.exit_code == 0, same.stderr
    assert "refitting is not worthwhile: it gains less than 5%" in same.stderr
    moved = call("drift", "rules.json", "later.csv", "--refit", "--max-shift", "100%")
    assert moved.exit_code == 0, moved.stderr
    assert "refitting pays" in moved.stderr
    merged = call("edit", "rules.json", "--merge", "0,2", "--table", "people.csv", "-o", "merged.json")
    assert merged.exit_code == 0, merged.stderr
    dear = RuleSet.from_json("merged.json").statistics
    assert dear.normalized_cost > 1.2 * RuleSet.from_json("rules.json").statistics.normalized_cost
    alike = call("drift", "merged.json", "people.csv", "--refit")
    assert "refitting is not worthwhile" in alike.stderr
    cost = f"{dear.normalized_cost:.4g}"
    assert f"These rules cost {cost} times" in alike.stderr
    assert f"a fresh tree, its clusters merged as theirs are, {cost} (" in alike.stderr
    assert f"conditions per row {dear.waes:.3g} and {dear.waes:.3g}" in alike.stderr


def test_a_kept_cut_tests_its_own_column_where_others_may_not_be_tested():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) + 8 * np.repeat([0, 1, 2], 20)[:, None]
    model = ExplainableKMeans(3, random_state=0, explain_columns=[1, 2], keep=["x1 <= 4"]).fit(X)
    assert str(model.rules_.nodes[0].condition(model.rules_.columns[model.rules_.nodes[0].column], True)) == "x1 <= 4"
    np.testing.assert_array_equal(model.predict(X), model.rules_.assign({f"x{j}": X[:, j] for j in range(3)}))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
