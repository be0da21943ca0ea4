"""The tables that speed.py measures growth on: how each is made, and the ratios asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, Target
from numpy.typing import NDArray
from sklearn.datasets import make_blobs


@dataclass(frozen=True)
class Case:
    """A table, the number of its clusters, and the ratios asked for.

    Attributes
    ----------
    name : str
        As `--cases` knows it.
    rows, columns, k : int
        0 where a file says so.
    std : float
        Of the blobs.
    dtype : str
    file : str
        Pattern of the file in the data folder; "" for blobs.
    minmax : bool
        Whether the columns are scaled to 0..1.
    targets : tuple of (key, Target)
        The key: the name of a ratio, the threads above and those below its line.
    """

    name: str
    rows: int = 0
    columns: int = 0
    k: int = 0
    std: float = 5.0
    dtype: str = "float64"
    file: str = ""
    minmax: bool = False
    targets: tuple[tuple[tuple[str, int, int], Target], ...] = ()

    def table(self, seed: int) -> NDArray[Any]:
        """Return X, made in place: no second table is ever in memory."""
        if self.file:
            with np.load(self._path()) as stored:
                X: NDArray[Any] = stored["X"]
            if self.minmax:
                X = (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
            return X[: self.rows] if self.rows else X
        X = np.empty((self.rows, self.columns), dtype=self.dtype)
        step = 100_000
        for first in range(0, self.rows, step):
            part = X[first : first + step]
            part[:] = make_blobs(
                len(part),
                centers=self.blob_means(seed),
                cluster_std=self.std,
                random_state=seed * 100_003 + first // step,
            )[0]
        return X

    def blob_means(self, seed: int) -> NDArray[np.float64]:
        return np.random.default_rng(seed).uniform(-10.0, 10.0, (self.k, self.columns))

    def clusters(self) -> int:
        if self.file:
            with np.load(self._path()) as stored:
                return int(stored["k"])
        return self.k

    def is_there(self) -> bool:
        return not self.file or any(DATA.glob(self.file))

    def _path(self) -> Path:
        return next(DATA.glob(self.file))


def targets(
    kmeans: float | None, cart: tuple[float, float | None], threads: float | None = None
) -> tuple[tuple[tuple[str, int, int], Target], ...]:
    """Name the ratios asked for: growth ÷ KMeans, CART ÷ growth with 1 and 2 threads, 1 thread ÷ 2 threads."""
    asked = [
        (("growth ÷ KMeans fit", 2, 2), "≤", kmeans),
        (("CART ÷ growth", 1, 1), "≥", cart[0]),
        (("CART ÷ growth", 1, 2), "≥", cart[1]),
        (("growth ÷ growth", 1, 2), "≥", threads),
    ]
    return tuple((key, Target(sign, value)) for key, sign, value in asked if value is not None)


CASES = (
    Case("100000x20-k20", 100_000, 20, 20, std=4.0, targets=targets(None, (6, 11))),
    Case("1000000x10-k50", 1_000_000, 10, 50, targets=targets(0.3, (8, 14), 1.6)),
    Case("300000x50-k24", 300_000, 50, 24, targets=targets(0.5, (6, 11))),
    Case("1000000x10-k10", 1_000_000, 10, 10, targets=targets(1.5, (8, 14), 1.6)),
    Case("letter", file="letter.npz", targets=targets(1, (4, None))),
    Case("avila", file="avila.npz", minmax=True, targets=targets(1, (4, None))),
    Case("poker", file="poker*.npz", targets=targets(1, (4, None))),
)
LARGEST = Case("10000000x10-k20", 10_000_000, 10, 20, dtype="float32")
SLOPE_BASE = Case("slopes", 200_000, 10, 20)
SLOPE_POINTS = {
    "rows": (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
    "columns": (5, 10, 20, 40, 80),
    "k": (5, 10, 20, 50, 100, 200),
}
SLOPE_QUICK = {"rows": (1000, 2000), "columns": (2, 4), "k": (5, 10)}
