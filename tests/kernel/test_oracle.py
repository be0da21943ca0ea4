"""The oracle against the definitions word for word, and against trees that are wrong on purpose."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from draws import draws
from hypothesis import HealthCheck, given
from strategies import Problem, problems

few = draws(60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def separate_groups(seed: int = 0) -> Problem:
    """Six separate groups on two columns, where every choice is clear."""
    random = np.random.default_rng(seed)
    centers = random.uniform(-20, 20, size=(6, 2))
    X = centers[random.integers(0, 6, 120)] + random.normal(size=(120, 2))
    return Problem(X, X, centers, centers, None, 0.03)


def grow(problem: Problem):
    return oracle.grow(problem)


def check(tree, problem: Problem) -> None:
    oracle.check_tree(tree, problem)


@pytest.mark.parametrize(("share", "depth"), [(0.5, 2.0), (0.25, 2.3125)])
def test_eval_wad_has_the_papers_two_values(share, depth):
    n_left = int(4 * share)
    assert oracle.eval_wad(4, n_left, share) == depth


@pytest.mark.parametrize(("n_centers", "depth"), [(1, 0), (2, 1)])
def test_eval_wad_of_one_and_two_centers_is_their_depth(n_centers, depth):
    assert oracle.eval_wad(n_centers, 1, 0.3) == depth


def test_a_caterpillar_of_equal_shares_is_as_deep_as_it_is():
    # One center of three leaves at each cut, with 1/3 of the weight: f_3 = 1 + 2/3 f_2.
    assert oracle.eval_wad(3, 1, 1 / 3) == pytest.approx(5 / 3)


@few
@given(problems(max_rows=20))
def test_running_sums_give_the_induced_costs_of_the_definition(problem):
    node = oracle.make_root(*problem.arrays, problem.weight)
    cuts = oracle.candidate_cuts(node)
    literal = [oracle.induced_cost(node, f, t) for f, t in zip(cuts.feature, cuts.threshold, strict=True)]
    assert cuts.induced == pytest.approx(literal, rel=1e-12, abs=0)


def literal_cost(problem: Problem, feature: int, threshold: float) -> float:
    """Row by row and center by center, without a node, a merge or a matrix of distances."""
    weight = np.ones(len(problem.X_explain)) if problem.weight is None else problem.weight
    cost = 0.0
    for row in range(len(problem.X_explain)):
        left = float(problem.X_explain[row, feature]) <= threshold
        nearest = np.inf
        for center, place in zip(problem.centers, problem.explain_centers, strict=True):
            if (place[feature] <= threshold) == left:
                moves = [float(x) - float(c) for x, c in zip(problem.X_cluster[row], center, strict=True)]
                nearest = min(nearest, sum(move * move for move in moves))
        cost += weight[row] * nearest if weight[row] else 0.0
    return cost


@few
@given(problems(max_rows=12, max_columns=3, max_centers=5))
def test_costs_are_those_of_a_double_loop(problem):
    node = oracle.make_root(*problem.arrays, problem.weight)
    cuts = oracle.candidate_cuts(node)
    for feature in range(problem.X_explain.shape[1]):
        mine = cuts.feature == feature
        literal = [literal_cost(problem, feature, threshold) for threshold in cuts.threshold[mine]]
        assert oracle.induced_costs(node, feature, cuts.threshold[mine]) == pytest.approx(literal, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("edges", "saved"),
    [
        ([], 0.0),
        ([(0, True)], 0.25),
        ([(0, False)], 0.75),
        ([(0, True), (0, False)], 1.0),
        ([(1, True), (1, False)], 0.0),
    ],
)
def test_an_edge_again_saves_the_share_of_weight_that_takes_it(edges, saved):
    # Centers at 0 and 10; a row at 4 is cut off from its own: 6 * 6 = 36 for 4 * 4 = 16 beside 1 + 1 + 1.
    X = np.array([[0.0], [4.0], [9.0], [11.0], [10.0], [10.5]])
    centers = np.array([[0.0], [10.0]])
    weight = np.array([2.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    root = oracle.make_root(X, X, centers, centers, weight)
    node = replace(root, edges=frozenset(edges))
    cuts = oracle.candidate_cuts(node)
    assert cuts.threshold.tolist() == [0.0, 4.0, 9.0]
    assert cuts.share_left.tolist() == [0.25, 0.375, 0.5]
    current = 16 + 1 + 1 + 0.25
    assert node.current_cost == current
    price = (current + 36 - 16) / current
    assert oracle.objectives(node, cuts, 0.5)[0] == pytest.approx(price + 0.5 * (1 - saved))


@few
@given(problems(max_rows=12, max_columns=2))
def test_the_candidates_are_all_the_valid_cuts(problem):
    node = oracle.make_root(*problem.arrays, problem.weight)
    cuts = oracle.candidate_cuts(node)
    found = set(zip(cuts.feature.tolist(), cuts.threshold.tolist(), strict=True))
    for feature in range(problem.X_explain.shape[1]):
        values = sorted({*node.columns[:, feature], *node.coordinates[:, feature]})
        for threshold in values:
            sides = [node.child(feature, threshold, left) for left in (True, False)]
            valid = all(len(side.centers) and len(side.weight) >= len(side.centers) for side in sides)
            assert valid == ((feature, threshold) in found)
    order = list(zip(cuts.feature.tolist(), cuts.threshold.tolist(), strict=True))
    assert order == sorted(order)


@few
@given(problems())
def test_a_tree_grown_by_definition_passes(problem):
    check(grow(problem), problem)


def test_equal_rows_merge_and_rows_of_no_weight_leave():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [2.0, 2.0], [9.0, 9.0]])
    node = oracle.make_root(X, X, X[3:], X[3:], np.array([1.0, 2.0, 4.0, 1.0, 0.0]))
    assert node.columns.tolist() == [[0.0, 1.0], [2.0, 2.0]]
    assert node.weight.tolist() == [7.0, 1.0]


def test_rows_equal_in_one_space_only_stay_apart():
    X = np.zeros((2, 1))
    node = oracle.make_root(X, np.array([[0.0], [1.0]]), X[:1], X[:1], None)
    assert len(node.weight) == 2


def test_where_the_node_costs_nothing_a_free_cut_beats_every_other():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    node = oracle.make_root(X, X, X, X, None)
    cuts = oracle.candidate_cuts(node)
    assert (oracle.objectives(node, cuts, 0.03)[cuts.induced == 0] < np.inf).all()


def test_where_no_cut_is_free_the_cheapest_wins():
    # Both rows sit on centers that the other space holds in the opposite order of cost.
    X_explain, points = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [5.0], [1.0]])
    centers, where = np.array([[0.0], [5.0], [1.0]]), np.array([[2.0], [0.0], [1.0]])
    problem = Problem(X_explain, points, where, centers, None, 10.0)
    node = oracle.make_root(*problem.arrays, None)
    cuts = oracle.candidate_cuts(node)
    assert node.current_cost == 0
    assert (cuts.induced > 0).all()
    assert oracle.best(node, cuts, 10.0) == np.argmin(cuts.induced)


def test_a_tie_goes_to_the_first_feature_and_then_the_first_threshold():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 4, axis=0) + np.tile([[0.0], [1e-9]], (4, 1))
    problem = Problem(X, X, X[[0, 4]], X[[0, 4]], None, 0.03)
    tree = grow(problem)
    assert (tree.feature[0], tree.cut[0]) == (0, 1e-9)
    check(tree, problem)
    tree.feature[0] = 1
    with pytest.raises(AssertionError, match="first of a tie"):
        check(tree, problem)


def test_early_leaves_take_the_cheapest_center_and_of_equals_the_first():
    X = np.array([[0.0], [4.0]])
    centers = np.array([[9.0], [3.0], [3.0]])
    problem = Problem(X[[0, 0, 1]], X[[0, 0, 1]], centers, centers, None, 0.03)
    tree = grow(problem)
    assert tree.feature.tolist() == [-1]
    assert tree.center.tolist() == [1]
    check(tree, problem)
    tree.center[0] = 2
    with pytest.raises(AssertionError, match="first of the cheapest"):
        check(tree, problem)
    tree.center[0] = 0
    with pytest.raises(AssertionError, match="not the cheapest"):
        check(tree, problem)


class TestWrongTrees:
    """Each array of a good tree is spoiled in turn: the checker must complain."""

    @pytest.mark.parametrize("seed", range(5))
    def test_a_cut_moved_past_rows(self, seed):
        problem = separate_groups(seed)
        tree = grow(problem)
        for node in np.flatnonzero(tree.feature >= 0):
            for beyond in (tree.upper[node], np.nextafter(tree.lower[node], -np.inf)):
                wrong = copy.deepcopy(tree)
                wrong.cut[node] = beyond
                with pytest.raises(AssertionError):
                    check(wrong, problem)

    def test_the_second_best_cut(self):
        problem = separate_groups()
        tree = grow(problem)
        root = oracle.make_root(*problem.arrays, None)
        cuts = oracle.candidate_cuts(root)
        objective = oracle.objectives(root, cuts, problem.tradeoff)
        second = np.argsort(objective, kind="stable")[1]
        assert objective[second] > objective.min() * (1 + 1e-8)
        tree.feature[0], tree.cut[0] = cuts.feature[second], cuts.threshold[second]
        with pytest.raises(AssertionError, match="node 0 .* chose"):
            check(tree, problem)

    def test_a_cut_that_separates_no_centers(self):
        problem = separate_groups()
        tree = grow(problem)
        tree.cut[0] = -1e3
        with pytest.raises(AssertionError, match="not valid"):
            check(tree, problem)

    def test_a_leaf_made_too_early(self):
        problem = separate_groups()
        tree = grow(problem)
        tree.feature[0] = tree.left[0] = tree.right[0] = -1
        tree.center[0] = 0
        with pytest.raises(AssertionError, match="cuts are valid"):
            check(tree, problem)

    @pytest.mark.parametrize(
        ("array", "message"),
        [("rows", "rows"), ("weight", "weight"), ("lower", "gap"), ("upper", "gap"), ("center", "center")],
    )
    def test_a_wrong_statistic(self, array, message):
        problem = separate_groups()
        tree = grow(problem)
        for node in range(len(tree.feature)):
            if array in ("lower", "upper") and tree.feature[node] < 0:
                continue
            wrong = copy.deepcopy(tree)
            getattr(wrong, array)[node] += 1
            with pytest.raises(AssertionError, match=message):
                check(wrong, problem)

    def test_children_swapped_or_shared(self):
        problem = separate_groups()
        tree = grow(problem)
        swapped, shared = copy.deepcopy(tree), copy.deepcopy(tree)
        swapped.left[0], swapped.right[0] = tree.right[0], tree.left[0]
        shared.right[0] = shared.left[0]
        for wrong in (swapped, shared):
            with pytest.raises(AssertionError):
                check(wrong, problem)

    @few
    @given(problems(max_rows=20))
    def test_any_worse_cut_at_the_root(self, problem):
        node = oracle.make_root(*problem.arrays, problem.weight)
        cuts = oracle.candidate_cuts(node)
        if not len(cuts):
            return
        objective = oracle.objectives(node, cuts, problem.tradeoff)
        for feature, cut, value in zip(cuts.feature, cuts.threshold, objective, strict=True):
            if value > objective.min() * (1 + 1e-8):
                with pytest.raises(AssertionError, match="chose"):
                    oracle.check_cut("root", feature, cut, node, cuts, problem.tradeoff)


# IMM and ExKMC.


def columns_of(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


# Two centers; each has a row that one column alone sends to the other.
CROSSED = np.array([[0.0, 0.0], [1.0, 1.0], [6.0, 2.0], [10.0, 10.0], [9.0, 9.0], [5.0, 9.0]])
CORNERS = np.array([[0.0, 0.0], [10.0, 10.0]])


@pytest.mark.parametrize("heavy", [1.0, 2.5])
def test_mistakes_are_the_weight_separated_from_its_center(heavy):
    weight = np.array([1.0, 1.0, heavy, 1.0, 1.0, 1.0])
    root = oracle.make_root(CROSSED, CROSSED, CORNERS, CORNERS, weight, method="imm")
    assert root.assigned.tolist() == [0, 0, 1, 0, 1, 1]  # in the order of the merged rows
    cuts = oracle.candidate_cuts(root)
    assert list(zip(cuts.feature.tolist(), cuts.threshold.tolist(), strict=True)) == [
        *((0, t) for t in (0.0, 1.0, 5.0, 6.0, 9.0)),
        *((1, t) for t in (0.0, 1.0, 2.0, 9.0)),
    ]
    expected = [1 + heavy, heavy, 1 + heavy, 1, 2, 1 + heavy, heavy, 0, 2]
    assert oracle.mistakes(root, cuts).tolist() == expected
    tree = oracle.grow(Problem(CROSSED, CROSSED, CORNERS, CORNERS, weight, 0.03), method="imm")
    assert (tree.feature[0], tree.cut[0], tree.center.tolist()) == (1, 2.0, [-1, 0, 1])


@few
@given(problems(max_rows=20))
def test_counted_mistakes_are_those_of_a_loop(problem):
    weight = np.arange(1.0, len(problem.X_explain) + 1)
    node = oracle.make_root(*problem.arrays, weight, method="imm")
    cuts = oracle.candidate_cuts(node)
    own = node.coordinates[node.assigned]
    for feature, threshold, found in zip(cuts.feature, cuts.threshold, oracle.mistakes(node, cuts), strict=True):
        separated = [
            w
            for x, c, w in zip(node.columns[:, feature], own[:, feature], node.weight, strict=True)
            if (x <= threshold) != (c <= threshold)
        ]
        assert found == sum(separated)


def test_of_equally_near_centers_a_row_has_the_first():
    root = oracle.make_root(columns_of(0, 5, 10), columns_of(0, 5, 10), *[columns_of(10, 0)] * 2, None, method="imm")
    assert root.assigned.tolist() == [1, 0, 0]


def test_the_first_cut_of_those_with_the_fewest_mistakes_wins_and_mistaken_rows_are_dropped_below():
    X, centers, given = columns_of(0, 1, 2, 3), columns_of(0.5, 2.5), np.array([0, 1, 0, 1], dtype=np.int32)
    root = oracle.make_root(X, X, centers, centers, None, given, "imm")
    cuts = oracle.candidate_cuts(root)
    assert cuts.threshold.tolist() == [0.5, 1.0, 2.0]
    assert oracle.mistakes(root, cuts).tolist() == [1, 2, 1]
    tree = oracle.grow(Problem(X, X, centers, centers, None, 0.03), method="imm", assigned=given)
    assert (tree.cut[0], tree.rows.tolist()) == (0.5, [4, 1, 3])  # the tree routes every row
    below = root.child(0, 0.5, left=False)
    assert (below.columns.ravel().tolist(), below.assigned.tolist()) == ([1.0, 3.0], [0, 0])


def test_a_side_that_lost_rows_to_mistakes_may_have_too_few_for_its_centers():
    # Labels send two of the three rows right of 1.5 to the left; one is left there for two centers.
    X, centers = columns_of(0, 1, 2, 3, 4), columns_of(0, 3, 4)
    given = np.array([0, 0, 0, 0, 2], dtype=np.int32)
    root = oracle.make_root(X, X, centers, centers, None, given, "imm")
    right = root.child(0, 1.0, left=False)
    assert (len(right.weight), len(right.centers), len(oracle.candidate_cuts(right))) == (1, 2, 0)


def test_equal_rows_of_two_labels_are_two_rows():
    X = columns_of(1, 1, 1)
    root = oracle.make_root(X, X, X[:2], X[:2], None, np.array([0, 1, 1], dtype=np.int32), "imm")
    assert (root.weight.tolist(), root.assigned.tolist()) == ([1.0, 2.0], [0, 1])


LINE, STOPS = columns_of(0, 1, 10, 11, 20), columns_of(0.5, 10.5, 20)


def test_surrogate_costs_are_those_of_one_center_a_side():
    root = oracle.make_root(LINE, LINE, STOPS, STOPS, None)
    assert root.center_costs.tolist() == [581.25, 291.25, 942.0]
    cuts = oracle.surrogate_cuts(root)
    assert cuts.threshold.tolist() == [0.0, 1.0, 10.0, 11.0]
    assert cuts.induced.tolist() == [181.25, 91.25, 171.75, 201.0]
    assert oracle.gain(root, cuts) == 200.0


@pytest.mark.parametrize(("max_leaves", "centers"), [(1, [1]), (2, [0, 1]), (3, [0, 1, 2]), (4, [0, 1, 2])])
def test_exkmc_splits_where_it_gains_most_and_stops_where_nothing_gains(max_leaves, centers):
    options = {"method": "exkmc", "max_leaves": max_leaves}
    problem = Problem(LINE, LINE, STOPS, STOPS, None, 0.03)
    tree = oracle.grow(problem, **options)
    assert tree.center[tree.feature == -1].tolist() == centers
    oracle.check_tree(tree, problem, **options)


def test_of_leaves_that_gain_alike_the_oldest_is_split():
    X = columns_of(0, 2, 100, 102)
    tree = oracle.grow(Problem(X, X, X, X, None, 0.03), method="exkmc", max_leaves=3)
    assert tree.cut[tree.feature == 0].tolist() == [2.0, 0.0]
    assert tree.center[tree.feature == -1].tolist() == [0, 1, 2]  # 3 has no leaf, and of 2 and 3, 2 is the first


def test_on_a_base_the_leaves_of_imm_keep_their_center_and_are_split_on():
    # One column, two groups; the right one falls into two halves, nearer to one center than to the other.
    X = columns_of(0, 1, 8, 9, 14, 15)
    centers = columns_of(0.5, 14.5)
    problem, options = Problem(X, X, centers, centers, None, 0.03), {"method": "exkmc", "base": "imm"}
    tree = oracle.grow(problem, max_leaves=2, **options)
    imm = oracle.grow(problem, method="imm")
    for name in ("feature", "cut", "center", "rows"):
        assert np.array_equal(getattr(tree, name), getattr(imm, name))
    given = np.array([0, 0, 0, 0, 0, 1], dtype=np.int32)
    kept = oracle.grow(problem, max_leaves=2, assigned=given, **options)
    assert kept.cut[0] == 14.0
    assert kept.center[kept.feature == -1].tolist() == [0, 1]
    more = oracle.grow(problem, max_leaves=3, assigned=given, **options)
    assert more.cut[more.feature == 0].tolist() == [14.0, 1.0]
    assert more.center[more.feature == -1].tolist() == [0, 1, 1]


METHODS = [
    {"method": "imm"},
    {"method": "exkmc"},
    {"method": "exkmc", "max_leaves": 9},
    {"method": "exkmc", "max_leaves": 9, "base": "imm"},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", METHODS, ids=str)
@few
@given(problems(max_rows=30))
def test_a_tree_grown_by_the_definition_of_a_method_passes(options, problem):
    oracle.check_tree(oracle.grow(problem, **options), problem, **options)


@pytest.mark.parametrize("options", METHODS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_wrong_trees_of_every_method_do_not_pass(options, seed):
    problem = separate_groups(seed)
    tree = oracle.grow(problem, **options)
    for node in range(len(tree.feature)):
        wrong = copy.deepcopy(tree)
        if tree.feature[node] < 0:
            wrong.center[node] = (tree.center[node] + 1) % 6
        else:
            wrong.cut[node] = np.nextafter(tree.lower[node], -np.inf)
        with pytest.raises(AssertionError):
            oracle.check_tree(wrong, problem, **options)


def test_of_leaves_that_tie_the_one_that_waits_may_have_been_first():
    # Leaves 1 and 2 gain alike; what comes of 1 gains more, which a tree that split 2 first could not know.
    tree = SimpleNamespace(
        feature=np.array([0, 0, 0, -1, -1, -1, -1]), left=np.array([1, 3, 5]), right=np.array([2, 4, 6])
    )
    expanded = {0: (9.0, 9.0), 1: (1.0, 4.0), 2: (1.0, 4.0), 3: (2.0, 3.0), 4: (0.0, 0.0), 5: (0.0, 0.0), 6: (0.0, 0.0)}
    oracle.check_order(tree, [0], expanded, 4)
    with pytest.raises(AssertionError, match="should be split"):  # had 2 gained less, 3 would have been before it
        oracle.check_order(tree, [0], {**expanded, 2: (0.5, 4.0)}, 4)


@pytest.mark.parametrize("base", ["none", "imm"])
def test_a_leaf_too_few_or_too_many_is_seen(base):
    X = np.random.default_rng(0).normal(size=(120, 2))
    problem = Problem(X, X, X[:6], X[:6], None, 0.03)
    options = {"method": "exkmc", "base": base}
    trees = {n: oracle.grow(problem, max_leaves=n, **options) for n in (8, 9)}
    for n, other, message in ((9, 8, "should be split"), (8, 9, "were split")):
        oracle.check_tree(trees[n], problem, max_leaves=n, **options)
        with pytest.raises(AssertionError, match=message):
            oracle.check_tree(trees[other], problem, max_leaves=n, **options)
