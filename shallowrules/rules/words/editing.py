"""Changes of a person to the tree: thresholds and categories replaced, clusters merged, all rules rewritten."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.rules.columns import RuleColumn
from shallowrules.rules.conditions import format_value, is_empty, printable
from shallowrules.rules.model import RuleSet
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node, derive_rules
from shallowrules.rules.words.from_rules import nodes_of_rules
from shallowrules.rules.words.written import read_number, read_rules
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Value

__all__ = ["EDITED", "Edited", "Replacement", "edit", "notes_of_edits", "read_replacement"]

EDITED = "edited by hand: "
"""How the note begins that rules keep of an edit."""


def notes_of_edits(rules: RuleSet) -> list[str]:
    """Return what rules say of the edits that were made by hand."""
    return [note for note in rules.statistics.notes if note.startswith(EDITED)]


@dataclass(frozen=True)
class Replacement:
    """A threshold, or a category, that stands in the place of another one in all rules."""

    column: int
    old: Number | Value
    new: Number | Value


@dataclass(frozen=True)
class Edited:
    """Rules as a person changed them, not measured yet.

    Attributes
    ----------
    nodes : tuple of Node
        What they say of the rows of leaves does not hold any more.
    names, notes : mapping from int to str
        What people call clusters, and remark on them.
    merged : mapping from int to int
        The number that the rows of each merged cluster have now.
    words : tuple of str
        What was changed.
    """

    nodes: tuple[Node, ...]
    names: Mapping[int, str]
    notes: Mapping[int, str]
    merged: Mapping[int, int]
    words: tuple[str, ...]


def edit(
    rules: RuleSet,
    *,
    text: str | None = None,
    replacements: Iterable[str] = (),
    merge: Iterable[Sequence[int]] = (),
) -> Edited:
    """Change rules: first all of them by a text, then values in them, then clusters.

    Parameters
    ----------
    rules : RuleSet
    text : str, optional
        All rules, as ``print(rules)`` shows them.
    replacements : iterable of str
        Each as ``proline: 755 -> 750``, or ``city: 'Ulm' -> 'Bonn'``.
    merge : iterable of sequence of int
        Clusters to make one, which keeps the lowest number.

    Raises
    ------
    OptionError
        If a replacement cannot be read, or an option has another type.
    DataError
        If a text cannot be read; if rules overlap, leave a gap or hold for no row; if a value or cluster is not there.
    """
    replacements, groups = _checked_replacements(replacements), _checked_groups(merge)
    names = {each.index: each.name for each in rules.clusters if each.is_named}
    notes = {each.index: each.note for each in rules.clusters if each.note}
    nodes, words = rules.nodes, []
    if text is not None:
        asked, given = read_rules(text, rules.columns, rules.clusters)
        nodes = nodes_of_rules(asked, rules.columns, rules.nodes)
        names |= given
        words.append("rules read from text")
    for replacement in replacements:
        try:
            change = read_replacement(replacement, rules.columns)
        except DataError as error:
            raise OptionError(OptionName("replacements"), f": {error}") from error
        nodes = _replaced(nodes, change, rules.columns)
        words.append(printable(replacement.strip()))
    known = sorted({node.cluster for node in nodes if isinstance(node, Leaf)})
    merged = _merged(groups, known)
    for number in merged.values():
        together = sorted({number, *(other for other, to in merged.items() if to == number)})
        words.append(f"clusters {', '.join(map(str, together))} merged")
        for given in (names, notes):
            first = next((given[each] for each in together if each in given), None)
            for each in together:
                given.pop(each, None)
            if first is not None:
                given[number] = first
    left = {merged.get(number, number) for number in known}
    names, notes = ({n: said for n, said in given.items() if n in left} for given in (names, notes))
    return Edited(
        _without_vain_tests(nodes, merged) if merged else tuple(nodes),
        names,
        notes,
        merged,
        tuple(dict.fromkeys(words)),
    )


def _checked_replacements(given: Iterable[str]) -> tuple[str, ...]:
    """Return replacements; OptionError unless they are a list of texts."""
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(each, str) for each in found):
        raise OptionError(
            OptionName("replacements"), f" must be a list of changes, such as ['proline: 755 -> 750'], not {given!r}"
        )
    return found  # type: ignore[return-value]  # all are texts


def _checked_groups(given: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return groups of clusters; OptionError unless they are a list of lists of whole numbers."""
    try:
        return [tuple(map(operator.index, group)) for group in given]
    except TypeError:
        raise OptionError(
            OptionName("merge"), f" must be a list of groups of clusters, such as [(3, 4)], not {given!r}"
        ) from None


def read_replacement(text: str, columns: Sequence[RuleColumn]) -> Replacement:
    """Return what ``column: old -> new`` says; DataError if it is no such thing."""
    wrong = f"{text!r} is not a change of a value: write it as 'proline: 755 -> 750'"
    said = text.strip()
    found = []
    for feature, column in enumerate(columns):
        for name in dict.fromkeys((column.name, printable(column.name))):
            if not said.startswith(f"{name}:"):
                continue
            parts = said[len(name) + 1 :].split("->")
            # A category may have an arrow in it.
            for place in range(1, len(parts)):
                old, new = "->".join(parts[:place]).strip(), "->".join(parts[place:]).strip()
                if column.is_numeric and len(parts) == 2:
                    found.append(Replacement(feature, read_number(old, column), read_number(new, column)))
                elif not column.is_numeric and (values := _categories(old, new, column)):
                    found.append(Replacement(feature, *values))
    if not found and ":" in said and "->" in said:
        names = ", ".join(repr(column.name) for column in columns)
        raise DataError(f"{wrong}, of one of the columns {names} and with a value that it has")
    if len(found) != 1:
        raise DataError(wrong)
    return found[0]


def _categories(old: str, new: str, column: RuleColumn) -> tuple[Value, Value] | None:
    """Return two categories by their text, with or without quotes; None where one is not known."""
    by_text = {text: value for value in column.values for text in (printable(format_value(value)), str(value))}
    return (by_text[old], by_text[new]) if old in by_text and new in by_text else None


def _replaced(nodes: Sequence[Node], change: Replacement, columns: Sequence[RuleColumn]) -> tuple[Node, ...]:
    """Return a tree with a value in the place of another wherever it is tested."""
    column = columns[change.column]
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Cut) and node.column == change.column and node.threshold == change.old:
            node = replace(node, threshold=change.new)  # type: ignore[arg-type]  # a number, as the column's
        elif isinstance(node, Membership) and node.column == change.column and change.old in node.values:
            if change.new in node.values:
                raise DataError(
                    f"{_shown(column, change.new)} of column {column.name!r} is asked for beside "
                    f"{_shown(column, change.old)} already"
                )
            values = [change.new if value == change.old else value for value in node.values]
            node = replace(node, values=tuple(value for value in values if isinstance(value, str | bool)))
        found.append(node)
    if all(node is other for node, other in zip(nodes, found, strict=True)):
        asked = [_shown(column, value) for value in dict.fromkeys(_values(nodes, change.column))]
        one, these = ("threshold is", "thresholds are") if column.is_numeric else ("value is", "values are")
        there = f"the {one if len(asked) == 1 else these} {', '.join(asked)}" if asked else "no rule tests the column"
        raise DataError(f"no rule tests {column.name!r} at {_shown(column, change.old)}; {there}")
    for rule in derive_rules(found, columns, 1.0):
        for condition in rule.conditions:
            if is_empty(condition):
                raise DataError(
                    f"{column.name!r}: with {_shown(column, change.new)} in place of {_shown(column, change.old)} no "
                    f"value meets {printable(str(condition))}, a rule of cluster {rule.cluster}"
                )
    return tuple(found)


def _values(nodes: Sequence[Node], feature: int) -> list[Number | Value]:
    """Return the values that nodes test a column against."""
    tests = [node for node in nodes if not isinstance(node, Leaf) and node.column == feature]
    return [value for node in tests for value in ((node.threshold,) if isinstance(node, Cut) else node.values)]


def _shown(column: RuleColumn, value: Number | Value) -> str:
    return printable(column.show_threshold(value))


def _merged(groups: Iterable[Sequence[int]], known: Sequence[int]) -> dict[int, int]:
    """Return the new number of each cluster that is merged into another."""
    merged: dict[int, int] = {}
    for group in groups:
        lacking = [number for number in group if number not in known]
        if lacking:
            listed = ", ".join(map(str, known))
            raise DataError(f"there is no cluster {lacking[0]} to merge; the rules have {listed}")
        if len(set(group)) < 2:
            raise DataError("two clusters or more are merged: say their numbers, as 3,4")
        lowest = min(merged.get(number, number) for number in group)
        joined = {merged.get(number, number) for number in group}
        merged |= dict.fromkeys({*group, *joined, *(n for n, to in merged.items() if to in joined)}, lowest)
    return {number: to for number, to in merged.items() if number != to}


def _without_vain_tests(nodes: Sequence[Node], merged: Mapping[int, int]) -> tuple[Node, ...]:
    """Return a tree with merged clusters, without tests on both sides of which all is one cluster.

    The rows of the leaves are not known any more.
    """
    only: list[int | None] = [None] * len(nodes)  # the cluster of all leaves below a node, if it is one
    for index in reversed(range(len(nodes))):
        node = nodes[index]
        if isinstance(node, Leaf):
            only[index] = merged.get(node.cluster, node.cluster)
        elif only[node.left] == only[node.right]:
            only[index] = only[node.left]
    kept: list[Node] = []
    children: dict[int, dict[bool, int]] = {}
    pending = [(0, -1, True)]
    while pending:
        index, parent, goes_left = pending.pop()
        node, cluster, place = nodes[index], only[index], len(kept)
        children.setdefault(parent, {})[goes_left] = place
        if cluster is not None:
            kept.append(Leaf(cluster, 0, 0.0))
            continue
        assert not isinstance(node, Leaf)  # each has a cluster
        kept.append(node)
        sides = [(node.right, place, False), (node.left, place, True)]
        pending += sorted(sides, reverse=True)  # in the order in which they were
    return tuple(
        node if isinstance(node, Leaf) else replace(node, left=children[place][True], right=children[place][False])
        for place, node in enumerate(kept)
    )
