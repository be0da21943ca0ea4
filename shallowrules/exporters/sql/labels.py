"""What a row gets, as SQL: the number or the name of its cluster, and what it gets without one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from shallowrules.errors import ExportError, OptionError, OptionName
from shallowrules.exporters.base import ClusterAs
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.options import OTHERWISE, SqlOptions
from shallowrules.exporters.sql.writing import Writing
from shallowrules.rules import Cluster, RuleSet
from shallowrules.tables.labels import MIN_LABEL

__all__ = ["cluster_type", "comparable", "label_literals", "otherwise_literal", "unused_label"]


def cluster_type(rules: RuleSet, settings: SqlOptions, writing: Writing) -> str:
    """Return the type of a column of labels: the smallest that holds every cluster number."""
    if settings.cluster_as == "name":
        return writing.text
    others = [] if settings.otherwise is None else [int(settings.otherwise)]
    return writing.type_of([*(cluster.label for cluster in rules.clusters), *others])


def label_literals(clusters: Sequence[Cluster], cluster_as: ClusterAs, dialect: Dialect) -> dict[int, str]:
    """Return SQL for the label of each cluster."""
    if cluster_as == "number":
        # The digits of the smallest number, without their sign, are beyond 64 bits.
        smallest = f"({MIN_LABEL + 1} - 1)"
        return {c.index: smallest if c.index == MIN_LABEL else str(c.label) for c in clusters}
    nameless = [cluster.index for cluster in clusters if not cluster.name]
    if nameless and not dialect.texts.empty:
        raise ExportError(
            f"cluster {nameless[0]} is named by an empty text, which dialect {dialect.name!r} treats as NULL, no "
            "cluster; use number for ",
            OptionName("cluster_as"),
        )
    return {cluster.index: dialect.string(cluster.name) for cluster in clusters}


def otherwise_literal(clusters: Sequence[Cluster], settings: SqlOptions, dialect: Dialect) -> str | None:
    """Return SQL for the value of a row without a cluster; OptionError if it is a cluster's, or of the wrong type."""
    value = settings.otherwise
    if value is None:
        return None
    taken = [cluster for cluster in clusters if str(value).strip() in (str(cluster.label), cluster.name)]
    if taken:
        raise OptionError(OTHERWISE, f" is {value!r}, which is cluster {taken[0].title}; use a different value")
    return dialect.string(str(value)) if settings.cluster_as == "name" else dialect.number(int(value))


def comparable(cluster_as: ClusterAs, dialect: Dialect) -> dict[str, str]:
    """Return expressions that make a column of clusters, ``{column}``, and its value, ``{literal}``, comparable."""
    if cluster_as == "number":
        return {"column": "{column}", "value": "{literal}"}
    texts = dialect.texts
    return {"column": texts.cast or texts.column, "value": texts.literal}


def unused_label(clusters: Sequence[Cluster], cluster_as: ClusterAs, dialect: Dialect) -> str:
    """Return SQL for a value that is not a cluster's number or name."""
    if cluster_as == "number":
        labels = {cluster.label for cluster in clusters}
        return dialect.number(next(number for number in range(-1, -len(labels) - 2, -1) if number not in labels))
    names = {cluster.name for cluster in clusters}
    return dialect.string(next(name for number in count() if (name := f"none {number}") not in names))
