"""IMM: the kernel against the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from growths import check, own_centers
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems

many = draws(1500)
some = draws(150)


@many
@given(problems())
def test_every_choice_of_imm_is_the_oracles(problem):
    check(problem, method="imm", **own_centers(problem))


@pytest.mark.slow
@some
@given(problems(max_rows=200, max_columns=3, max_centers=24))
def test_every_choice_of_imm_is_the_oracles_with_many_centers(problem):
    check(problem, method="imm", **own_centers(problem))


@pytest.mark.slow
@many
@given(problems(), st.integers(0, 2**32 - 1))
def test_imm_minds_given_labels(problem, seed):
    labels = np.random.default_rng(seed).integers(len(problem.centers), size=len(problem.X_explain))
    check(problem, method="imm", assigned=labels.astype(np.int32))


def test_of_equally_near_centers_imm_assigns_the_first():
    # The middle row goes with the center that is named first; else no cut would part both from it alike.
    X = np.array([[0.0], [5.0], [10.0]])
    for centers, labels in ((X[[0, 2]], [0, 0, 1]), (X[[2, 0]], [1, 0, 0])):
        assert check(Problem(X, X, centers, centers, None, 0.0), method="imm").labels.tolist() == labels
