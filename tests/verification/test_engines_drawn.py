"""Rule sets, column declarations, names and values, drawn and executed in the embedded engines."""

from __future__ import annotations

import pytest
from draws import draws
from fuzz import Round
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

EMBEDDED = ("sqlite", "duckdb", "parquet")


@pytest.mark.parametrize("engine", EMBEDDED, indirect=True)
@draws(12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chooser=st.randoms(use_true_random=False))
def test_every_row_gets_the_cluster_of_the_definition(engine, chooser):
    assert list(Round(chooser, engine).findings()) == []
