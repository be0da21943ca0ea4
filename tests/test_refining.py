"""Refinement against brute force, against the greedy tree, and against itself on tables that mean the same."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import oracle
import pytest
from growths import assert_same, unique_rows
from hypothesis import assume, currently_in_test_context, given, settings
from hypothesis import strategies as st
from oracle import LEAF, Finished
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from strategies import Problem, problems
from tables import blobs, one_space, repeated_rows, whole_weights

from shallowrules import ExplainableKMeans, growing, tradeoff_path
from shallowrules._kernel import CodedRows, encode, grow_ahead, improve_tree
from shallowrules.errors import OptionError
from shallowrules.growing import Forest, GrownTree
from shallowrules.metrics import partition_cost, weighted_average_explanation_size
from shallowrules.refining import MAX_LOOKAHEAD_CLUSTERS, ROUND_FACTORS, Refinement, refine

pytestmark = pytest.mark.slow

LEAST_GAIN = 1e-9
"""Of the objective: less is not worth a change."""

some = settings(max_examples=60)
seeds = st.integers(0, 2**32 - 1)


# Improving a finished tree.


def random_tree(random: np.random.Generator, columns: np.ndarray, n_leaves: int) -> dict[str, np.ndarray]:
    """Return a tree of random cuts, every leaf with rows; of fewer leaves where no more cuts were found.

    It has a cut if any column has two values.
    """
    feature, left, right, cut = [LEAF], [LEAF], [LEAF], [0.0]
    rows = {0: np.arange(len(columns))}
    for _ in range(10 * n_leaves):
        leaf = int(random.choice(list(rows)))
        varied = np.flatnonzero(np.ptp(columns[rows[leaf]], axis=0))
        if not len(varied) or len(rows) == n_leaves:
            continue
        f = int(random.choice(varied))
        threshold = random.choice(np.unique(columns[rows[leaf], f])[:-1])
        here = rows.pop(leaf)
        feature[leaf], cut[leaf], left[leaf], right[leaf] = f, threshold, len(feature), len(feature) + 1
        rows[left[leaf]], rows[right[leaf]] = here[columns[here, f] <= threshold], here[columns[here, f] > threshold]
        for array, value in ((feature, LEAF), (left, LEAF), (right, LEAF), (cut, 0.0)):
            array += [value, value]
    center = np.full(len(feature), LEAF)
    center[list(rows)] = np.arange(len(rows))
    whole = {"feature": feature, "left": left, "right": right, "center": center}
    return {name: np.array(array, dtype=np.int32) for name, array in whole.items()} | {"cut": np.array(cut)}


def a_finished_tree(seed: int, max_rows: int = 40, far: float = 0.0) -> tuple[dict[str, np.ndarray], Finished]:
    """Return a random tree over a random table, for the kernel and for the oracle; some rows `far` away if not 0."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(6, max_rows)), int(random.integers(1, 4))
    columns = random.normal(size=(n, d)) if random.random() < 0.5 else random.integers(0, 6, size=(n, d)).astype(float)
    columns[: random.integers(1, 4), 0] += far * random.choice([-1.0, 1.0])
    if not np.ptp(columns, axis=0).any():
        columns[0, 0] += 1.0
    points = columns if random.random() < 0.5 else random.normal(size=(n, random.integers(1, 4)))
    weight = np.ones(n) if random.random() < 0.5 else random.choice([0.1, 1.0, 2.5], n)
    tree = random_tree(random, columns, int(random.integers(2, 9)))
    assert len(tree["feature"]) > 1
    return tree, finished(tree, columns, points, weight, float(random.choice([0.0, 0.01, 0.1, 1.0])))


def finished(tree: dict[str, Any], columns, points, weight, price) -> Finished:
    return Finished(
        *(tree[name] for name in ("feature", "left", "right", "cut")),
        columns.astype(np.float64), points.astype(np.float64), weight, price, tree.get("root", 0),
    )  # fmt: skip


def improved(
    tree: dict[str, np.ndarray], like: Finished, *, most: float = 1e9, moves: bool = False, ranks: int = 512,
    n_threads: int = 1, progress: Callable[[float], None] | None = None,
) -> tuple[dict[str, Any], Finished]:  # fmt: skip
    rows = np.arange(len(like.columns), dtype=np.int32)
    codes, _, _, single, _ = encode(like.columns, rows, like.columns[:1], n_threads, ranks=ranks)
    weight = None if (like.weight == 1).all() else like.weight
    found = improve_tree(
        CodedRows(like.columns, like.points, rows, weight, np.ascontiguousarray(codes.T), single), tree,
        condition_penalty=like.price, max_passes=most, moves_leaves=moves, n_threads=n_threads, progress=progress,
    )  # fmt: skip
    return found, finished(found, like.columns, like.points, like.weight, like.price)


def candidates(cuts: list[oracle.Recut]) -> list[oracle.Recut]:
    """Return the cuts that are tried: of each feature and orientation the best, and of these four."""
    best: dict[tuple[int, bool], oracle.Recut] = {}
    for cut in sorted(cuts):
        best.setdefault((cut.feature, cut.swapped), cut)
    return sorted(best.values())[:4]


@settings(max_examples=200)
@given(seeds, st.booleans())
def test_an_improved_tree_has_the_figures_it_claims_and_all_its_leaves(seed, moves):
    tree, before = a_finished_tree(seed)
    found, after = improved(tree, before, moves=moves)
    assert found["before"] == pytest.approx(before.figures(), rel=1e-10, abs=1e-12)
    assert found["after"] == pytest.approx(after.figures(), rel=1e-10, abs=1e-12)
    assert after.objective <= before.objective * (1 + 1e-12)
    assert not found["ended"]
    leaves = after.leaves()
    assert set(after.route()) == set(leaves)
    assert sorted(found["center"][leaves]) == sorted(tree["center"][tree["feature"] == LEAF])
    for node in after.inner:
        here = np.isin(after.route(), after.leaves(node))
        values = after.columns[here, after.feature[node]]
        left = values <= after.cut[node]
        assert (found["lower"][node], found["upper"][node]) == (values[left].max(), values[~left].min())


@settings(max_examples=200)
@given(seeds, st.booleans())
def test_no_cut_of_an_improved_tree_could_be_better(seed, moves):
    tree, before = a_finished_tree(seed)
    _, after = improved(tree, before, moves=moves)
    least = before.objective * LEAST_GAIN
    for node in after.inner:
        current, cuts = after.recut_costs(node)
        for cut in candidates(cuts):
            assert not cut.whole or cut.objective > current - 1.01 * least - 1e-12, (node, cut)


@some
@given(seeds)
def test_no_leaf_of_an_improved_tree_is_better_elsewhere(seed):
    tree, before = a_finished_tree(seed, max_rows=16)  # so few that a leaf is cut between any two values
    _, after = improved(tree, before, moves=True)
    border = after.objective - 1.01 * before.objective * LEAST_GAIN - 1e-12
    assert all(other.objective > border for other in after.moved())


@settings(max_examples=200)
@given(seeds)
def test_the_first_step_is_the_best_cut_of_a_node(seed):
    tree, before = a_finished_tree(seed)
    _, after = improved(tree, before, most=1e-9)
    node = max(before.inner)  # the deepest ones come first
    current, cuts = before.recut_costs(node)
    wanted = [
        cut for cut in candidates(cuts) if cut.whole and cut.objective < current - before.objective * LEAST_GAIN - 1e-12
    ]
    if not wanted:
        assert np.array_equal(after.route(), before.route())
        return
    assert after.objective <= before.objective - (current - wanted[0].objective) + 1e-9 * before.objective
    tied = [cut for cut in wanted if cut.objective <= wanted[0].objective + 1e-9 * current]
    assert any(np.array_equal(after.route(), before.recut(node, cut).route()) for cut in tied)


@some
@given(seeds, st.booleans(), st.sampled_from([0.0, 1e6, 1e9, 1e12]))
def test_no_step_makes_the_objective_rise(seed, moves, far):
    # A row far away leaves sums no digits for what the others cost.
    tree, before = a_finished_tree(seed, far=far)
    objective = before.objective
    for most in (1e-9, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 1000):
        found, after = improved(tree, before, most=most, moves=moves)
        assert after.objective <= objective * (1 + 1e-12)
        objective = after.objective
    assert not found["ended"]


def test_rounding_makes_no_tree_go_to_and_fro():
    # The leaves cost nothing, and cutting them elsewhere costs what cancels.
    columns = np.arange(30.0)[:, None] % 3
    points = columns * 0.1
    tree = random_tree(np.random.default_rng(0), columns, 3)
    found, _ = improved(tree, finished(tree, columns, points, np.full(30, 0.7), 0.0))
    assert found["after"][0] == pytest.approx(0, abs=1e-25)
    assert not found["ended"]


@settings(max_examples=100)
@given(seeds, st.sampled_from([2, 3, 5]))
def test_wide_bins_are_searched_inside(seed, ranks):
    random = np.random.default_rng(seed)
    columns = random.normal(size=(60, 2))
    tree = random_tree(random, columns, 2)
    before = finished(tree, columns, columns, np.ones(60), 0.05)
    _, after = improved(tree, before, most=1e-9, ranks=ranks)
    current, cuts = before.recut_costs(0)
    codes = encode(columns, np.arange(60, dtype=np.int32), columns[:1], 1, ranks=ranks)[0]
    at_ends = [
        cut.objective
        for cut in cuts
        if codes[cut.feature][columns[:, cut.feature] <= cut.threshold].max()
        < codes[cut.feature][columns[:, cut.feature] > cut.threshold].min()
    ]
    [chosen] = [
        cut.objective
        for cut in cuts
        if (cut.feature, cut.threshold) == (after.feature[0], after.cut[0])
        and cut.swapped == (after.left[0] != before.left[0])
    ] or [current]
    assert chosen <= min(at_ends) + 1e-9 * current
    ahead = [cut.objective for cut in cuts if cut.threshold == after.cut[0] and cut.feature == after.feature[0]]
    assert chosen <= min(ahead) + 1e-9 * current


@pytest.mark.parametrize("by", [0, 23, 69])
def test_of_many_features_a_leaf_is_cut_by_the_one_that_parts_it(by):
    # Three groups, two of which share a leaf; the third has two leaves, parted by noise. Only a move can mend that.
    random = np.random.default_rng(by)
    columns = random.normal(size=(300, 70))
    group = np.arange(300) % 3
    columns[:, 40] += 30.0 * (group > 0)
    columns[:, by] += 20.0 * (group > 1)
    tree = {name: np.array(array, dtype=np.int32) for name, array in {
        "feature": [40, 5, -1, -1, -1], "left": [1, 3, -1, -1, -1], "right": [2, 4, -1, -1, -1],
        "center": [-1, -1, 0, 1, 2],
    }.items()} | {"cut": np.array([15.0, 0.0, 0.0, 0.0, 0.0])}  # fmt: skip
    before = finished(tree, columns, columns, np.ones(300), 0.1)
    _, after = improved(tree, before, moves=True)
    assert after.feature[after.inner].tolist() in ([40, by], [by, 40])
    assert after.objective < 0.6 * before.objective


def test_threads_share_a_node_and_change_nothing():
    random = np.random.default_rng(0)
    columns = blobs(random, 40_000, 4, 8, 3.0)
    tree = random_tree(random, columns, 8)
    like = finished(tree, columns, columns, random.choice([1.0, 2.5], len(columns)), 0.3)
    one, _ = improved(tree, like, moves=True, most=30)
    for n_threads in (2, 7):
        other, _ = improved(tree, like, moves=True, most=30, n_threads=n_threads)
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert one["after"] < one["before"]


def refuse(done: float) -> None:
    assert 0 < done <= 1
    raise RuntimeError("enough")


def interrupt(done: float) -> None:
    signal.raise_signal(signal.SIGINT)


ends = pytest.mark.parametrize(("progress", "raised"), [(refuse, RuntimeError), (interrupt, KeyboardInterrupt)])


@ends
def test_what_a_report_raises_ends_improving(progress, raised):
    random = np.random.default_rng(0)
    columns = random.normal(size=(20_000, 30))
    tree = random_tree(random, columns, 16)
    with pytest.raises(raised):
        improved(tree, finished(tree, columns, columns, np.ones(len(columns)), 0.0), progress=progress)


# Looking ahead.


def ahead(problem: Problem, price: float, levels=2, width=4, most=1e18, **options) -> tuple[dict[str, Any], Finished]:
    merged = unique_rows(*problem.arrays, weight=problem.weight)
    weight = np.ones(len(merged.first)) if merged.weight is None else merged.weight
    columns, points = problem.explained[merged.first], problem.clustered[merged.first]
    unique = unique_rows(columns, points, *problem.arrays[2:], weight=weight)
    options = {"n_threads": 1, **options}
    forest = Forest(grow_ahead(unique.kernel_input(), problem.tradeoff, (levels, width, price, most), **options))
    tree = vars(forest.tree()) | {"rows": forest.only_tree(unique).rows}
    return tree, finished(tree, columns, points, weight, price)


def spread_of(problem: Problem) -> float:
    """Return the variance of the points: a unit for the price of a condition."""
    weight = np.ones(len(problem.clustered)) if problem.weight is None else problem.weight
    points = problem.clustered.astype(np.float64)
    squares = (points - np.average(points, axis=0, weights=weight)) ** 2
    return float(np.average(squares.sum(axis=1), weights=weight))


@settings(max_examples=300)
@given(problems(), st.sampled_from([1, 2, 3]), st.sampled_from([2, 4, 7]), st.sampled_from([0.0, 1e-3, 0.03, 1.0]))
def test_looking_ahead_finds_no_worse_tree(problem, levels, width, share):
    price = share * spread_of(problem)
    (one, first), (several, best) = (ahead(problem, price, levels, w) for w in (1, width))
    for tree, found in ((one, first), (several, best)):
        assert found.leaves() == np.flatnonzero(tree["feature"] == LEAF).tolist()
        reached = found.route()
        for node in found.edges():
            here = np.isin(reached, found.leaves(node))
            assert tree["rows"][node] == here.sum() > 0
            if tree["feature"][node] != LEAF:
                values = found.columns[here, tree["feature"][node]]
                left = values <= tree["cut"][node]
                assert (tree["lower"][node], tree["upper"][node]) == (values[left].max(), values[~left].min())
        centers = tree["center"][found.leaves()]
        assert len(set(centers)) == len(centers)
    assert len(best.leaves()) >= len(first.leaves())
    if len(first.leaves()) == len(problem.centers):
        assert best.objective <= first.objective * (1 + 1e-9)


def test_looking_ahead_finds_a_better_tree():
    problem = one_space(blobs(np.random.default_rng(1), 1000, 5, 12, 3.0), 12, np.random.default_rng(1))
    (_, first), (_, best) = (ahead(problem, 0.3, width=width) for width in (1, 4))
    assert best.objective < 0.99 * first.objective


def assert_equal_trees(one: dict[str, Any], two: dict[str, Any]) -> None:
    for name in one:
        assert np.array_equal(one[name], two[name]), name


@some
@given(problems())
def test_looking_ahead_for_no_work_is_looking_nowhere(problem):
    price = 0.03 * spread_of(problem)
    assert_equal_trees(ahead(problem, price, most=0.0)[0], ahead(problem, price, width=1)[0])


@settings(max_examples=150)
@given(problems(max_rows=100, max_centers=16), st.sampled_from([0, 1]))
def test_the_machine_does_not_matter_ahead(problem, instructions):
    price = 0.03 * spread_of(problem)
    assert_equal_trees(ahead(problem, price)[0], ahead(problem, price, instructions=instructions)[0])


@pytest.mark.parametrize("dense_limit", [1, 5, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_nodes_with_lists_are_looked_ahead_from_alike(dense_limit, weighted):
    random = np.random.default_rng(5)
    problem = one_space(blobs(random, 1500, 5, 20, 3.0), 40, random)
    if weighted:
        problem = replace(problem, weight=random.choice([0.5, 1.0, 3.0], 1500))
    expected = ahead(problem, 0.5)[0]
    for instructions in (0, 2):
        assert_equal_trees(expected, ahead(problem, 0.5, dense_limit=dense_limit, instructions=instructions)[0])


def test_rows_too_far_for_the_bounds_count_ahead():
    random = np.random.default_rng(20)
    problem = one_space(np.exp(4 * random.normal(size=(4000, 4))), 30, random)
    (_, dense), (_, listed) = (ahead(problem, 0.0, width=1, dense_limit=limit) for limit in (128, 1))
    assert dense.objective == pytest.approx(listed.objective, rel=1e-3)


def test_threads_change_nothing_ahead():
    random = np.random.default_rng(3)
    problem = one_space(blobs(random, 40_000, 3, 6, 3.0), 6, random)
    for dense_limit in (128, 1):
        expected = ahead(problem, 0.3, dense_limit=dense_limit)[0]
        for n_threads in (2, 7):
            assert_equal_trees(expected, ahead(problem, 0.3, dense_limit=dense_limit, n_threads=n_threads)[0])


@ends
def test_what_a_report_raises_ends_looking_ahead(progress, raised):
    random = np.random.default_rng(3)
    problem = one_space(blobs(random, 6000, 20, 12, 3.0), 12, random)
    with pytest.raises(raised):
        ahead(problem, 0.3, progress=progress)


# Both together.


def nearest(problem: Problem) -> np.ndarray:
    points = problem.clustered.astype(np.float64)
    squares = np.stack([((points - center) ** 2).sum(axis=1) for center in problem.centers], axis=1)
    return squares.argmin(axis=1).astype(np.int32)


def refined(problem: Problem, n_threads: int = 1, **options) -> tuple[GrownTree, Refinement]:
    """Return the greedy tree and its refinement, of a problem that is assumed to have something to refine."""
    unique = unique_rows(*problem.arrays, weight=problem.weight, n_threads=n_threads)
    greedy = growing.grow(unique, tradeoff=problem.tradeoff, n_threads=n_threads)
    labels = nearest(problem)
    options = {"reference_labels": labels, "tradeoff": problem.tradeoff, **options}
    options.setdefault("reference_cost", partition_cost(problem.clustered, labels, problem.weight))
    # A cost that is nothing but rounding has no ratio.
    weight = np.ones(len(labels)) if problem.weight is None else problem.weight
    rounding = 1e-24 * weight.sum() * float(np.abs(problem.clustered[weight > 0]).max()) ** 2
    can_be_refined = options["reference_cost"] > rounding and 1 < greedy.n_leaves == len(problem.centers)
    if currently_in_test_context():  # where hypothesis draws the problem
        assume(can_be_refined)
    assert can_be_refined
    return greedy, refine(greedy, unique, n_threads=n_threads, **options)


def figures(problem: Problem, grown: GrownTree) -> tuple[float, float]:
    cost = partition_cost(problem.clustered, grown.labels, problem.weight)
    return (
        cost / partition_cost(problem.clustered, nearest(problem), problem.weight),
        weighted_average_explanation_size(grown.as_tree()),
    )


def assert_refined(problem: Problem, **options) -> Refinement:
    """Refine, and look at everything that is promised."""
    greedy, refinement = refined(problem, **options)
    tree = refinement.tree
    before, after = figures(problem, greedy), figures(problem, tree)
    j_before, j_after = (cost + problem.tradeoff * waes for cost, waes in (before, after))
    weight = np.ones(len(problem.explained)) if problem.weight is None else problem.weight
    # The kernel takes distances to means as they are rounded, in every column by an ulp.
    ulp = np.spacing(float(np.abs(problem.clustered).max()))
    squares = weight.sum() * problem.clustered.shape[1] * ulp**2
    slack = 1e-9 + squares / partition_cost(problem.clustered, nearest(problem), problem.weight)
    assert j_after <= j_before + slack
    assert refinement.before == pytest.approx(before, rel=1e-9, abs=slack)
    assert refinement.after == pytest.approx(after, rel=1e-9, abs=slack)
    assert refinement.objectives[1] <= refinement.objectives[0]

    assert tree.n_leaves == len(problem.centers)
    assert sorted(tree.center[tree.feature == LEAF]) == list(range(len(problem.centers)))
    assert (tree.rows > 0).all()
    for thresholds in (tree.cut, tree.lower, np.nextafter(tree.upper, -np.inf)):
        leaf = np.full(len(weight), LEAF)
        pending = [(0, np.flatnonzero(weight > 0))]
        while pending:
            node, rows = pending.pop()
            assert tree.rows[node] == len(rows)
            assert tree.weight[node] == pytest.approx(weight[rows].sum(), rel=1e-9)
            leaf[rows] = tree.center[node]
            if tree.feature[node] != LEAF:
                left = problem.explained[rows, tree.feature[node]].astype(np.float64) <= thresholds[node]
                pending += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        assert np.array_equal(leaf, tree.labels)
    return refinement


def partitions_alike(one: np.ndarray, two: np.ndarray) -> bool:
    """Return whether two labellings put the same rows together."""
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


@settings(max_examples=250)
@given(problems(max_rows=60), st.booleans())
def test_a_refined_tree_is_never_behind_the_greedy_one(problem, moves):
    assert_refined(problem, moves_leaves=moves)


@some
@given(problems(), st.sampled_from([2, 7]))
def test_refining_is_deterministic_and_threads_change_nothing(problem, n_threads):
    one, two, three = refined(problem), refined(problem), refined(problem, n_threads)
    assert_same(one[1].tree, two[1].tree)
    assert_same(one[1].tree, three[1].tree)


def clustered_table(n_rows: int, k: int, seed: int = 0, n_columns: int = 4, spread: float = 3.0) -> Problem:
    """Return a table of overlapping blobs with k-means centers."""
    X = blobs(np.random.default_rng(seed), n_rows, n_columns, max(k, 2), spread)
    centers = KMeans(k, n_init=1, max_iter=20, random_state=0).fit(X[:5000]).cluster_centers_
    return Problem(X, X, centers, centers, None, 0.03)


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("tradeoff", [0.0, 0.03, 1.0])
def test_refining_pays(k, tradeoff):
    refinement = assert_refined(replace(clustered_table(2000, k), tradeoff=tradeoff))
    assert refinement.n_sampled == 2000
    if k == 20 and tradeoff < 1:
        before, after = refinement.objectives
        assert after < 0.995 * before


@pytest.mark.parametrize("n_rows", [5000, 7000, 40_000])
def test_threads_change_nothing_whatever_is_sampled(n_rows):
    problem = clustered_table(n_rows, 12)
    refinement = assert_refined(problem)
    assert (refinement.n_sampled == n_rows) == (n_rows <= 5120)
    assert refinement.objectives[1] < refinement.objectives[0]
    for n_threads in (2, 7) if n_rows > 10_000 else (2,):
        assert_same(refinement.tree, refined(problem, n_threads)[1].tree)


@some
@given(problems(), seeds)
def test_a_row_of_weight_three_is_three_equal_rows_when_refined(problem, seed):
    assert_weight_repeats(whole_weights(problem, np.random.default_rng(seed)))


def test_a_row_of_weight_three_is_three_equal_rows_in_a_sample():
    assert_weight_repeats(whole_weights(clustered_table(8000, 8), np.random.default_rng(0)))


def assert_weight_repeats(problem: Problem) -> None:
    _, weighted = refined(problem)
    cost = partition_cost(problem.clustered, nearest(problem), problem.weight)
    _, again = refined(repeated_rows(problem, problem.explained is problem.clustered), reference_cost=cost)
    labels = np.repeat(weighted.tree.labels, problem.weight.astype(int))
    assert partitions_alike(labels, again.tree.labels)


@some
@given(problems(), seeds)
def test_rows_of_no_weight_might_as_well_not_be_there_when_refined(problem, seed):
    problem = whole_weights(problem, np.random.default_rng(seed))  # the sum of others rounds with the rows in between
    tree = refined(problem)
    present = problem.weight > 0
    explained = problem.explained[present]
    clustered = explained if problem.clustered is problem.explained else problem.clustered[present]
    cost = partition_cost(problem.clustered, nearest(problem), problem.weight)
    without = replace(problem, explained=explained, clustered=clustered, weight=problem.weight[present])
    assert_same(
        tree[1].tree, refined(without, reference_cost=cost)[1].tree, ("feature", "center", "lower", "upper", "rows")
    )
    assert (tree[1].tree.labels[~present] == LEAF).all()


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
    single = problem.explained.astype(np.float32)
    expected = replace(problem, explained=single.astype(np.float64), clustered=single.astype(np.float64))
    expected = replace(expected, clustered=expected.explained)
    X = layout(single)
    X.flags.writeable = False
    cost = partition_cost(expected.clustered, nearest(expected))
    found = refined(replace(problem, explained=X, clustered=X), reference_cost=cost)
    assert_same(refined(expected, reference_cost=cost)[1].tree, found[1].tree)


@pytest.mark.parametrize("n_rows", [1500, 8000])
@pytest.mark.parametrize("moves", [False, True])
def test_only_the_order_of_explained_values_matters_when_refined(n_rows, moves):
    # In the first round: later ones start from means, which lie elsewhere in columns that are bent.
    problem = clustered_table(n_rows, 10, seed=3)
    problem = replace(problem, clustered=problem.explained.copy())
    bent = replace(problem, explained=np.exp(problem.explained / 3), explained_centers=np.exp(problem.centers / 3))
    one, two = (refined(p, moves_leaves=moves, round_factors=ROUND_FACTORS[:1])[1] for p in (problem, bent))
    assert one.objectives[1] < one.objectives[0]
    assert_same(one.tree, two.tree, ("feature", "left", "right", "center", "rows", "labels"))


def test_a_cluster_of_one_row_is_sampled():
    problem = clustered_table(20_000, 6)
    X = problem.explained.copy()
    X[777] = 500.0
    centers = np.vstack([problem.centers, X[777]])
    refinement = assert_refined(replace(problem, explained=X, clustered=X, explained_centers=centers, centers=centers))
    labels = refinement.tree.labels
    assert np.count_nonzero(labels == labels[777]) == 1
    assert refinement.n_sampled < 6000


def test_sentinel_values_hide_no_gain():
    random = np.random.default_rng(0)
    X = blobs(random, 3000, 4, 8, 3.0)
    X[:5, 0] = 999_999_999
    centers = np.vstack([KMeans(8, n_init=1, random_state=0).fit(X[5:]).cluster_centers_, X[0]])
    refinement = assert_refined(Problem(X, X, centers, centers, None, 0.03))
    assert refinement.objectives[1] < 0.998 * refinement.objectives[0]


def test_of_many_clusters_the_greedy_tree_is_improved():
    problem = clustered_table(4000, MAX_LOOKAHEAD_CLUSTERS + 12)
    refinement = assert_refined(problem)
    assert refinement.n_sampled == 0
    assert f"over {MAX_LOOKAHEAD_CLUSTERS} clusters" in refinement.summary()
    assert refinement.objectives[1] < refinement.objectives[0]


@pytest.fixture(scope="module")
def large() -> Problem:
    """A table so large that every step reports."""
    return clustered_table(20_000, 12, n_columns=60, spread=6.0)


def test_refining_reports_how_far_it_is(large):
    shares: list[float] = []
    refined(large, progress=shares.append)
    assert len(shares) >= 5
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1


@pytest.mark.parametrize("call", [1, 4])
def test_what_a_report_raises_ends_refining(large, call):
    calls = []

    def refuse_once(done: float) -> None:
        calls.append(done)
        if len(calls) == call:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        refined(large, progress=refuse_once)
    assert len(calls) == call


# The estimator.


def objective(model: ExplainableKMeans) -> float:
    return model.normalized_cost_ + model.tradeoff * model.waes_


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return load_digits().data[:900, 2::3]


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


def test_a_report_that_raises_ends_a_fit_inside_refining(large):
    model = ExplainableKMeans(clusterer=large.centers)
    said = []

    def on_progress(done: float) -> None:
        said.append(done)
        if done > 0.6:
            raise RuntimeError("enough")

    model.on_progress = on_progress
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(large.explained)
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
