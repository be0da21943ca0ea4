"""Silhouettes of a sample of rows: how much nearer a row is to its own cluster than to the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples

from shallowrules.displays.pyplot import import_pyplot
from shallowrules.errors import DataError, counted
from shallowrules.rules import RuleSet

__all__ = ["SILHOUETTE_ROWS", "draw_rows", "plot_silhouettes"]

SILHOUETTE_ROWS = 4000
"""Rows of the sample whose silhouette is taken: the time grows with their square."""


def draw_rows(n_rows: int, weight: NDArray[np.float64] | None, most: int, seed: int) -> NDArray[np.intp]:
    """Return some rows, drawn in proportion to their weight; all if they are few."""
    known = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
    if len(known) <= most:
        return known
    shares = None if weight is None else weight[known] / weight[known].sum()
    return np.sort(np.random.default_rng(seed).choice(known, most, replace=False, p=shares))


def plot_silhouettes(X: NDArray[Any], labels: NDArray[Any], rules: RuleSet, seed: int, ax: Any) -> Any:
    """Draw the silhouettes of rows in the space that was clustered, or of a sample if there are many.

    Raises
    ------
    DataError
        If all rows are in one cluster, or each is in one of its own.
    """
    from shallowrules.displays import pictures  # whose imports take longer than most fits of a small table

    import_pyplot()  # before the work
    rows = draw_rows(len(X), None, SILHOUETTE_ROWS, seed)
    n_clusters = len(np.unique(labels[rows]))
    if not 2 <= n_clusters < len(rows):
        raise DataError(
            f"silhouettes compare clusters of several rows: {counted(len(rows), 'row')} of X "
            f"{'is' if len(rows) == 1 else 'are'} in {counted(n_clusters, 'cluster')}"
        )
    return pictures.plot_silhouettes(silhouette_samples(X[rows], labels[rows]), labels[rows], rules, ax)
