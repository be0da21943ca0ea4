"""The structure of emitted text without the names and texts in it: hostile ones must not change it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt

__all__ = ["MARKDOWN", "markdown_structure", "python_structure"]

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
    """Return a module's syntax without its texts and the names of variables."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)
