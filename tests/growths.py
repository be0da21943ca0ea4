"""Grown trees: growing one for a `Problem`'s arrays, and comparing two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallowrules import growing
from shallowrules.growing import GrownTree, GrowthData, UniqueRows, find_unique_rows

__all__ = ["EVERYTHING", "STRUCTURE", "assert_same", "grow", "grow_path", "unique_rows"]

STRUCTURE = ("feature", "left", "right", "center")
EVERYTHING = (*STRUCTURE, "lower", "upper", "cut", "rows", "weight", "labels")


def unique_rows(*arrays: Any, weight: Any = None, assigned: Any = None, n_threads: int = 1) -> UniqueRows:
    """Return the rows of a `Problem`'s arrays as they are grown from."""
    return find_unique_rows(GrowthData(*arrays, weight), assigned, n_threads)


def grow(*arrays: Any, weight: Any = None, assigned: Any = None, n_threads: int = 1, **options: Any) -> GrownTree:
    """Grow a tree for a `Problem`'s arrays."""
    unique = unique_rows(*arrays, weight=weight, assigned=assigned, n_threads=n_threads)
    return growing.grow(unique, n_threads=n_threads, **options)


def grow_path(
    *arrays: Any, tradeoffs: Sequence[float], weight: Any = None, n_threads: int = 1, **options: Any
) -> list[GrownTree]:
    """Grow the trees of several trade-offs for a `Problem`'s arrays."""
    unique = unique_rows(*arrays, weight=weight, n_threads=n_threads)
    return growing.grow_path(unique, tradeoffs, n_threads=n_threads, **options)


def assert_same(one: GrownTree, two: GrownTree, names: tuple[str, ...] = EVERYTHING) -> None:
    for name in names:
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
