"""An interrupt at any point of a fit leaves the model as it was, or as it is after the fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import shallowrules
from shallowrules import ExplainableKMeans
from shallowrules.tables.table import Table

PACKAGE = str(Path(shallowrules.__file__).parent)

X = np.column_stack([np.repeat([0.0, 10.0, 20.0], 6) + np.arange(18) / 16, np.arange(18) % 5])
Z = Table.of({"a": X[:, 1], "b": -X[:, 0], "c": X[:, 0] * 2})


@contextmanager
def interrupted_at(moment: int):
    """Raise KeyboardInterrupt at one of the lines of the package that are run, counted from 0; yields their count."""
    lines = [0]

    def local(frame: Any, event: str, argument: Any) -> Callable[..., Any]:
        if event == "line":
            lines[0] += 1
            if lines[0] > moment:
                sys.settrace(None)
                raise KeyboardInterrupt
        return local

    def trace(frame: Any, event: str, argument: Any) -> Callable[..., Any] | None:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def fit_again(model):
    model.fit(Z)


def lines_of_a_fit():
    model = ExplainableKMeans(3, random_state=0).fit(X)
    with interrupted_at(sys.maxsize) as lines:
        fit_again(model)
    return lines[0]


def state(model):
    """Return the content of each attribute of a fit."""
    return {
        "columns": model.n_features_in_,
        "names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "tree": model.tree_.threshold.tolist(),
        "rules": model.rules_.to_json(),
        "centers": model.cluster_centers_.tolist(),
        "reference": model.reference_centers_.tolist(),
        "cost": model.inertia_,
        "others": (model.n_leaves_, model.wad_, model.waes_, model.normalized_cost_, model.classes_.tolist()),
    }


N_LINES = lines_of_a_fit()
OLD = state(ExplainableKMeans(3, random_state=0).fit(X))
NEW = state(ExplainableKMeans(3, random_state=0).fit(X).fit(Z))
# The last lines are those where a fit takes its place.
moments = st.one_of(st.integers(0, N_LINES), st.integers(0, 60).map(lambda back: N_LINES - back))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@given(moments)
@draws(30, deadline=None)
def test_an_interrupted_refit_leaves_one_fit_whole(moment):
    model = ExplainableKMeans(3, random_state=0).fit(X)
    with suppress(KeyboardInterrupt), interrupted_at(moment):  # the last moments may be after the fit
        fit_again(model)
    assert state(model) in (OLD, NEW)
    model.fit(X)
    assert state(model) == OLD


def test_the_two_fits_differ_in_everything():
    assert all(OLD[name] != NEW[name] for name in OLD if name != "others")
