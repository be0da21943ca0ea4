"""The tree as a Mermaid flowchart, which wikis, issue trackers and Markdown viewers draw.

Names and categories are written with entity codes (``#34;``) for whatever Mermaid could read as syntax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from shallowrules.errors import check_choice
from shallowrules.exporters.context import check_length
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import branch_label, describe_missing
from shallowrules.rules import Leaf, RuleSet
from shallowrules.rules.figures import percent

__all__ = ["MermaidExporter", "MermaidOptions"]

Direction = Literal["LR", "TD"]

PLAIN = frozenset(" .,-+%≤")
"""Characters besides letters and digits that need no escaping."""


@dataclass(frozen=True)
class MermaidOptions:
    """Options of the exporter ``"mermaid"``.

    Parameters
    ----------
    direction : {"LR", "TD"}
        Whether the tree grows to the right or down.
    """

    direction: Direction = "LR"

    def __post_init__(self) -> None:
        check_choice("direction", self.direction, get_args(Direction), option="direction")


class MermaidExporter:
    """Writes the tree as a Mermaid flowchart; options: `MermaidOptions`."""

    name = "mermaid"
    file_extension = ".mmd"
    media_type = "text/vnd.mermaid"
    file_stem = "tree"
    options = MermaidOptions

    def export(self, rules: RuleSet, **options: Any) -> str:
        """Return the flowchart: a box for each question, its answers, and a rounded box for each leaf."""
        settings = MermaidOptions(**options)
        check_length(rules)
        titles = {cluster.index: cluster.title for cluster in rules.clusters}
        shares = {rule.leaf: rule.share for rule in rules}
        lines = [
            f"flowchart {settings.direction}",
            "  %% A row without a value in a column that is tested on its path is in no cluster.",
        ]
        for index, node in enumerate(rules.nodes):
            if isinstance(node, Leaf):
                text = f"{titles[node.cluster]}, {percent(shares[index])}"
                lines.append(f'  n{index}(["{_encode(text)}"])')
                continue
            column = rules.columns[node.column]
            lines.append(f'  n{index}["{_encode(column.name + describe_missing(column))}"]')
            for child, goes_left in ((node.left, True), (node.right, False)):
                lines.append(f'  n{index} -->|"{_encode(branch_label(node, column, goes_left))}"| n{child}')
        return "\n".join(lines) + "\n"


def _encode(text: str) -> str:
    """Return text as Mermaid shows it, on one line and inside quotes."""
    return "".join(c if c.isalnum() or c in PLAIN else f"#{ord(c)};" for c in one_line(text))
