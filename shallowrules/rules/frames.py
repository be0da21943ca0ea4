"""The rules as dataframes: a row for each condition, and a row for each cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from shallowrules.rules.columns import plain_text
from shallowrules.rules.conditions import Between, Condition, ConditionVisitor, NoneOf, OneOf
from shallowrules.rules.figures import Cluster
from shallowrules.rules.nodes import Rule
from shallowrules.tables.frames import UTC_TIME, make_frame
from shallowrules.tables.times import array_of_times

__all__ = ["clusters_frame", "conditions_frame"]

SIDES = ("lower", "upper")

Columns = dict[str, tuple[nw.dtypes.DType, Any]]
"""The type and the values of each column of a frame."""

BOUND_TYPES: Mapping[str, nw.dtypes.DType] = {
    "integer": nw.Int64(),
    "date": nw.Date(),
    "timestamp": nw.Datetime("us"),
    "timestamptz": UTC_TIME,
    "duration": nw.Duration("us"),
}
"""The type of a column's bounds, by the type of the column, where a double cannot hold them."""


ALWAYS = "every row"
"""The only condition of a rule that has none."""


class _Kind(ConditionVisitor[tuple[str, list[str] | None]]):
    """The name of a condition's kind, and its categories as text."""

    def between(self, condition: Between) -> tuple[str, None]:
        """Return the kind of a condition on a number; there are no categories."""
        return "between", None

    def one_of(self, condition: OneOf) -> tuple[str, list[str]]:
        """Return the kind of a condition that lists the matching categories, and these categories."""
        return "one of", list(map(plain_text, condition.values))

    def none_of(self, condition: NoneOf) -> tuple[str, list[str]]:
        """Return the kind of a condition that lists the categories that do not match, and these categories."""
        return "none of", list(map(plain_text, condition.values))


def conditions_frame(rules: Sequence[Rule], clusters: Sequence[Cluster], backend: Any) -> Any:
    """Return the frame of `RuleSet.to_frame`."""
    by_index = {cluster.index: cluster for cluster in clusters}
    found = [
        (number, rule, condition)
        for number, rule in enumerate(rules)
        for condition in (rule.conditions or (None,))  # a rule without conditions has a row, too
    ]
    conditions = [condition for _, _, condition in found]
    kinds = [(ALWAYS, None) if condition is None else _Kind()(condition) for condition in conditions]
    names = [None if condition is None else condition.column.name for condition in conditions]
    columns: Columns = {
        "cluster": (nw.Int64(), [rule.label for _, rule, _ in found]),
        "name": (nw.String(), [by_index[rule.cluster].name for _, rule, _ in found]),
        "rule": (nw.Int64(), [number for number, _, _ in found]),
        "column": (nw.String(), names),
        "kind": (nw.String(), [kind for kind, _ in kinds]),
        **_bounds(conditions),
        "values": (nw.List(nw.String()), [values for _, values in kinds]),
        "condition": (nw.String(), [str(condition or ALWAYS) for condition in conditions]),
        "rows": (nw.Int64(), [rule.rows for _, rule, _ in found]),
        "share": (nw.Float64(), [rule.share for _, rule, _ in found]),
        "precision": (nw.Float64(), [by_index[rule.cluster].precision for _, rule, _ in found]),
        "recall": (nw.Float64(), [by_index[rule.cluster].recall for _, rule, _ in found]),
    }
    return _frame(columns, backend)


def clusters_frame(rules: Sequence[Rule], clusters: Sequence[Cluster], backend: Any) -> Any:
    """Return the frame of `RuleSet.clusters_frame`."""
    texts: dict[int, list[str]] = {cluster.index: [] for cluster in clusters}
    for rule in rules:
        texts[rule.cluster].append(str(rule))
    columns: Columns = {
        "cluster": (nw.Int64(), [cluster.label for cluster in clusters]),
        **{name: (nw.String(), [getattr(cluster, name) for cluster in clusters]) for name in ("name", "note")},
        "rows": (nw.Int64(), [cluster.rows for cluster in clusters]),
        **{
            name: (nw.Float64(), [getattr(cluster, name) for cluster in clusters])
            for name in ("weight", "share", "precision", "recall", "total")
        },
        "n_rules": (nw.Int64(), [len(texts[cluster.index]) for cluster in clusters]),
        "rules": (nw.String(), [" or ".join(texts[cluster.index]) for cluster in clusters]),
    }
    return _frame(columns, backend)


def _bounds(conditions: Sequence[Condition | None]) -> Columns:
    """Return two columns of doubles, and two more for each type of bounds that a double does not hold."""
    bounds: dict[str, dict[str, list[Any]]] = {"": {side: [None] * len(conditions) for side in SIDES}}
    for place, condition in enumerate(conditions):
        if not isinstance(condition, Between):
            continue
        for side in SIDES:
            bound = getattr(condition, side)
            if bound is not None:
                held = "" if float(bound) == bound else "integer"
                kind = condition.column.type if condition.column.is_time else held
                bounds.setdefault(kind, {side: [None] * len(conditions) for side in SIDES})[side][place] = bound
    columns: Columns = {}
    for kind, found in sorted(bounds.items()):
        for side, values in found.items():
            if not kind:
                columns[side] = nw.Float64(), [None if bound is None else float(bound) for bound in values]
                continue
            given = values if kind == "integer" else _times(kind, values)
            columns[f"{side}_{kind}"] = BOUND_TYPES[kind], given
    return columns


def _times(kind: str, values: Sequence[int | None]) -> NDArray[Any]:
    numbers = np.array([0 if bound is None else bound for bound in values], dtype=np.int64)
    return array_of_times(kind, numbers, np.array([bound is None for bound in values]))


def _frame(columns: Columns, backend: Any) -> Any:
    data = {name: values for name, (_, values) in columns.items()}
    return make_frame(data, backend, {name: dtype for name, (dtype, _) in columns.items()})
