"""The values of some ranks in a table in parts are those at these places when all rows are sorted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.encoding import ranked
from shallowrules.encoding.ranked import RankedColumn, Weighed, ranked_values
from shallowrules.partitions import Part, TableParts
from shallowrules.tables.table import Table

TYPES = {
    np.float64: st.floats(-1e308, 1e308),
    np.float32: st.floats(-(2.0**120), 2.0**120, width=32),
    np.int64: st.integers(-(2**63), 2**63 - 1),
    np.uint64: st.integers(0, 2**64 - 1),
    np.int8: st.integers(-128, 127),
}


def read_first(part: Part) -> list[Weighed]:
    weight = part.columns[1].values
    return [Weighed(part.columns[0].values, None if (weight < 0).all() else weight)]


def cut(frame: pd.DataFrame, n_parts: int) -> TableParts:
    pieces = np.array_split(np.arange(len(frame)), n_parts)
    return TableParts([Table.of(frame.iloc[rows]) for rows in pieces], 2)


def passes_of(parts: TableParts, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the passes over some parts from now on."""
    counts, whole = [], TableParts.map_reduce

    def map_reduce(self, function, state):
        counts.append(1)
        return whole(self, function, state)

    monkeypatch.setattr(TableParts, "map_reduce", map_reduce)
    return counts


@pytest.mark.parametrize("few", [1, 4096])
@pytest.mark.parametrize("dtype", TYPES)
@given(data=st.data())
def test_every_rank_of_a_column(dtype, few, data):
    values = data.draw(st.lists(TYPES[dtype], min_size=1, max_size=40))
    values += data.draw(st.lists(st.sampled_from(values), max_size=20))
    weighted = data.draw(st.booleans())
    weight = [data.draw(st.integers(0, 3)) for _ in values] if weighted else [-1] * len(values)
    expected = np.repeat(np.array(values, dtype), weight if weighted else 1)
    if not len(expected):
        return
    expected = np.sort(expected + np.zeros(1, dtype))
    frame = pd.DataFrame({"value": np.array(values, dtype), "weight": weight})
    column = RankedColumn(np.dtype(dtype), (min(values), max(values)), range(len(expected)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "FEW_WEIGHT", few)
        found = ranked_values(cut(frame, data.draw(st.sampled_from([1, 2, 7]))).map_reduce, read_first, {0: column})
    assert [found[0][rank] for rank in range(len(expected))] == expected.tolist()
    assert all(str(value) != "-0.0" for value in found[0].values())


@pytest.mark.parametrize("name", ["normal", "all but equal", "of one value", "heavy-tailed"])
def test_three_passes_or_so_find_the_quartiles_of_many_rows(name, monkeypatch):
    rng = np.random.default_rng(0)
    values = {
        "normal": rng.normal(size=200_000),
        "all but equal": 1 + rng.random(200_000) * 1e-9,
        "of one value": np.append(np.full(199_999, 0.1), [-1e300]),
        "heavy-tailed": np.exp(20 * rng.normal(size=200_000)),
    }[name]
    parts = cut(pd.DataFrame({"value": values, "weight": -1.0}), 7)
    ranks = [0, 49_999, 50_000, 99_999, 149_999, 199_999]
    column = RankedColumn(values.dtype, (values.min(), values.max()), ranks)
    counts = passes_of(parts, monkeypatch)
    found = ranked_values(parts.map_reduce, read_first, {0: column})
    assert [found[0][rank] for rank in ranks] == np.sort(values)[ranks].tolist()
    assert len(counts) <= 4
