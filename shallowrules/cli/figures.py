"""What commands show, as data for programs: the results in the document of ``--json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallowrules.tables.labels import cluster_of

if TYPE_CHECKING:
    from shallowrules.labelling.drift import ColumnShift, Shift
    from shallowrules.measures.totals import Totals
    from shallowrules.models.choosing import ClusterCounts
    from shallowrules.models.pricing import RefitGain
    from shallowrules.models.tradeoff import TradeoffPath
    from shallowrules.rules import RuleSet
    from shallowrules.verification import Comparison, Failed, NotRun

__all__ = [
    "cluster_counts",
    "clusters_of_rows",
    "column_shifts",
    "comparisons_of",
    "gain_of",
    "new_categories",
    "path_of",
    "rules_of",
    "shifts_of",
    "total_of",
]


def rules_of(rules: RuleSet, files: Iterable[str] = ()) -> dict[str, Any]:
    """Return the clusters, largest first, with the rules of each, and the cost and length of the whole."""
    statistics = rules.statistics
    total = None
    if statistics.measure is not None:
        unmeasured = sum(cluster.unmeasured for cluster in rules.clusters)
        total = {"column": statistics.measure, "sum": statistics.total, "without_value": unmeasured}
    return {
        "rows": statistics.rows,
        "left_out": statistics.left_out,
        "weight": statistics.weight,
        "clusters": [
            {
                "cluster": cluster.label,
                "name": cluster.name,
                "rows": cluster.rows,
                "share": cluster.share,
                "total": cluster.total,
                "total_share": statistics.share_of_total(cluster),
                "precision": cluster.precision if statistics.labelled else None,
                "recall": cluster.recall if statistics.labelled else None,
                "rules": [str(rule) for rule in rules.rules_of(cluster.index)],
            }
            for cluster in rules.by_size
        ],
        "cost": statistics.normalized_cost,
        "extra": statistics.normalized_cost - 1,
        "agreement": statistics.agreement,
        "conditions": statistics.waes,
        "questions": statistics.wad,
        "separation": [{"column": column.name, "share": share} for column, share in rules.separation],
        "total": total,
        "flow": _flow_of(rules),
        "files": list(files),
    }


def _flow_of(rules: RuleSet) -> dict[str, Any] | None:
    """Return which rows were in which cluster by earlier rules; None if there were none."""
    flow = rules.flow
    if flow is None:
        return None
    labels = _labels_of(rules)
    moves = [
        {
            "old": cluster_of(old),
            "old_title": None if cluster_of(old) is None else flow.title(old),
            "new": labels.get(new),
            "rows": rows,
        }
        for old, new, rows in flow.moves
    ]
    return {"rows": flow.rows, "moved": flow.moved, "share": flow.share, "moves": moves}


def cluster_counts(found: ClusterCounts, way_beyond: str, plot: str | None) -> dict[str, Any]:
    """Return the results of each number of clusters, and the recommended one."""
    return {
        "counts": [
            {
                "k": count.k,
                "explained": count.explained,
                "silhouette": count.silhouette,
                "stability": count.stability,
                "price": count.price,
                "conditions": count.conditions,
                "n_rules": count.n_rules,
                "smallest": count.smallest,
                "doubts": count.doubts,
            }
            for count in found
        ],
        "recommended": found.recommended.k,
        "convincing": not found.unconvincing,
        "unconvincing": found.unconvincing or None,
        "reason": f"{found.reason}{way_beyond}",
        "price_remark": found.price_remark or None,
        "files": [] if plot is None else [plot],
    }


def path_of(path: TradeoffPath, files: Iterable[str]) -> dict[str, Any]:
    """Return the trees worth considering, cheapest first."""
    return {
        "trees": [
            {
                "tradeoff": point.tradeoff,
                "cost": point.cost,
                "extra": point.cost - 1,
                "conditions": point.conditions,
                "questions": point.questions,
                "n_rules": point.n_leaves,
                "refine": point.refine,
            }
            for point in path
        ],
        "price_remark": path.price_remark or None,
        "files": list(files),
    }


def clusters_of_rows(rules: RuleSet, counts: Mapping[int | None, int], totals: Totals | None) -> list[dict[str, Any]]:
    """Return how many rows of a table got each cluster or none, and the sums of a column.

    A table without rows has 0 rows without a cluster.
    """
    counts = counts or {None: 0}
    labels, names = _labels_of(rules), _names_of(rules)
    rows = sum(counts.values())
    return [
        {
            "cluster": labels.get(index),
            "name": names.get(index),
            "rows": count,
            "share": count / rows if rows else None,
            "total": None if totals is None else totals.sums.get(index, 0.0),
            "total_share": None if totals is None else totals.share(index),
        }
        for index, count in counts.items()
    ]


def total_of(totals: Totals | None) -> dict[str, Any] | None:
    """Return the sum of a column over all rows; None if none was added up."""
    if totals is None:
        return None
    return {"column": totals.name, "sum": totals.whole, "without_value": sum(totals.missing.values())}


def shifts_of(rules: RuleSet, shifts: Sequence[Shift], max_shift: float) -> list[dict[str, Any]]:
    """Return the share of each cluster beside that in training, and whether it moved by more than a limit."""
    labels, names = _labels_of(rules), _names_of(rules)
    return [
        {
            "cluster": labels.get(shift.cluster),
            "name": names.get(shift.cluster),
            "rows": shift.rows,
            "share": shift.share,
            "trained": shift.trained,
            "shift": shift.size,
            "moved": shift.exceeds(max_shift),
            "total": shift.total,
            "total_share": shift.total_share,
            "total_trained": shift.total_trained,
        }
        for shift in shifts
    ]


def column_shifts(shifts: Iterable[ColumnShift]) -> list[dict[str, Any]]:
    """Return the rows with values of tested columns that did not occur in training."""
    return [vars(shift) | {"column": shift.column.name} for shift in shifts if shift.sentences()]


def new_categories(shifts: Iterable[ColumnShift]) -> list[dict[str, Any]]:
    """Return the rows with a category that did not occur in training; what was not counted is None."""
    return [each | dict.fromkeys(("missing", "below", "above")) for each in column_shifts(shifts)]


def gain_of(gain: RefitGain) -> dict[str, Any]:
    """Return the cost of rules on a table, and of a fresh tree for it."""
    return vars(gain) | {"pays": gain.pays}


def comparisons_of(
    comparisons: Iterable[Comparison],
    not_run: Iterable[NotRun],
    remarks: Iterable[str] = (),
    failed: Iterable[Failed] = (),
) -> dict[str, Any]:
    """Return how every form of the rules did, the forms that were not run, and those that failed."""
    return {
        "comparisons": [
            {
                "form": comparison.form,
                "rows": comparison.rows,
                "disagreements": comparison.disagreements,
                "first": [
                    {
                        "row": difference.origin,
                        "values": difference.cells,
                        "tree": difference.expected,
                        "form": difference.found,
                    }
                    for difference in comparison.differences
                ],
            }
            for comparison in comparisons
        ],
        "not_run": [vars(each) for each in not_run],
        "remarks": list(remarks),
        "failed": [{"form": each.form, "reason": each.reason} for each in failed],
    }


def _labels_of(rules: RuleSet) -> dict[int | None, int]:
    """Return the number that exports give the rows of each cluster, by its index."""
    return {cluster.index: cluster.label for cluster in rules.clusters}


def _names_of(rules: RuleSet) -> dict[int | None, str]:
    return {cluster.index: cluster.name for cluster in rules.clusters}
