"""Growing: distinct rows and their centers in, a tree in gaps out. Calls the kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shallowrules import _kernel
from shallowrules.trees.grown_tree import GrownTree, tree_with_rows
from shallowrules.trees.growth_data import UniqueRows
from shallowrules.trees.progress import Progress, part_of

__all__ = ["grow", "grow_path"]


def grow(
    unique: UniqueRows,
    *,
    method: str = "exshallow",
    tradeoff: float = 0.03,
    max_leaves: int | None = None,
    base: str = "none",
    distances: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> GrownTree:
    """Grow the tree that explains the reference centers (the paper's Algorithm 3, IMM or ExKMC).

    Parameters
    ----------
    unique : UniqueRows
        The rows, as `find_unique_rows` returns them; they are reordered. For IMM, `labels` are the centers that rows
        should stay with; without it, that is the nearest center.
    method : {"exshallow", "exgreedy", "imm", "exkmc"}
        ExGreedy is ExShallow with ``tradeoff=0``.
    tradeoff : float
        The paper's lambda, at least 0: the share of cost given up per condition saved. Only ExShallow's.
    max_leaves : int, optional
        ExKMC's: leaves to stop at, at least k; by default k.
    base : {"none", "imm"}
        ExKMC's: its start, one leaf or IMM's tree.
    distances : ndarray of float64, shape (k, n_unique), optional
        Squared distances of the rows `first` to the centers, where they are known; they are overwritten. ExShallow's
        and ExGreedy's.
    n_threads : int
        The result does not depend on it.
    progress : callable, optional
        Called now and then with the share of the work that is done, nodes weighted by their rows.

    Returns
    -------
    GrownTree
    """
    inputs, n_threads = unique.kernel_input(distances), max(1, n_threads)
    progress = progress if unique.data.k > 1 else None  # one center is one leaf: there is no work to report
    if method == "exkmc":
        n_leaves = unique.data.k if max_leaves is None else min(max_leaves, max(unique.data.k, len(unique.first)))
        assigned = unique.own_centers() if base == "imm" else None
        nodes = _kernel.grow_exkmc(inputs, n_leaves, assigned=assigned, n_threads=n_threads, progress=progress)
    elif method == "imm":
        nodes = _kernel.grow_imm(inputs, unique.own_centers(), n_threads=n_threads, progress=progress)
    else:
        tradeoff = 0.0 if method == "exgreedy" else float(tradeoff)
        nodes = _kernel.grow_tree(inputs, tradeoff, n_threads=n_threads, progress=progress)
    return tree_with_rows(nodes, unique)


def grow_path(
    unique: UniqueRows,
    tradeoffs: Sequence[float],
    *,
    distances: NDArray[np.float64] | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> list[GrownTree]:
    """Grow ExShallow's tree for each of several trade-offs.

    Parameters are those of `grow`.

    Returns
    -------
    list of GrownTree
        One per trade-off, in their order; the same object where trees are equal.
    """
    found: dict[bytes, GrownTree] = {}
    grown = []
    for i, tradeoff in enumerate(tradeoffs):
        part = part_of(progress, i, len(tradeoffs))
        tree = grow(unique, tradeoff=tradeoff, distances=distances, n_threads=n_threads, progress=part)
        distances = None  # the rows are in a different order now
        grown.append(found.setdefault(tree.key, tree))
    return grown
