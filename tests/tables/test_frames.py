"""Frames of pandas, Polars and Arrow from columns, and the refusals where there is none."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import narwhals.stable.v2 as nw
import numpy as np
import pytest

from shallowrules.errors import OptionError
from shallowrules.tables.frames import BACKENDS, UTC_TIME, make_frame

DATA = {
    "whole": [2**60 + 1, None],
    "number": [0.1, None],
    "text": ["a", None],
    "list": [["a", "b"], None],
    "day": np.array(["0001-01-01", "NaT"], "M8[D]"),
    "moment": np.array(["9999-12-31T23:59:59.999999", "NaT"], "M8[us]"),
    "zoned": np.array(["2024-03-31T12:00", "NaT"], "M8[us]"),
    "span": np.array([-1, "NaT"], "m8[us]"),
}
SCHEMA = {
    "whole": nw.Int64(),
    "number": nw.Float64(),
    "text": nw.String(),
    "list": nw.List(nw.String()),
    "day": nw.Date(),
    "moment": nw.Datetime("us"),
    "zoned": UTC_TIME,
    "span": nw.Duration("us"),
}
FIRST = {
    "whole": 2**60 + 1,
    "number": 0.1,
    "text": "a",
    "list": ["a", "b"],
    "day": date(1, 1, 1),
    "moment": datetime(9999, 12, 31, 23, 59, 59, 999999),
    "zoned": datetime(2024, 3, 31, 12, tzinfo=UTC),
    "span": timedelta(microseconds=-1),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_type_comes_back_with_its_missing_values(backend):
    frame = nw.from_native(make_frame(DATA, backend, SCHEMA), eager_only=True)
    assert frame.implementation == nw.Implementation.from_backend(backend)
    found, types = frame.rows(named=True), dict(SCHEMA)
    first = dict(FIRST)
    if backend == "pandas":
        types |= {"day": nw.Datetime("us"), "list": nw.Object()}
        first["day"] = datetime(1, 1, 1)
    assert {name: frame.schema[name] for name in types} == types
    assert found[0] == first
    assert [frame[name].is_null().to_list() for name in types] == [[False, True]] * len(types)


def test_a_module_is_a_backend_too():
    polars = pytest.importorskip("polars")
    assert isinstance(make_frame({"a": [1]}, polars), polars.DataFrame)


@pytest.mark.parametrize("backend", ["arrow", "dask", "modin", None, 3])
def test_other_backends_are_refused(backend):
    with pytest.raises(OptionError, match=r"unknown backend .*; use one of: pandas, polars, pyarrow"):
        make_frame({"a": [1]}, backend)


# In a process of its own: narwhals holds what it has imported.
ABSENT = f"""
import sys
sys.modules |= dict.fromkeys({BACKENDS})
from shallowrules.errors import MissingExtraError
from shallowrules.tables.frames import make_frame
for backend in {BACKENDS}:
    try:
        make_frame({{"a": [1]}}, backend)
    except MissingExtraError as error:
        assert str(error).endswith(f"needs {{backend}}, which is not installed: pip install {{backend}}"), error
    else:
        raise AssertionError(backend)
"""


def test_a_backend_that_is_not_installed_is_named():
    done = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
