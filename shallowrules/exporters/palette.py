"""Colors of clusters, for all drawings: distinct for people who see few colors, and readable with text."""

from __future__ import annotations

from collections.abc import Iterable

from shallowrules.rules import RuleSet

__all__ = ["DARK", "FOREGROUND", "HEAT", "LIGHT", "LINE", "MUTED", "SOFT", "cluster_colours"]

LIGHT = (
    *("#0b62a8", "#b34700", "#00785a", "#a3266e", "#6a51b5"),
    *("#806200", "#00738f", "#b3261e", "#52606f", "#4f7300"),
)
"""For a white page, with white text on the colors. The eleventh cluster has the first color again: clusters have
numbers too."""

DARK = (
    *("#6fb3ee", "#f29a5c", "#4fc9a4", "#ec86bd", "#b3a1f2"),
    *("#d6b54a", "#5cc3de", "#f58d84", "#a7b4c2", "#a3c95a"),
)
"""For a black page, with black text on the colors."""


FOREGROUND, MUTED, LINE, SOFT = "#16202b", "#505c69", "#c3cad2", "#f4f6f8"
"""Of texts, secondary texts, lines and boxes, on white; `page.css` has them too."""

HEAT = ("#eea766", "#f6c89c", "#fbe6d3", SOFT, "#dbe9f6", "#b3d1ec", "#86b6de")
"""Of a heat map on white, from far below the table to far above it; `page.css` has them too."""


def cluster_colours(trees: Iterable[RuleSet]) -> dict[int, int]:
    """Return the place of the color of every cluster of some trees; the same number has the same color in all."""
    indices = sorted({cluster.index for rules in trees for cluster in rules.clusters})
    return {index: place % len(LIGHT) for place, index in enumerate(indices)}
