"""Improving, perturbing and looking ahead in the kernel: against brute force, and against their starting trees."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from draws import draws, few
from finished import Finished, Recut
from growths import grow, unique_rows
from hypothesis import given
from hypothesis import strategies as st
from oracle import LEAF
from strategies import Problem, problems
from tables import blobs, one_space

from shallowrules._kernel import CodedRows, encode, grow_ahead, improve_tree, perturb_tree, row_keys
from shallowrules.trees.grown_tree import preordered, tree_with_rows

MIN_GAIN = 1e-9
"""Of the objective: less is not worth a change."""

some = draws(60)
seeds = st.integers(0, 2**32 - 1)


# Improving a finished tree.


def random_tree(random: np.random.Generator, columns: np.ndarray, n_leaves: int) -> dict[str, np.ndarray]:
    """Return a tree of random cuts, every leaf with rows; it has fewer leaves where no more cuts were found.

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


def finished(tree: dict[str, Any], columns, points, weight, condition_penalty) -> Finished:
    return Finished(
        *(tree[name] for name in ("feature", "left", "right", "cut")),
        columns.astype(np.float64), points.astype(np.float64), weight, condition_penalty, tree.get("root", 0),
    )  # fmt: skip


def coded(like: Finished, ranks: int = 512) -> CodedRows:
    """Return the rows of a tree of the oracle for the kernel."""
    rows = np.arange(len(like.columns), dtype=np.int32)
    codes, _, _, single_valued, _ = encode(like.columns, rows, like.columns[:1], 1, ranks=ranks)
    weight = None if (like.weight == 1).all() else like.weight
    return CodedRows(like.columns, like.points, rows, weight, np.ascontiguousarray(codes.T), single_valued)


def improved(
    tree: dict[str, np.ndarray], like: Finished, *, max_passes: float = 1e9, moves: bool = False, ranks: int = 512,
    n_threads: int = 1, progress: Callable[[float], None] | None = None,
) -> tuple[dict[str, Any], Finished]:  # fmt: skip
    found = improve_tree(
        coded(like, ranks), tree, condition_penalty=like.condition_penalty, max_passes=max_passes, moves_leaves=moves,
        n_threads=n_threads, progress=progress,
    )  # fmt: skip
    return found, finished(found, like.columns, like.points, like.weight, like.condition_penalty)


def candidates(cuts: list[Recut]) -> list[Recut]:
    """Return the cuts that are tried: the best of each feature and orientation, and of these the best four."""
    best: dict[tuple[int, bool], Recut] = {}
    for cut in sorted(cuts):
        best.setdefault((cut.feature, cut.swapped), cut)
    return sorted(best.values())[:4]


@draws(200)
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


@draws(200)
@given(seeds, st.booleans())
def test_no_cut_of_an_improved_tree_could_be_better(seed, moves):
    tree, before = a_finished_tree(seed)
    _, after = improved(tree, before, moves=moves)
    min_gain = before.objective * MIN_GAIN
    for node in after.inner:
        current, cuts = after.recut_costs(node)
        for cut in candidates(cuts):
            assert not cut.whole or cut.objective > current - 1.01 * min_gain - 1e-12, (node, cut)


@some
@given(seeds)
def test_no_leaf_of_an_improved_tree_is_better_elsewhere(seed):
    tree, before = a_finished_tree(seed, max_rows=16)  # few enough rows that a leaf is cut between any two values
    _, after = improved(tree, before, moves=True)
    border = after.objective - 1.01 * before.objective * MIN_GAIN - 1e-12
    assert all(other.objective > border for other in after.moved())


@draws(200)
@given(seeds)
def test_the_first_step_is_the_best_cut_of_a_node(seed):
    tree, before = a_finished_tree(seed)
    _, after = improved(tree, before, max_passes=1e-9)
    node = max(before.inner)  # the deepest ones come first
    current, cuts = before.recut_costs(node)
    wanted = [
        cut for cut in candidates(cuts) if cut.whole and cut.objective < current - before.objective * MIN_GAIN - 1e-12
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
    # A row far away takes up the digits of a sum that the costs of the others need.
    tree, before = a_finished_tree(seed, far=far)
    objective = before.objective
    for max_passes in (1e-9, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 1000):
        found, after = improved(tree, before, max_passes=max_passes, moves=moves)
        assert after.objective <= objective * (1 + 1e-12)
        objective = after.objective
    assert not found["ended"]


def test_rounding_does_not_make_improving_go_on_for_ever():
    # The leaves cost nothing, and cutting them elsewhere changes the cost by a rounding error alone.
    columns = np.arange(30.0)[:, None] % 3
    points = columns * 0.1
    tree = random_tree(np.random.default_rng(0), columns, 3)
    found, _ = improved(tree, finished(tree, columns, points, np.full(30, 0.7), 0.0))
    assert found["after"][0] == pytest.approx(0, abs=1e-25)
    assert not found["ended"]


@draws(100)
@given(seeds, st.sampled_from([2, 3, 5]))
def test_wide_bins_are_searched_inside(seed, ranks):
    random = np.random.default_rng(seed)
    columns = random.normal(size=(60, 2))
    tree = random_tree(random, columns, 2)
    before = finished(tree, columns, columns, np.ones(60), 0.05)
    _, after = improved(tree, before, max_passes=1e-9, ranks=ranks)
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
def test_of_many_features_a_leaf_is_cut_by_the_one_that_separates_its_groups(by):
    # Three groups, two of which share a leaf; the third has two leaves, separated by noise. Only a move repairs that.
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


@pytest.mark.parametrize(("n_rows", "n_columns"), few([(100_000, 4), (9_000, 40)]))
def test_threads_share_a_node_and_change_nothing(n_rows, n_columns):
    random = np.random.default_rng(0)
    columns = blobs(random, n_rows, n_columns, 8, 3.0)
    tree = random_tree(random, columns, 8)
    like = finished(tree, columns, columns, random.choice([1.0, 2.5], len(columns)), 0.3)
    one, _ = improved(tree, like, moves=True, max_passes=30)
    for n_threads in (2, 7):
        other, _ = improved(tree, like, moves=True, max_passes=30, n_threads=n_threads)
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert one["after"] < one["before"]


def refuse(done: float) -> None:
    assert 0 < done <= 1
    raise RuntimeError("enough")


def interrupt(done: float) -> None:
    signal.raise_signal(signal.SIGINT)


ends = pytest.mark.parametrize(("progress", "raised"), [(refuse, RuntimeError), (interrupt, KeyboardInterrupt)])


@ends
def test_what_progress_raises_ends_improving(progress, raised):
    random = np.random.default_rng(0)
    columns = random.normal(size=(20_000, 30))
    tree = random_tree(random, columns, 16)
    with pytest.raises(raised):
        improved(tree, finished(tree, columns, columns, np.ones(len(columns)), 0.0), progress=progress)


# Perturb and repair.


def perturbed(
    tree: dict[str, np.ndarray], like: Finished, seed: int, *, max_passes: float = 60, moves: bool = True,
    n_trees: int = 3, progress: Callable[[float], None] | None = None, **settings: float,
) -> list[tuple[dict[str, Any], Finished]]:  # fmt: skip
    settings = {"leaf_share": 0.5, "min_step": 1e-4, "max_rise": 0.1} | settings
    found = perturb_tree(
        coded(like), tree, condition_penalty=like.condition_penalty, max_passes=max_passes, moves_leaves=moves,
        seed=seed, settings=tuple(settings.values()), n_trees=n_trees, progress=progress,
    )  # fmt: skip
    return [(one, finished(one, like.columns, like.points, like.weight, like.condition_penalty)) for one in found]


@draws(200)
@given(seeds, st.booleans(), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.01, 0.1, 10.0]))
def test_perturbed_trees_have_the_figures_they_claim_and_all_their_leaves(seed, moves, leaf_share, max_rise):
    tree, before = a_finished_tree(seed)
    objective = before.objective
    for found, after in perturbed(tree, before, seed, moves=moves, leaf_share=leaf_share, max_rise=max_rise):
        assert found["before"] == pytest.approx(before.figures(), rel=1e-10, abs=1e-12)
        assert found["after"] == pytest.approx(after.figures(), rel=1e-10, abs=1e-12)
        assert after.objective <= objective * (1 + 1e-12)
        objective = after.objective
        leaves = after.leaves()
        assert set(after.route()) == set(leaves)
        assert sorted(found["center"][leaves]) == sorted(tree["center"][tree["feature"] == LEAF])


@draws(200)
@given(seeds, st.booleans(), st.sampled_from([0.0, 0.5, 1.0]))
def test_what_is_put_back_is_as_it_was(seed, moves, leaf_share):
    # No change is small enough to be repaired. In the end the tree is improved with all that is known of it: of its
    # rows, their order and distances, and of what leaf moves would gain. A single bit that differs shows.
    tree, before = a_finished_tree(seed, max_rows=80)
    [(one, _)], [(other, _)], [(third, _)] = (
        perturbed(
            tree, before, seed + i, max_passes=max_passes, moves=moves, n_trees=1, leaf_share=leaf_share, max_rise=-2.0
        )
        for i, max_passes in enumerate((100, 200, 300))
    )
    for name in one:
        assert np.array_equal(one[name], other[name]), name
        assert np.array_equal(one[name], third[name]), name


@some
@given(seeds, st.booleans())
def test_no_cut_and_no_leaf_move_makes_a_perturbed_tree_better(seed, moves):
    tree, before = a_finished_tree(seed, max_rows=16)  # few enough rows that a leaf is cut between any two values
    found, after = perturbed(tree, before, seed, moves=moves, max_passes=1000)[-1]
    again, _ = improved(found, after, moves=moves)
    assert again["after"] == pytest.approx(found["after"], rel=1e-9, abs=1e-12)


@some
@given(seeds)
def test_perturbing_is_the_same_for_the_same_seed_and_no_worse_than_improving(seed):
    tree, before = a_finished_tree(seed, max_rows=60)
    (one, _), (two, _) = (perturbed(tree, before, 5, n_trees=1)[0] for _ in range(2))
    assert_equal_trees(one, two)
    start, _ = perturbed(tree, before, 5, n_trees=1, max_rise=-2.0)[0]
    assert sum(np.array(one["after"]) * (1, before.condition_penalty)) <= (1 + 1e-9) * sum(
        np.array(start["after"]) * (1, before.condition_penalty)
    )


def test_perturbing_finds_what_improving_does_not():
    random = np.random.default_rng(4)
    columns = blobs(random, 600, 5, 10, 3.0)
    better = 0
    for _ in range(5):
        tree = random_tree(random, columns, 10)
        before = finished(tree, columns, columns, np.ones(600), 0.3)
        improvement, _ = improved(tree, before, moves=True)
        better += perturbed(tree, before, 1, max_passes=200)[-1][1].objective < 0.995 * (
            improvement["after"][0] + 0.3 * improvement["after"][1]
        )
    assert better >= 3


@ends
def test_what_progress_raises_ends_perturbing(progress, raised):
    random = np.random.default_rng(0)
    columns = random.normal(size=(4000, 30))
    tree = random_tree(random, columns, 16)
    like = finished(tree, columns, columns, np.ones(len(columns)), 0.0)
    with pytest.raises(raised):
        perturbed(tree, like, 0, max_passes=1e9, progress=progress)


def test_keys_of_rows_tell_their_values_and_nothing_else():
    random = np.random.default_rng(0)
    X = random.integers(0, 9, size=(40_000, 5)).astype(np.float32)
    rows = np.flatnonzero(random.random(len(X)) < 0.9).astype(np.int32)
    keys = row_keys(X, rows, 1)
    assert np.array_equal(keys, row_keys(X.astype(np.float64), rows, 2))
    assert np.array_equal(keys, row_keys(np.asfortranarray(np.where(X == 0, -0.0, X)), rows, 7))
    n_values = len(np.unique(X[rows], axis=0))
    assert len(np.unique(keys)) == n_values == len(np.unique(np.column_stack([keys, X[rows]]), axis=0))
    assert abs(np.mean(keys < np.uint64(1 << 63)) - 0.5) < 0.01


# Looking ahead.


def look_ahead(
    problem: Problem, penalty: float, levels=2, width=4, max_work=1e18, **options
) -> tuple[dict[str, Any], Finished]:
    merged = unique_rows(*problem.arrays, weight=problem.weight)
    weight = np.ones(len(merged.first)) if merged.weight is None else merged.weight
    columns, points = problem.X_explain[merged.first], problem.X_cluster[merged.first]
    unique = unique_rows(columns, points, *problem.arrays[2:], weight=weight)
    options = {"n_threads": 1, **options}
    nodes = grow_ahead(unique.kernel_input(), problem.tradeoff, (levels, width, penalty, max_work), **options)
    tree = vars(preordered(nodes)) | {"rows": tree_with_rows(nodes, unique).rows}
    return tree, finished(tree, columns, points, weight, penalty)


def variance_of(problem: Problem) -> float:
    """Return the variance of the points: the unit of the penalty of a condition."""
    weight = np.ones(len(problem.X_cluster)) if problem.weight is None else problem.weight
    points = problem.X_cluster.astype(np.float64)
    squares = (points - np.average(points, axis=0, weights=weight)) ** 2
    return float(np.average(squares.sum(axis=1), weights=weight))


@draws(300)
@given(problems(), st.sampled_from([1, 2, 3]), st.sampled_from([2, 4, 7]), st.sampled_from([0.0, 1e-3, 0.03, 1.0]))
def test_looking_ahead_finds_no_worse_tree(problem, levels, width, share):
    penalty = share * variance_of(problem)
    (one, first), (several, best) = (look_ahead(problem, penalty, levels, w) for w in (1, width))
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
    (_, first), (_, best) = (look_ahead(problem, 0.3, width=width) for width in (1, 4))
    assert best.objective < 0.99 * first.objective


def assert_equal_trees(one: dict[str, Any], two: dict[str, Any]) -> None:
    for name in one:
        assert np.array_equal(one[name], two[name]), name


@some
@given(problems())
def test_looking_ahead_without_work_left_is_a_width_of_one(problem):
    penalty = 0.03 * variance_of(problem)
    assert_equal_trees(look_ahead(problem, penalty, max_work=0.0)[0], look_ahead(problem, penalty, width=1)[0])


@pytest.mark.slow
@pytest.mark.parametrize("kept_distances", [0, 3, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_looking_ahead_is_the_same_with_distances_kept(kept_distances, weighted):
    random = np.random.default_rng(5)
    problem = one_space(blobs(random, 1500, 5, 20, 3.0), 40, random)
    if weighted:
        problem = replace(problem, weight=random.choice([0.5, 1.0, 3.0], 1500))
    expected = look_ahead(problem, 0.5)[0]
    found, _ = look_ahead(problem, 0.5, kept_distances=kept_distances)
    assert_equal_trees(expected, found)


def test_looking_ahead_counts_rows_too_far_for_the_bounds():
    random = np.random.default_rng(20)
    problem = one_space(np.exp(4 * random.normal(size=(4000, 4))), 30, random)
    _, ahead = look_ahead(problem, 0.0, width=1, ranks=4000)  # a bin for each value, as if no bin had to be opened
    tree = grow(*problem.arrays)
    weight = np.ones(len(problem.X_cluster))
    greedy = finished(vars(tree), problem.X_explain, problem.X_cluster, weight, 0.0)
    assert ahead.objective == pytest.approx(greedy.objective, rel=1e-3)


@pytest.mark.slow
def test_threads_change_nothing_in_looking_ahead():
    random = np.random.default_rng(3)
    problem = one_space(blobs(random, 40_000, 3, 6, 3.0), 6, random)
    expected = look_ahead(problem, 0.3)[0]
    for n_threads in (2, 7):
        for kept in (0, 6):
            assert_equal_trees(expected, look_ahead(problem, 0.3, n_threads=n_threads, kept_distances=kept)[0])


@ends
def test_what_progress_raises_ends_looking_ahead(progress, raised):
    random = np.random.default_rng(3)
    problem = one_space(blobs(random, 6000, 20, 12, 3.0), 12, random)
    with pytest.raises(raised):
        look_ahead(problem, 0.3, progress=progress)
