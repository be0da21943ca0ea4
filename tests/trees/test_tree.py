"""The tree's arrays: figures derived from them, and where they send rows."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rulesets import rule_sets

from shallowrules.rules import Cut, RuleSet
from shallowrules.trees.tree import LEAF, Tree, compare

BIG = 2**53


def make_tree(nodes: list[tuple[int, float, int, int, int]]) -> Tree:
    """Return a tree from (feature, threshold, left, right, cluster) per node."""
    feature, threshold, left, right, cluster = zip(*nodes, strict=True)
    return Tree(
        np.array(feature, np.int32),
        np.array(threshold, np.float64),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(cluster, np.int32),
        np.arange(len(nodes), 0, -1).astype(np.int64),
        np.arange(len(nodes), 0, -1).astype(np.float64),
    )


# x0 <= 0.5: cluster 2; else x1 <= -1: cluster 0; else x0 <= 3: cluster 1; else cluster 2.
INNER = ((0, 0.5, 1, 2, -1), (1, -1.0, 3, 4, -1), (0, 3.0, 5, 6, -1))
LEAVES = [(-1, 0.0, -1, -1, cluster) for cluster in (2, 0, 1, 2)]
TREE = make_tree([INNER[0], LEAVES[0], INNER[1], LEAVES[1], INNER[2], LEAVES[2], LEAVES[3]])
STUMP = make_tree([(-1, 0, -1, -1, 3)])


def test_it_counts_its_nodes():
    assert (TREE.n_nodes, TREE.n_leaves, TREE.max_depth) == (7, 4, 3)
    assert TREE.leaves.tolist() == [1, 3, 5, 6]
    assert TREE.depth.tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert repr(TREE) == "Tree(4 leaves, depth 3)"


def test_explanation_size_counts_a_feature_and_direction_once():
    # Node 5: x0 > 0.5, x1 > -1, x0 <= 3. Node 6: x0 > 3, x1 > -1, the first condition being redundant.
    assert TREE.explanation_size.tolist() == [0, 1, 1, 2, 2, 3, 2]


def test_a_single_leaf_takes_every_row():
    assert (STUMP.n_leaves, STUMP.max_depth, STUMP.explanation_size.tolist()) == (1, 0, [0])
    assert STUMP.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]
    assert STUMP.predict(np.full((2, 1), np.nan)).tolist() == [3, 3]


def test_rows_on_a_threshold_go_left():
    X = [[0.5, 9.0], [math.nextafter(0.5, 1), -1.0], [3.0, 0.0], [math.nextafter(3.0, 4), 0.0]]
    assert TREE.apply(X).tolist() == [1, 3, 5, 6]
    assert TREE.predict(X).tolist() == [2, 0, 1, 2]
    assert TREE.predict(X).dtype == TREE.apply(X).dtype == np.int32


def test_infinity_is_a_number_like_any_other():
    assert TREE.predict([[-np.inf, 0.0], [np.inf, np.inf], [1.0, -np.inf]]).tolist() == [2, 2, 0]


def test_a_missing_value_matters_only_where_it_is_tested():
    X = [[np.nan, 0.0], [0.0, np.nan], [1.0, np.nan], [np.nan, np.nan]]
    assert TREE.apply(X).tolist() == [-1, 1, -1, -1]
    assert TREE.predict(X).tolist() == [-1, 2, -1, -1]


def test_no_rows_give_no_labels():
    assert TREE.predict(np.empty((0, 2))).tolist() == []


def test_float32_rows_are_widened_and_the_threshold_is_not_narrowed():
    tree = make_tree([(0, 0.1, 1, 2, -1), (-1, 0, -1, -1, 0), (-1, 0, -1, -1, 1)])
    value = np.float32(0.1)  # above 0.1 in float64, equal to it in float32
    assert float(value) > 0.1
    assert tree.predict(np.array([[value]])).tolist() == [1]
    assert tree.predict(np.array([[np.float16(0.1)]])).tolist() == [0]


def test_whole_numbers_beyond_the_floats_keep_their_neighbours():
    tree = make_tree([(0, float(BIG), 1, 2, -1), (-1, 0, -1, -1, 0), (-1, 0, -1, -1, 1)])
    assert tree.predict(np.array([[BIG], [BIG + 1], [-BIG - 1]])).tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64, np.bool_])
@pytest.mark.parametrize(
    "bound", [-1e300, -300.0, -1.0, -0.5, 0.0, 0.5, 1.0, 127.0, 254.5, 255.0, 1e18, 2.0**64, 1e300]
)
def test_whole_numbers_of_every_type_compare_with_every_bound(dtype, bound):
    extremes = [0, 1] if dtype is np.bool_ else [np.iinfo(dtype).min, 0, 1, 100, np.iinfo(dtype).max]
    values = np.array(extremes, dtype=dtype)
    below, above = compare(values, bound)
    assert below.tolist() == [value <= bound for value in extremes]
    assert above.tolist() == [value > bound for value in extremes]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**63), 2**63 - 1) | st.floats(-1e19, 1e19)
)
def test_comparing_is_exact_for_integers(values, bound):
    below, above = compare(np.array(values, dtype=np.int64), bound)
    assert below.tolist() == [value <= bound for value in values]
    assert (below ^ above).all()


@given(
    st.lists(st.floats(width=32) | st.sampled_from([np.float32(0.1), np.float32(1e-45)]), min_size=1),
    st.floats(allow_nan=False) | st.integers(-(2**70), 2**70),
    st.sampled_from([np.float32, np.float64]),
)
def test_comparing_is_exact_for_floats_and_false_for_nan(values, bound, dtype):
    array = np.array(values, dtype=dtype)
    below, above = compare(array, bound)
    assert below.tolist() == [float(value) <= bound for value in array]
    assert above.tolist() == [float(value) > bound for value in array]


def random_tree(random: np.random.Generator, n_columns: int, n_leaves: int) -> Tree:
    """Return a tree with cuts on whole and half numbers, in pre-order."""
    nodes: list[tuple[int, float, int, int, int]] = []

    def add(size: int) -> int:
        index = len(nodes)
        nodes.append((LEAF, 0.0, LEAF, LEAF, int(random.integers(5))))
        if size > 1:
            part = int(random.integers(1, size))
            cut = int(random.integers(n_columns)), float(random.integers(-6, 7)) / 2
            nodes[index] = (*cut, add(part), add(size - part), LEAF)
        return index

    add(n_leaves)
    return make_tree(nodes)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([np.float64, np.float32, np.int64, np.int8]))
def test_rows_go_where_a_walk_takes_them(seed, n_leaves, dtype):
    random = np.random.default_rng(seed)
    tree = random_tree(random, 3, n_leaves)
    X = (random.integers(-8, 9, size=(40, 3)) / (2 if dtype in (np.float64, np.float32) else 1)).astype(dtype)
    for row, leaf in zip(X, tree.apply(X), strict=True):
        node = 0
        while tree.feature[node] != LEAF:
            node = (tree.left if row[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
        assert node == leaf
    assert np.array_equal(tree.predict(X), tree.cluster[tree.apply(X)])


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_depth_and_explanation_size_are_those_of_the_paths(seed, n_leaves):
    tree = random_tree(np.random.default_rng(seed), 3, n_leaves)
    paths: dict[int, list[tuple[int, bool]]] = {0: []}
    for node in range(tree.n_nodes):
        if tree.feature[node] != LEAF:
            for child, left in ((tree.left[node], True), (tree.right[node], False)):
                paths[int(child)] = [*paths[node], (int(tree.feature[node]), left)]
    assert tree.depth.tolist() == [len(paths[node]) for node in range(tree.n_nodes)]
    assert tree.explanation_size.tolist() == [len(set(paths[node])) for node in range(tree.n_nodes)]


def as_tree(rules: RuleSet) -> Tree:
    return make_tree(
        [
            (node.column, node.threshold, node.left, node.right, LEAF)
            if isinstance(node, Cut)
            else (LEAF, 0.0, LEAF, LEAF, node.cluster)
            for node in rules.nodes
        ]
    )


@given(rule_sets(floats=st.integers(-8, 8).map(lambda i: i / 4)), st.integers(0, 2**32 - 1), st.booleans())
def test_rules_over_the_same_cuts_assign_what_the_tree_predicts(rules, seed, narrow):
    random = np.random.default_rng(seed)
    X = (random.integers(-80, 80, size=(60, len(rules.columns))) / 4).astype(np.float32 if narrow else np.float64)
    X[random.random(X.shape) < 0.1] = np.nan
    assert np.array_equal(rules.assign(X), as_tree(rules).predict(X))


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))], ids=["copy", "pickle"]
)
def test_a_copy_is_the_same_and_as_frozen(again):
    other = again(TREE)
    assert (other.names, other.classes) == (TREE.names, TREE.classes)
    for name in set(Tree.__dataclass_fields__) - {"names", "classes"}:
        assert np.array_equal(getattr(TREE, name), getattr(other, name))
        with pytest.raises(ValueError, match="read-only"):
            getattr(other, name)[0] = 1


def test_nothing_can_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TREE.threshold[0] = 1.0
    with pytest.raises(AttributeError):
        TREE.threshold = np.zeros(7)
