"""Grown trees: growing one for a `Problem`'s arrays, and comparing two."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import oracle
import pytest
from draws import IS_SHORT
from strategies import Problem

from shallowrules import _kernel
from shallowrules.trees import growing
from shallowrules.trees.grown_tree import GrownTree
from shallowrules.trees.growth_data import GrowthData, UniqueRows, find_unique_rows

__all__ = [
    "EVERYTHING",
    "STRUCTURE",
    "assert_same",
    "check",
    "grow",
    "grow_path",
    "grown",
    "grown_once",
    "own_centers",
    "unique_rows",
    "version",
]

MAX_ROWS_IN_SHORT = 200  # of a table that the oracle looks at in `make sanitize SHORT=1`

STRUCTURE = ("feature", "left", "right", "center")
EVERYTHING = (*STRUCTURE, "lower", "upper", "cut", "rows", "weight", "labels")


def unique_rows(*arrays: Any, weight: Any = None, assigned: Any = None, n_threads: int = 1) -> UniqueRows:
    """Return the rows of a `Problem`'s arrays from which a tree is grown."""
    X_explain, X_cluster, explain_centers, centers = arrays
    data = GrowthData(X_explain, X_cluster, explain_centers, centers, weight)
    return find_unique_rows(data, assigned, n_threads)


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


def grown(problem: Problem, n_threads: int = 1) -> GrownTree:
    """Grow ExShallow's tree."""
    return grow(*problem.arrays, **problem.options, n_threads=n_threads)


@functools.cache
def grown_once(problem: Problem, tradeoff: float | None = None) -> GrownTree:
    """Grow ExShallow's tree of a table that tests share, once in a process and outside of `version`."""
    return grown(problem if tradeoff is None else replace(problem, tradeoff=tradeoff))


def check(problem: Problem, n_threads: int = 1, **options: Any) -> GrownTree:
    """Grow a tree and check it against the oracle.

    In the short form of `make sanitize`, larger tables are only grown: the oracle, which is in Python, takes
    nearly all the time there, and says nothing about the kernel's memory.
    """
    tree = grow(*problem.arrays, **problem.options, **options, n_threads=n_threads)
    if not IS_SHORT or len(problem.X_explain) <= MAX_ROWS_IN_SHORT:
        oracle.check_tree(tree, problem, **options)
    return tree


def own_centers(problem: Problem) -> dict[str, np.ndarray]:
    """Return each row's nearest center by name of `grow`'s argument, or nothing where no two are nearly as near.

    Where they are, rounding decides, and the kernel need not round as the oracle does.
    """
    points = problem.X_cluster.astype(np.float64)
    distances = np.stack([((points - center) ** 2).sum(axis=1) for center in problem.centers], axis=1)
    near = np.sort(distances, axis=1)[:, :2]
    if distances.shape[1] == 1 or (near[:, 1] - near[:, 0] > 1e-9 * near[:, 1]).all():
        return {}
    return {"assigned": distances.argmin(axis=1).astype(np.int32)}


@contextmanager
def version(**options: Any) -> Iterator[None]:
    """Grow with other ways to compute sums: see `grow_tree`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "grow_tree", functools.partial(_kernel.grow_tree, **options))
        yield
