"""A table with columns of all kinds, cut into parts, and the results that must be equal for a fit of the parts and of
the whole."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd

from shallowrules import ExplainableKMeans
from shallowrules.partitions import TableParts
from shallowrules.tables.table import Table

__all__ = ["a_frame", "check_equal", "cut"]


def a_frame(n_rows: int = 600, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, n_rows)
    return pd.DataFrame(
        {
            "amount": np.round(rng.normal(group * 3, 1.0), 3),
            "age": rng.integers(0, 40, n_rows) + 10 * (group % 3),
            "length": (rng.normal(size=n_rows) + group % 2).astype(np.float32),
            "kind": np.array(["a", "b", "c"])[group % 3],
            "open": rng.random(n_rows) < 0.2 + 0.1 * group,
            "copies": rng.integers(0, 4, n_rows),
            "label": np.array(["low", "mid", "high", "top", "odd"])[group],
        }
    )


def cut(frame: pd.DataFrame, n_parts: int, *, shuffled: bool = True, n_threads: int = 2) -> TableParts:
    if shuffled:
        frame = frame.sample(frac=1, random_state=1)
    cuts = np.linspace(0, len(frame), n_parts + 1).astype(int)
    tables = [Table.of(frame.iloc[a:b]) for a, b in itertools.pairwise(cuts)]
    return TableParts([*tables, Table.of(frame.iloc[:0])], n_threads)


def check_equal(parts_model: ExplainableKMeans, model: ExplainableKMeans) -> None:
    assert json.loads(parts_model.rules_.to_json()) == json.loads(model.rules_.to_json())
    for name in ("feature", "threshold", "left", "right", "cluster", "rows", "weight"):
        np.testing.assert_array_equal(getattr(parts_model.tree_, name), getattr(model.tree_, name))
    for name in ("cluster_centers_", "reference_centers_", "classes_"):
        np.testing.assert_array_equal(getattr(parts_model, name), getattr(model, name))
    assert not hasattr(parts_model, "labels_")
