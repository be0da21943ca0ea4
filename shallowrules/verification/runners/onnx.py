"""The ONNX model, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.onnx import OnnxOptions, input_type
from shallowrules.rules import RuleSet
from shallowrules.tables.table import Table
from shallowrules.verification.runners.base import CLUSTER, Form, Labels, as_given

__all__ = ["feed", "open_session", "run_onnx"]

WHAT = "running ONNX"


@contextmanager
def run_onnx(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Load the model."""
    session = open_session(export(rules, "onnx", cluster_column=CLUSTER))
    yield {"ONNX": Form(partial(_labels, rules, session), partial(_holds, rules))}


def open_session(model: bytes) -> Any:
    """Return a model of onnxruntime."""
    try:
        onnxruntime = import_module("onnxruntime")
    except ImportError:
        raise MissingExtraError(WHAT, "onnxruntime", "engines") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def feed(rules: RuleSet, table: Table, missing_text: str = OnnxOptions.missing_text) -> dict[str, NDArray[Any]]:
    """Return the model's inputs for the rows of a table of the tested columns; 0 in place of a missing int64."""
    arrays: dict[str, NDArray[Any]] = {}
    for feature in rules.tested_columns:
        column = rules.columns[feature]
        given = as_given(column, table[column.name])
        kind = input_type(rules, feature)
        missing, values = given.absent, given.values
        if kind == "string":
            values = np.where(missing, missing_text, values).astype(object)
        else:
            values = np.where(missing, 0, values).astype(np.float64 if kind == "double" else np.int64)
            if kind == "double":
                values[missing] = np.nan
        arrays[column.name] = values
    return arrays


def _holds(rules: RuleSet, table: Table) -> NDArray[np.bool_]:
    """Return the rows without a missing whole number in an input of whole numbers, which cannot hold one."""
    rows = np.ones(table.n_rows, dtype=bool)
    for feature in rules.tested_columns:
        if input_type(rules, feature) == "int64":
            column = rules.columns[feature]
            given = as_given(column, table[column.name])
            rows &= ~given.absent & (given.values.dtype.kind in "iu")
    return rows


def _labels(rules: RuleSet, session: Any, table: Table) -> Labels:
    inputs = feed(rules, table) or {session.get_inputs()[0].name: np.empty(0)}
    [labels] = session.run(None, inputs)
    return labels  # type: ignore[no-any-return]
