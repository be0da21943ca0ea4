"""ExKMC: the kernel against the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws, spread
from growths import assert_same, check, grow, own_centers
from hypothesis import given
from hypothesis import strategies as st
from strategies import Problem, problems

many = draws(1500)
some = draws(150)


@many
@given(problems(), st.none() | st.integers(0, 6))
def test_every_choice_of_exkmc_is_the_oracles(problem, extra):
    max_leaves = None if extra is None else len(problem.centers) + extra
    check(problem, method="exkmc", max_leaves=max_leaves)


@some
@given(problems(), st.integers(0, 6))
def test_every_choice_of_exkmc_on_imm_is_the_oracles(problem, extra):
    options = {"method": "exkmc", "base": "imm", "max_leaves": len(problem.centers) + extra}
    check(problem, **options, **own_centers(problem))


def test_of_leaves_that_gain_alike_exkmc_splits_the_oldest():
    X = np.array([[0.0], [2.0], [100.0], [102.0]])
    tree = check(Problem(X, X, X, X, None, 0.0), method="exkmc", max_leaves=3)
    assert tree.labels.tolist() == [0, 1, 2, 2]


@some
@given(problems(), st.sampled_from([2, 7]), st.sampled_from(["imm", "exkmc"]))
def test_threads_change_nothing_for_imm_and_exkmc(problem, n_threads, method):
    assert_same(
        grow(*problem.arrays, **problem.options, method=method),
        grow(*problem.arrays, **problem.options, method=method, n_threads=n_threads),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    spread(
        [
            {"method": "imm"},
            {"method": "exkmc"},
            {"method": "exkmc", "max_leaves": 130},
            {"method": "exkmc", "base": "imm", "max_leaves": 130},
        ],
        2,
    ),
    ids=str,
)
def test_every_choice_of_imm_and_exkmc_is_the_oracles_on_tables_of_some_size(table, options):
    own = own_centers(table) if "imm" in options.values() else {}
    alone = check(table, **options, **own)
    assert_same(alone, grow(*table.arrays, **table.options, **options, **own, n_threads=2))
