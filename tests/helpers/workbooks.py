"""Rows as the cells of a workbook hold them, and the clusters that it should show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rulesets import route

from shallowrules.exporters.xlsx.labelling import NONE
from shallowrules.rules import RuleSet
from shallowrules.verification.runners.xlsx import is_held

__all__ = ["rows_of_cells", "tree_says"]


def rows_of_cells(rules: RuleSet, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return the content of cells for rows: the tested columns, whole numbers as doubles, nothing for NaN."""
    held = []
    for row in rows:
        values = [None if value is None or value != value else value for value in row]
        values = [
            float(value) if isinstance(value, int) and rules.columns[j].is_numeric else value
            for j, value in enumerate(values)
        ]
        if all(is_held(values[j]) for j in rules.tested_columns) and any(
            values[j] is not None for j in rules.tested_columns
        ):
            held.append(values)
    return held


def tree_says(rules: RuleSet, rows: Iterable[Sequence[Any]]) -> list[str]:
    clusters = (route(rules, row) for row in rows)
    return [NONE if cluster == -1 else str(cluster) for cluster in clusters]
