"""The trees of several trade-offs: each is the tree that is grown alone."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from growths import EVERYTHING, assert_same, grow, grow_path
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems
from tables import blobs

some = draws(150)


@some
@given(problems(), st.lists(st.sampled_from([0.0, 1e-3, 0.03, 0.3, 1.0, 10.0]), min_size=1, max_size=6))
def test_a_path_is_the_tree_of_each_tradeoff(problem, tradeoffs):
    path = grow_path(*problem.arrays, weight=problem.weight, tradeoffs=tradeoffs)
    for tradeoff, tree in zip(tradeoffs, path, strict=True):
        assert_same(tree, grow(*problem.arrays, weight=problem.weight, tradeoff=tradeoff))
    for i, one in enumerate(path):
        for two in path[:i]:
            equal = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in EVERYTHING)
            assert equal == (one is two)


def test_what_progress_raises_ends_a_path():
    X = blobs(np.random.default_rng(3), 200_000, 12, 20, 3.0)

    def refuse(done):
        assert 0 < done <= 1
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        grow_path(X, X, X[:20].copy(), X[:20].copy(), tradeoffs=[0.0, 0.03], n_threads=2, progress=refuse)
