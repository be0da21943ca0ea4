"""Clusters with other names, notes or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shallowrules.errors import DataError
from shallowrules.rules.figures import Cluster

__all__ = ["named_clusters", "new_numbers", "renumbered_clusters"]


def named_clusters(
    clusters: Sequence[Cluster], names: Mapping[int, str], notes: Mapping[int, str]
) -> tuple[Cluster, ...]:
    """Return the clusters with the names and notes that a person gives to some, as `RuleSet.with_names` does."""
    known = {cluster.label: cluster.index for cluster in clusters}
    labels = {index: label for label, index in known.items()}
    names, notes = ({known.get(n, n): text for n, text in each.items()} for each in (names, notes))
    for number in (*names, *notes):
        if number not in labels:
            raise DataError(f"there is no cluster {number} to name; the rules have {', '.join(map(str, known))}")
    taken: dict[str, int] = {}
    found: dict[int, Cluster] = {}
    for cluster in sorted(clusters, key=lambda each: each.named_by_rules and each.index not in names):
        index, name = cluster.index, names.get(cluster.index, cluster.name)
        if not name.strip():
            raise DataError(f"the name of cluster {labels[index]} is blank")
        by_rules = cluster.named_by_rules and name == cluster.name
        while by_rules and name in taken:  # a person's name comes first
            name = f"{name} ({labels[index]})"
        if taken.setdefault(name, index) != index:
            raise DataError(f"the clusters {labels[taken[name]]} and {labels[index]} would both be called {name!r}")
        note = notes.get(index, cluster.note)
        found[index] = replace(cluster, name=name, note=note, named_by_rules=by_rules)
    return tuple(found[cluster.index] for cluster in clusters)


def new_numbers(clusters: Sequence[Cluster], numbers: Mapping[int, int]) -> dict[int, int]:
    """Return the new number of every cluster, and of those without a rule that figures name, by the old one.

    Raises
    ------
    DataError
        If two clusters would have one number, or one the number that is the name of another.
    """
    known = {cluster.index for cluster in clusters}
    known |= {index for cluster in clusters for index in cluster.reference_clusters}
    found = {index: numbers.get(index, index) for index in sorted(known)}
    taken: dict[int, int] = {}
    for index, number in found.items():
        if taken.setdefault(number, index) != index:
            raise DataError(f"the clusters {taken[number]} and {index} would both have the number {number}")
    by_text = {str(number): index for number, index in taken.items()}
    for cluster in clusters:
        other = by_text.get(cluster.name, cluster.index)
        if cluster.is_named and other != cluster.index:
            raise DataError(
                f"cluster {cluster.index} is named {cluster.name!r}, and cluster {other} would have that number: "
                "give the first another name"
            )
    return found


def renumbered_clusters(clusters: Sequence[Cluster], numbers: Mapping[int, int]) -> tuple[Cluster, ...]:
    """Return the clusters with new numbers, ascending; `numbers` has one for each, and for each that figures name."""
    found = []
    for cluster in clusters:
        number = numbers[cluster.index]
        name = str(number) if cluster.name == str(cluster.index) else cluster.name
        pairs = sorted(
            (numbers[index], weight)
            for index, weight in zip(cluster.reference_clusters, cluster.reference_weights, strict=True)
        )
        found.append(
            replace(
                cluster,
                index=number,
                name=name,
                reference_clusters=tuple(index for index, _ in pairs),
                reference_weights=tuple(weight for _, weight in pairs),
            )
        )
    return tuple(sorted(found, key=lambda cluster: cluster.index))
