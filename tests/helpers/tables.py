"""Tables of some size that tests share: groups that overlap, weights, rows repeated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from strategies import Problem

__all__ = [
    "TABLES",
    "blobs",
    "lloyd",
    "one_space",
    "repeated_rows",
    "shop",
    "table_of_some_size",
    "whole_weights",
    "write_people",
]


def shop(n_rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return a table of all kinds of columns, in which contract, paid and months decide the cluster."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, n_rows)
    return pd.DataFrame(
        {
            "contract": np.array(["Two year", "Month-to-month", "One year", "One year"], object)[group],
            "paid": (group < 2) ^ (random.random(n_rows) < 0.05),
            "months": 12 * group + random.integers(0, 6, n_rows),
            "note": random.choice(np.array(["", "it's", "é", "a|b"], object), n_rows),
            "amount": random.normal(size=n_rows),
        }
    )


def blobs(random: np.random.Generator, n_rows: int, n_columns: int, n_centers: int, spread: float) -> np.ndarray:
    """Return rows around centers in a cube, scattered by `spread` in every column."""
    middles = random.uniform(-10, 10, size=(n_centers, n_columns))
    return middles[random.integers(n_centers, size=n_rows)] + spread * random.normal(size=(n_rows, n_columns))


def lloyd(X: np.ndarray, n_centers: int, random: np.random.Generator, rounds: int = 4) -> np.ndarray:
    """Return centers that are nearly those of k-means, and that all have rows."""
    centers = X[random.choice(len(X), n_centers, replace=False)].astype(np.float64)
    for _ in range(rounds):
        labels = np.array([((centers - x) ** 2).sum(axis=1).argmin() for x in X.astype(np.float64)])
        for center in np.unique(labels):
            centers[center] = X[labels == center].mean(axis=0, dtype=np.float64)
    return centers


def one_space(X: np.ndarray, n_centers: int, random: np.random.Generator) -> Problem:
    """Return a table that is clustered in the columns that are explained."""
    centers = lloyd(X, n_centers, random)
    return Problem(X, X, centers, centers, None, 0.03)


def whole_weights(problem: Problem, random: np.random.Generator) -> Problem:
    """Return a table with weights of 0 to 3."""
    weight = random.integers(0, 4, len(problem.X_explain)).astype(np.float64)
    weight[0] = 3.0
    return replace(problem, weight=weight)


def repeated_rows(problem: Problem, share: bool) -> Problem:
    """Return a table with each row as often as its weight says; `share` makes both spaces one object."""
    assert problem.weight is not None
    times = problem.weight.astype(int)
    X_explain = np.repeat(problem.X_explain, times, axis=0)
    X_cluster = X_explain if share else np.repeat(problem.X_cluster, times, axis=0)
    return replace(problem, X_explain=X_explain, X_cluster=X_cluster, weight=None)


# Kinds of tables: bins of many rows, lists of near centers that run out, deep trees.


def overlapping(random: np.random.Generator) -> Problem:
    return one_space(blobs(random, 4000, 8, 30, 4.0), 60, random)


def separate(random: np.random.Generator) -> Problem:
    return one_space(blobs(random, 5000, 3, 40, 0.2), 40, random)


def one_column(random: np.random.Generator) -> Problem:
    return one_space(random.normal(size=(5000, 1)), 50, random)


def discrete(random: np.random.Generator) -> Problem:
    return one_space(random.binomial(15, random.uniform(0.2, 0.8, size=8), size=(4000, 8)).astype(float), 26, random)


def heavy_tailed(random: np.random.Generator) -> Problem:
    return one_space(np.exp(1.5 * random.normal(size=(3000, 5))), 20, random)


def extreme_tailed(random: np.random.Generator) -> Problem:
    return one_space(np.exp(4 * random.normal(size=(4000, 4))), 30, random)


def spiked(random: np.random.Generator) -> Problem:
    X = random.lognormal(size=(3000, 6)) * (random.random((3000, 6)) < 0.3)
    return one_space(X.round(2), 25, random)


def binary(random: np.random.Generator) -> Problem:
    return one_space((random.random((3000, 16)) < random.random(16)).astype(float), 20, random)


def repeated(random: np.random.Generator) -> Problem:
    X = blobs(random, 500, 4, 12, 2.0)
    return one_space(X[random.integers(500, size=5000)], 12, random)


def wide(random: np.random.Generator) -> Problem:
    return one_space(blobs(random, 500, 100, 10, 6.0), 16, random)


def narrow_precision(random: np.random.Generator) -> Problem:
    return one_space(blobs(random, 3000, 6, 20, 3.0).astype(np.float32), 20, random)


def offset(random: np.random.Generator) -> Problem:
    return one_space(1e9 + blobs(random, 2000, 4, 12, 2.0), 12, random)


def weighty(random: np.random.Generator) -> Problem:
    problem = one_space(blobs(random, 3000, 5, 15, 3.0), 20, random)
    return replace(problem, weight=random.choice([0.0, 1e-3, 1.0, 2.5, 40.0], size=3000))


def two_spaces(random: np.random.Generator) -> Problem:
    X = blobs(random, 3000, 6, 15, 3.0)
    points = (X @ random.normal(size=(6, 2))).astype(np.float32)
    centers = lloyd(points, 20, random)
    labels = ((points[:, None, :] - centers) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([X[labels == i].mean(axis=0) if (labels == i).any() else X[0] for i in range(20)])
    return Problem(X, points, means, centers, None, 0.03)


def arbitrary_centers(random: np.random.Generator) -> Problem:
    X = blobs(random, 1500, 4, 10, 3.0)
    centers = random.uniform(-15, 15, size=(100, 4))
    return Problem(X, X, centers, centers, None, 0.03)


TABLES: dict[str, Callable[[np.random.Generator], Problem]] = {
    make.__name__: make
    for make in (
        overlapping, separate, one_column, discrete, heavy_tailed, extreme_tailed, spiked, binary, repeated, wide,
        narrow_precision, offset, weighty, two_spaces, arbitrary_centers,
    )
}  # fmt: skip


@functools.cache
def table_of_some_size(name: str) -> Problem:
    """Return one of the tables, made once in a process: nobody may write to it."""
    table = TABLES[name](np.random.default_rng(20))
    for array in table.arrays:
        array.flags.writeable = False
    return table


def write_people(path: Path, n_rows: int = 240, seed: int = 3, shift: float = 0.0) -> Path:
    """Write a table of numbers, categories, truth values, codes and missing values, with weights and labels."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n_rows)
    lines = ["age,income,city,member,weight,segment"]
    for i in range(n_rows):
        g = group[i]
        age = "" if i % 40 == 7 else round(20 + 10 * g + rng.normal(0, 4), 1)
        city = ["Ulm", "Bonn", "Ulm", "Köln"][g] if rng.random() < 0.8 else "Bonn"
        income = int(900 + 700 * (g % 2) + rng.normal(0, 120) + shift)
        lines.append(f"{age},{income},{city},{'true' if g > 1 else 'false'},{1 + i % 3},s{g}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
