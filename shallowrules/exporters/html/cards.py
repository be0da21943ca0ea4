"""The cards of the page, as data for the template: a cluster's rules, and pictures of its distinctive columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallowrules.errors import counted
from shallowrules.exporters.context import rows_text
from shallowrules.exporters.html.drawing import HEIGHT, bin_width, draw_bins, place_value, short
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import (
    ConditionWords,
    describe_means,
    describe_missing,
    describe_profile,
    describe_quality,
    describe_total,
    format_exact,
    format_number,
    list_values,
)
from shallowrules.rules import Between, Cluster, Number, Rule, RuleColumn, RuleSet
from shallowrules.rules.figures import percent

__all__ = ["Pictures", "describe_cards"]

PICTURES_SHOWN = 6
"""Maximum number of pictures on a card."""

MAX_PICTURES = 100
"""The number of pictures of a tree above which its cards have fewer, but at least two."""

MAX_PICTURES_OF_PATH = 400
"""The number of pictures of all trees of a path except the first one shown; above it, their cards have fewer, or
none."""

BARS_SHOWN = 5
STANDS_OUT_SHOWN = 4
RULES_SHOWN = 12


@dataclass(frozen=True, eq=False)
class Pictures:
    """The histograms of a rule set: for each column that has one, its edges and the shares of the whole table."""

    edges: Mapping[int, Sequence[Number]]
    places: Mapping[int, int]
    shares: Mapping[int, list[float]]

    @classmethod
    def of(cls, rules: RuleSet) -> Pictures:
        """Return the histograms of a rule set; none if it was made without them."""
        binned = [i for i, column in enumerate(rules.columns) if column.edges]
        total = rules.statistics.weight
        return cls(
            {i: rules.columns[i].edges for i in binned},
            {i: place for place, i in enumerate(binned)},
            {
                i: [
                    sum(bins) / total
                    for bins in zip(*(cluster.histograms[place] for cluster in rules.clusters), strict=True)
                ]
                for place, i in enumerate(binned)
            },
        )

    def width(self, index: int) -> int:
        """Return how many pixels wide the histogram of a column is, 0 without one."""
        n_bins = len(self.edges.get(index, ())) - 1
        return bin_width(n_bins) * n_bins if n_bins > 0 else 0

    def outlines(self, rules: RuleSet) -> list[dict[str, Any]]:
        """Return the data shared by a column's pictures: the whole table's histogram, and the ends of the axis."""
        return [
            {
                "index": i,
                "path": draw_bins(self.shares[i], max(self.shares[i])),
                "first": format_number(_first_shown(edges, rules.columns[i]), rules.columns[i]),
                "last": format_number(edges[-1], rules.columns[i]),
                "width": self.width(i),
            }
            for i, edges in self.edges.items()
        ]


def _first_shown(edges: Sequence[Number], column: RuleColumn) -> Number:
    """Return the start of the axis: for a bin above 0 and at most 1, over whole numbers, the 1 that it holds."""
    return edges[0] + 1 if column.is_whole and edges[1] - edges[0] == 1 else edges[0]


def describe_cards(
    rules: RuleSet, colours: Mapping[int, int], pictures: Pictures, n_trees: int
) -> list[dict[str, Any]]:
    """Return a card for each cluster, largest first, of one of several trees."""
    room = max(2, MAX_PICTURES // len(rules.clusters))
    if n_trees > 1:
        room = min(room, MAX_PICTURES_OF_PATH // (n_trees * len(rules.clusters)))
    most = min(PICTURES_SHOWN, room)
    return [_card(rules, cluster, colours[cluster.index], pictures, most) for cluster in rules.by_size]


def _card(rules: RuleSet, cluster: Cluster, colour: int, pictures: Pictures, most: int) -> dict[str, Any]:
    mine, share_of_total = rules.rules_of(cluster.index), rules.statistics.share_of_total
    profile = describe_profile(rules, cluster)
    asked = {condition.feature for rule in mine for condition in rule.conditions}
    drawn = [i for i, column in enumerate(rules.columns) if i in pictures.places or not column.is_numeric]
    drawn.sort(key=lambda i: (i not in asked, -_distance(rules, cluster, i, pictures), i))
    shown = [found for i in drawn[:most] if (found := _picture(rules, cluster, i, mine, pictures))]
    left_out = set(rules.tested_columns) - set(drawn[:most])
    marked = [line for line in profile if line["mark"]]
    return {
        "index": cluster.index,
        "label": cluster.label,
        "name": cluster.name,
        "colour": colour,
        "rows_text": counted(cluster.rows, "row"),
        "share_text": percent(cluster.share),
        "share": cluster.share,
        "total": None if cluster.total is None else describe_total(cluster.total, share_of_total(cluster)),
        "unmeasured": cluster.unmeasured,
        "rules": [_rule(rule) for rule in mine[:RULES_SHOWN]],
        "more_rules": len(mine) - len(mine[:RULES_SHOWN]),
        "quality": describe_quality(cluster, rules.statistics.labelled),
        "stands_out": marked[: STANDS_OUT_SHOWN if most > 2 else 2],
        "pictures": shown,
        "left_out": len(left_out),
        "sources": _sources(rules, cluster),
        "note": "\n".join(map(one_line, cluster.note.splitlines())),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    words = ConditionWords(says_flags=True)
    return {
        "rows_text": rows_text(rule.rows, rule.share),
        "conditions": [
            {
                "column": condition.column.name,
                "missing": describe_missing(condition.column),
                "words": words(condition),
            }
            for condition in rule.conditions
        ],
    }


def _sources(rules: RuleSet, cluster: Cluster) -> list[dict[str, Any]]:
    """Return the original clusters of a cluster's rows, the largest share first."""
    labels = {each.index: each.label for each in rules.clusters}
    pairs = zip(cluster.reference_clusters, cluster.reference_weights, strict=True)
    return [
        {
            "label": labels.get(index, index),
            "share": weight / cluster.weight,
            "share_text": percent(weight / cluster.weight),
        }
        for index, weight in sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    ]


def _distance(rules: RuleSet, cluster: Cluster, index: int, pictures: Pictures) -> float:
    """Return how much the distribution of a column in a cluster differs from that in the table: from 0 to 1."""
    here, table = _shares(rules, cluster, index, pictures)
    return sum(abs(first - second) for first, second in zip(here, table, strict=True)) / 2


def _shares(
    rules: RuleSet, cluster: Cluster, index: int, pictures: Pictures
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the shares of bins or categories in a cluster and in the table; none where they were not measured."""
    column = rules.columns[index]
    if not cluster.rows:
        return (), ()
    if not column.is_numeric:
        return cluster.shares[index], column.shares
    if index not in pictures.places:
        return (), ()
    return [weight / cluster.weight for weight in cluster.histograms[pictures.places[index]]], pictures.shares[index]


def _picture(
    rules: RuleSet, cluster: Cluster, index: int, mine: Sequence[Rule], pictures: Pictures
) -> dict[str, Any] | None:
    """Return the picture of a column, None where there is nothing to draw."""
    here, table = _shares(rules, cluster, index, pictures)
    if not here:
        return None
    column = rules.columns[index]
    conditions = [condition for rule in mine for condition in rule.conditions if condition.feature == index]
    common = {
        "index": index,
        "column": column.name,
        "asked": list(dict.fromkeys(ConditionWords()(condition) for condition in conditions)),
    }
    if not column.is_numeric:
        return {**common, "kind": "bars", **_bars(column, here, table)}
    edges = pictures.edges[index]
    most = max(*here, *table)
    bounds = {
        bound: place_value(bound, edges)
        for condition in conditions
        if isinstance(condition, Between)
        for bound in (condition.lower, condition.upper)
        if bound is not None
    }
    width = pictures.width(index)
    allowed = [
        (
            0 if condition.lower is None else bounds[condition.lower],
            width if condition.upper is None else bounds[condition.upper],
        )
        for condition in conditions
        if isinstance(condition, Between)
    ]
    scale = max(table) / most
    mean, table_mean = describe_means(column, cluster, index)
    return {
        **common,
        "kind": "bins",
        "path": draw_bins(here, most),
        "table_transform": f"matrix(1 0 0 {scale:.2f} 0 {HEIGHT * (1 - scale):.0f})",
        "width": width,
        "bounds": _bound_labels(bounds, width, column),
        "allowed": [{"x": x, "width": short(end - x)} for x, end in sorted(set(allowed))],
        "what": "share of 1" if column.is_flag else "mean",
        "mean": mean,
        "table_mean": table_mean,
    }


def _bound_labels(bounds: Mapping[Number, float], width: int, column: RuleColumn) -> list[dict[str, Any]]:
    """Return where thresholds are and how they are labelled; more than two have no room for labels."""
    placed = sorted(bounds.items())
    labels = []
    for i, (bound, x) in enumerate(placed):
        text = format_exact(bound + 0, column)
        room = 6 * len(text)
        if len(placed) == 1:
            anchor = "start" if x < room / 2 else "end" if x > width - room / 2 else "middle"
        else:
            anchor = "end" if (i == 0 and x > room) or x > width - room else "start"
        labels.append({"x": x, "text": text if len(placed) <= 2 else "", "anchor": anchor})
    return labels


def _bars(column: RuleColumn, here: Sequence[float], table: Sequence[float]) -> dict[str, Any]:
    """Return the bars of the categories in which a cluster differs most from the table, the most frequent first."""
    places = sorted(range(len(here)), key=lambda i: -max(here[i], abs(here[i] - table[i])))[:BARS_SHOWN]
    return {
        "bars": [
            {
                "value": list_values([column.values[i]]),
                "here": short(100 * here[i]),
                "table": short(100 * table[i]),
                "here_text": percent(here[i]),
                "table_text": percent(table[i]),
            }
            for i in sorted(places)
        ],
        "more": len(here) - len(places),
    }
