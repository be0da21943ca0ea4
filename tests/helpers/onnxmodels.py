"""Inputs of the ONNX models of rules, made of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from shallowrules.exporters.onnx import input_type
from shallowrules.rules import RuleSet

__all__ = ["holds_text", "inputs_of"]


def holds_text(text: str) -> bool:
    """Return whether ONNX holds a text."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def inputs_of(rules: RuleSet, rows: Sequence[Any], missing_text: str = "(missing)") -> tuple[dict[str, Any], Any]:
    """Return the inputs for rows, and which rows an input of whole numbers can hold."""
    arrays: dict[str, Any] = {}
    held = np.ones(len(rows), dtype=bool)
    for feature in rules.tested_columns:
        values = [row[feature] for row in rows]
        kind = input_type(rules, feature)
        if kind == "string":
            made = np.array([missing_text if value is None else value for value in values], dtype=object)
        elif kind == "double":
            made = np.array([math.nan if value is None else float(value) for value in values])
        else:
            held &= np.array([value is not None for value in values], dtype=bool)
            made = np.array([0 if value is None else value for value in values], dtype=np.int64)
        arrays[rules.columns[feature].name] = made
    return arrays, held
