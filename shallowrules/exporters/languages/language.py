"""The facts about one programming language that rules depend on, and rules written by them.

A value is of one of four kinds. A ``number`` is a double, NaN where it is missing: also a whole number, as long as
doubles tell every one from each number that it is compared with, and a code. A ``whole`` number has 64 bits. A ``text``
is compared by its characters, a ``truth`` is true or false; these three have a mark of their own where they are
missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shallowrules.errors import ExportError
from shallowrules.exporters.context import bounds, is_held_as_double
from shallowrules.exporters.nested import Answer, Missing, nested_steps
from shallowrules.exporters.rendering import one_line
from shallowrules.rules import Between, ConditionVisitor, NoneOf, Number, OneOf, Rule, RuleSet, Value

__all__ = [
    "Conditions",
    "Kind",
    "KindName",
    "Language",
    "camel_case",
    "double",
    "escaped",
    "kind_of",
    "nested_lines",
    "quoted",
    "truth",
]

KindName = Literal["number", "whole", "text", "truth"]


@dataclass(frozen=True)
class Kind:
    """How values of one kind are held and compared; in patterns ``{x}`` is a variable and ``{v}`` a literal.

    Attributes
    ----------
    type : str
        Of the value in a row.
    missing : str
        The test for a missing one.
    literal : callable
        Gives the literal of a value.
    compared : str
        A comparison by ``{sign}``; empty where values have no order.
    equal, unequal : str
        Tests of a value that is not missing.
    """

    type: str
    missing: str
    literal: Callable[[Any], str]
    compared: str = ""
    equal: str = "{x} == {v}"
    unequal: str = "{x} != {v}"


@dataclass(frozen=True)
class Language:
    """The facts about one language.

    Attributes
    ----------
    title : str
        Its name.
    template : str
        Lays out the text.
    kinds : mapping from str to Kind
        How it holds values, by `KindName`; rules on one that it does not hold are refused.
    labels : mapping from str to str
        The type of a cluster: a whole number of 32 bits ("int"), of 64 bits ("long"), or a text ("text").
    whole : callable
        Gives the literal of a whole number, of 64 bits where its second argument is true.
    string : callable
        Gives the literal of a text.
    name : str
        What the text is called by programs that use it, if nothing else is asked for.
    spell : callable
        Makes the name of a column's field from words.
    variable : callable
        Makes the name of a local variable from a field's.
    taken : frozenset of str
        Names that neither variables nor what the text defines can have.
    names : frozenset of str
        Names that variables can have, but what the text defines cannot.
    question : str
        The line that opens a block for rows with ``{test}``.
    given : str
        The statement that returns ``{label}``.
    none : str
        The statement that returns no cluster; ``{NAME}`` is what the text defines, in capitals, and
        ``{zero}`` the number 0 or the empty text, as the type of a cluster is.
    indent, mark : str
        One step of indentation; the beginning of a comment that goes to the end of the line.
    refused : str
        The pattern of characters that its texts cannot hold.
    longest : int or None
        The limit of characters in a text literal.
    by_name : bool
        Whether the text reads columns by their names, so that these have to be texts of the language.
    reads_text : bool
        Whether it reads numbers and times in texts, as `docs/numbers.md` defines them.
    ascii : bool
        Whether comments have ASCII characters alone, as compilers of the language may read a file as that.
    most_tests : int or None
        The limit of comparisons in a function.
    both, either, never : str
        Between conditions that all have to hold, and of which one has to; a condition that no row satisfies.
    """

    title: str
    template: str
    kinds: Mapping[KindName, Kind]
    labels: Mapping[str, str]
    whole: Callable[[int, bool], str]
    string: Callable[[str], str]
    name: str
    spell: Callable[[Sequence[str]], str]
    taken: frozenset[str]
    none: str
    given: str = "return {label};"
    question: str = "if ({test}) {{"
    indent: str = "    "
    mark: str = "//"
    refused: str = "[\ud800-\udfff]"
    longest: int | None = None
    by_name: bool = False
    reads_text: bool = False
    ascii: bool = False
    most_tests: int | None = None
    both: str = " && "
    either: str = " || "
    never: str = "false"
    variable: Callable[[str], str] = str
    names: frozenset[str] = frozenset()

    def identifier(self, name: str) -> str:
        """Return a column name as a text literal."""
        return self.string(name)

    def number(self, value: int | float) -> str:
        """Return a number that is shown, not compared."""
        return repr(value)

    def comment(self, text: str) -> str:
        """Return text for a comment, on one line and without what any of the languages has an escape for."""
        line = re.sub(r"\?(?=\?)", "? ", one_line(text).replace("\\", "/"))
        for end, instead in (("*/", "* /"), ("</", "< /"), ("<!", "< !")):
            line = line.replace(end, instead)
        return "".join(c if c.isascii() else escaped(c) for c in line) if self.ascii else line

    def lacks(self, text: str) -> re.Match[str] | None:
        """Return the first character of a text that the language cannot hold."""
        return re.search(self.refused, text)

    def check_text(self, text: str) -> None:
        """Raise ExportError for a text of which the language has no literal."""
        if self.longest is not None and len(text) > self.longest:
            raise ExportError(
                f"a text has {len(text):,} characters, and one of {self.title} at most {self.longest:,}: "
                f"{text[:40]!r}…; use another exporter"
            )
        found = self.lacks(text)
        if found is not None:
            raise ExportError(
                f"{self.title} cannot hold the text {text!r}: it has the character U+{ord(found[0]):04X}; "
                "use the exporter python or javascript"
            )

    def literal(self, kind: KindName, value: Number | Value) -> str:
        """Return a value of a kind as a literal."""
        if isinstance(value, str) and kind == "text":
            self.check_text(value)
        return self.kinds[kind].literal(value)


def kind_of(rules: RuleSet, feature: int) -> KindName:
    """Return the kind of a column's values."""
    column = rules.columns[feature]
    if column.codes:
        return "number"
    if not column.is_numeric:
        return "text" if column.type == "text" else "truth"
    if column.is_time:
        return "whole"
    return "number" if is_held_as_double(rules, feature) else "whole"


class Conditions(ConditionVisitor[str]):
    """Conditions on values that are not missing, in one language.

    Parameters
    ----------
    language : Language
    rules : RuleSet
    variables : mapping from int to str
        The variable with the value of each tested column.
    """

    def __init__(self, language: Language, rules: RuleSet, variables: Mapping[int, str]) -> None:
        self.language = language
        self.variables = variables
        self.kinds = {feature: kind_of(rules, feature) for feature in variables}

    def missing(self, feature: int) -> str:
        """Return the test for rows without a value in a column."""
        return self.language.kinds[self.kinds[feature]].missing.format(x=self.variables[feature])

    def of_rule(self, rule: Rule) -> str:
        """Return the predicate for the rows that a rule matches, empty for all."""
        several = (isinstance(each, OneOf) and len(each.values) > 1 for each in rule.conditions)
        tests = zip(map(self, rule.conditions), several, strict=True)
        return self.language.both.join(f"({test})" if grouped else test for test, grouped in tests)

    def between(self, condition: Between) -> str:
        """Return a comparison, or two."""
        kind = self.kinds[condition.feature]
        pattern, variable = self.language.kinds[kind].compared, self.variables[condition.feature]
        return self.language.both.join(
            pattern.format(x=variable, sign=sign, v=self.language.literal(kind, bound))
            for sign, bound in zip((">", "<="), bounds(condition), strict=True)
            if bound is not None
        )

    def one_of(self, condition: OneOf) -> str:
        """Return tests for equality; false where there is no category."""
        kind = self.language.kinds[self.kinds[condition.feature]]
        return self._each(condition, kind.equal, self.language.either) or self.language.never

    def none_of(self, condition: NoneOf) -> str:
        """Return tests for inequality."""
        kind = self.language.kinds[self.kinds[condition.feature]]
        return self._each(condition, kind.unequal, self.language.both)

    def _each(self, condition: OneOf | NoneOf, pattern: str, join: str) -> str:
        kind = self.kinds[condition.feature]
        values = (int(value) if condition.column.codes else value for value in condition.values)
        variable = self.variables[condition.feature]
        return join.join(pattern.format(x=variable, v=self.language.literal(kind, value)) for value in values)


def nested_lines(
    conditions: Conditions, rules: RuleSet, none: str, labels: Mapping[int, str], remark: Callable[[int], str]
) -> Iterator[str]:
    """Yield the lines that give a row its cluster.

    Parameters
    ----------
    conditions : Conditions
    rules : RuleSet
    none : str
        The statement that returns no cluster.
    labels : mapping from int to str
        The literal of each cluster.
    remark : callable
        Gives the comment on a leaf.
    """
    language = conditions.language
    for step in nested_steps(rules):
        indent = language.indent * step.depth
        if isinstance(step, Answer):
            given = language.given.format(label=labels[step.cluster])
            yield f"{indent}{given} {language.mark} {language.comment(remark(step.leaf))}"
            if step.depth:
                yield f"{language.indent * (step.depth - 1)}}}"
        elif isinstance(step, Missing):
            yield indent + language.question.format(test=conditions.missing(step.column))
            yield f"{indent}{language.indent}{none} {language.mark} no value"
            yield f"{indent}}}"
        else:
            yield indent + language.question.format(test=conditions(step.condition))


def double(value: Number) -> str:
    """Return the shortest decimal that compilers read as exactly this double, without a sign of zero."""
    return repr(float(value) + 0.0)


def truth(value: bool) -> str:
    """Return a truth value in lower case, as most languages write it."""
    return "true" if value else "false"


def camel_case(words: Sequence[str]) -> str:
    """Return words as one name: monthlyCharges."""
    name = "".join(word[0].upper() + (word[1:].lower() if word.isupper() else word[1:]) for word in words)
    return name[:1].lower() + name[1:]


def escaped(character: str) -> str:
    """Return the escape of a character by its one or two UTF-16 code units."""
    units = memoryview(character.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
    return "".join(f"\\u{unit:04x}" for unit in units)


def quoted(text: str, escape: Callable[[str], str], keep: Callable[[str], bool]) -> str:
    """Return a text literal in double quotes.

    Parameters
    ----------
    text : str
    escape : callable
        Gives the escape of a character.
    keep : callable
        Tells whether a character other than a quote or backslash stays as it is.
    """
    return '"' + "".join("\\" + c if c in '"\\' else c if keep(c) else escape(c) for c in text) + '"'
