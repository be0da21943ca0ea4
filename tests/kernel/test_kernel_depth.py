"""EvalWAD: the definition, and the values of the paper."""

from __future__ import annotations

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallowrules._kernel import eval_wad


@pytest.mark.parametrize(("share", "depth"), [(0.5, 2.0), (0.25, 2.3125)])
def test_eval_wad_has_the_papers_two_values(share, depth):
    assert eval_wad(4, int(4 * share), share) == depth


@given(st.integers(2, 300).flatmap(lambda k: st.tuples(st.just(k), st.integers(1, k - 1))), st.floats(0, 1))
def test_eval_wad_is_the_definition(sizes, share):
    assert eval_wad(*sizes, share) == pytest.approx(float(oracle.eval_wad(*sizes, share)), rel=1e-12)


@pytest.mark.parametrize("n_left", [0, 4])
def test_eval_wad_wants_a_center_on_each_side(n_left):
    with pytest.raises(ValueError, match="each side"):
        eval_wad(4, n_left, 0.5)
