"""How many examples the tests draw, and how many of their cases the quick suite runs: the one place that says so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

SHARES = {"short": 50, "quick": 10, "long": 1}
"""One example in how many is drawn.

``quick`` is the default, in CI too; ``long`` is on request. ``short`` is for `make sanitize SHORT=1`: once the
sanitizers have seen each line at work, more tables tell them little.
"""
DRAWS = os.environ.get("SHALLOWRULES_DRAWS") or "quick"
IS_SHORT = DRAWS == "short"
LEAST = 5


def drawn(count: int, least: int = LEAST) -> int:
    """Return how many of `count` examples are drawn now: hypothesis's, or the seeds of a loop."""
    return max(min(count, least), count // SHARES[DRAWS])


def draws(count: int, **others: Any) -> settings:
    """Return hypothesis's settings for a test that draws `count` examples in a long run."""
    return settings(max_examples=drawn(count), **others)


def few(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Return the cases of a test: the quick suite runs `count` of them, spread over all; the full suite, every one.

    A tuple has the values of several arguments; a case may be a `pytest.param`.
    """
    cases = list(cases)
    quick = _spread(len(cases), count)
    return [_case(case, [] if i in quick else [pytest.mark.slow]) for i, case in enumerate(cases)]


def spread(cases: Iterable[Any], count: int) -> list[Any]:
    """Return `count` cases of a test, spread over all; a long run takes every one."""
    cases = list(cases)
    return cases if DRAWS == "long" else [cases[i] for i in sorted(_spread(len(cases), count))]


def _spread(n_cases: int, count: int) -> set[int]:
    return {round(i * (n_cases - 1) / (count - 1)) for i in range(count)} if count > 1 else {n_cases // 2}


def _case(case: Any, marks: list[pytest.MarkDecorator]) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, *marks], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
