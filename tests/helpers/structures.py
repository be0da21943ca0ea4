"""The structure of emitted text without the names and texts in it: hostile ones must not change it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt

__all__ = ["MARKDOWN", "markdown_structure", "python_structure", "read_flowchart"]

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def markdown_structure(text: str) -> list[str]:
    """Return the kinds of a document's parts, text left out."""

    def kinds(tokens: Sequence[Any]) -> Iterator[str]:
        for token in tokens:
            if not token.type.startswith("text"):
                yield token.type
                yield from kinds(token.children or [])

    return list(kinds(MARKDOWN.parse(text)))


def python_structure(text: str) -> str:
    """Return a module's syntax without its strings and variable names."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


FLOWCHART = re.compile(
    r'  n(?P<box>\d+)\["(?P<name>[^"]*)"\]'
    r'|  n(?P<start>\d+) -->\|"(?P<label>[^"]*)"\| n(?P<end>\d+)'
    r'|  n(?P<leaf>\d+)\(\["(?P<title>[^"]*)"\]\)'
)


def read_flowchart(text: str) -> tuple[dict[int, str], dict[tuple[int, int], str], dict[int, str]]:
    """Return boxes, edges and leaves of a flowchart, their texts as Mermaid shows them."""

    def shown(encoded: str) -> str:
        assert re.fullmatch(r"(?:[\w .,+%≤-]|#\d+;)*", encoded), encoded
        return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), encoded)

    first, remark, *lines = text.splitlines()
    assert first == "flowchart LR"
    assert remark.startswith("  %% ")
    boxes: dict[int, str] = {}
    edges: dict[tuple[int, int], str] = {}
    leaves: dict[int, str] = {}
    for line in lines:
        found = FLOWCHART.fullmatch(line)
        assert found is not None, line
        if found["box"]:
            boxes[int(found["box"])] = shown(found["name"])
        elif found["leaf"]:
            leaves[int(found["leaf"])] = shown(found["title"])
        else:
            edges[int(found["start"]), int(found["end"])] = shown(found["label"])
    return boxes, edges, leaves
