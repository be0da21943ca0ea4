"""The cards that a notebook shows: for a fitted model, a path and several numbers of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from shallowrules.displays.cards import card, paragraphs, table
from shallowrules.displays.objects import show
from shallowrules.rules import RuleSet
from shallowrules.rules.figures import percent, show_figure

__all__ = ["show_counts", "show_model", "show_path"]

Columns = Mapping[str, tuple[str, Callable[[Any], str]]]
"""The column headings, and how their values are written, by the names that `table()` has for them."""

OF_PATH: Columns = {
    "tradeoff": ("tradeoff", "{:.5f}".format),
    "refine": ("refine", str),
    "cost": ("cost", lambda value: show_figure(value, ".3f")),
    "conditions": ("conditions per row", "{:.2f}".format),
    "questions": ("questions per row", "{:.2f}".format),
    "n_leaves": ("leaves", "{:,}".format),
}

OF_COUNTS: Columns = {
    "k": ("k", "{:,}".format),
    "explained": ("explained", percent),
    "silhouette": ("silhouette", lambda value: show_figure(value, ".3f")),
    "stability": ("stability", "{:.3f}".format),
    "price": ("price", lambda value: show_figure(value, ".3f")),
    "conditions": ("conditions per row", "{:.2f}".format),
    "n_rules": ("rules", "{:,}".format),
    "smallest": ("smallest", percent),
}


def show_model(box: str, rules: RuleSet | None) -> str:
    """Return scikit-learn's box of a model and, once it is fitted, the tree and its rules."""
    return box if rules is None else box + str(show(rules))


def show_path(points: Mapping[str, NDArray[Any]], remarks: Iterable[str]) -> str:
    """Return the trees of a path, a row each, and remarks below them."""
    title = "Trees that no other beats on both cost and length"
    return str(card(title, _table(points, OF_PATH), paragraphs(remarks)))


def show_counts(counts: Mapping[str, NDArray[Any]], recommended: int, remarks: Iterable[str]) -> str:
    """Return numbers of clusters, a row each, the recommended one marked, and remarks below them."""
    return str(card("Numbers of clusters", _table(counts, OF_COUNTS, recommended), paragraphs(remarks)))


def _table(values: Mapping[str, NDArray[Any]], columns: Columns, marked: int | None = None) -> Any:
    heads = [head for head, _ in columns.values()]
    written = ([write(each) for each in values[name].tolist()] for name, (_, write) in columns.items())
    texts = [place for place, (_, write) in enumerate(columns.values()) if write is str]
    return table(heads, list(zip(*written, strict=True)), texts, marked)
