"""Drawn rules with hostile names in many columns, and what the checks of exporters need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import Any

from hostile import Findings, Hostile
from rulesets import make_rules

from shallowrules.rules import RuleSet
from shallowrules.verification.engines import Engine
from shallowrules.verification.runners.pmml import open_models

__all__ = ["ManyNames", "Tools", "differences", "labels_of"]


class ManyNames(Hostile):
    """Rules over so many columns that a few hundred of them have ten thousand names."""

    columns_drawn = (20, 60)
    n_clusters = 25
    n_rows = 40
    most_categories = 12

    def _cut(self, j: int) -> Any:
        if self.columns[j][1] != "text":
            return super()._cut(j)
        number = self.chooser.randint(1, self.most_categories)
        return tuple(dict.fromkeys(self._text() for _ in range(number)))

    def _tree(self, depth: int) -> Any:
        """Draw a tree that asks for every column once."""
        order = list(range(len(self.columns)))
        self.chooser.shuffle(order)
        return self._grow(order)

    def _grow(self, order: Sequence[int]) -> Any:
        if not order:
            return self.chooser.randrange(self.n_clusters)
        middle = 1 + (len(order) - 1) // 2
        return (order[0], self._cut(order[0]), self._grow(order[1:middle]), self._grow(order[middle:]))

    def replaced(self, name: Callable[[str], str], category: Callable[[str], str]) -> RuleSet:
        """Return the rules with other names of columns and clusters, and other categories."""

        def grown(tree: Any) -> Any:
            if not isinstance(tree, tuple):
                return tree
            j, cut, *branches = tree
            if isinstance(cut, str):
                cut = category(cut)
            elif isinstance(cut, tuple):
                cut = tuple(map(category, cut))
            return (j, cut, *map(grown, branches))

        columns = [(name(each), kind) for each, kind in self.columns]
        return make_rules(columns, grown(self.tree), {index: name(title) for index, title in self.titles.items()})


class Tools:
    """The programs that checks run, their counts, and the models and workbooks that are run together at the end."""

    def __init__(self, opened: ExitStack, engines: Sequence[Engine], browser: Any) -> None:
        self.opened = opened
        self.engines = engines
        self.browser = browser
        self.refused: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.models: list[tuple[RuleSet, list[tuple[Any, ...]], int]] = []
        self.workbooks: list[tuple[RuleSet, list[Any], bytes, int]] = []
        self.seed = 0
        self._reader: Any = None

    def read_pmml(self, text: str) -> Any:
        """Return a model in a scoring engine, which is started for the first model."""
        if self._reader is None:
            self._reader = self.opened.enter_context(open_models())
        return self._reader(text)

    def plain_where(self, form: str, drawn: ManyNames, refuses: Callable[[str], bool]) -> ManyNames:
        """Return the drawn rules with plain texts where a form refuses one."""
        texts: dict[str, str] = {}

        def held(text: str) -> str:
            if text not in texts:
                refused = refuses(text)
                self.refused[form] += refused
                texts[text] = f"plain {len(texts)}" if refused else text
            return texts[text]

        plain = copy(drawn)
        plain.rules = drawn.replaced(held, held)
        kinds = [kind for _, kind in drawn.columns]
        plain.columns = [(column.name, kind) for column, kind in zip(plain.rules.columns, kinds, strict=True)]
        plain.rows = [
            tuple(held(v) if kind == "text" and isinstance(v, str) else v for v, kind in zip(row, kinds, strict=True))
            for row in drawn.rows
        ]
        return plain


def differences(form: str, rows: Sequence[Any], found: Sequence[Any], expected: Sequence[Any]) -> Findings:
    """Yield each row with another label than the expected one."""
    for row, label, wanted in zip(rows, found, expected, strict=True):
        if label != wanted:
            yield f"{form}: {row}: {label!r}, the tree {wanted!r}"


def labels_of(found: Sequence[int]) -> list[int | None]:
    """Return labels with None in place of -1."""
    return [None if label == -1 else int(label) for label in found]
