"""Valid labels of a cluster: a whole number of 64 bits, but not the one that marks "no cluster"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

__all__ = [
    "MAX_LABEL",
    "MIN_LABEL",
    "NOISE",
    "NO_CLUSTER",
    "cluster_of",
    "is_label",
    "label_type",
    "next_free",
    "own_numbers",
    "whole_numbers",
]

NO_CLUSTER = -1
"""Stands for a row without a cluster, so it is not a label."""

NOISE = "noise"
"""Name of the cluster of the rows that a clustering calls noise: its label is `NO_CLUSTER`, its number another one."""

MIN_LABEL, MAX_LABEL = -(2**63), 2**63 - 1


def is_label(number: int) -> bool:
    """Return whether a whole number may be the label of a cluster."""
    return MIN_LABEL <= number <= MAX_LABEL and number != NO_CLUSTER


def whole_numbers(given: Iterable[Any]) -> tuple[int, ...] | None:
    """Return given labels as whole numbers, None unless all are: integers, or floats that are whole."""
    labels = list(given)
    whole = all(
        (isinstance(label, Integral) and not isinstance(label, bool))
        or (isinstance(label, float) and math.isfinite(label) and label == math.floor(label))
        for label in labels
    )
    return tuple(int(label) for label in labels) if whole else None


def own_numbers(given: Iterable[Any]) -> tuple[int, ...]:
    """Return given labels where they are the labels of their clusters; none where these are numbered from 0."""
    numbers = whole_numbers(given)
    return numbers if numbers is not None and all(map(is_label, numbers)) else ()


def next_free(numbers: Iterable[int]) -> int:
    """Return the next number after those of some clusters, or the smallest free one where that is beyond 64 bits."""
    taken = set(numbers)
    number = max(taken | {NO_CLUSTER}) + 1
    return number if is_label(number) else next(free for free in range(len(taken) + 1) if free not in taken)


def cluster_of(label: int | np.integer[Any]) -> int | None:
    """Return the cluster that a label means, None for none."""
    return None if label == NO_CLUSTER else int(label)


def label_type(labels: Iterable[int]) -> type[np.int32] | type[np.int64]:
    """Return the type of an array of labels: int32, or int64 where one of them needs it."""
    return np.int32 if all(-(2**31) <= label < 2**31 for label in labels) else np.int64
