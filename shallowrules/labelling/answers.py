"""The labels that SQL of the rules gives to rows, as its user chose them, and the clusters that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.exporters.base import ClusterAs
from shallowrules.rules import RuleSet
from shallowrules.tables.labels import NO_CLUSTER

__all__ = ["Answers"]


class Answers:
    """The possible answers of a CASE expression of the rules.

    Parameters
    ----------
    rules : RuleSet
    cluster_as : {"number", "name"}
        The label of a row's cluster.
    otherwise : str or int, optional
        The value for a row without a cluster, instead of NULL.
    """

    def __init__(self, rules: RuleSet, cluster_as: ClusterAs = "number", otherwise: str | int | None = None) -> None:
        self.cluster_as = cluster_as
        self.otherwise = otherwise
        numbers = {number for cluster in rules.clusters for number in (cluster.index, cluster.label)}
        self.foreign = next(number for number in count(NO_CLUSTER - 1, -1) if number not in numbers)
        """Stands for an answer that is neither a cluster nor the value for rows without one."""
        if cluster_as == "number":
            self._clusters: dict[Any, int] = {cluster.label: cluster.index for cluster in rules.clusters}
        else:
            self._clusters = {cluster.name: cluster.index for cluster in rules.clusters}

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the exporter, for a style that gives each row an answer."""
        return {"cluster_as": self.cluster_as, "otherwise": self.otherwise}

    def cluster(self, answer: Any) -> int:
        """Return the cluster that an answer means, -1 for none, `foreign` if it means neither."""
        if answer is None:
            return NO_CLUSTER if self.otherwise is None else self.foreign
        kind = int if self.cluster_as == "number" else str
        if self.otherwise is not None and kind(answer) == kind(self.otherwise):
            return NO_CLUSTER
        return self._clusters.get(kind(answer), self.foreign)

    def clusters(self, numbers: NDArray[Any], absent: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the cluster that each of many numeric answers means, -1 where there is no answer."""
        found = numbers.astype(np.int64)
        for label, cluster in self._clusters.items():
            if label != cluster:
                found[numbers == label] = cluster
        found[absent] = NO_CLUSTER
        return found
