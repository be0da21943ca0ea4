"""A person's changes to the tree: values replaced, clusters merged and renamed, all rules rewritten."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.rules.columns import RuleColumn, format_value
from shallowrules.rules.conditions import is_empty, printable
from shallowrules.rules.model import RuleSet
from shallowrules.rules.nodes import Cut, Leaf, Membership, Node, derive_rules
from shallowrules.rules.words.from_rules import nodes_of_rules
from shallowrules.rules.words.typed import read_new_name, read_threshold
from shallowrules.rules.words.written import read_rules
from shallowrules.tables.conversion import Number
from shallowrules.tables.values import Value

__all__ = ["EDITED", "Edited", "Replacement", "edit", "notes_of_edits", "read_replacement"]

EDITED = "edited by hand: "
"""The beginning of the note that rules keep on an edit."""

MAX_NAMED = 5
"""Maximum number of categories that a message names."""


def notes_of_edits(rules: RuleSet) -> list[str]:
    """Return the rules' notes on edits made by hand."""
    return [note for note in rules.statistics.notes if note.startswith(EDITED)]


@dataclass(frozen=True)
class Replacement:
    """A threshold, or a category, that replaces a different one in all rules."""

    column: int
    old: Number | Value
    new: Number | Value


@dataclass(frozen=True)
class Edited:
    """Rules as a person changed them, not measured yet.

    Attributes
    ----------
    nodes : tuple of Node
        Their counts of the rows of leaves are no longer valid.
    names, notes : mapping from int to str
        Names of clusters, and notes on them.
    merged : mapping from int to int
        The number that the rows of each merged cluster have now.
    words : tuple of str
        What was changed of the rules; renaming does not change them.
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
    rename: Iterable[str] = (),
) -> Edited:
    """Change rules: first all of them by a text, then values in them, then clusters, then names.

    Parameters
    ----------
    rules : RuleSet
    text : str, optional
        All rules, as ``print(rules)`` shows them.
    replacements : iterable of str
        Each as ``proline: 755 -> 750``, or ``city: 'Ulm' -> 'Bonn'``; ``proline: 750`` where one value is tested.
    merge : iterable of sequence of int
        Clusters to make one, which keeps the lowest number.
    rename : iterable of str
        Each as ``0=High spenders``, or ``old name=new name``: of clusters as they were before any was merged.

    Raises
    ------
    OptionError
        If a replacement cannot be read, or an option has the wrong type.
    DataError
        If a text cannot be read; if rules overlap, leave a gap or hold for no row; if a value or cluster does not
        exist.
    """
    replacements = _checked_texts("replacements", replacements, "changes, such as ['proline: 755 -> 750']")
    renames = _checked_texts("rename", rename, "new names, such as ['0=High spenders']")
    groups = _checked_groups(merge)
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
            change = read_replacement(replacement, rules.columns, nodes)
        except DataError as error:
            raise OptionError(OptionName("replacements"), f": {error}") from error
        nodes = _replaced(nodes, change, rules.columns)
        column = rules.columns[change.column]
        words.append(printable(f"{column.name}: {_shown(column, change.old)} -> {_shown(column, change.new)}"))
    known = sorted({node.cluster for node in nodes if isinstance(node, Leaf)})
    merged = _merged(groups, known)
    called = {number: str(number) for number in known} | {each.index: each.name for each in rules.clusters} | names
    renamed = _renamed(renames, {number: called[number] for number in known}, merged)
    joined = _joined(merged)
    words += [f"clusters {', '.join(map(str, group))} merged" for group in joined.values()]
    left = {merged.get(number, number) for number in known}
    names, notes = (
        {number: said for number, said in _of_joined(given, joined).items() if number in left}
        for given in (names, notes)
    )
    return Edited(
        _without_vain_tests(nodes, merged) if merged else tuple(nodes),
        names | renamed,
        notes,
        merged,
        tuple(dict.fromkeys(words)),
    )


def _checked_texts(option: str, given: Iterable[str], wanted: str) -> tuple[str, ...]:
    """Return the texts of an option; OptionError unless they are a list of texts."""
    found = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(each, str) for each in found):
        raise OptionError(OptionName(option), f" must be a list of {wanted}, not {given!r}")
    return found  # type: ignore[return-value]  # all are texts


def _checked_groups(given: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return groups of clusters; OptionError unless they are a list of lists of whole numbers."""
    try:
        return [tuple(map(operator.index, group)) for group in given]
    except TypeError:
        raise OptionError(
            OptionName("merge"), f" must be a list of groups of clusters, such as [(3, 4)], not {given!r}"
        ) from None


def read_replacement(text: str, columns: Sequence[RuleColumn], nodes: Sequence[Node]) -> Replacement:
    """Return the change that ``column: old -> new`` describes, or ``column: new`` if nodes test one value of it.

    Raises
    ------
    DataError
        If it is neither, or can be read in two ways.
    """
    said = text.strip()
    found: list[Replacement] = []
    refused: DataError | None = None
    for feature, column in sorted(enumerate(columns), key=lambda each: -len(each[1].name)):  # "a: b" before "a"
        for name in dict.fromkeys((column.name, printable(column.name))):
            if not said.startswith(f"{name}:"):
                continue
            try:
                found += _readings(said[len(name) + 1 :].strip(), feature, column, nodes)
            except DataError as error:
                refused = refused or error
    if len(found) == 1:
        return found[0]
    if refused is not None and not found:
        raise refused
    example = "proline: 755 -> 750"
    tested = [(column, _values(nodes, feature)) for feature, column in enumerate(columns)]
    if known := [(column, values[0]) for column, values in tested if values]:
        example = printable(f"{known[0][0].name}: {_shown(*known[0])} -> NEW")
    names = ", ".join(repr(column.name) for column, _ in known)
    raise DataError(f"{text!r} is not a valid change; write it as {example!r}, with a column that rules test: {names}")


def _readings(said: str, feature: int, column: RuleColumn, nodes: Sequence[Node]) -> list[Replacement]:
    """Return the possible readings of the text after the name of a column."""
    tested = list(dict.fromkeys(_values(nodes, feature)))
    parts = said.split("->")
    if column.is_numeric and len(parts) == 2:
        old, new = (part.strip() for part in parts)
        return [Replacement(feature, read_threshold(old, column, tested), read_threshold(new, column))]
    found = []
    for place in range(1, 1 if column.is_numeric else len(parts)):  # a category may have an arrow in it
        old, new = "->".join(parts[:place]).strip(), "->".join(parts[place:]).strip()
        if (values := _categories((old, new), column)) is not None:
            found.append(Replacement(feature, *values))
    if found:
        return found
    alone = [read_threshold(said, column)] if column.is_numeric else _categories((said,), column)
    if alone is None:
        known = ", ".join(_shown(column, value) for value in column.values[:MAX_NAMED])
        raise DataError(f"{said!r} names no values of column {column.name!r}, such as {known}")
    [value] = alone
    if not tested:
        raise DataError(f"no rule tests {column.name!r}")
    if len(tested) > 1:
        listed = ", ".join(_shown(column, each) for each in tested)
        form = printable(f"{column.name}: {_shown(column, tested[0])} -> {_shown(column, value)}")
        raise DataError(f"the rules test {column.name!r} at {listed}; write which to change, as {form!r}")
    return [Replacement(feature, tested[0], value)]


def _categories(texts: Iterable[str], column: RuleColumn) -> list[Value] | None:
    """Return categories by their texts, with or without quotes; None where one is not known."""
    by_text = {text: value for value in column.values for text in (printable(format_value(value)), str(value))}
    found = [by_text.get(text) for text in texts]
    return None if None in found else [value for value in found if value is not None]


def _replaced(nodes: Sequence[Node], change: Replacement, columns: Sequence[RuleColumn]) -> tuple[Node, ...]:
    """Return a tree with one value replaced wherever it is tested."""
    column = columns[change.column]
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Cut) and node.column == change.column and node.threshold == change.old:
            node = replace(node, threshold=change.new)  # type: ignore[arg-type]  # a number, as the column's
        elif isinstance(node, Membership) and node.column == change.column and change.old in node.values:
            if change.new in node.values:
                raise DataError(
                    f"{_shown(column, change.new)} of column {column.name!r} is already tested beside "
                    f"{_shown(column, change.old)}"
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
                    f"{column.name!r}: with {_shown(column, change.new)} instead of {_shown(column, change.old)} no "
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
            raise DataError("a merge needs two or more clusters; give their numbers, such as 3,4")
        lowest = min(merged.get(number, number) for number in group)
        joined = {merged.get(number, number) for number in group}
        merged |= dict.fromkeys({*group, *joined, *(n for n, to in merged.items() if to in joined)}, lowest)
    return {number: to for number, to in merged.items() if number != to}


def _renamed(renames: Iterable[str], called: Mapping[int, str], merged: Mapping[int, int]) -> dict[int, str]:
    """Return the new names by the numbers that clusters have once they are merged."""
    found: dict[int, str] = {}
    for text in renames:
        try:
            number, name = read_new_name(text, called)
        except DataError as error:
            raise OptionError(OptionName("rename"), f": {error}") from error
        number = merged.get(number, number)
        if found.setdefault(number, name) != name:
            both = f"{found[number]!r} and {name!r}"
            raise OptionError(OptionName("rename"), f": cluster {number} would be called {both}; give one name")
    return found


def _joined(merged: Mapping[int, int]) -> dict[int, list[int]]:
    """Return the former numbers of merged clusters, ascending, by their number now."""
    return {to: sorted({to, *(n for n, other in merged.items() if other == to)}) for to in merged.values()}


def _of_joined(said: Mapping[int, str], joined: Mapping[int, Sequence[int]]) -> dict[int, str]:
    """Return the names, or notes, of clusters; merged ones get the first that one of them has."""
    found = {number: text for number, text in said.items() if not any(number in group for group in joined.values())}
    for number, group in joined.items():
        if (first := next((said[each] for each in group if each in said), None)) is not None:
            found[number] = first
    return found


def _without_vain_tests(nodes: Sequence[Node], merged: Mapping[int, int]) -> tuple[Node, ...]:
    """Return a tree with merged clusters, without tests that have a single cluster on both sides.

    The rows of the leaves are no longer known.
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
        pending += sorted(sides, reverse=True)  # in their former order
    return tuple(
        node if isinstance(node, Leaf) else replace(node, left=children[place][True], right=children[place][False])
        for place, node in enumerate(kept)
    )
