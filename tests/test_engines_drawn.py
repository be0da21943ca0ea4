"""Rule sets, column declarations, names and values, drawn and executed in the embedded engines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fuzz import Round
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shallowrules.engines.columns import Texts

pytestmark = pytest.mark.slow

EMBEDDED = ("sqlite", "duckdb", "parquet")

OPEN = {
    "duckdb": ("UHUGEINT", "HUGEINT", "DECIMAL(12,2)", "DECIMAL(38,9)", "VARCHAR COLLATE NOCASE.NOACCENT"),
}
"""Column types in which the conformance run knows of rows that get another cluster, by dialect."""


def columns_of(engine):
    """Return the column types to draw from; SQLite's texts without the character 0, at which its casts stop."""
    kinds = [kind for kind in engine.columns if str(kind) not in OPEN.get(engine.dialect, ())]
    if engine.dialect != "sqlite":
        return kinds
    return [
        replace(kind, holds=replace(kind.holds, nul=False)) if isinstance(kind.holds, Texts) else kind for kind in kinds
    ]


@pytest.mark.parametrize("engine", EMBEDDED, indirect=True)
@settings(max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chooser=st.randoms(use_true_random=False))
def test_every_row_gets_the_cluster_of_the_definition(engine, chooser):
    assert list(Round(chooser, engine, columns_of(engine)).findings()) == []
