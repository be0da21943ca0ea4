"""Rule sets for tests of everything that comes after the tree: made by hand, or drawn by hypothesis."""

import json
import math
import pathlib
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shallowrules.exporters.sql import DIALECTS
from shallowrules.rules import Cluster, Cut, Leaf, Membership, Node, RuleColumn, RuleSet, Statistics
from shallowrules.tables.times import DAY, TIME_TYPES, time_of, time_range, to_time

NUMBERS = ("integer", "float")
NUMERIC = (*NUMBERS, *TIME_TYPES)
MIXED = ("float", "integer", "text", "boolean")
TIMED = (*TIME_TYPES, "float", "text")
"""Types of columns with times among them, which not every form has."""

INT64 = (-(2**63), 2**63 - 1)

# A branch is (column, value, left, right), a leaf the number of its cluster. A row goes left if its number is at most
# the value, if it is the text or truth value, or if it is in the tuple.
Branch = tuple[int, Any, Any, Any]


def _numbered(
    tree: Branch | int,
) -> tuple[list[int | None], dict[int, list[int]], dict[int, Branch], dict[int, int]]:
    """Return by number, parents first: the parent of each node, its children, its branch, and the cluster of a leaf."""
    pending: list[tuple[Branch | int, int | None]] = [(tree, None)]
    parents: list[int | None] = []
    children: dict[int, list[int]] = {}
    branches: dict[int, Branch] = {}
    carried: dict[int, int] = {}
    while pending:
        branch, parent = pending.pop()
        index = len(parents)
        parents.append(parent)
        if parent is not None:
            children.setdefault(parent, []).append(index)
        if isinstance(branch, tuple):
            branches[index] = branch
            pending += [(branch[3], index), (branch[2], index)]
        else:
            carried[index] = branch
    return parents, children, branches, carried


def make_rules(
    columns: Sequence[tuple[str, str]], tree: Branch | int, names: dict[int, str] | None = None, **statistics: Any
) -> RuleSet:
    """Return a rule set over ``(name, type)`` columns, its figures made up but free of contradictions.

    A leaf that no row of the columns' ranges and categories can reach has no rows.
    """
    parents, children, branches, carried = _numbered(tree)
    nodes: list[Node | None] = [None] * len(parents)
    for index, (column, value, *_) in branches.items():
        if columns[column][1] in NUMERIC:
            nodes[index] = Cut(column, value, *children[index])
        else:
            values, (left, right) = value if isinstance(value, tuple) else (value,), children[index]
            nodes[index] = Membership(column, values, left, right, ordered=isinstance(value, tuple))
    asked = [[branch[1] for branch in branches.values() if branch[0] == j] for j in range(len(columns))]
    ranges = [_values_of(kind, values) for (_, kind), values in zip(columns, asked, strict=True)]
    numeric = [kind in NUMERIC for _, kind in columns]
    paths = [
        Path(0, frozenset(), tuple((None, held[1]) if n else held for n, held in zip(numeric, ranges, strict=True)))
    ]
    for index, parent in enumerate(parents[1:], start=1):  # a parent has the lower number
        assert parent is not None
        column, value, *_ = branches[parent]
        paths.append(paths[parent].step(column, numeric[column], value, left=index == children[parent][0]))
    reached = {
        leaf: [_meeting(*each) for each in zip(numeric, ranges, paths[leaf].held, strict=True)] for leaf in carried
    }
    rows = {leaf: 1 + (leaf * 37) % 100 if all(reached[leaf]) else 0 for leaf in carried}
    total = sum(rows.values())
    of_a_row = statistics.get("weight", total) / total
    for leaf, cluster in carried.items():
        nodes[leaf] = Leaf(cluster, rows[leaf], rows[leaf] * of_a_row)
    clusters = []
    for index in sorted(set(carried.values())):
        mine = [leaf for leaf in carried if carried[leaf] == index]
        size = sum(rows[leaf] for leaf in mine)
        means = tuple(
            10.0 + (7 * index + 31 * j) % 43 if kind in NUMERIC else None for j, (_, kind) in enumerate(columns)
        )
        shares = tuple(
            () if kind in NUMERIC else _shares(ranges[j], [(rows[leaf], reached[leaf][j]) for leaf in mine])
            for j, (_, kind) in enumerate(columns)
        )
        agreeing = (0.9625, 0.97) if size else (0.0, 0.0)
        held = (size, size * of_a_row, size / total, *agreeing, means)
        clusters.append(Cluster(index, (names or {}).get(index, str(index)), *held, shares if any(shares) else ()))
    made = [_column(j, *columns[j], ranges[j], clusters) for j in range(len(columns))]
    figures: dict[str, Any] = {
        "rows": total,
        "weight": float(total),
        "weighted": False,
        "method": "exshallow",
        "tradeoff": 0.03,
        "cost": 1234.5,
        "reference_cost": 1200.0,
        "agreement": 0.9625,
        "wad": math.fsum(rows[leaf] * paths[leaf].length for leaf in carried) / total,
        "waes": math.fsum(rows[leaf] * len(paths[leaf].asked) for leaf in carried) / total,
        **statistics,
    }
    if "normalized_cost" not in statistics:
        figures["normalized_cost"] = figures["cost"] / figures["reference_cost"]
    return RuleSet(tuple(made), tuple(filter(None, nodes)), tuple(clusters), Statistics(**figures))


CODES = ("3", "-7", "40000")
"""The codes that `code_rules` asks for."""


def code_rules(imputed: str | None = None, nulls: tuple[str, ...] = ()) -> RuleSet:
    """Return rules of a column of codes, `region`: `CODES` are in cluster 0, all others in cluster 1."""
    rules = make_rules([("region", "text")], (0, CODES, 0, 1))
    *asked, _ = rules.columns[0].values
    column = replace(rules.columns[0], codes=True, values=(*asked, "11"), imputed=imputed, nulls=nulls)
    return replace(rules, columns=(column,))


@dataclass(frozen=True)
class Path:
    """A path from the root: its length, the distinct questions with their answers, and the part of each column that it
    leaves.

    Each category that is asked for by itself is a question. A path leaves categories, or the numbers above one,
    if any, and up to another.
    """

    length: int
    asked: frozenset[tuple[int, Any, bool]]
    held: tuple[tuple[Any, ...], ...]

    def step(self, column: int, numeric: bool, value: Any, left: bool) -> "Path":
        """Return the path that continues to the left or to the right."""
        asked = self.asked | {(column, value if isinstance(value, str | bool) else None, left)}
        held = self.held[column]
        if not numeric:
            values = value if isinstance(value, tuple) else (value,)
            held = tuple(category for category in held if (category in values) == left)
        elif left:
            held = (held[0], min(held[1], value))
        else:
            held = (value if held[0] is None else max(held[0], value), held[1])
        return Path(self.length + 1, asked, (*self.held[:column], held, *self.held[column + 1 :]))


def _values_of(kind: str, asked: Sequence[Any]) -> tuple[Any, ...]:
    """Return the smallest and the largest number of a column, or its categories: those asked for, and one more."""
    if kind == "boolean":
        return (True, False)
    if kind == "text":
        each = [value for values in asked for value in (values if isinstance(values, tuple) else (values,))]
        return tuple(dict.fromkeys([*each, "one more"]))
    above = [math.nextafter(cut, math.inf) if kind == "float" else cut + 1 for cut in asked]
    beyond = {"float": sys.float_info.max, "integer": INT64[1]}.get(kind) or time_range(kind)[-1]
    return (min([-5, *asked]), max([100, *(min(number, beyond) for number in above)]))


def _meeting(numeric: bool, values: tuple[Any, ...], held: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the categories that a path leaves, or some number if it leaves one; empty if it leaves nothing."""
    if not numeric:
        return held
    lower, highest = held
    return () if highest < values[0] or (lower is not None and highest <= lower) else (highest,)


def _shares(values: Sequence[Any], leaves: Sequence[tuple[int, Sequence[Any]]]) -> tuple[float, ...]:
    """Return the shares of categories in leaves, given their rows; a leaf has its earlier categories more often."""
    weight = dict.fromkeys(values, 0.0)
    for rows, found in leaves:
        parts = range(len(found), 0, -1)
        for value, part in zip(found, parts, strict=True):
            weight[value] += rows * part / sum(parts)
    total = math.fsum(weight.values())
    return tuple(part / total if total else 0.0 for part in weight.values())


def _column(j: int, name: str, kind: Any, values: tuple[Any, ...], clusters: Sequence[Cluster]) -> RuleColumn:
    if kind in NUMERIC:
        mean = math.fsum(cluster.share * (cluster.means[j] or 0.0) for cluster in clusters if cluster.rows)
        return RuleColumn(name, kind, mean, *values)
    shares = [math.fsum(cluster.share * cluster.shares[j][i] for cluster in clusters) for i in range(len(values))]
    return RuleColumn(name, kind, None, None, None, values, tuple(shares))


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
    notes = ("column 'ash' has only one value", "3 rows | <left> out")
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


INFINITIES = ["inf", "-inf", "+Inf", " INFINITY ", "-Infinity", "iNf", "1e400", "-1e400"]
"""Infinity, as a text of numbers may have it."""

NO_NUMBERS = [
    "5\n", "\n5", "5\n\n", "1,5,1", "e5", ".e5", "+.e5", "1e", "1e+-1", "+", "+-1", "--1", ",", "1 2", "0x10", "1_0",
    "٣", "na", "NA ", "\t1", "a'b\\",
]  # fmt: skip
"""Texts that are not number to rules with the null word NA, though an engine may take them for one."""


def text_rules(bound: float, imputed: float | None = None) -> RuleSet:
    """Return rules that cut a column at a bound of its type; missing values had made it a column of text."""
    rules = make_rules([("n", "integer" if isinstance(bound, int) else "float")], (0, bound, 0, 1))
    return replace(rules, columns=(replace(rules.columns[0], nulls=("NA", "-9"), imputed=imputed),))


def names_for(dialect: str, rules: RuleSet) -> dict[str, str]:
    """Return the option `columns` of the SQL exporter for rules over names that the dialect cannot hold."""
    facts = DIALECTS[dialect].names
    refused = "|".join(pattern for pattern in (facts.refused_columns, facts.refused) if pattern is not None)
    return {column.name: re.sub(refused, "", column.name) for column in rules.columns} if refused else {}


def route(rules: RuleSet, row: Sequence[Any]) -> int:
    """Return the cluster of a row by walking the tree in exact arithmetic, -1 where a value is missing."""
    node = rules.nodes[0]
    while not isinstance(node, Leaf):
        value = row[node.column]
        if value is None or value != value:
            return -1
        if rules.columns[node.column].is_time:
            time = time_of(value)
            assert time is not None
            _, value = time
        holds = value <= node.threshold if isinstance(node, Cut) else value in node.values
        node = rules.nodes[node.left if holds else node.right]
    return node.cluster


def small_rules() -> RuleSet:
    """Return the rules of x <= 0.5 (cluster 0), else i <= 3 (cluster 1), else cluster 2."""
    return make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))


DELETE = object()


def change(*path_and_value: Any) -> Callable[[Any], None]:
    """Return a function that sets (or, for DELETE, removes) an entry of a document."""
    *path, last, value = path_and_value

    def apply(document: Any) -> None:
        for key in path:
            document = document[key]
        if value is DELETE:
            del document[last]
        elif isinstance(document, list) and last == len(document):
            document.append(value)
        else:
            document[last] = value

    return apply


JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 10**30, 10**400, 0.5, 1.5, -1e308, "", "cut", "<=", [], {}, [[]], math.nan, DELETE,
)  # fmt: skip
"""What may stand where something else is meant."""


@st.composite
def damaged_documents(draw: st.DrawFn, rules: st.SearchStrategy[RuleSet]) -> dict[str, Any]:
    """Draw a document with an entry that is changed or missing, or with an extra unknown one."""
    document: dict[str, Any] = json.loads(draw(rules).to_json())
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 5)):
            place = place[key]
            continue
        if isinstance(place, dict) and not draw(st.integers(0, 9)):
            key = draw(st.sampled_from(["more", "ordered", "imputed", "values", "kind"]))
        value = draw(st.sampled_from(JUNK))
        if value is DELETE and key not in keys:
            value = []
        change(key, value)(place)
        return document


def as_columns(rules: RuleSet, rows: Sequence[Sequence[Any]]) -> dict[str, NDArray[Any]]:
    """Return rows of plain values as a mapping: floats with NaN, all else as objects, which may be None."""
    columns = {}
    for index, column in enumerate(rules.columns):
        values = [row[index] for row in rows]
        if column.type != "float":
            columns[column.name] = np.array(values, dtype=object)
        else:
            columns[column.name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return columns


def loaded(text: str) -> RuleSet:
    """Return the rules of a document."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.json"
        path.write_text(text)
        return RuleSet.from_json(path)


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
        cuts: list[Any] = [node.threshold for node in rules.nodes if isinstance(node, Cut) and node.column == index]
        if column.is_time:
            near = [cut + step for cut in cuts for step in (-1, 0, 1, 2)]
            found = [value for value in near if value in time_range(column.type)]
            more = [0, chooser.randint(-20_000, 20_000), time_range(column.type)[0], time_range(column.type)[-1]]
            yield [*(to_time(column.type, value) for value in (*found, *found, *more)), None]
            continue
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

# Texts that are equal to whoever leaves out the characters 0 at their ends, as NumPy's own texts do.
zero_texts = st.text("a\0 ", max_size=3)

# What SQL literals have to hold, line breaks and the character 0 included.
hostile_texts = (
    hostile_names
    | st.sampled_from(["", " ", "NULL", "A", "a", "a ", "á", "a\u0301", "\0", "a\0b", "a'", "\\", "\\'"])
    | zero_texts
)

any_float = st.floats(allow_nan=False, allow_infinity=False)
# SQLite's own reader of literals is one unit off for some numbers beyond these.
moderate_float = st.floats(1e-250, 1e250) | st.floats(-1e250, -1e-250) | st.integers(-100, 100).map(float)
any_integer = st.integers(-20, 20) | st.integers(2**53 - 2, 2**53 + 2) | st.integers(*INT64) | st.sampled_from(INT64)


def times(kind: str) -> st.SearchStrategy[int]:
    """Draw thresholds for times of a kind: any but the last, and the ends of days, months and years."""
    held = time_range(kind)
    anywhere = st.integers(held[0], held[-2])
    if kind == "date":
        return anywhere | st.integers(-30, 20_000)
    days = st.integers(-700_000, 2_900_000) if kind != "duration" else st.integers(-100, 100)
    near = st.sampled_from([-1, 0, 1, 499_999, 3_599_999_999, 45_004_999_999])
    return anywhere | st.builds(lambda day, rest: day * DAY + rest, days, near)


@st.composite
def rule_sets(
    draw: st.DrawFn,
    names: st.SearchStrategy[str] = plain_names,
    floats: st.SearchStrategy[float] = any_float,
    cluster_names: st.SearchStrategy[str] | None = None,
    max_depth: int = 5,
    kinds: Sequence[str] = NUMBERS,
    categories: st.SearchStrategy[str] = plain_names,
    columns: Sequence[tuple[str, str]] = (),
) -> RuleSet:
    """Draw a rule set of one to four columns of some kinds, or of given ones, and a tree of any shape, a single leaf
    included."""
    if not columns:
        drawn = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.casefold))
        columns = [(name, draw(st.sampled_from(kinds))) for name in drawn]
    values: dict[str, st.SearchStrategy[Any]] = {
        "float": floats,
        "integer": any_integer,
        **{kind: times(kind) for kind in TIME_TYPES},
        "boolean": st.booleans(),
        "text": categories | st.lists(categories, min_size=1, max_size=3, unique=True).map(tuple),
    }

    def grow(depth: int) -> Branch | int:
        if depth == max_depth or draw(st.integers(0, 3)) == 0:
            return draw(st.integers(0, 4))
        column = draw(st.integers(0, len(columns) - 1))
        return (column, draw(values[columns[column][1]]), grow(depth + 1), grow(depth + 1))

    labels = None
    if cluster_names is not None:
        labels = dict(enumerate(draw(st.lists(cluster_names, min_size=5, max_size=5, unique=True))))
    return make_rules(columns, grow(0), labels)
