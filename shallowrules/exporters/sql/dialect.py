"""The facts about a SQL dialect as data, and the writing of names, texts and numbers by them.

A fact that decides a label is required: it has no default that a new dialect could forget to override. Facts shared
by many engines have a name (`STANDARD_TEXTS`), which a dialect has to choose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from sqlglot.expressions import Literal as TextLiteral
from sqlglot.expressions import to_identifier

from shallowrules.errors import ExportError, OptionName
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.sql.reserved import RESERVED
from shallowrules.rules import INT64, Number, RuleColumn

__all__ = [
    "STANDARD_TEXTS",
    "Caution",
    "Dialect",
    "Limits",
    "Names",
    "Nan",
    "Numbers",
    "Texts",
    "fold_ascii",
    "fold_nothing",
    "spelt",
]

BARE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Names that need no quotes in any engine, unless they are its keywords."""

JINJA_MARK = re.compile(r"\{[{%#]")
"""Prefixes of an expression, a statement or a comment in Jinja."""

JINJA_END = re.compile(r"(?<=\{)(?=%[-+]?\s*endraw)")
"""The place where the mark ``{% endraw %}`` of a Jinja file is split."""

RENAME = ("use another name (for a column, the option ", OptionName("columns"), " maps the old one to it)")


def fold_ascii(name: str) -> str:
    """Return a name as it is compared by an engine that treats A to Z as a to z."""
    return "".join(c.lower() if c.isascii() else c for c in name)


def fold_nothing(name: str) -> str:
    """Return a name as compared by an engine that compares quoted names character by character."""
    return name


@dataclass(frozen=True, kw_only=True)
class Nan:
    """How NaN compares, and anything else in a column of numbers that is not a number.

    Attributes
    ----------
    sorts : {"highest", "not between", "compares false", "none", "unknown"}
        Where it stands: above every number, infinities included; above or below all of them or nowhere; nowhere, so
        that each comparison with a number is false; the engine has no such value; or that depends on the engine, which
        the emitted text says.
    infinity : str or None
        Infinity as a double, to compare a value with, where NaN may sort above or below.
    finite : str or None
        Where the engine may decide a comparison with a bound before it sees the values, from bounds of the column
        that leave NaN out: what is true of a finite ``{value}`` and else not, and is not decided so.
    infinite : str or None
        The same for what is true of an infinite one.
    is_nan : str or None
        The predicate for a ``{value}`` that is NaN, so that it can be imputed, and false of any other, whatever the
        column's type; None where nothing tells.
    """

    sorts: Literal["highest", "not between", "compares false", "none", "unknown"]
    infinity: str | None
    finite: str | None
    infinite: str | None
    is_nan: str | None

    def __post_init__(self) -> None:
        if (self.infinity is not None) != (self.sorts in ("highest", "not between")):
            raise ValueError(f"infinity is {self.infinity!r}, and NaN sorts {self.sorts!r}: one needs the other")
        if (self.finite is None) != (self.infinite is None):
            raise ValueError("a test for finite values needs one for infinite values beside it")


@dataclass(frozen=True, kw_only=True)
class Names:
    """The valid names of tables and columns, and which of them are considered equal.

    Attributes
    ----------
    fold : callable
        A quoted name in the form in which the engine compares it.
    unquoted : callable
        An unquoted name in the form in which the engine compares it, as far as that matters.
    longest : int or None
        Length of the longest name that is not truncated or refused, in `unit`.
    unit : {"characters", "bytes"}
    refused : str or None
        A pattern; a name in which it is found is not allowed.
    refused_columns : str or None
        A pattern; a column's name in which it is found is not allowed, whatever a table may be called.
    refused_aliases : str or None
        A pattern; a name in which it is found becomes another where a query gives it to a column.
    backticks : bool
        Quote by backticks, whatever sqlglot does.
    qualify_star : bool
        Whether ``*`` beside other expressions has to be written ``t.*``.
    alias : str
        Between a table and its alias.
    no_table : str
        The end of a SELECT of constants.
    """

    fold: Callable[[str], str]
    unquoted: Callable[[str], str]
    longest: int | None
    unit: Literal["characters", "bytes"] = "characters"
    refused: str | None = None
    refused_columns: str | None = None
    refused_aliases: str | None = None
    backticks: bool = False
    qualify_star: bool = False
    alias: str = " AS "
    no_table: str = ""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """How text is written and compared.

    Attributes
    ----------
    column, literal : str
        The expressions that make ``{column}`` and ``{literal}`` comparable character by character: without regard to
        the collation of the column, which may take 'A' for 'a', 'é' for 'e', or ignore blanks at the end.
    trimmed : str
        The text of any ``{value}``, also of a number, without the spaces (U+0020 alone) around it.
    truth : str or None
        The same of any ``{value}`` that may be a truth value, where `trimmed` fails of a column of these; None where it
        does not.
    coded : str
        Characters that a literal cannot hold, or not the same under every setting of the engine.
    code : str or None
        An expression for one of them, of its number ``{code}``; None where there are none.
    holds_nul : bool
        Whether a text can hold the character 0.
    listed : str
        One or several literals, ``{literals}``, beside a column: what makes all of them comparable, as `literal` does.
    cast : str or None
        The expression that makes a ``{column}`` of any type comparable with texts in which `typed` finds nothing; None
        where `column` and `listed` do.
    typed : str
        A pattern; a text in which it is found may stand for what the engine holds in another type: a number, a truth
        value, a date.
    not_in : str
        What is true where the column ``{value}``, whose comparable text is ``{text}``, has one that is not among the
        ``{literals}``.
    joined, link : str
        The template that joins literals and these expressions, ``{parts}``, and the text between them.
    prefix : str
        The prefix of a literal.
    plain_literals : bool
        Literals as in ANSI SQL, whatever sqlglot does.
    empty : bool
        Whether there is an empty text that is not NULL.
    exactly : str or None
        A ``{literal}`` beside which ``=`` compares a column of any collation character by character, and by its index;
        None where there is none, so that such a column is compared twice.
    """

    column: str
    literal: str
    trimmed: str
    truth: str | None
    coded: str
    code: str | None
    holds_nul: bool
    listed: str
    cast: str | None
    typed: str
    not_in: str
    joined: str
    link: str
    prefix: str
    plain_literals: bool
    empty: bool
    exactly: str | None


STANDARD_TEXTS = Texts(
    column="{column}",
    literal="{literal}",
    trimmed="TRIM(CAST({value} AS VARCHAR))",
    truth=None,
    coded="\0\r",  # a file may lose a carriage return, as it goes through Jinja or Git
    code=None,
    holds_nul=False,
    listed="{literals}",
    cast=None,
    typed="",
    not_in="{text} NOT IN ({literals})",
    joined="({parts})",
    link=" || ",
    prefix="",
    plain_literals=False,
    empty=True,
    exactly=None,
)
"""Text is compared character by character, and a literal holds every character but 0."""


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """How numbers are written, compared, and read from columns that may hold them as text.

    `shallowrules.tables.conversion.GRAMMAR` says what a number is. A template gets ``{value}``, the column as it
    stands, or ``{text}``, what `Texts.trimmed` makes of it; ``{bound}`` is a whole number, and ``{steps}`` the same in
    two steps, the largest double up to it and the rest, so that a double less these is of the right sign. ``{scale}``
    is how many decimals a DECIMAL of 37 digits has room for besides twice the bound, at most 18.

    Attributes
    ----------
    double : str
        A literal of type double, made of ``{digits}``, or of ``{scientific}``, which always has
        an exponent.
    negative : str
        A literal of a whole ``{number}`` below 0.
    is_text : str or None
        The predicate for a ``{value}`` that the engine holds as text, and false of a number; None where nothing tells,
        so that every column is read as text.
    is_number : str or None
        The predicate for a ``{text}`` that is a number by ``{pattern}``, a regular expression for the whole of it, and
        has at most ``{longest}`` characters; where there are no such expressions, by ``{point}``, the decimal
        separator. None where the cast alone judges.
    is_code : str or None
        The predicate for a ``{text}`` that is a code as written by `Grammar.plain_code`, for codes only; None if
        `is_number` has a regular expression.
    grouped : str or None
        The predicate for a ``{text}`` whose blanks, if it has some, separate proper groups of digits, where `is_number`
        has no pattern.
    to_double : str
        The double nearest to a ``{text}`` that is a number with a point, without an error for any.
    infinities : str or None
        ``WHEN … THEN …`` for a ``{text}`` that is a name of infinity; None where `to_double` knows these.
    from_number : str
        The double nearest to a ``{value}`` that is not text, valid SQL where it is one.
    either : str or None
        The expression that turns a ``{text}`` into a whole number if it is one of 64 bits, and otherwise into a double,
        where one expression can give both; None where it cannot, and the next three are needed.
    whole : str
        The number in a ``{text}`` of digits alone, at most 19 of them without leading zeros, less ``{bound}``, exactly
        or as a double of the same sign.
    is_float : str or None
        The predicate for a ``{value}`` of a floating type; None where nothing tells.
    exact : str
        The number in a ``{value}`` of any other number type less ``{bound}``, as above; with `either`, the number.
    truth : tuple of str, or None
        The predicate for a ``{value}`` of a number type whose text may be other than 1, 1.0, 0 and 0.0 where it is 1 or
        0, and the number in it; None where there is no such type.
    beside_doubles : tuple of str and int, or None
        The template for the nearest double of a ``{value}`` that is a number, if the engine would compare that
        number differently with a double, and the number from which on, without its sign, this can matter; None where
        the engine takes the nearest double by itself.
    beside_integers : {"exactly", "exactly or not at all", "as doubles", "as singles"}
        How a column of a floating type is compared with a whole number: by its value; by its value, but a column of
        decimals fails beside a whole number of more digits than it has; both as doubles; or both as singles where the
        column holds these.
    beyond_int64 : bool
        Whether the engine was seen to compare unsigned 64-bit integers exactly with a number of 2**63 and more.
    beside_singles : {"digits", "scientific", "double"}
        What a number with a fraction is made of, so that a column of singles is compared with it as doubles, and one of
        any other number type as well: its digits, those with an exponent, or what `double` makes of it.
    beside_texts : str or None
        The expression that a ``{number}`` needs if a column declared as text, or a column of numbers that holds other
        text as well, is to be compared with it as numbers; None where the engine does so by itself, or refuses to.
    """

    double: str
    negative: str
    is_text: str | None
    is_number: str | None
    is_code: str | None
    grouped: str | None
    to_double: str
    infinities: str | None
    from_number: str
    either: str | None
    whole: str
    is_float: str | None
    exact: str
    truth: tuple[str, str] | None
    beside_doubles: tuple[str, int] | None
    beside_integers: Literal["exactly", "exactly or not at all", "as doubles", "as singles"]
    beyond_int64: bool
    beside_singles: Literal["digits", "scientific", "double"]
    beside_texts: str | None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The engine's limits of size, and the remedies.

    Attributes
    ----------
    branches : int or None
        Most branches of one CASE; more are written as several.
    unset : int or None
        Bytes up to which a query needs no setting.
    setting : str
        The statement to run before a longer one, given a ``{size}`` of bytes.
    nested : int
        Levels of a CASE inside another, so far as it evaluates them faster than branches one after the other.
    """

    branches: int | None = None
    unset: int | None = None
    setting: str = ""
    nested: int = 20

    def caveat(self, text: str) -> str:
        """Return the notes on a text that needs a setting; empty if it needs none."""
        size = len(text.encode())
        if self.unset is None or size <= self.unset:
            return ""
        enough = 1 << (2 * size).bit_length()  # with room for the query that an expression is put into
        return f"A query of this length needs more than the defaults: {self.setting.format(size=enough)}"


@dataclass(frozen=True, kw_only=True)
class Caution:
    """A mistake of an engine in columns of a type, or under a setting, that only its user knows.

    Attributes
    ----------
    types : tuple of str
        The types of columns, in the rules, that it is about.
    text : str
        The mistake, and the remedy.
    above, below : float
        It is about numbers between these, whatever their sign.
    converted : bool or None
        Whether it is about columns of numbers that the rules read from text, or about the others; None for both.
    always : bool
        Whether it is about columns of which something is known, too.
    """

    types: tuple[str, ...]
    text: str
    above: float = -1.0
    below: float = math.inf
    converted: bool | None = None
    always: bool = False

    def concerns(self, column: RuleColumn, numbers: Sequence[Number]) -> bool:
        """Return whether it is about a column that is compared with some numbers."""
        kind = "float" if column.codes else column.type
        if kind not in self.types or self.converted not in (None, column.from_text):
            return False
        return not column.is_numeric or any(self.above < abs(number) < self.below for number in numbers)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The facts about one SQL dialect that rules depend on.

    Attributes
    ----------
    name : str
        As sqlglot spells it; empty for sqlglot's own, which is ANSI.
    nan : Nan
    names : Names
    texts : Texts
    numbers : Numbers
    limits : Limits
    cautions : tuple of Caution
        The warnings in the emitted text if its rules are concerned; docs/numbers.md lists them.
    quotes : {"always", "folded", "needed"}
        Which names have quotes: all; those that need them, where the table was made without quotes, so that the engine
        folds the others as it did then; or those that it would fold or not take without.
    """

    name: str
    nan: Nan
    names: Names
    texts: Texts
    numbers: Numbers
    limits: Limits = Limits()
    cautions: tuple[Caution, ...] = ()
    quotes: Literal["always", "folded", "needed"] = "always"

    def identifier(self, name: str) -> str:
        """Return a name as SQL, in quotes if it has them; ExportError if the dialect cannot hold it."""
        shown, facts = repr(name), self.names
        if not name:
            raise ExportError("SQL has no empty names: ", *RENAME)
        if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
            raise ExportError(f"SQL cannot hold the name {shown}: ", *RENAME)
        if facts.refused is not None and re.search(facts.refused, name):
            raise ExportError(f"{self.name} cannot hold the name {shown}: ", *RENAME)
        length = len(name.encode()) if facts.unit == "bytes" else len(name)
        if facts.longest is not None and length > facts.longest:
            raise ExportError(
                f"the name {shown} has {length} {facts.unit}, but {self.name} allows {facts.longest}: ", *RENAME
            )
        if self.quotes != "always" and BARE.fullmatch(name):
            folded = facts.unquoted(name)
            if name.upper() not in RESERVED and (self.quotes == "folded" or name == folded):
                return name
            name = folded if self.quotes == "folded" else name
        if facts.backticks:
            return "`" + name.replace("`", "``") + "`"
        return to_identifier(name, quoted=True).sql(dialect=self.name)

    def fold(self, name: str) -> str:
        """Return a name, as this dialect writes it, in the form in which the engine compares it."""
        return name.casefold() if self.quotes == "folded" else self.names.fold(name)

    def column(self, name: str) -> str:
        """Return the name of a column as `identifier` does; ExportError if the dialect cannot hold it."""
        refused = self.names.refused_columns
        if refused is not None and re.search(refused, name):
            raise ExportError(f"{self.name} cannot hold a column of the name {name!r}: ", *RENAME)
        return self.identifier(name)

    def keeps_alias(self, name: str) -> bool:
        """Return whether a column keeps this name if a query gives it."""
        return self.names.refused_aliases is None or not re.search(self.names.refused_aliases, name)

    def string(self, text: str) -> str:
        """Return a text literal; ExportError if the dialect cannot hold it."""
        facts = self.texts
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise ExportError(
                f"SQL cannot hold the text {text!r}, which has an unpaired surrogate: use another exporter"
            )
        if not text and not facts.empty:
            raise ExportError(
                f"dialect {self.name!r} treats an empty text as NULL, and a rule tests for it: use another dialect or "
                "exporter"
            )
        if "\0" in text and not facts.holds_nul:
            raise ExportError(
                f"dialect {self.name or 'ansi'!r} cannot hold the character 0, which {text!r} has: use another "
                "dialect or exporter"
            )
        coded = set(facts.coded if facts.code is not None else "")
        pieces = [piece for half in JINJA_END.split(text) for piece in _split(half, coded)]
        parts = [str(facts.code).format(code=ord(p)) if p in coded else self._literal(p) for p in pieces]
        if len(parts) == 1 and pieces[0] not in coded:
            return parts[0]
        return facts.joined.format(parts=facts.link.join(parts))

    def _literal(self, text: str) -> str:
        dialect = "" if self.texts.plain_literals else self.name
        return self.texts.prefix + TextLiteral.string(text).sql(dialect=dialect)

    def category(self, text: str) -> str:
        """Return a text as it is compared with a column."""
        return self.texts.literal.format(literal=self.string(text))

    def number(self, value: int | float) -> str:
        """Return an integer literal for an int, and the shortest exact double literal for a float."""
        if isinstance(value, int):
            if value not in INT64 and not self.numbers.beyond_int64:
                raise ExportError(
                    f"a rule compares a column with {value}, and dialect {self.name or 'ansi'!r} is not known to "
                    "compare numbers beyond a signed 64-bit integer exactly: use another dialect or exporter"
                )
            return self.numbers.negative.format(number=value) if value < 0 else str(value)
        digits, scientific = spelt(value)
        return self.numbers.double.format(digits=digits, scientific=scientific)

    def comment(self, text: str) -> str:
        """Return text for a comment, on one line and without a comment's end."""
        return JINJA_END.sub(" ", one_line(text).replace("*/", "* /"))


def spelt(value: float) -> tuple[str, str]:
    """Return the shortest digits of a number, and the same with an exponent."""
    digits = repr(value).replace("e+", "e")
    return digits, digits if "e" in digits else f"{digits}e0"


def _split(text: str, coded: Set[str]) -> list[str]:
    """Return the pieces of a text, in which each of those characters is a piece of its own."""
    pieces = re.split(f"([{re.escape(''.join(coded))}])", text) if coded else [text]
    return [piece for piece in pieces if piece] or [""]
