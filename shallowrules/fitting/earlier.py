"""What a fit takes over from earlier rules, the scale of columns and the centers; and what it leaves to later ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.centers import settle_centers
from shallowrules.encoding import Encoder
from shallowrules.encoding.rows import Encode
from shallowrules.fitting.data import FitParameters, Log
from shallowrules.measures.summation import SumGrid
from shallowrules.partitions.merging import Run
from shallowrules.rules import Clustering, Number, RuleColumn, RuleSet, Value

__all__ = ["clustering_of", "kept_scales", "outside_notes", "start_from"]

COLUMNS_SHOWN = 5
"""The number of columns that a note lists, of those with values outside the range by which they were scaled."""


def clustering_of(encoder: Encoder, scale: str | None, centers: NDArray[np.float64]) -> Clustering:
    """Return the clustering of a table for rules to keep.

    Parameters
    ----------
    encoder : Encoder
        Not one after a transformer.
    scale : str or None
        The name of its scaler.
    centers : ndarray of float64, shape (k, m)
    """
    clustered, scales = encoder.clustered, encoder.scales()
    return Clustering(
        scale or "none",
        encoder.category_weight,
        tuple(column.source for column in clustered),
        tuple(column.values[0] if column.kind == "indicator" else None for column in clustered),
        tuple(origin for origin, _ in scales),
        tuple(unit for _, unit in scales),
        tuple(tuple(center) for center in centers.tolist()),
    )


def kept_scales(parameters: FitParameters) -> dict[str, tuple[float, float]]:
    """Return the scale of the columns that keep theirs, as `Encoder.scales` has it, by name.

    A column with a single value had no scale.
    """
    earlier, known = parameters.earlier, parameters.kept_clustering
    if earlier is None or known is None:
        return {}
    columns = [earlier.columns[j] for j in known.columns]
    return {
        column.name: (origin, unit)
        for column, origin, unit in zip(columns, known.origins, known.units, strict=True)
        if column.is_numeric and column.minimum != column.maximum
    }


def start_from(
    parameters: FitParameters,
    encoder: Encoder,
    names: Sequence[str],
    run: Run,
    encode: Encode,
    grid: SumGrid,
    log: Log,
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the centers that those of earlier rules lead to on a new table; or None, and a note on why there are none.

    Parameters
    ----------
    parameters : FitParameters
    encoder : Encoder
        Of the new table.
    names : sequence of str
        Its columns.
    run, encode, grid, log
        As for `settle_centers`.
    """
    if parameters.earlier is None:
        return None, ()
    centers, why = _starting_centers(parameters.earlier, encoder, names, parameters.n_clusters)
    if centers is not None:
        centers, why = settle_centers(run, encode, grid, centers, log, parameters.n_threads), "one of them has no rows"
    return centers, () if centers is not None else (f"the clustering does not start from the earlier centers: {why}",)


def _starting_centers(
    earlier: RuleSet, encoder: Encoder, names: Sequence[str], n_clusters: int
) -> tuple[NDArray[np.float64] | None, str]:
    """Return the centers of earlier rules in the space of a new table, or None and why there are none.

    Parameters
    ----------
    earlier : RuleSet
    encoder : Encoder
        Of the new table.
    names : sequence of str
        Its columns.
    n_clusters : int
        Clusters that are asked for.
    """
    known = earlier.clustering
    if known is None:
        return None, "the earlier rules do not hold them"
    if len(known.centers) != n_clusters:
        return None, f"there are {len(known.centers)} of them, for {n_clusters} clusters"
    clustered = [(earlier.columns[j].name, value) for j, value in zip(known.columns, known.values, strict=True)]
    places = {column: i for i, column in enumerate(clustered)}
    categorical = {name for name, value in clustered if value is not None}
    before = np.array(known.centers)
    centers = np.zeros((n_clusters, len(encoder.clustered)))
    for j, (column, (origin, unit)) in enumerate(zip(encoder.clustered, encoder.scales(), strict=True)):
        name = names[column.source]
        value: Value | None = column.values[0] if column.kind == "indicator" else None
        place = places.get((name, value))
        if place is None and not (value is not None and name in categorical):  # a new category has no rows yet
            return None, f"they have no column {name!r}"
        if place is None:
            continue
        centers[:, j] = before[:, place]
        if value is not None:
            if encoder.category_weight != known.category_weight:
                centers[:, j] *= encoder.category_weight / known.category_weight
        elif (origin, unit) != (known.origins[place], known.units[place]):
            centers[:, j] = (before[:, place] * known.units[place] + known.origins[place] - origin) / unit
    return centers, ""


def outside_notes(
    earlier: RuleSet, columns: Sequence[RuleColumn], kept: Mapping[str, tuple[float, float]]
) -> list[str]:
    """Return a note on columns whose values lie outside the range of the table whose scale they keep, if there are any.

    `columns` are those of the new rules.
    """
    before = {column.name: column for column in earlier.columns}
    found = []
    for column in columns:
        if column.name not in kept or not column.is_numeric:
            continue
        old = before[column.name]
        (low, high), (old_low, old_high) = (
            cast("tuple[Number, Number]", (each.minimum, each.maximum)) for each in (column, old)
        )
        if low < old_low or high > old_high:
            found.append(
                f"{column.name!r} from {column.show(low)} to {column.show(high)}, "
                f"not {old.show(old_low)} to {old.show(old_high)}"
            )
    if not found:
        return []
    more = f" and {len(found) - COLUMNS_SHOWN} more columns" if len(found) > COLUMNS_SHOWN else ""
    return [
        f"values lie outside the range of the earlier table, whose scale is kept: {'; '.join(found[:COLUMNS_SHOWN])}"
        f"{more}; a refit can also scale by this table"
    ]
