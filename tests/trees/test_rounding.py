"""Rounder thresholds: within the bound on J, correctly counted, the same in every order and in parts."""

import re
from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from commandline import call
from draws import drawn
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from shallowrules import ExplainableKMeans, tradeoff_path
from shallowrules.errors import OptionError
from shallowrules.measures.metrics import partition_cost
from shallowrules.rules import Cut, RuleSet
from shallowrules.trees import rounding
from shallowrules.trees.placing import RounderCut, place_thresholds, rounder_cuts
from shallowrules.trees.thresholds import readable_threshold, rounder_thresholds, significant_digits
from shallowrules.trees.tree import LEAF, Tree


def objective(model: ExplainableKMeans, X: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> float:
    """Return J of a fit from its labels, by the definition."""
    tree = model.tree_
    leaf = tree.apply(X)
    waes = float(np.average(tree.explanation_size[leaf], weights=weight))
    cost = partition_cost(model.encoder_.to_clustered_space(X), model.labels_, weight)
    return cost / model.reference_inertia_ + model.tradeoff * waes


def digits(model: ExplainableKMeans) -> int:
    """Return the digits of all thresholds."""
    return sum(significant_digits(node.threshold) for node in model.rules_.nodes if isinstance(node, Cut))


def drawn_table(seed: int) -> tuple[NDArray[np.float64], int]:
    """Return rows around a few points, some columns in few steps, some of large numbers, and a number of clusters."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(60, 400)), int(rng.integers(1, 5)), int(rng.integers(2, 7))
    X = rng.normal(size=(k, d))[rng.integers(k, size=n)] * rng.uniform(0.5, 4) + rng.normal(size=(n, d))
    X *= 10.0 ** rng.integers(-4, 6, size=d)
    X[:, rng.random(d) < 0.3] += 10.0 ** rng.integers(2, 5)
    return (np.round(X, int(rng.integers(-1, 3))) if rng.random() < 0.3 else X), k


@pytest.mark.parametrize(
    ("lower", "upper", "integer", "expected"),
    [
        (754, 757, True, [0, 700, 750, 760, 800, 1000]),
        (93, 106, True, []),
        (-757, -754, True, [-1000, -800, -760, -750, -700, 0]),
        (0.931402, 0.931404, False, [0.0, 0.9, 0.93, 0.931, 0.9314, 0.93141, 0.9315, 0.932, 0.94, 1.0]),
        (-0.0049, -0.0041, False, [-0.01, -0.005, -0.004, 0.0]),
    ],
)
def test_candidates(lower: float, upper: float, integer: bool, expected: list[float]) -> None:
    found = rounder_thresholds(lower, upper, integer=integer)
    most = significant_digits(readable_threshold(lower, upper, integer=integer))
    assert found == expected
    assert all(significant_digits(value) < most for value in found)
    assert all(isinstance(value, int if integer else float) for value in found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(drawn(24)))
@pytest.mark.parametrize("within", [0.0005, 0.01])
def test_rises_by_no_more_and_says_what_it_did(seed: int, within: float) -> None:
    X, k = drawn_table(seed)
    options = {"scale": "standard", "random_state": 0}
    weight = np.random.default_rng(seed).gamma(1.0, size=len(X)) if seed % 3 == 0 else None
    exact = ExplainableKMeans(k, round_within=0, **options).fit(X, sample_weight=weight)
    rounded = ExplainableKMeans(k, round_within=within, **options).fit(X, sample_weight=weight)
    before, after = objective(exact, X, weight), objective(rounded, X, weight)
    assert after <= before * (1 + within) * (1 + 1e-9)
    assert digits(rounded) <= digits(exact)
    assert rounded.n_leaves_ == exact.n_leaves_
    np.testing.assert_array_equal(rounded.labels_, rounded.predict(X))
    np.testing.assert_array_equal(rounded.labels_, rounded.rules_.assign(X))
    again = rounded.tree_.count(X, weight)
    np.testing.assert_array_equal(again.rows, rounded.tree_.rows)
    np.testing.assert_allclose(again.weight, rounded.tree_.weight, rtol=1e-12)
    assert rounded.tree_.rows.min() > 0
    n_changed = int(np.count_nonzero(exact.tree_.apply(X) != rounded.tree_.apply(X)))
    notes = [note for note in rounded.rules_.statistics.notes if "rounded" in note]
    assert len(notes) == (n_changed > 0)
    for note in notes:
        found = re.search(r"moved ([\d,]+) of ([\d,]+) rows? to .* and (\w+) .*objective(?: by (.+)%)?$", note)
        assert found is not None
        assert int(found[1].replace(",", "")) == n_changed
        assert int(found[2].replace(",", "")) == len(X)
        assert "0.00" not in note
        if found[4] is None:
            assert after / before == pytest.approx(1, abs=0.00006)
        else:
            change = (after / before - 1) * {"raised": 1, "lowered": -1}[found[3]]
            assert float(found[4]) == pytest.approx(change * 100, abs=0.006)


@pytest.mark.filterwarnings("ignore:the tree has")
@pytest.mark.parametrize("seed", range(drawn(20)))
def test_what_each_candidate_adds_is_what_it_does_to_the_cost(seed: int) -> None:
    """Some clusters have few rows, all of which a candidate would take from them."""
    rng = np.random.default_rng(seed)
    X, k = drawn_table(seed)
    few = X[rng.integers(len(X), size=3)] + X.std(axis=0) * rng.normal(size=(3, X.shape[1])) * 2
    X = np.concatenate([X, few])
    weight = rng.integers(1, 4, size=len(X)).astype(float) if seed % 2 else None
    centers = np.concatenate([KMeans(k, n_init=1, random_state=0).fit(X).cluster_centers_, few])
    seen: list[tuple[dict, dict, rounding._Pricing]] = []

    price = rounding._priced

    def priced(groups, cuts, pricing):
        seen.append((price(groups, cuts, pricing), cuts, pricing))
        return seen[-1][0]

    with patch.object(rounding, "_priced", priced):
        model = ExplainableKMeans(clusterer=centers, n_jobs=2).fit(X, sample_weight=weight)
    n_checked = n_empty = 0
    for found, cuts, pricing in seen:
        tree = pricing.tree
        own = partition_cost(X, tree.apply(X), weight) + pricing.penalty * _conditions_of(tree, X, weight)
        for node, some in cuts.items():
            rise_of = {cut.threshold: rise for cut, rise in found.get(node, [])}
            for cut in some:
                threshold = tree.threshold.copy()
                threshold[node] = cut.threshold
                moved = replace(tree, threshold=threshold)
                leaf = moved.apply(X)
                if len(np.unique(leaf)) < tree.n_leaves:
                    assert cut.threshold not in rise_of
                    n_empty += 1
                    continue
                cost = partition_cost(X, leaf, weight) + pricing.penalty * _conditions_of(moved, X, weight)
                assert rise_of[cut.threshold] == pytest.approx(cost - own, rel=1e-6, abs=1e-9 * own)
                n_checked += 1
    assert n_checked or (seed and not seen), (model, n_empty)  # of some seeds no threshold can be rounder


def test_a_candidate_may_be_the_threshold_itself() -> None:
    """Two numbers of the table can become one in the model, where a scaler rounds."""
    X, k = drawn_table(11)
    seen = []

    def cuts(grown, encoder, table):
        own = place_thresholds(grown, encoder, table).threshold
        found = rounder_cuts(grown, encoder, table)
        seen.extend(found)
        return {node: [*some, RounderCut(float(own[node]), 1)] for node, some in found.items()}

    with patch.object(rounding, "rounder_cuts", cuts):
        model = ExplainableKMeans(k, random_state=0, round_within=0.01).fit(X)
    assert seen
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def _conditions_of(tree: Tree, X: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    sizes = tree.explanation_size[tree.apply(X)]
    return float(sizes.sum() if weight is None else (sizes * weight).sum())


def test_thresholds_are_rounder_for_it() -> None:
    pairs = []
    for seed in range(drawn(30)):
        X, k = drawn_table(seed)
        pairs.append([digits(ExplainableKMeans(k, random_state=0, round_within=share).fit(X)) for share in (0, 0.005)])
    exact, rounded = np.sum(pairs, axis=0)
    assert rounded < 0.8 * exact


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(drawn(16)))
def test_no_single_threshold_could_still_be_rounder(seed: int) -> None:
    """No single candidate of a tree would save more digits within the bound than all those taken together."""
    X, k = drawn_table(seed)
    within = 0.004
    exact = ExplainableKMeans(k, random_state=0, round_within=0).fit(X)
    rounded = ExplainableKMeans(k, random_state=0, round_within=within).fit(X)
    bound = objective(exact, X) * (1 + within)
    tree, best = exact.tree_, 0
    for node in np.flatnonzero(tree.feature != LEAF):
        reached = X[_rows_of(exact, X, node)][:, tree.feature[node]]
        lower = reached[reached <= tree.threshold[node]].max()
        upper = reached[reached > tree.threshold[node]].min()
        for value in rounder_thresholds(float(lower), float(upper)):
            threshold = tree.threshold.copy()
            threshold[node] = value
            moved = type(tree)(tree.feature, threshold, tree.left, tree.right, tree.cluster, tree.rows, tree.weight)
            leaf = moved.apply(X)
            if len(np.unique(leaf)) < tree.n_leaves or np.count_nonzero(leaf != tree.apply(X)) > 0.02 * len(X):
                continue
            cost = partition_cost(X, moved.cluster[leaf])
            waes = float(np.average(moved.explanation_size[leaf]))
            if cost / exact.reference_inertia_ + exact.tradeoff * waes <= bound * (1 - 1e-9):
                best = max(best, significant_digits(float(tree.threshold[node])) - significant_digits(value))
    assert digits(exact) - digits(rounded) >= best


def _rows_of(model: ExplainableKMeans, X: NDArray[np.float64], node: int) -> NDArray[np.bool_]:
    """Return which rows reach a node."""
    tree = model.tree_
    below = {int(node)}
    for inner in np.flatnonzero(tree.feature != LEAF):
        if int(inner) in below:
            below |= {int(tree.left[inner]), int(tree.right[inner])}
    return np.isin(model.apply(X), sorted(below))


@pytest.mark.parametrize("seed", range(drawn(12)))
def test_by_default_never_above_the_greedy_tree(seed: int) -> None:
    X, k = drawn_table(seed)
    greedy = ExplainableKMeans(k, random_state=0, refine="none").fit(X)
    exact = ExplainableKMeans(k, random_state=0, round_within=0).fit(X)
    default = ExplainableKMeans(k, random_state=0).fit(X)
    assert objective(default, X) <= objective(greedy, X) * (1 + 1e-12)
    assert objective(default, X) <= objective(exact, X) * 1.0005 * (1 + 1e-9)
    unrounded = ExplainableKMeans(k, random_state=0, refine="none", round_within=0).fit(X)
    np.testing.assert_array_equal(greedy.tree_.threshold, unrounded.tree_.threshold)


@pytest.mark.parametrize("options", [{"refine": "none"}, {"method": "imm"}, {"method": "exkmc", "max_leaves": 7}])
def test_trees_that_are_not_refined_are_rounded_where_asked(options: dict[str, object]) -> None:
    X, _ = drawn_table(4)
    exact = ExplainableKMeans(4, random_state=0, round_within=0, **options).fit(X)
    rounded = ExplainableKMeans(4, random_state=0, round_within=0.02, **options).fit(X)
    assert digits(rounded) < digits(exact)
    tradeoff = 0 if "method" in options else exact.tradeoff
    before, after = (model.normalized_cost_ + tradeoff * model.waes_ for model in (exact, rounded))
    assert after <= before * 1.02


def test_depends_on_neither_order_nor_threads_nor_rows_of_weight_0() -> None:
    X, k = drawn_table(11)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 5, size=len(X)).astype(float)
    centers = KMeans(k, n_init=2, random_state=0).fit(X, sample_weight=weight).cluster_centers_
    options = {"clusterer": centers, "round_within": 0.01}
    one = ExplainableKMeans(k, n_jobs=1, **options).fit(X, sample_weight=weight)
    order = rng.permutation(len(X))
    other = ExplainableKMeans(k, n_jobs=2, **options).fit(X[order], sample_weight=weight[order])
    zeros = np.concatenate([weight, np.zeros(20)])
    third = ExplainableKMeans(k, **options).fit(np.concatenate([X, X[:20] * 1.5]), sample_weight=zeros)
    for again in (other, third):
        np.testing.assert_array_equal(again.tree_.threshold, one.tree_.threshold)
        np.testing.assert_array_equal(again.tree_.rows, one.tree_.rows)
    np.testing.assert_array_equal(third.labels_, third.predict(np.concatenate([X, X[:20] * 1.5])))


def test_through_a_falling_function_thresholds_are_round_in_the_table() -> None:
    X, k = drawn_table(9)
    falling = make_pipeline(FunctionTransformer(np.negative), StandardScaler())
    exact = ExplainableKMeans(k, transformer=falling, random_state=0, round_within=0).fit(X)
    rounded = ExplainableKMeans(k, transformer=falling, random_state=0, round_within=0.01).fit(X)
    assert digits(rounded) < digits(exact)
    np.testing.assert_array_equal(rounded.labels_, rounded.rules_.assign(X))
    np.testing.assert_array_equal(rounded.labels_, rounded.predict(X))


def test_whole_numbers_stay_whole() -> None:
    rng = np.random.default_rng(3)
    amounts = np.concatenate([rng.normal(m, 60, 300) for m in (400, 755, 1273)]).astype(int)
    table = pd.DataFrame({"amount": amounts, "city": rng.choice(["a", "b"], len(amounts))})
    model = ExplainableKMeans(3, random_state=0, round_within=0.01).fit(table)
    cuts = [node for node in model.rules_.nodes if isinstance(node, Cut)]
    assert cuts
    assert all(isinstance(cut.threshold, int) and significant_digits(cut.threshold) <= 2 for cut in cuts)
    np.testing.assert_array_equal(model.labels_, model.rules_.assign(table))


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 7])
@pytest.mark.parametrize("within", [None, 0.01])
@pytest.mark.parametrize("refine", ["full", "none"])
def test_in_parts_the_same(tmp_path, n_parts: int, within: float | None, refine: str) -> None:
    X, k = drawn_table(13)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(w=np.arange(len(X)) % 3 / 4 + 0.3)
    centers = KMeans(k, n_init=2, random_state=0).fit(X).cluster_centers_
    bounds = np.linspace(0, len(X), n_parts + 1).astype(int)
    paths = [tmp_path / f"{i}.parquet" for i in range(n_parts)]
    for path, (first, last) in zip(paths, pairwise(bounds), strict=True):
        frame[first:last].to_parquet(path)
    options = {"refine": refine, "round_within": within, "clusterer": centers}
    whole = ExplainableKMeans(k, **options).fit(frame.drop(columns="w"), sample_weight=frame["w"])
    parts = ExplainableKMeans(k, **options).fit_partitions(paths, sample_weight="w")
    np.testing.assert_array_equal(parts.tree_.threshold, whole.tree_.threshold)
    np.testing.assert_array_equal(parts.tree_.rows, whole.tree_.rows)
    assert parts.rules_.to_json() == whole.rules_.to_json()


def test_a_goal_holds_after_rounding() -> None:
    X, _ = drawn_table(21)
    path = tradeoff_path(ExplainableKMeans(4, random_state=0, round_within=0.02), X)
    for point in path:
        model = path.select(max_cost=point.cost)
        assert model.normalized_cost_ <= point.cost * (1 + 1e-12)


@pytest.mark.parametrize("value", [-0.1, 1, "0.2%", True, float("nan")])
def test_unusable_shares_are_refused(value: object) -> None:
    with pytest.raises(OptionError, match="round_within must be a share from 0 up to 1"):
        ExplainableKMeans(2, round_within=value).fit([[0.0], [1.0]])


def test_given_labels_are_not_rounded() -> None:
    X, _ = drawn_table(1)
    labels = (X[:, 0] > 0).astype(int)
    with pytest.raises(OptionError, match="round_within=0.01 does not apply to given labels"):
        ExplainableKMeans(clusterer=labels, round_within=0.01).fit(X)
    ExplainableKMeans(clusterer=labels, round_within=0).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "expected"), [("0.2%", 0.002), ("0.002", 0.002), ("0", 0.0), ("0%", 0.0)])
def test_on_the_command_line_a_share_or_a_percentage(tmp_path, share: str, expected: float) -> None:
    table = load_wine(as_frame=True).data
    table.to_csv(tmp_path / "wine.csv", index=False)
    done = call("fit", tmp_path / "wine.csv", "-k", "3", "--round-within", share, "-o", tmp_path / "rules.json")
    assert done.exit_code == 0, done.output
    model = ExplainableKMeans(3, scale="minmax", random_state=0, round_within=expected).fit(table)
    found = RuleSet.from_json(tmp_path / "rules.json")
    assert [rule.conditions for rule in found] == [rule.conditions for rule in model.rules_]
    assert set(model.rules_.statistics.notes) <= set(found.statistics.notes)
    assert [cluster.name for cluster in found.clusters] == [cluster.name for cluster in model.rules_.clusters]


@pytest.mark.parametrize("share", ["1", "-0.1", "200%", "x%", "nan", "%"])
def test_other_shares_are_refused(tmp_path, share: str) -> None:
    load_wine(as_frame=True).data.to_csv(tmp_path / "wine.csv", index=False)
    done = call("fit", tmp_path / "wine.csv", "-k", "3", f"--round-within={share}", "-o", tmp_path / "rules.json")
    assert done.exit_code == 2
    assert "--round-within" in done.output
    assert not (tmp_path / "rules.json").exists()
