"""The tree as a picture: SVG with its colors in it, which goes into documents and slides as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shallowrules.exporters.base import check_text
from shallowrules.exporters.context import check_length
from shallowrules.exporters.html.drawing import describe_tree
from shallowrules.exporters.html.exporter import PAGE
from shallowrules.exporters.palette import LIGHT, cluster_colours
from shallowrules.exporters.rendering import render
from shallowrules.exporters.wording import describe_figures
from shallowrules.rules import RuleSet
from shallowrules.rules.figures import percent

__all__ = ["SvgExporter", "SvgOptions"]


@dataclass(frozen=True)
class SvgOptions:
    """Options of the exporter ``"svg"``.

    Parameters
    ----------
    title : str
        The picture's title, for people who cannot see it.
    """

    title: str = "Decision tree"

    def __post_init__(self) -> None:
        check_text("title", self.title)


class SvgExporter:
    """Draws the tree; options: `SvgOptions`."""

    name = "svg"
    file_extension = ".svg"
    media_type = "image/svg+xml"
    file_stem = "tree"
    options = SvgOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the picture: rows go from left to right, and branches are as wide as they have rows."""
        settings = SvgOptions(**options)
        check_length(rules)
        drawing = describe_tree(rules, cluster_colours([rules]))
        for leaf in drawing["leaves"]:
            leaf["share_text"] = percent(leaf["share"])
        context = {
            "title": settings.title,
            "description": describe_figures(rules)["clusters"],
            "drawing": drawing,
            "colours": LIGHT,
        }
        return render(PAGE, "tree.svg.j2", context)
