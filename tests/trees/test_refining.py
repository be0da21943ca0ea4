"""Refinement against brute force, against the greedy tree, and against itself on tables that mean the same."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from draws import draws
from growths import assert_same, unique_rows
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import LEAF
from refinements import assert_refined, clustered_table, nearest, objective, refined
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from strategies import Problem, problems
from tables import blobs, repeated_rows, whole_weights

from shallowrules import ExplainableKMeans, tradeoff_path
from shallowrules._kernel import CodedRows
from shallowrules.errors import OptionError
from shallowrules.measures.metrics import partition_cost
from shallowrules.trees import searching
from shallowrules.trees.coded_samples import few_of, sample_of, some_of
from shallowrules.trees.coded_table import CodedTable, code_rows, coded_table
from shallowrules.trees.data_tree import from_data
from shallowrules.trees.refining import WholeTable
from shallowrules.trees.searching import MAX_SEARCHED_CLUSTERS, objective_of

some = draws(60)
seeds = st.integers(0, 2**32 - 1)


def partitions_alike(one: np.ndarray, two: np.ndarray) -> bool:
    """Return whether two labellings put the same rows together."""
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


@pytest.mark.slow
@draws(250)
@given(problems(max_rows=60))
def test_a_refined_tree_is_never_behind_the_greedy_one(problem):
    assert_refined(problem)


@pytest.mark.slow
@draws(120)
@given(problems(max_rows=60), st.sampled_from([1, 2, 7]), seeds)
def test_a_large_table_is_searched_by_a_part_and_judged_whole(problem, n_threads, seed):
    """All tables count as large ones here; the promises hold on all rows, in any order."""
    order = np.random.default_rng(seed).permutation(len(problem.X_explain))
    cost = partition_cost(problem.X_cluster, nearest(problem), problem.weight)  # rounded in the order of rows
    judging = patch.object(WholeTable, "judge", autospec=True, side_effect=WholeTable.judge)
    with patch.object(searching, "MAX_IMPROVED_ROWS", 0), judging as judge:
        one = assert_refined(problem, reference_cost=cost)
        _, two = refined(shuffled(problem, order), n_threads, reference_cost=cost)
    assert judge.called
    assert_same(one.tree, two.tree, ("feature", "center", "lower", "upper", "rows"))
    assert np.array_equal(one.tree.labels[order], two.tree.labels)


@some
@given(problems(), st.sampled_from([2, 7]))
def test_refining_is_deterministic_and_threads_change_nothing(problem, n_threads):
    one, two, three = refined(problem), refined(problem), refined(problem, n_threads)
    assert_same(one[1].tree, two[1].tree)
    assert_same(one[1].tree, three[1].tree)


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("tradeoff", [0.0, 0.03, 1.0])
def test_refining_pays(k, tradeoff):
    refinement = assert_refined(replace(clustered_table(2000, k), tradeoff=tradeoff))
    assert refinement.n_sampled == 2000
    if k == 20 and tradeoff < 1:
        before, after = refinement.objectives
        assert after < 0.995 * before


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [5000, 7000, 40_000, 80_000])
def test_threads_change_nothing_whatever_is_sampled(n_rows):
    problem = clustered_table(n_rows, 12)
    refinement = assert_refined(problem)
    assert (refinement.n_sampled == n_rows) == (n_rows <= 5120)
    assert refinement.objectives[1] < refinement.objectives[0]
    for n_threads in (2, 7) if n_rows == 40_000 else (2,):
        assert_same(refinement.tree, refined(problem, n_threads)[1].tree)


@some
@given(problems(), seeds)
def test_the_order_of_rows_changes_nothing(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.X_explain))
    _, one = refined(problem)
    # Sums over all rows, as this cost, are rounded in their order; the objective takes it as it is given.
    cost = partition_cost(problem.X_cluster, nearest(problem), problem.weight)
    _, two = refined(shuffled(problem, order), reference_cost=cost)
    assert_same(one.tree, two.tree, ("feature", "center", "lower", "upper", "rows"))
    assert np.array_equal(one.tree.labels[order], two.tree.labels)


def test_the_order_of_rows_changes_nothing_in_a_sample():
    problem = clustered_table(9000, 8)
    order = np.random.default_rng(0).permutation(9000)
    one, two = (refined(p)[1].tree for p in (problem, shuffled(problem, order)))
    assert_same(one, two, ("feature", "center", "lower", "upper", "rows"))


def shuffled(problem: Problem, order: np.ndarray) -> Problem:
    X_explain = problem.X_explain[order]
    return replace(
        problem,
        X_explain=X_explain,
        X_cluster=X_explain if problem.X_cluster is problem.X_explain else problem.X_cluster[order],
        weight=None if problem.weight is None else problem.weight[order],
    )


def test_the_seed_is_what_the_search_depends_on():
    problem = clustered_table(1500, 12)
    one, two, *others = (refined(problem, random_seed=seed)[1] for seed in (3, 3, *range(4, 10)))
    assert_same(one.tree, two.tree)
    assert len({other.objectives[1] for other in others}) > 1


@some
@given(problems(), seeds)
def test_a_row_of_weight_three_is_three_equal_rows_when_refined(problem, seed):
    assert_weight_repeats(whole_weights(problem, np.random.default_rng(seed)))


def test_a_row_of_weight_three_is_three_equal_rows_in_a_sample():
    assert_weight_repeats(whole_weights(clustered_table(8000, 8), np.random.default_rng(0)))


def assert_weight_repeats(problem: Problem) -> None:
    _, weighted = refined(problem)
    cost = partition_cost(problem.X_cluster, nearest(problem), problem.weight)
    _, again = refined(repeated_rows(problem, problem.X_explain is problem.X_cluster), reference_cost=cost)
    labels = np.repeat(weighted.tree.labels, problem.weight.astype(int))
    assert partitions_alike(labels, again.tree.labels)


@some
@given(problems(), seeds)
def test_rows_of_no_weight_might_as_well_not_be_there_when_refined(problem, seed):
    problem = whole_weights(problem, np.random.default_rng(seed))  # the sum of others rounds with the rows in between
    tree = refined(problem)
    present = problem.weight > 0
    X_explain = problem.X_explain[present]
    X_cluster = X_explain if problem.X_cluster is problem.X_explain else problem.X_cluster[present]
    cost = partition_cost(problem.X_cluster, nearest(problem), problem.weight)
    without = replace(problem, X_explain=X_explain, X_cluster=X_cluster, weight=problem.weight[present])
    assert_same(
        tree[1].tree, refined(without, reference_cost=cost)[1].tree, ("feature", "center", "lower", "upper", "rows")
    )
    assert (tree[1].tree.labels[~present] == LEAF).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [2000, 8000])
@pytest.mark.parametrize(
    "layout",
    [
        lambda X: X,
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1].copy()[::-1],
    ],
    ids=["as it is", "columns first", "every other column", "upside down"],
)
def test_type_and_layout_are_no_matter_when_refined(layout, n_rows):
    problem = clustered_table(n_rows, 8)
    float32 = problem.X_explain.astype(np.float32)
    expected = replace(problem, X_explain=float32.astype(np.float64), X_cluster=float32.astype(np.float64))
    expected = replace(expected, X_cluster=expected.X_explain)
    X = layout(float32)
    X.flags.writeable = False
    cost = partition_cost(expected.X_cluster, nearest(expected))
    found = refined(replace(problem, X_explain=X, X_cluster=X), reference_cost=cost)
    assert_same(refined(expected, reference_cost=cost)[1].tree, found[1].tree)


@pytest.mark.parametrize("n_rows", [1500, 8000])
def test_only_the_order_of_explained_values_matters_when_refined(n_rows):
    # Of more rows there are more rounds; those start from means, which lie elsewhere in columns that are bent.
    problem = clustered_table(n_rows, 10, seed=3)
    problem = replace(problem, X_cluster=problem.X_explain.copy())
    bent = replace(problem, X_explain=np.exp(problem.X_explain / 3), explain_centers=np.exp(problem.centers / 3))
    one, two = (refined(p)[1] for p in (problem, bent))
    assert one.objectives[1] < one.objectives[0]
    assert_same(one.tree, two.tree, ("feature", "left", "right", "center", "rows", "labels"))


def test_a_cluster_of_one_row_is_sampled():
    problem = clustered_table(20_000, 6)
    X = problem.X_explain.copy()
    X[777] = 500.0
    centers = np.vstack([problem.centers, X[777]])
    refinement = assert_refined(replace(problem, X_explain=X, X_cluster=X, explain_centers=centers, centers=centers))
    labels = refinement.tree.labels
    assert np.count_nonzero(labels == labels[777]) == 1
    assert refinement.n_sampled < 6000


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_of_a_large_table_all_rows_are_judged(weighted):
    # Far more rows than are searched, clusters of one row and of ten, and few distinct values in the clustered columns.
    random = np.random.default_rng(0)
    X_explain = blobs(random, 70_000, 4, 6, 3.0)
    X_cluster = np.round(X_explain[:, :2])
    X_explain[777], X_cluster[777] = 300.0, 500.0
    X_explain[5000:5010] += 900.0
    X_cluster[5000:5010] = -700.0
    groups = KMeans(6, n_init=1, max_iter=20, random_state=0).fit(X_cluster).labels_
    groups[777], groups[5000:5010] = 6, 7
    explain_centers, centers = (
        np.array([array[groups == i].mean(axis=0) for i in np.unique(groups)]) for array in (X_explain, X_cluster)
    )
    weight = random.choice([0.5, 1.0, 3.0], len(X_explain)) if weighted else None
    refinement = assert_refined(Problem(X_explain, X_cluster, explain_centers, centers, weight, 0.03))
    labels = refinement.tree.labels
    assert np.count_nonzero(labels == labels[777]) == 1
    assert np.count_nonzero(labels == labels[5000]) == 10
    assert refinement.n_sampled < 6000


@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_a_table_has_all_clusters_with_their_weight(weighted):
    random = np.random.default_rng(1)
    n, counts = 100_000, np.array([1, 3, 40, 30_000, 69_956])
    labels = np.repeat(np.arange(5), counts).astype(np.int32)
    random.shuffle(labels)
    X = random.normal(size=(n, 2))
    weight = random.random(n) + 0.5 if weighted else None
    no_codes = np.empty((0, 0), np.int32)
    for keys in (
        random.integers(0, 2**64, n, dtype=np.uint64),
        np.zeros(n, np.uint64),
        np.full(n, 2**64 - 1, np.uint64),
    ):
        rows = CodedRows(X, X, np.arange(n, dtype=np.int32), weight, no_codes, np.zeros((2, 1), np.uint8))
        for part in (few_of(CodedTable(rows, keys, labels, 1)), sample_of(few_of(CodedTable(rows, keys, labels, 1)))):
            assert len(part.rows) < 40_000
            found = np.bincount(part.labels)
            assert found[:2].tolist() == [1, 3]
            assert 32 <= found[2] <= 40
            sums = np.bincount(part.labels, part.weight)
            assert sums / sums.sum() == pytest.approx(np.bincount(labels, weight) / np.bincount(labels, weight).sum())
            assert part.coded.codes.shape == part.coded.X_explain.shape


@pytest.mark.parametrize("lost", [0, 2, 4])
def test_some_rows_of_a_table_may_lack_a_cluster(lost):
    # What is left keeps the weight of the clusters that it has. No tree is grown ahead from the rest then.
    random = np.random.default_rng(2)
    labels = np.repeat(np.delete(np.arange(5), lost), 25).astype(np.int32)
    labels = np.insert(labels, 1, lost)  # at a place that is left out
    X = random.normal(size=(len(labels), 2))
    slots, no_codes = np.arange(len(labels), dtype=np.int32), np.empty((0, 0), np.int32)
    rows = CodedRows(X, X, slots, None, no_codes, np.zeros((2, 1), np.uint8))
    part = some_of(CodedTable(rows, np.arange(len(labels), dtype=np.uint64), labels, 1), 60)
    assert 40 < len(part.rows) <= 60
    sums = np.bincount(part.labels, part.weight, 5)
    assert sums[lost] == 0
    kept = np.delete(sums, lost)
    assert kept / kept.sum() == pytest.approx(0.25)


def test_a_sample_without_a_cluster_is_no_matter():
    random = np.random.default_rng(0)
    X = np.concatenate([blobs(random, 2600, 3, 4, 2.0), [[90.0, 90.0, 90.0]]])
    centers = np.concatenate([X[:4], X[-1:]])
    problem = Problem(X, X, centers, centers, None, 0.03)
    for seed in range(3):
        assert_refined(problem, random_seed=seed)


def test_sentinel_values_hide_no_gain():
    random = np.random.default_rng(0)
    X = blobs(random, 3000, 4, 8, 3.0)
    X[:5, 0] = 999_999_999
    centers = np.vstack([KMeans(8, n_init=1, random_state=0).fit(X[5:]).cluster_centers_, X[0]])
    refinement = assert_refined(Problem(X, X, centers, centers, None, 0.03))
    assert refinement.objectives[1] < 0.998 * refinement.objectives[0]


def test_of_many_clusters_the_greedy_tree_is_improved_and_nothing_perturbed(monkeypatch):
    steps: list[str] = []
    for name in ("improve", "perturb"):
        step = getattr(CodedTable, name)
        monkeypatch.setattr(
            CodedTable,
            name,
            lambda *given, name=name, step=step, **options: (steps.append(name), step(*given, **options))[1],
        )
    problem = clustered_table(4000, MAX_SEARCHED_CLUSTERS + 12)
    refinement = assert_refined(problem)
    assert len(steps) > 1  # another penalty was tried, too
    assert set(steps) == {"improve"}
    assert refinement.n_sampled == 0
    assert f"no lookahead for more than {MAX_SEARCHED_CLUSTERS} clusters" in refinement.summary()
    assert refinement.objectives[1] < refinement.objectives[0]


@draws(100)
@given(problems(max_rows=60))
def test_a_refined_tree_is_never_behind_one_of_the_data_alone(problem):
    greedy, refinement = refined(problem)
    unique = unique_rows(*problem.arrays, weight=problem.weight)
    table = coded_table(code_rows(unique, 1, with_codes=True), greedy, 1)
    aim = objective_of(
        problem.tradeoff, refinement.tree.objectives.reference_cost, unique.data.total_weight, unique.total_weight,
        len(problem.centers),
    )  # fmt: skip
    found = from_data(table, len(problem.centers), aim)
    assume(found)  # the data tree is not grown to k leaves if the last ones save nothing but rounding
    assert refinement.objectives[1] <= aim.objective(found[0]) / aim.unit * (1 + 1e-9) + 1e-12


def test_clusters_that_are_given_are_refined_as_own_ones_are():
    X = clustered_table(3000, 8).X_cluster
    own = ExplainableKMeans(8, random_state=0).fit(X)
    given = ExplainableKMeans(clusterer=own.clusterer_, random_state=0).fit(X)
    assert given.rules_.clusters == own.rules_.clusters
    for cluster in given.rules_.clusters:  # each keeps its number: it shares most of its rows with that cluster
        shared = given.reference_labels_[given.labels_ == cluster.index]
        assert np.bincount(shared).argmax() == cluster.index


@pytest.fixture(scope="module")
def large() -> Problem:
    """A table large enough that every step calls `progress`."""
    return clustered_table(20_000, 12, n_columns=60, spread=6.0)


@pytest.mark.slow
def test_refining_tells_its_progress(large):
    shares: list[float] = []
    refined(large, progress=shares.append)
    assert len(shares) >= 5
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("call", [1, 4])
def test_what_progress_raises_ends_refining(large, call):
    calls = []

    def refuse_once(done: float) -> None:
        calls.append(done)
        if len(calls) == call:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        refined(large, progress=refuse_once)
    assert len(calls) == call


# The estimator.


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data[:900, 2::3]


@pytest.mark.slow
@pytest.mark.parametrize(("tradeoff", "scale"), [(0.0, None), (0.03, "standard"), (0.3, "minmax")])
def test_a_refined_model_is_never_behind(digits, tradeoff, scale):
    model = ExplainableKMeans(10, tradeoff=tradeoff, scale=scale, random_state=0)
    greedy, full = clone(model).set_params(refine="none").fit(digits), model.fit(digits)
    assert objective(full) < 0.99 * objective(greedy)
    assert full.n_leaves_ == greedy.n_leaves_ == 10
    assert np.array_equal(full.predict(digits), full.labels_)
    assert full.normalized_cost_ == pytest.approx(
        partition_cost(full.encoder_.to_clustered_space(digits), full.labels_) / full.reference_inertia_, rel=1e-9
    )


def test_refining_is_the_default():
    assert ExplainableKMeans().refine == "full"


def test_clusters_are_numbered_by_their_overlap_with_the_reference(digits):
    model = ExplainableKMeans(10, random_state=0).fit(digits)
    shared = np.zeros((10, 10))
    np.add.at(shared, (model.labels_, model.reference_labels_), 1)
    for i in range(10):
        for j in range(i):  # no two clusters would do better with each other's numbers
            assert shared[i, i] + shared[j, j] >= shared[i, j] + shared[j, i]


@pytest.mark.parametrize("given", ["labels", "centers", "fitted"])
def test_clusters_that_have_names_keep_them(given):
    X = blobs(np.random.default_rng(1), 900, 5, 10, 3.0)
    fitted = KMeans(10, n_init=1, random_state=1).fit(X)
    clusterer = {"labels": fitted.labels_, "centers": fitted.cluster_centers_, "fitted": fitted}[given]
    model = ExplainableKMeans(clusterer=clusterer).fit(X)
    greedy = ExplainableKMeans(clusterer=clusterer, refine="none").fit(X)
    if given == "labels":  # the tree stays near them, whatever the cost
        assert model.rules_ == greedy.rules_
    else:
        assert objective(model) < objective(greedy)
    shared = np.zeros((10, 10))
    np.add.at(shared, (model.labels_, model.reference_labels_), 1)
    assert np.array_equal(shared.argmax(axis=1), np.arange(10))
    assert model.rules_.statistics.agreement > 0.8


@pytest.mark.parametrize("method", ["exgreedy", "imm", "exkmc"])
def test_other_methods_are_not_refined(method):
    X = load_iris().data
    models = [ExplainableKMeans(5, method=method, refine=r, random_state=0).fit(X) for r in ("full", "none")]
    for name in ("feature", "threshold", "cluster"):
        assert np.array_equal(*(getattr(model.tree_, name) for model in models))


def test_what_came_of_it_is_said(capsys):
    model = ExplainableKMeans(8, random_state=0, verbose=1).fit(load_iris().data)
    [line] = [line for line in capsys.readouterr().out.splitlines() if "refined" in line]
    assert line.endswith(f"-> {objective(model):.4f}")
    greedy = ExplainableKMeans(8, random_state=0, refine="none").fit(load_iris().data)
    assert f"J {objective(greedy):.4f}" in line
    assert "on 149 rows" in line  # two are equal


def test_a_refinement_that_is_not_known_is_refused():
    with pytest.raises(OptionError, match="foo"):
        ExplainableKMeans(refine="foo").fit(load_iris().data)


def test_progress_that_raises_ends_a_fit_inside_refining(large):
    model = ExplainableKMeans(clusterer=large.centers)
    said = []

    def on_progress(done: float) -> None:
        said.append(done)
        if done > 0.6:
            raise RuntimeError("enough")

    model.on_progress = on_progress
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(large.X_explain)
    assert said == sorted(said)


def test_a_refined_path_is_nowhere_behind_the_greedy_one(digits):
    X = digits[:600]
    model = ExplainableKMeans(clusterer=KMeans(10, n_init=1, random_state=0).fit(X))  # its fit is not dropped
    tradeoffs = [0.0, 0.01, 0.03, 0.1, 0.3]
    full = tradeoff_path(model, X, tradeoffs=tradeoffs)
    greedy = tradeoff_path(clone(model).set_params(clusterer=model.clusterer, refine="none"), X, tradeoffs=tradeoffs)
    for point in greedy:
        assert any(
            other.cost <= point.cost * (1 + 1e-9) and other.conditions <= point.conditions * (1 + 1e-9)
            for other in full
        )
    assert min(p.cost + 0.03 * p.conditions for p in full) < min(p.cost + 0.03 * p.conditions for p in greedy)
    for point in full:
        model = full.select(max_cost=point.cost, max_conditions=point.conditions)
        assert (model.normalized_cost_, model.waes_) == pytest.approx((point.cost, point.conditions), rel=1e-9)
