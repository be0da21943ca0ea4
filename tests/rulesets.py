"""Rule sets for tests of everything that comes after the tree: made by hand, or drawn by hypothesis."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from shallowrules.rules import Cluster, Cut, Leaf, Membership, Node, RuleColumn, RuleSet, Statistics

NUMBERS = ("integer", "float")
MIXED = ("float", "integer", "text", "boolean")

INT64 = (-(2**63), 2**63 - 1)

# A branch is (column, value, left, right), a leaf the number of its cluster. A row goes left if its number is at most
# the value, if it is the text or truth value, or if it is in the tuple.
Branch = tuple[int, Any, Any, Any]


def make_rules(
    columns: Sequence[tuple[str, str]], tree: Branch | int, names: dict[int, str] | None = None, **statistics: Any
) -> RuleSet:
    """Return a rule set over ``(name, type)`` columns, its figures made up but consistent."""
    nodes: list[Node] = []
    pending: list[tuple[Branch | int, int | None]] = [(tree, None)]
    children: dict[int, list[int]] = {}
    described: dict[int, Branch | int] = {}
    while pending:
        branch, parent = pending.pop()
        index = len(described)
        described[index] = branch
        if parent is not None:
            children.setdefault(parent, []).append(index)
        if isinstance(branch, tuple):
            pending += [(branch[3], index), (branch[2], index)]
    for index, branch in described.items():
        if isinstance(branch, tuple):
            kind = columns[branch[0]][1]
            several = isinstance(branch[1], tuple)
            if kind in NUMBERS:
                nodes.append(Cut(branch[0], branch[1], *children[index]))
            else:
                values = branch[1] if several else (branch[1],)
                nodes.append(Membership(branch[0], values, *children[index], ordered=several))
        else:
            rows = 1 + (index * 37) % 100
            nodes.append(Leaf(branch, rows, float(rows)))
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    total = sum(leaf.rows for leaf in leaves)
    made = [_column(j, name, kind, nodes) for j, (name, kind) in enumerate(columns)]
    clusters = []
    for index in sorted({leaf.cluster for leaf in leaves}):
        rows = sum(leaf.rows for leaf in leaves if leaf.cluster == index)
        means = tuple(10.0 + (7 * index + 31 * j) % 43 if c.type in NUMBERS else None for j, c in enumerate(made))
        turned = (index % max(1, len(c.shares)) for c in made)
        shares = tuple(c.shares[turn:] + c.shares[:turn] for c, turn in zip(made, turned, strict=True))
        name = (names or {}).get(index, str(index))
        figures = (rows, float(rows), rows / total, 0.97, 0.945, means)
        clusters.append(Cluster(index, name, *figures, shares if any(shares) else ()))
    figures = {
        "rows": total,
        "weight": float(total),
        "weighted": False,
        "method": "exshallow",
        "tradeoff": 0.03,
        "cost": 1234.5,
        "reference_cost": 1200.0,
        "normalized_cost": 1234.5 / 1200.0,
        "agreement": 0.9625,
        "wad": 1.75,
        "waes": 1.5,
    }
    return RuleSet(tuple(made), tuple(nodes), tuple(clusters), Statistics(**{**figures, **statistics}))


def _column(j: int, name: str, kind: str, nodes: Sequence[Node]) -> RuleColumn:
    """Return a column; one of categories has those that the tree asks for, and one more."""
    if kind in NUMBERS:
        return RuleColumn(name, kind, mean=10.0 + j, minimum=-5, maximum=100 + j)  # type: ignore[arg-type]
    asked = [value for node in nodes if isinstance(node, Membership) and node.column == j for value in node.values]
    values = (True, False) if kind == "boolean" else tuple(dict.fromkeys([*asked, "one more"]))
    parts = range(len(values), 0, -1)
    return RuleColumn(name, kind, None, None, None, values, tuple(part / sum(parts) for part in parts))  # type: ignore[arg-type]


def example_rules() -> RuleSet:
    """Return the rule set of the golden files: named clusters, both types, awkward names."""
    columns = [
        ("alcohol", "float"),
        ("order", "integer"),
        ("colour intensity (%)", "float"),
        ('odd "name" `x` | <b>\n-- */', "float"),
    ]
    tree = (0, 12.85, (1, 1200, (3, -0.25, 0, 1), 2), (2, 3.5, (2, 1e-07, 1, 4), 4))
    names = {0: "small orders", 1: "1", 2: "#2 *large*\n-- DROP", 4: "4"}
    notes = ("column 'ash' has one value only", "3 rows | <left> out")
    return make_rules(columns, tree, names, notes=notes)


def example_of_categories() -> RuleSet:
    """Return the other rule set of the golden files: text, truth values and an order among the columns."""
    columns = [("contract", "text"), ("paid", "boolean"), ("months", "integer"), ("size", "text"), ("pay ment", "text")]
    several = (4, "Mailed check", 0, (4, 'it\'s "auto" | \\', 1, (2, 12, 2, 3)))
    tree = (0, "Two year", (1, True, (3, ("S", "M"), 0, 4), 4), (0, "One year", 2, several))
    return make_rules(columns, tree, {0: "small orders"})


def balanced_rules(n_leaves: int, n_columns: int = 3) -> RuleSet:
    """Return a balanced tree whose leaves carry 7 clusters in turn; every cut splits its region in half."""
    counter = iter(range(n_leaves))

    def grow(size: int, depth: int, box: list[tuple[float, float]]) -> Branch | int:
        if size == 1:
            return next(counter) % 7
        column = depth % n_columns
        low, high = box[column]
        middle = (low + high) / 2
        left, right = list(box), list(box)
        left[column], right[column] = (low, middle), (middle, high)
        return (column, middle, grow(size // 2, depth + 1, left), grow(size - size // 2, depth + 1, right))

    columns = [(f"x{j}", "float") for j in range(n_columns)]
    return make_rules(columns, grow(n_leaves, 0, [(0.0, 1.0)] * n_columns))


def chain_rules(n_leaves: int) -> RuleSet:
    """Return a tree as deep as it can be: every cut takes one leaf off."""
    tree: Branch | int = n_leaves % 7
    for leaf in reversed(range(n_leaves - 1)):
        tree = (0, float(leaf), leaf % 7, tree)
    return make_rules([("x0", "float")], tree)


FRACTIONS = [
    "1", "1.4", "1.5", "1.0", "1.", "0.6", ".6", "-.4", "-0.5", "-1.4", "-0.0", "1e0", "10e-1", "14e-1", "1E3", "1e3",
    "-2.5e+2", "0.999999999999999", "1.000000000000001", " 1.4 ", "NA", "1e200", "-1e200", "1e-200", "2147483648.5",
    "9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995.5", "9.007199254740994e15", "1e17",
]  # fmt: skip
"""Texts of a column of whole numbers in which new rows have fractions."""


def whole_number_rules(bound: int, imputed: int | None = None) -> RuleSet:
    """Return rules that cut a column of whole numbers, which was text for its missing values."""
    rules = make_rules([("n", "integer")], (0, bound, 0, 1))
    return replace(rules, columns=(replace(rules.columns[0], nulls=("NA", "-9"), imputed=imputed),))


def route(rules: RuleSet, row: Sequence[Any]) -> int:
    """Return the cluster of a row by walking the tree in exact arithmetic, -1 where a value is missing."""
    node = rules.nodes[0]
    while not isinstance(node, Leaf):
        value = row[node.column]
        if value is None or value != value:
            return -1
        holds = value <= node.threshold if isinstance(node, Cut) else value in node.values
        node = rules.nodes[node.left if holds else node.right]
    return node.cluster


def boundary_rows(rules: RuleSet, seed: int, n_rows: int = 40) -> list[tuple[Any, ...]]:
    """Return rows of values on each threshold, beside it, missing, infinite, and at random."""
    chooser = random.Random(seed)
    return [tuple(chooser.choice(values) for values in _values(rules, chooser)) for _ in range(n_rows)]


def _values(rules: RuleSet, chooser: random.Random) -> Iterator[list[Any]]:
    for index, column in enumerate(rules.columns):
        if column.type == "boolean":
            yield [True, False, None]
            continue
        if column.type == "text":
            texts = [str(value) for value in column.values]
            like = [text + end for text in texts for end in (" ", "\u0301", "x")]
            yield [*texts, *texts, *texts, *like, *map(str.swapcase, texts), "", None]
            continue
        cuts = [node.threshold for node in rules.nodes if isinstance(node, Cut) and node.column == index]
        if column.type == "integer":
            near = [cut + step for cut in cuts for step in (-1, 0, 1)]
            found = [int(value) for value in near if INT64[0] <= value <= INT64[1]]
            yield [*found, 0, chooser.randint(-100, 100), *INT64, None]
        else:
            near = [
                side for cut in cuts for side in (math.nextafter(cut, -math.inf), cut, math.nextafter(cut, math.inf))
            ]
            found = [float(value) for value in near]
            yield [*found, *found, 0.0, -0.0, chooser.uniform(-100, 100), math.inf, -math.inf, math.nan, None]


plain_names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)

FRAGMENTS = [
    '"', "'", "`", "\\", "\n", "\r\n", "\u2028", "*/", "/*", "--", ";", "%", "%s", "{{ 7*7 }}", "{% raw %}", "#", "]",
    "[", "|", "<b>", "&amp;", "](http://x)", "**", "_", ":x", "$1", "?", '"""', "'''", "\\N{DASH}", "é", "λ", "😀",
    " ", "\x1b[2J", "select", "order", "1", "); DROP TABLE data; --", "' or 1=1 --", "import os", "row", "http://a.b",
    "\t",
]  # fmt: skip

# Without NUL and half surrogate pairs, which SQL refuses.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
hostile_names = st.lists(st.sampled_from(FRAGMENTS) | texts, min_size=1, max_size=5).map("".join).filter(bool)

# What SQL literals have to hold, line breaks and the character 0 included.
hostile_texts = hostile_names | st.sampled_from(
    ["", " ", "NULL", "A", "a", "a ", "á", "a\u0301", "\0", "a\0b", "a'", "\\", "\\'"]
)

any_float = st.floats(allow_nan=False, allow_infinity=False)
# SQLite's own reader of literals is one unit off for some numbers beyond these.
moderate_float = st.floats(1e-250, 1e250) | st.floats(-1e250, -1e-250) | st.integers(-100, 100).map(float)
any_integer = st.integers(-20, 20) | st.integers(2**53 - 2, 2**53 + 2) | st.integers(*INT64) | st.sampled_from(INT64)


@st.composite
def rule_sets(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = plain_names,
    floats: st.SearchStrategy[float] = any_float,
    cluster_names: st.SearchStrategy[str] | None = None,
    max_depth: int = 5,
    kinds: Sequence[str] = NUMBERS,
    categories: st.SearchStrategy[str] = plain_names,
) -> RuleSet:
    """Draw a rule set of one to four columns of some kinds, and a tree of any shape, a single leaf included."""
    drawn = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
    columns = [(name, draw(st.sampled_from(kinds))) for name in drawn]
    values = {
        "float": floats,
        "integer": any_integer,
        "boolean": st.booleans(),
        "text": categories | st.lists(categories, min_size=1, max_size=3, unique=True).map(tuple),
    }

    def grow(depth: int) -> Branch | int:
        if depth == max_depth or draw(st.integers(0, 3)) == 0:
            return draw(st.integers(0, 4))
        column = draw(st.integers(0, len(columns) - 1))
        return (column, draw(values[columns[column][1]]), grow(depth + 1), grow(depth + 1))

    labels = None if cluster_names is None else {index: draw(cluster_names) for index in range(5)}
    return make_rules(columns, grow(0), labels)
