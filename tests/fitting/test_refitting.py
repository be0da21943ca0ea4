"""A fit that continues from earlier rules: scale, centers, tree, numbers and names stay unless others are better."""

from __future__ import annotations

import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from commandline import call
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from strategies import generators
from tablesinparts import cut

from shallowrules import ExplainableKMeans, RuleSet, Table, export, fit_to_goal
from shallowrules.errors import OptionError

OPTIONS = {"scale": "minmax", "category_weight": 0.1, "random_state": 0}

SAID = "the earlier rules would also do"


def customers(random: np.random.Generator, n_rows: int, *, shift: float = 0.0, gaps: bool = False) -> pd.DataFrame:
    """Return a table with columns of all kinds, in four groups, and a column of weights."""
    group = random.integers(0, 4, n_rows)
    frame = pd.DataFrame(
        {
            "spend": np.round(random.normal(60 * group, 12) + shift * (group == 1), 2),
            "visits": random.poisson(3 + 6 * (group % 2)),
            "city": np.array(["Ulm", "Bonn", "Köln"])[(group + (random.random(n_rows) < 0.2)) % 3],
            "member": random.random(n_rows) < 0.2 + 0.2 * group,
            "online": (random.random(n_rows) < 0.7 - 0.1 * group).astype(int),
            "copies": random.integers(0, 3, n_rows),
        }
    )
    frame.loc[0, "copies"] = 1
    if gaps:
        frame.loc[random.random(n_rows) < 0.1, "spend"] = np.nan
        frame.loc[random.random(n_rows) < 0.1, "city"] = None
    return frame


@st.composite
def fits(draw):
    """Return options of a fit, a table for it and a later one, and the name of the column of weights."""
    random, gaps = draw(generators()), draw(st.booleans())
    options = {
        "n_clusters": draw(st.integers(2, 5)),
        "scale": draw(st.sampled_from([None, "minmax", "standard", "robust"])),
        "category_weight": draw(st.sampled_from([0.3, 0.7071, 2.0, "auto"])),
        "two_values": draw(st.sampled_from(["number", "category"])),
        "method": draw(st.sampled_from(["exshallow", "exshallow", "exgreedy"])),
        "random_state": draw(st.integers(0, 9)),
        **({"impute": "median", "missing": draw(st.sampled_from([None, "category"]))} if gaps else {}),
    }
    n_rows = draw(st.integers(80, 240))
    tables = [customers(random, n_rows, shift=shift, gaps=gaps) for shift in (0, draw(st.sampled_from([0, 40])))]
    return options, *tables, draw(st.sampled_from([None, "copies"]))


def fitted(options, frame, weight, **others) -> ExplainableKMeans:
    model = ExplainableKMeans(**options, **others)
    return model.fit(frame.drop(columns="copies"), sample_weight=None if weight is None else frame[weight])


def fitted_in_parts(options, frame, weight, *, memory=None, **others) -> ExplainableKMeans:
    used = frame if weight else frame.drop(columns="copies")
    return ExplainableKMeans(**options, **others).fit_partitions(cut(used, 3), sample_weight=weight, memory=memory)


def named(rules: RuleSet) -> RuleSet:
    """Return rules with other numbers, and a name and a note for one cluster."""
    numbers = {cluster.index: 10 + 3 * cluster.index for cluster in rules.clusters}
    known = {index for cluster in rules.clusters for index in cluster.reference_clusters} - set(numbers)
    renumbered = rules.with_numbers({**numbers, **{index: 90 + index for index in known}})
    return renumbered.with_names({renumbered.clusters[0].index: "Regulars"}, {renumbered.clusters[0].index: "Seen."})


def title_of(rules: RuleSet) -> set[tuple[int, str, str]]:
    return {(each.index, each.name, each.note) for each in rules.clusters if each.is_named}


def note_of_start(model) -> list[str]:
    return [note for note in model.rules_.statistics.notes if "does not start from" in note]


@draws(60)
@given(fits())
def test_the_same_table_changes_nothing(drawn):
    options, frame, _, weight = drawn
    first = fitted(options, frame, weight)
    old = named(first.rules_)
    for again in (
        fitted(options, frame, weight, earlier=old),
        fitted_in_parts(options, frame, weight, earlier=old),
    ):
        assert again.rules_.nodes == old.nodes
        assert again.rules_.flow.moved == 0
        assert title_of(again.rules_) == title_of(old)
        np.testing.assert_array_equal(again.reference_centers_, first.reference_centers_)
        assert again.rules_.clustering == old.clustering
        assert RuleSet.from_dict(json.loads(again.rules_.to_json())) == again.rules_
    np.testing.assert_array_equal(again.rules_.assign(frame), old.assign(frame))


@draws(60)
@given(fits())
def test_a_later_table_is_labelled_alike_by_all_forms_and_in_parts(drawn):
    options, frame, later, weight = drawn
    old = named(fitted(options, frame, weight).rules_)
    model = fitted(options, later, weight, earlier=old)
    rules = model.rules_
    parts = fitted_in_parts(options, later, weight, earlier=old)
    if not note_of_start(model):  # else both cluster by starts of their own
        assert json.loads(parts.rules_.to_json()) == json.loads(rules.to_json())
    labels = rules.assign(later)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(later.drop(columns="copies")), labels)
    np.testing.assert_array_equal(parts.predict(later.drop(columns="copies")), parts.rules_.assign(later))
    module: dict = {}
    exec(export(rules, "python"), module)
    rows = later.astype(object).where(later.notna(), None).to_dict("records")
    assert [module["assign_cluster"](row) for row in rows] == labels.tolist()
    query = export(rules, "sql", dialect="duckdb", style="case", table="later")
    assert [row[0] for row in duckdb.sql(f"SELECT {query} FROM later").fetchall()] == labels.tolist()
    counted = later if weight is None else later[later[weight] > 0]
    before, now = old.assign(counted), rules.assign(counted)
    assert rules.flow.counts == {
        (a, b): int(((before == a) & (now == b)).sum()) for a, b in set(zip(before.tolist(), now.tolist(), strict=True))
    }
    if rules.flow.share > 0.05:
        assert any(SAID in note for note in rules.statistics.notes)
    assert title_of(rules) <= title_of(old)


@draws(20)
@given(fits())
def test_passes_over_parts_give_the_same_tree(drawn):
    options, frame, later, weight = drawn
    options |= {"refine": "none"}
    old = fitted(options, frame, weight).rules_
    whole, parts = (
        fitted(options, later, weight, earlier=old),
        fitted_in_parts(options, later, weight, earlier=old, memory=1),
    )
    assert note_of_start(parts) == note_of_start(whole)
    if not note_of_start(whole):
        assert json.loads(parts.rules_.to_json()) == json.loads(whole.rules_.to_json())


@pytest.fixture(scope="module")
def old() -> ExplainableKMeans:
    """Return a fit of four groups that their spending and visits tell apart."""
    return ExplainableKMeans(4, **OPTIONS).fit(later_table(0))


def later_table(seed=1) -> pd.DataFrame:
    return customers(np.random.default_rng(seed), 400).drop(columns=["online", "copies"])


@pytest.mark.parametrize("scale", [None, "minmax", "standard", "robust"])
def test_the_balanced_weight_stays_and_two_numbers_keep_it_beside_a_third(scale):
    options = OPTIONS | {"scale": scale, "category_weight": "auto"}
    before, later = (customers(np.random.default_rng(seed), 400).drop(columns="copies") for seed in (0, 1))
    old = ExplainableKMeans(4, **options).fit(before)
    later.loc[7, "online"] = 2
    again, fresh = (ExplainableKMeans(4, **options, earlier=old.rules_, rescale=rescale) for rescale in (False, True))
    scales = []
    for model in (old, again.fit(later), fresh.fit(later)):
        known, columns = model.rules_.clustering, [column.name for column in model.rules_.columns]
        place = known.columns.index(columns.index("online"))
        scales.append((known.category_weight, known.origins[place], known.units[place]))
    assert scales[0] == scales[1]
    assert scales[0][0] != scales[2][0]
    assert scales[0][2] == pytest.approx(1 / (np.sqrt(2) * old.category_weight_))
    X = again.encoder_.to_clustered_space(again.encoder_.transform(Table.of(later)))
    np.testing.assert_allclose(X[:, place], later["online"] / scales[0][2], rtol=1e-12)


def test_a_far_row_moves_no_scale(old):
    later = later_table()
    later.loc[7, "spend"] = 90_000.0
    again = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_).fit(later)
    np.testing.assert_array_equal(again.scaler_.scale_, old.scaler_.scale_)
    np.testing.assert_array_equal(again.scaler_.data_min_, old.scaler_.data_min_)
    [note] = [note for note in again.rules_.statistics.notes if "values lie outside" in note]
    low, high = (getattr(again.rules_.columns[0], end) for end in ("minimum", "maximum"))
    assert f"'spend' from {low:g} to {high:g}, not" in note
    fresh = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_, rescale=True).fit(later)
    assert fresh.scaler_.data_max_[0] == 90_000
    assert not any("values lie outside" in note for note in fresh.rules_.statistics.notes)
    other = ExplainableKMeans(4, **OPTIONS | {"scale": "standard"}, earlier=old.rules_).fit(later)
    np.testing.assert_allclose(other.scaler_.mean_, later[["spend", "visits"]].mean())


def test_other_rules_are_taken_where_the_rows_are_others(old):
    later = later_table()
    later["visits"] += 20 * (later["city"] == "Ulm")
    model = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_).fit(later)
    assert model.rules_.nodes != old.rules_.nodes
    assert not any("the earlier rules stay" in note for note in model.rules_.statistics.notes)
    kept = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_, min_gain=0.9).fit(later)
    assert [(each.column, each.threshold) for each in kept.rules_.nodes if hasattr(each, "threshold")] == [
        (each.column, each.threshold) for each in old.rules_.nodes if hasattr(each, "threshold")
    ]
    assert kept.rules_.flow.moved == 0
    j_new, j_kept = (one.normalized_cost_ + one.tradeoff * one.waes_ for one in (model, kept))
    assert j_new < 0.98 * j_kept


def test_the_same_cuts_get_other_thresholds():
    random = np.random.default_rng(3)
    before = pd.DataFrame({"a": np.repeat([0.0, 10, 20], 100) + random.normal(size=300), "b": random.normal(size=300)})
    first = ExplainableKMeans(3, random_state=0).fit(before)
    later = before.assign(a=before["a"] * 1.6)
    again = ExplainableKMeans(3, random_state=0, earlier=first.rules_).fit(later)
    assert again.normalized_cost_ == pytest.approx(1, abs=1e-9)
    assert again.rules_.flow.share > 0.05
    notes = " ".join(again.rules_.statistics.notes)
    assert "the earlier cuts have new thresholds" in notes
    assert SAID in notes
    assert {cluster.index for cluster in again.rules_.clusters} == {0, 1, 2}


def test_where_the_centers_cannot_be_gone_on_from(old):
    later, rules = later_table(), old.rules_
    for k, frame, earlier, words in (
        (5, later, rules, "there are 4 of them, for 5 clusters"),
        (4, later.assign(age=np.arange(400) % 50), rules, "they have no column 'age'"),
        (4, later, replace(rules, clustering=None), "the earlier rules do not hold them"),
        (4, later.assign(spend=60 + later["spend"] / 1e6, visits=3), rules, "one of them has no rows"),
    ):
        model = ExplainableKMeans(k, **OPTIONS, earlier=earlier).fit(frame)
        [note] = note_of_start(model)
        assert words in note
        assert len(set(model.labels_.tolist())) == len(model.classes_) == k
        np.testing.assert_array_equal(model.rules_.assign(frame), model.labels_)
        assert model.rules_.flow.rows == 400


def test_new_and_lost_categories_and_columns(old):
    later = later_table()
    later.loc[::9, "city"] = "Trier"
    model = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_).fit(later)
    assert not note_of_start(model)
    np.testing.assert_array_equal(model.rules_.assign(later), model.labels_)
    city = later_table().assign(city="Ulm")
    model = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_).fit(city)
    np.testing.assert_array_equal(model.rules_.assign(city), model.labels_)


def test_a_constant_column_gets_a_scale_once_it_varies():
    frame, later = later_table().assign(fee=5), later_table().assign(fee=np.arange(400) * 1000)
    first = ExplainableKMeans(4, **OPTIONS).fit(frame)
    again = ExplainableKMeans(4, **OPTIONS, earlier=first.rules_).fit(later)
    assert again.scaler_.data_range_[2] == 399_000
    np.testing.assert_array_equal(again.scaler_.data_range_[:2], first.scaler_.data_range_[:2])


def test_given_labels_keep_their_numbers_and_the_scale(old):
    frame, later = customers(np.random.default_rng(5), 200), customers(np.random.default_rng(6), 200)
    labels = [(table["city"] == "Ulm").map({True: 7, False: 3}) for table in (frame, later)]
    used = [table.drop(columns="copies") for table in (frame, later)]
    options = OPTIONS | {"category_weight": 2.0}
    first = ExplainableKMeans(clusterer=labels[0], **options).fit(used[0])
    again = ExplainableKMeans(clusterer=labels[1], **options, earlier=first.rules_).fit(used[1])
    assert again.classes_.tolist() == [3, 7]
    np.testing.assert_array_equal(again.scaler_.scale_, first.scaler_.scale_)
    assert again.rules_.flow.rows == 200


@pytest.mark.parametrize(
    "options",
    [
        {"method": "imm"},
        {"method": "exkmc", "max_leaves": 6},
        {"max_leaves": 6},
        {"refine": "thorough", "budget": 5},
        {"keep": ["spend <= 90"]},
        {"cluster_columns": ["spend", "city"], "explain_columns": ["visits", "city"]},
        {"clusterer": KMeans(4, n_init=3, random_state=0), "cluster_columns": ["spend", "visits"]},
    ],
    ids=str,
)
def test_every_way_of_growing_goes_on(options):
    options = {"n_clusters": 4, "random_state": 0, **options}
    first = ExplainableKMeans(**options).fit(later_table(0))
    same = ExplainableKMeans(**options, earlier=first.rules_).fit(later_table(0))
    assert same.rules_.nodes == first.rules_.nodes
    assert same.rules_.flow.moved == 0
    later = later_table()
    again = ExplainableKMeans(**options, earlier=first.rules_).fit(later)
    np.testing.assert_array_equal(again.rules_.assign(later), again.labels_)
    np.testing.assert_array_equal(again.predict(later), again.labels_)


def test_other_cuts_to_keep_come_before_the_earlier_tree(old):
    model = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_, keep=["visits <= 6"]).fit(later_table())
    root = model.rules_.nodes[0]
    assert (model.rules_.columns[root.column].name, root.threshold) == ("visits", 6)


def test_numbers_that_doubles_round():
    random = np.random.default_rng(0)
    tables = [
        pd.DataFrame(
            {
                "key": 2**53 + np.repeat([0, 1000, 5000], 100) + random.integers(0, 400, 300),
                "x": random.normal(size=300),
            }
        )
        for _ in range(2)
    ]
    first = ExplainableKMeans(3, scale="minmax", random_state=0).fit(tables[0])
    for table in tables:
        again = ExplainableKMeans(3, scale="minmax", random_state=0, earlier=first.rules_).fit(table)
        np.testing.assert_array_equal(again.rules_.assign(table), again.labels_)
        np.testing.assert_array_equal(first.rules_.assign(table), again.labels_)
        assert again.rules_.flow.moved == 0
        if table is tables[0]:
            assert again.rules_.nodes == first.rules_.nodes


def test_rules_that_miss_the_goal_do_not_stay(old):
    assert old.waes_ > 1.2
    model = ExplainableKMeans(4, **OPTIONS, earlier=old.rules_, min_gain=0.9)
    short = fit_to_goal(model, later_table(), max_conditions=old.waes_ - 0.1)
    assert short.waes_ <= old.waes_ - 0.1
    long = fit_to_goal(model, later_table(), max_conditions=old.waes_ + 1)
    assert long.rules_.flow.moved == 0


@pytest.mark.parametrize(
    ("name", "value"), [("earlier", "rules.json"), ("rescale", 1), ("min_gain", 1.0), ("min_gain", -0.1)]
)
def test_what_is_not_meant_is_refused(name, value):
    with pytest.raises(OptionError, match=name):
        ExplainableKMeans(2, **{name: value}).fit([[0.0], [1.0], [5.0]])


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("memory", [[], ["--memory", "64MB"]], ids=["in memory", "in parts"])
def test_the_command_shows_the_flow_and_writes_the_page(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    for name, shift in (("may", 0), ("june", 60)):
        customers(random, 300, shift=shift, gaps=True).to_csv(f"{name}.csv", index=False)
    (tmp_path / "names.csv").write_text("number,name\n2,Regulars <b>\n", encoding="utf-8")
    options = ["-k", "4", "--weight", "copies", "--impute", "median", "--names", "names.csv"]
    assert call("fit", "may.csv", *options, "-o", "may.json").exit_code == 0
    done = call("refit", "may.json", "june.csv", "--min-gain", "1%", "-o", "june.json", "--page", "june.html", *memory)
    assert done.exit_code == 0, done.stderr
    rules = RuleSet.from_json("june.json")
    assert f"{rules.flow.moved:,} of {rules.flow.rows} rows change cluster" in done.stderr
    assert "before \\ now" in done.stderr
    assert "2 (Regulars <b>)" in done.stderr
    page = (tmp_path / "june.html").read_text(encoding="utf-8")
    assert "Earlier rules and these" in page
    assert "2 (Regulars &lt;b&gt;)" in page
    assert export(rules, "html") == page
    same = call("refit", "june.json", "june.csv", "-o", "same.json", *memory)
    assert "0 of " in same.stderr
    assert RuleSet.from_json("same.json").nodes == rules.nodes
    # Rules of a refit are measured in the space in which they were made.
    (tmp_path / "rules.txt").write_text(call("edit", "june.json").stdout, encoding="utf-8")
    edited = call("edit", "june.json", "--rules", "rules.txt", "--table", "june.csv", "-o", "edited.json")
    assert edited.exit_code == 0, edited.stderr
    assert "warning" not in edited.stderr
    before, after = rules.statistics, RuleSet.from_json("edited.json").statistics
    assert after.normalized_cost == pytest.approx(before.normalized_cost, rel=1e-12)


def test_a_page_of_many_clusters_lists_the_largest_moves():
    random = np.random.default_rng(4)
    X = random.random((900, 2))
    first = ExplainableKMeans(35, random_state=0, refine="none").fit(X)
    again = ExplainableKMeans(35, random_state=1, refine="none", earlier=first.rules_, min_gain=0).fit(
        X + random.normal(size=X.shape) * 0.2
    )
    page = export(again.rules_, "html")
    assert "Earlier rules and these" in page
    assert "columns are these clusters" not in page
