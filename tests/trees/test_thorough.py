"""Thorough searches: never behind, repeatable, and ended by an interrupt with the best tree."""

from __future__ import annotations

import signal
from itertools import product

import numpy as np
import pytest
from draws import draws, spread
from growths import assert_same
from hypothesis import given
from refinements import assert_refined, clustered_table, objective, refined
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from strategies import problems
from tables import blobs

from shallowrules import ExplainableKMeans, RuleSet, tradeoff_path
from shallowrules.errors import OptionError
from shallowrules.trees.thorough import Budget, Thorough


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data[:900, 2::3]


def no_other_start(X, weight, seed) -> np.ndarray:
    return np.zeros(len(X), np.int32)


def thorough(budget: float | str, start=no_other_start, log=lambda line: None) -> dict[str, Thorough]:
    return {"thorough": Thorough(Budget.of(budget), start, log)}


@draws(100)
@given(problems(max_rows=60))
def test_a_thorough_search_is_never_behind(problem):
    full = refined(problem)[1]
    refinement = assert_refined(problem, **thorough(30))
    assert refinement.objectives[1] <= full.objectives[1] * (1 + 1e-9)
    said = [note for note in refinement.tree.notes if note.startswith("searched thoroughly for a better tree: ")]
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [300, 6000, 70_000])
def test_a_thorough_search_is_the_same_for_any_number_of_threads(n_rows):
    problem = clustered_table(n_rows, 8)
    one, two = (refined(problem, n_threads, **thorough(35 if n_rows < 7000 else 5))[1] for n_threads in (1, 2))
    assert_same(one.tree, two.tree)
    assert one.tree.notes == two.tree.notes
    assert one.objectives[1] < one.objectives[0]


@pytest.mark.slow
def test_the_growths_that_were_noted_repeat_a_search_that_seconds_ended(digits, tmp_path):
    by_time = ExplainableKMeans(10, refine="thorough", budget="0.4s", random_state=3).fit(digits)
    [note] = [note for note in by_time.rules_.statistics.notes if note.startswith("searched")]
    growths = float(note.split(": ")[1].split()[0])
    assert growths > 0
    again = ExplainableKMeans(10, refine="thorough", budget=growths, random_state=3).fit(digits)
    assert again.rules_ == by_time.rules_
    (tmp_path / "rules.json").write_text(again.rules_.to_json())
    assert RuleSet.from_json(tmp_path / "rules.json") == again.rules_


def test_other_starts_of_kmeans_are_tried_where_the_clustering_is_our_own():
    problem = clustered_table(400, 6)
    seeds = []

    def start(X, weight, seed):
        assert X.shape == problem.X_cluster.shape
        seeds.append(seed)
        return KMeans(6, n_init=1, random_state=seed).fit(X, sample_weight=weight).labels_.astype(np.int32)

    lines: list[str] = []
    refinement = assert_refined(problem, **thorough(60, start, lines.append))
    assert len(set(seeds)) == len(seeds) == 4
    assert len(lines) == 8
    assert [line.split(":")[0] for line in lines] == [f"round {i}" for i in range(1, len(lines) + 1)]
    values = [float(line.split()[-1]) for line in lines]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(refinement.objectives[1], abs=6e-5)


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_ends_a_thorough_search_with_the_best_tree_so_far(n_threads):
    problem = clustered_table(4000, 12, n_columns=30)
    shares: list[float] = []

    def interrupt_once(done: float) -> None:
        shares.append(done)
        if done > 0.3 and not any(share > 0.3 for share in shares[:-1]):
            signal.raise_signal(signal.SIGINT)

    refinement = refined(problem, n_threads, progress=interrupt_once, **thorough(150))[1]
    assert shares == sorted(shares)
    assert 0.3 < shares[-1] < 0.5
    assert refinement.objectives[1] < refinement.objectives[0]
    [note] = refinement.tree.notes
    assert note.endswith("growths, interrupted")


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_threads"), spread(product([4000, 70_000], [1, 2]), 2))
def test_an_interrupt_before_the_first_round_gives_the_best_tree_by_then(n_rows, n_threads):
    problem = clustered_table(n_rows, 12, n_columns=30)
    full = refined(problem)[1]
    for share in (0.0, 0.02, 0.04, 0.05):

        def interrupt(done: float, share: float = share) -> None:
            if done >= share:
                raise KeyboardInterrupt

        refinement = assert_refined(problem, n_threads=n_threads, progress=interrupt, **thorough(40))
        assert refinement.tree.notes[0] == "searched thoroughly for a better tree: 0 growths, interrupted"
        before, after = refinement.objectives
        if share > 0.035:  # trees were grown ahead
            assert after < before
            assert after <= full.objectives[1] * 1.02


def test_a_fit_that_is_interrupted_before_the_search_has_the_greedy_tree(digits, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("shallowrules.trees.refining.coded_table", interrupted)
    model = ExplainableKMeans(10, refine="thorough", random_state=0).fit(digits)
    greedy = ExplainableKMeans(10, refine="none", random_state=0).fit(digits)
    assert np.array_equal(model.labels_, greedy.labels_)
    assert model.rules_.statistics.notes == ("searched thoroughly for a better tree: 0 growths, interrupted",)
    with pytest.raises(KeyboardInterrupt):
        ExplainableKMeans(10, random_state=0).fit(digits)


def test_the_best_objective_so_far_is_told(digits):
    model = ExplainableKMeans(10, refine="thorough", budget=40, round_within=0, random_state=0)
    told: list[float] = []
    model.on_best = told.append
    model.fit(digits)
    assert len(told) > 3
    assert told == sorted(told, reverse=True)
    greedy = ExplainableKMeans(10, refine="none", random_state=0).fit(digits)
    assert told[0] == pytest.approx(objective(greedy))
    assert told[-1] == pytest.approx(objective(model))


def test_clusters_that_have_names_keep_them_in_a_thorough_search():
    X = blobs(np.random.default_rng(1), 900, 5, 10, 3.0)
    fitted = KMeans(10, n_init=1, random_state=1).fit(X)
    models = [ExplainableKMeans(clusterer=fitted, refine=refine).fit(X) for refine in ("full", "thorough")]
    assert objective(models[1]) <= objective(models[0])
    shared = np.zeros((10, 10))
    np.add.at(shared, (models[1].labels_, models[1].reference_labels_), 1)
    assert np.array_equal(shared.argmax(axis=1), np.arange(10))


def test_a_path_of_thorough_searches(digits):
    model = ExplainableKMeans(6, refine="thorough", budget=20, random_state=0)
    path = tradeoff_path(model, digits[:300], tradeoffs=[0.01, 0.1])
    assert "thorough" in {point.refine for point in path} <= {"none", "thorough"}
    notes: list[str] = []
    for point in path:
        chosen = path.select(max_cost=point.cost, max_conditions=point.conditions)
        assert (chosen.normalized_cost_, chosen.waes_) == pytest.approx((point.cost, point.conditions), rel=1e-9)
        notes += chosen.rules_.statistics.notes
    assert any(note.startswith("searched thoroughly for a better tree: ") for note in notes)


@pytest.mark.parametrize("budget", [0, -1, np.nan, np.inf, True, None, "", "fast", "30 min", "-3s", "nans", [3]])
def test_a_budget_that_is_none_is_refused(budget):
    with pytest.raises(OptionError, match="budget must be a number of growths above 0, or of seconds as in '30s'"):
        ExplainableKMeans(refine="thorough", budget=budget).fit(load_iris().data)


@pytest.mark.parametrize(
    ("given", "growths", "seconds"),
    [(100, 100, np.inf), (2.5, 2.5, np.inf), ("7", 7, np.inf), ("30s", np.inf, 30), (" 1.5 s", np.inf, 1.5)],
)
def test_budgets(given, growths, seconds):
    assert Budget.of(given) == Budget(growths, seconds)
