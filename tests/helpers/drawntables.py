"""Small tables of every kind of column in every form of input, and whether each form of their rules gives one label."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning

from shallowrules import ExplainableKMeans, RuleSet
from shallowrules.errors import DataError, ExportError, OptionError, ShallowRulesWarning
from shallowrules.tables.table import Table
from shallowrules.verification import verify

__all__ = ["FORMS", "KINDS", "check_table"]

Random = np.random.Generator
DAY = np.datetime64("2024-01-01")


def _around(edge: int, spread: int, dtype: Any) -> Callable[[Random, int], Any]:
    ends = np.iinfo(dtype)

    def draw(random: Random, n: int) -> Any:
        numbers = [edge + int(share * spread) for share in random.uniform(-1, 1, n)]
        return np.array([min(max(number, ends.min), ends.max) for number in numbers], dtype)

    return draw


def _among(*values: Any) -> Callable[[Random, int], Any]:
    def draw(random: Random, n: int) -> Any:
        found = np.empty(n, dtype=object)
        found[:] = [values[i] for i in random.integers(len(values), size=n)]
        return found

    return draw


NUMBERS: dict[str, Callable[[Random, int], Any]] = {
    "int8": _around(0, 127, np.int8),
    "int16": _around(0, 300, np.int16),
    "int32": _around(10**9, 50, np.int32),
    "int64 beside 2**53": _around(2**53, 6, np.int64),
    "int64 beside 2**62": _around(2**62, 900, np.int64),
    "all of int64": _around(0, 2**63, np.int64),
    "nanosecond stamps": _around(1_700_000_000 * 10**9, 10**15, np.int64),
    "uint8": _around(99, 99, np.uint8),
    "uint32": _around(2**31, 99, np.uint32),
    "uint64 beside 2**63": _around(2**63, 9, np.uint64),
    "all of uint64": _around(2**63, 2**63, np.uint64),
    "float16": lambda random, n: random.normal(size=n).astype(np.float16),
    "float32": lambda random, n: random.normal(size=n).astype(np.float32),
    "float64": lambda random, n: random.normal(size=n),
    "cents": lambda random, n: random.integers(0, 500, n) / 100,
    "neighbors": lambda random, n: 0.1 + random.integers(0, 9, n) * 2.0**-56,
    "tiny and huge": lambda random, n: random.choice([5e-324, -0.0, 0.0, 1e-300, 1.5e100, -1e30], n),
    "constant": lambda random, n: np.full(n, 7),
    "one far away": lambda random, n: np.where(np.arange(n) == 0, 1e9, random.integers(0, 3, n)),
    "truth values": lambda random, n: random.integers(0, 2, n).astype(bool),
}
"""Columns that a matrix may hold."""

OTHERS: dict[str, Callable[[Random, int], Any]] = {
    "objects of truth values": _among(True, False),
    "objects of whole numbers": _among(2**53 + 1, 2**53 + 2, 7, -(2**60)),
    "objects of decimals": _among(Decimal("0.3"), Decimal("0.1"), Decimal("7")),
    "texts": _among("a", "b", "C"),
    "hostile texts": _among("it's", 'say "x"', "", " ", "ß", "a\\n"),
    "texts of numbers": _among("7", "7.0", "007"),
    "dates": _among(dt.date(2024, 2, 29), dt.date(1999, 12, 31), dt.date(9999, 12, 31)),
    "points in time": lambda random, n: DAY.astype("M8[us]") + random.integers(0, 10**12, n).astype("m8[us]"),
    "durations": lambda random, n: random.integers(-(10**9), 10**9, n).astype("m8[us]"),
}
KINDS = {**NUMBERS, **OTHERS}


def _matrix(columns: dict[str, Any]) -> Any:
    return np.column_stack(list(columns.values()))


def _objects(columns: dict[str, Any]) -> Any:
    found = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        found[:, j] = values.tolist()
    return found


def _with_steps(columns: dict[str, Any]) -> Any:
    return np.repeat(np.repeat(_matrix(columns), 2, axis=0), 3, axis=1)[::2, ::3]


def _read_only(columns: dict[str, Any]) -> Any:
    matrix = _matrix(columns)
    matrix.setflags(write=False)
    return matrix


def _arrow(columns: dict[str, Any]) -> Any:
    return pa.table(
        {name: pa.array(values.tolist() if values.dtype == object else values) for name, values in columns.items()}
    )


MATRICES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "matrix": _matrix,
    "matrix by columns": lambda columns: np.asfortranarray(_matrix(columns)),
    "matrix backwards": lambda columns: _matrix(columns)[::-1, ::-1],
    "matrix with steps": _with_steps,
    "matrix to read only": _read_only,
    "matrix of the other byte order": lambda columns: _matrix(columns).astype(_matrix(columns).dtype.newbyteorder()),
    "matrix of objects": _objects,
    "masked matrix": lambda columns: np.ma.masked_array(_matrix(columns), mask=False),
    "lists": lambda columns: _matrix(columns).tolist(),
    "tuples": lambda columns: tuple(map(tuple, _matrix(columns).tolist())),
}
FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas of nullable types": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas of objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas with another index": lambda columns: pd.DataFrame(
        columns, index=range(9, 9 - len(next(iter(columns.values()))), -1)
    ),
    "pandas on Arrow": lambda columns: _arrow(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.DataFrame(
        {name: pl.Series(values.tolist() if values.dtype == object else values) for name, values in columns.items()}
    ),
    "Arrow": _arrow,
    "mapping of arrays": dict,
    "mapping of lists": lambda columns: {name: values.tolist() for name, values in columns.items()},
    "Table": lambda columns: Table.of(dict(columns)),
}
FORMS = {**MATRICES, **FRAMES}

NOT_MADE = (OverflowError, TypeError, pa.ArrowException, pl.exceptions.PolarsError)
"""What a library raises that cannot hold a table in some form."""


def check_table(seed: int) -> str:
    """Draw a table, fit it, and check every form of its rules against the labels; return the outcome.

    The AssertionError says which form differs. Any error other than a refusal in words is passed on, and so is a
    warning that is not one of the package's own.
    """
    random = np.random.default_rng(seed)
    form = str(random.choice(list(FORMS)))
    kinds = random.choice(list(NUMBERS if form in MATRICES else KINDS), random.integers(1, 4))
    n_rows = int(random.choice([1, 2, 3, 5, 8, 20, 40]))
    columns = {f"c{j}": KINDS[kind](random, n_rows) for j, kind in enumerate(kinds)}
    about = f"seed {seed}: {form} of {', '.join(kinds)}, {n_rows} rows"
    try:
        X = FORMS[form](columns)
    except NOT_MADE:
        return "not made"
    options: dict[str, Any] = {
        "random_state": int(seed % 1000),
        "method": str(random.choice(["exshallow", "exshallow", "exshallow", "exgreedy", "imm", "exkmc"])),
        "tradeoff": float(random.choice([0.0, 0.03, 0.3, 1e3])),
        "refine": str(random.choice(["none", "full"])),
        "scale": [None, "minmax", "standard", "robust"][random.choice(4)],
        "round_within": [None, 0.0, 0.05][random.choice(3)],
    }
    if random.random() < 0.4:
        options["clusterer"] = random.choice([0, 1, 5, -3], n_rows).tolist()
        options["round_within"] = None
    else:
        options["n_clusters"] = int(random.choice([1, 2, 3, 5, n_rows]))
    weight = random.choice([0.0, 1.0, 1.0, 3.0], n_rows) if random.random() < 0.3 else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ShallowRulesWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = ExplainableKMeans(**options).fit(X, sample_weight=weight)
        except (DataError, OptionError):
            return "refused"
        except ValueError as error:
            if "infinity or a value too large" in str(error):  # scikit-learn's own words
                return "refused"
            raise
        labels, rules = model.labels_, model.rules_
        again = RuleSet.from_dict(json.loads(rules.to_json()))
        for what, found in (
            ("predict", model.predict(X)),
            ("assign", rules.assign(X)),
            ("after JSON", again.assign(X)),
        ):
            assert np.array_equal(found, labels), f"{about}: {what} {found.tolist()} {labels.tolist()}"
        for exporter, dialect in (("python", "duckdb"), ("sql", "duckdb"), ("sql", "sqlite")):
            try:
                for compared in verify(rules, X, exporters=[exporter], dialects=[dialect]):
                    assert not compared.disagreements, f"{about}: {compared}"
            except ExportError as error:
                assert (exporter, bool(str(error))) == ("sql", True), about  # noqa: PT017
    return "labelled"
