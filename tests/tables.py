"""Tables of some size that tests share: groups that overlap, weights, rows repeated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from strategies import Problem

__all__ = ["blobs", "lloyd", "one_space", "repeated_rows", "whole_weights"]


def blobs(random: np.random.Generator, n_rows: int, n_columns: int, n_centers: int, spread: float) -> np.ndarray:
    """Return rows around centers in a cube, scattered by `spread` in every column."""
    middles = random.uniform(-10, 10, size=(n_centers, n_columns))
    return middles[random.integers(n_centers, size=n_rows)] + spread * random.normal(size=(n_rows, n_columns))


def lloyd(X: np.ndarray, n_centers: int, random: np.random.Generator, rounds: int = 4) -> np.ndarray:
    """Return centers that are nearly those of k-means, and all have rows."""
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
    weight = random.integers(0, 4, len(problem.explained)).astype(np.float64)
    weight[0] = 3.0
    return replace(problem, weight=weight)


def repeated_rows(problem: Problem, share: bool) -> Problem:
    """Return a table with each row as often as its weight says; `share` makes both spaces one object."""
    times = problem.weight.astype(int)
    explained = np.repeat(problem.explained, times, axis=0)
    clustered = explained if share else np.repeat(problem.clustered, times, axis=0)
    return replace(problem, explained=explained, clustered=clustered, weight=None)
