"""A column of numbers or codes as SQL, from which conditions are made: its number, and which rows have no value.

`docs/numbers.md` says what a number and a missing value are. Anything else becomes NULL, and satisfies no condition.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from shallowrules.errors import ExportError
from shallowrules.exporters.sql.categories import among
from shallowrules.exporters.sql.declared import Held, assumed_numbers
from shallowrules.exporters.sql.dialect import Dialect, spelt
from shallowrules.rules import DOUBLE_EXACT, GRAMMAR, Number, RuleColumn

__all__ = ["CodeColumn", "NumberColumn"]

SINGLE_EXACT = 2**24
"""Up to this number, a float32 distinguishes each whole number from its neighbors."""

EXACT_DIGITS = 15
"""Every engine reads a decimal of this many digits as the nearest double."""

NAN_WORDS = ("nan", "+nan", "-nan")
"""The texts of `GRAMMAR.nan`, in lower case."""

_NUMBER_TEXT = re.compile(f"{GRAMMAR.number.format(point='.')}|{GRAMMAR.infinity}")
"""The words that an engine may also write for a number that it casts to text."""

WHOLE = "[+-]?0*[0-9]{1,19}"
"""`GRAMMAR.whole`, for texts that may fit 64 bits."""


WHOLE_IN_GROUPS = "[+-]?[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}}){{1,6}}"
"""The same for digits in groups of three."""


class NumberColumn:
    """A column of numbers.

    Parameters
    ----------
    column : RuleColumn
    name : str
        Its name in the database.
    dialect : Dialect
    held : Held, optional
        The column's possible values, if they are known.
    """

    def __init__(self, column: RuleColumn, name: str, dialect: Dialect, held: Held | None = None) -> None:
        self.column = column
        self.dialect = dialect
        self.value = dialect.column(name)
        self.text = dialect.texts.trimmed.format(value=self.value)
        beside_text = held is not None and held.loose and column.from_text and not column.codes
        is_number = held is not None and held.kind == "numbers" and not beside_text
        self.held = held if is_number else None
        self.from_text = column.from_text and not is_number
        self.is_text = None if held is not None and held.kind == "texts" else dialect.numbers.is_text
        self.may_be_nan = self.held is None or self.held.nan
        self.may_be_filed = not self.from_text and (self.held is None or self.held.filed)
        self.is_exact = self.held is not None and self.held.scale is not None
        undeclared = self.held is None or self.held.undeclared
        self._may_be_text = undeclared and dialect.numbers.beside_texts is not None
        if self.from_text and column.format:
            self._check_format(name)
            # Where there are neither patterns nor names of types, the column is treated as a column of numbers.
            self.from_text = dialect.numbers.is_number is not None

    def _check_format(self, name: str) -> None:
        """Raise ExportError if a text in the column's format could be read as a different number, or none can."""
        facts, shown = self.dialect.numbers, f"written as {self.column.format}"
        if self.is_text is None and facts.is_text is not None and not self.column.conversion.is_for_sql:
            raise ExportError(
                f"column {name!r} is text, {shown}, which SQL does not convert; make it a number in a view"
            )
        if self.is_text is None and facts.is_text is None and facts.is_number is not None:
            raise ExportError(
                f"column {name!r} may be text, {shown}, which {self.dialect.name} cannot tell from numbers; make it a "
                "number in a view, and export for that type"
            )

    def missing(self) -> str:
        """Return the predicate for rows without a value; a value that is not a number counts as one."""
        numbers = [self._equation("=", number) for number in self.column.conversion.null_numbers]
        return " OR ".join([*self._without_number(), *numbers])

    def neither(self) -> str:
        """Return the predicate for rows whose value is neither a number nor a null marker."""
        value, _ = self.beside(0)
        return f"NOT ({' OR '.join(self._without_number())}) AND {value} IS NULL"

    def without_value(self) -> str:
        """Return the predicate for rows that satisfy no comparison; empty where there are none."""
        nan, imputed = self.dialect.nan, self.column.imputed is not None
        if not self.from_text:
            # Values that are not numbers, without a test for NaN: SQLite has text in columns of numbers, above every
            # number.
            above = nan.is_nan is None and nan.sorts == "highest" and self.may_be_nan
            return " OR ".join([*([] if imputed else [self.missing()]), *([f"{self.value} > {self.infinity}"] * above)])
        if imputed:
            return self.neither()
        value, _ = self.beside(0)
        numbers = [self._equation("=", number) for number in self.column.conversion.null_numbers]
        parts = [f"{value} IS NULL", *numbers]
        if nan.is_nan is not None:
            parts.append(nan.is_nan.format(value=value))
        return " OR ".join(parts)

    def _without_number(self) -> list[str]:
        """Return the predicate for rows whose value is missing, except as a number."""
        dialect = self.dialect
        parts = [f"{self.value} IS NULL"]
        if self.from_text:
            parts += self._words()
            parts.append(among(f"LOWER({self.text})", NAN_WORDS, dialect))
        elif self._may_be_text and self.column.imputed is not None:
            parts.append(f"{self.value} = ''")  # an empty field, as a file is loaded into columns of text
        elif dialect.nan.is_nan is not None and self.may_be_nan:
            parts.append(dialect.nan.is_nan.format(value=self.value))
        return [part for part in parts if part]

    def _words(self) -> list[str]:
        """Return the predicate for rows whose text is a null marker; that of a value that is a number never is."""
        words, is_text = self.column.conversion.words, self.is_text
        guarded = [word for word in words if is_text is not None and _NUMBER_TEXT.fullmatch(word)]
        plain = among(self.text, ["", *(word for word in words if word not in guarded)], self.dialect)
        if is_text is None or not guarded:
            return [plain]
        return [plain, f"{self._given(is_text)} AND {among(self.text, guarded, self.dialect)}"]

    @property
    def infinity(self) -> str | None:
        """Infinity as a double, for comparisons; None if the dialect needs none."""
        infinity = self.dialect.nan.infinity
        return infinity if infinity is None or self.from_text else self._beside_texts(infinity)

    def not_nan(self, value: str, lower: Number | None, upper: Number | None) -> list[str]:
        """Return the predicate that excludes NaN from a value between bounds; empty where the bounds do so.

        The engine may know bounds of the value that ignore NaN, if the column may be in a file.
        """
        nan = self.dialect.nan
        if self.may_be_filed and nan.finite is not None and nan.infinite is not None:
            finite, infinite = nan.finite.format(value=value), nan.infinite.format(value=value)
            return [finite if lower is not None and upper is not None else f"({finite} OR {infinite})"]
        above = nan.sorts in ("highest", "not between") and upper is None
        below = nan.sorts == "not between" and lower is None
        return [f"{value} <= {self.infinity}"] * above + [f"{value} >= -{self.infinity}"] * below

    def is_not(self, number: Number) -> str:
        """Return the predicate for rows with a number other than this one."""
        return self._equation("<>", number)

    def compare(self, sign: str, bound: Number) -> str:
        """Return a comparison with a bound by ``<=`` or ``>``."""
        value, literal = self.beside(bound)
        comparison = f"{value} {sign} {literal}"
        if self._beside_singles(bound):
            return self._as_singles_and_doubles(sign, bound)
        above = int(float(bound)) if isinstance(bound, int) else bound
        if value != self.value or above <= bound or self.dialect.numbers.beside_integers == "exactly":
            return comparison
        # A column of doubles is compared with the double nearest to the bound, which is above it and may be a value.
        return f"{comparison} AND {value} < {above}" if sign == "<=" else f"({comparison} OR {value} >= {above})"

    def beside(self, number: Number, *, equal: bool = False) -> tuple[str, str]:
        """Return the operands of a comparison with a number: the column, and the number.

        `equal` tells whether it is compared by ``=`` or ``<>``.
        """
        value, literal = self._beside(number, equal)
        return value, literal if self.from_text else self._beside_texts(literal)

    def _beside_texts(self, literal: str) -> str:
        """Return a number in the form for comparison with a column that may be declared as text."""
        template = self.dialect.numbers.beside_texts
        return template.format(number=literal) if template is not None and self._may_be_text else literal

    def _beside(self, number: Number, equal: bool) -> tuple[str, str]:
        """Return the operands of a comparison in a column that is declared for its kind of values.

        A column of whole numbers that may be text is compared by its difference from the number, since no type holds
        all whole numbers of 64 bits and all fractions.
        """
        facts = self.dialect.numbers
        plain = self._plain(number, equal=equal)
        if plain is not None:
            return self.value, plain
        if self.column.type == "float":
            number = float(number)
            if self.from_text:
                return self._number(facts.to_double, facts.from_number), self.dialect.number(number)
            value = self.value
            if facts.beside_doubles is not None:
                as_double, matters_from = facts.beside_doubles
                value = as_double.format(value=value) if abs(number) >= matters_from else value
            return value, self.dialect.number(number)
        if number != int(number):  # a null number
            read = self._number(facts.to_double, facts.from_number) if self.from_text else self.value
            return read, self.dialect.number(number)
        whole = int(number)
        if self.from_text:
            if facts.either is not None:
                return self._number(facts.either, facts.exact), self.dialect.number(whole)
            if self.is_text is None and abs(whole) < DOUBLE_EXACT:
                return self._number(facts.to_double, facts.from_number), self.dialect.number(whole)
            return self._difference(whole, equal), self.dialect.number(0)
        # As a double, the nearest whole number would be equal to it.
        rounded = equal and facts.beside_integers == "as doubles" and int(float(whole)) != whole and not self.is_exact
        if abs(whole) < DOUBLE_EXACT or (facts.beside_integers in ("exactly", "as doubles") and not rounded):
            return self.value, self.dialect.number(whole)
        difference = self._difference_of_numbers(whole, equal)
        value = f"CASE {difference} END" if facts.is_float is not None else difference.removeprefix("ELSE ")
        return value, self.dialect.number(0)

    def _plain(self, number: Number, *, equal: bool = False) -> str | None:
        """Return a number as a person writes it, or as a double, where that gives the tree's label; None elsewhere.

        Decimals compare as their doubles do where a double tells them from their neighbors.
        """
        held = self.held
        if held is None or abs(number) >= DOUBLE_EXACT:
            return None
        if held.scale is not None and math.ulp(float(number)) >= 10.0**-held.scale:
            return None
        whole = number == int(number)
        if held.scale == 0 and not whole and not equal:
            number, whole = math.floor(number), True
        if whole and held.singles and abs(number) >= SINGLE_EXACT:
            return self.dialect.number(float(number)) if self.column.type == "float" else None
        if whole:
            return str(int(number))
        digits, scientific = spelt(float(number))
        made_of = self.dialect.numbers.beside_singles if held.singles else "digits"
        if made_of == "double" or "e" in digits or len(digits.strip("-0.").replace(".", "")) > EXACT_DIGITS:
            return self.dialect.number(float(number))
        return digits if made_of == "digits" else scientific

    def _beside_singles(self, number: Number) -> bool:
        """Return whether a whole number is compared as a single where the column holds these, and would be rounded."""
        column, facts = self.column, self.dialect.numbers
        if column.type == "float" or self.from_text or facts.beside_integers != "as singles":
            return False
        if self._plain(number) is not None:
            return False
        return number == int(number) and SINGLE_EXACT <= abs(int(number)) < DOUBLE_EXACT

    def _as_singles_and_doubles(self, sign: str, number: Number) -> str:
        """Return a comparison that is correct for float32 values and for decimals.

        Only a double decides the former, only a decimal the latter. Rounded values never pass the number, so
        one comparison does no harm where the other decides.
        """
        exact, rounded = (f"{self.value} {sign} {self.dialect.number(kind(number))}" for kind in (int, float))
        return f"{exact} AND {rounded}" if sign in ("<=", "=") else f"({exact} OR {rounded})"

    def _equation(self, sign: str, number: Number) -> str:
        exactly = self.column.type == "integer" and abs(number) >= DOUBLE_EXACT
        if exactly and self.held is not None and self.held.floating and int(float(number)) != number:
            return "1 = 0" if sign == "=" else "1 = 1"  # no floating number is equal to it
        if self._beside_singles(number):
            return self._as_singles_and_doubles(sign, number)
        value, literal = self.beside(number, equal=True)
        return f"{value} {sign} {literal}"

    def _infinite_words(self) -> list[str]:
        """Return the texts that mean "no value" and would otherwise be infinite."""
        conversion = self.column.conversion
        numbers = [(word, conversion.number(word)) for word in conversion.words]
        return [word for word, number in numbers if number is not None and math.isinf(number)]

    def _number(self, from_text: str, from_number: str) -> str:
        """Return the number, made by templates from a text or a number; NULL where there is none."""
        if not self.column.conversion.is_for_sql:
            return f"CASE WHEN {self._given(str(self.is_text))} THEN NULL ELSE {self._given(from_number)} END"
        read = f"CASE {self._numbers_of_texts(from_text)} END"
        if self.is_text is None:
            return read
        return f"CASE WHEN {self._given(self.is_text)} THEN {read} ELSE {self._given(from_number)} END"

    def _numbers_of_texts(self, template: str) -> str:
        """Return the branches for the texts that are numbers, made from the text ``{text}`` by a template."""
        facts, dialect = self.dialect.numbers, self.dialect
        conversion = self.column.conversion
        words = ["", *conversion.words] if facts.is_number is None else self._infinite_words()
        excluded = "" if conversion.codes else among(self.text, words, dialect)
        branches = [f"WHEN {excluded} THEN NULL"] if excluded else []
        number = template.format(text=self._digits())
        if conversion.codes:
            branches.append(f"WHEN {self._matches(conversion.pattern)} THEN {number}")
        elif facts.is_number is None:
            branches.append(f"ELSE {number}")
        elif conversion.format:
            branches.append(f"WHEN {self._matches(conversion.pattern)} THEN {number}")
        elif facts.infinities is None:
            branches.append(f"WHEN {self._matches(f'{conversion.pattern}|{GRAMMAR.infinity}')} THEN {number}")
        else:
            branches.append(f"WHEN {self._matches(conversion.pattern)} THEN {number}")
            branches.append(facts.infinities.format(text=self.text))
        return " ".join(branches)

    def _digits(self) -> str:
        """Return the text of a number without the marks between groups of digits, and with a decimal point."""
        marks = self.column.conversion.number_format
        text = self.text
        for mark, plain in ((marks.thousands, ""), (marks.decimal, ".")):
            if mark not in ("", plain):
                text = f"REPLACE({text}, {self.dialect.string(mark)}, '{plain}')"
        return text

    def _matches(self, pattern: str) -> str:
        facts, codes = self.dialect.numbers, self.column.conversion.codes
        is_number = facts.is_code if codes and facts.is_code is not None else facts.is_number
        assert is_number is not None
        point, mark = self.column.conversion.decimal, self.column.conversion.number_format.thousands
        if not mark:
            return is_number.format(text=self.text, pattern=pattern, point=point, longest=GRAMMAR.longest)
        # A blank stands for the mark, so that no pattern needs a character that a literal might not hold.
        text = self.text if mark == " " else f"REPLACE({self.text}, {self.dialect.string(mark)}, ' ')"
        parts = [] if mark == " " else [f"{self.text} NOT LIKE '% %'"]
        grouped = self.dialect.numbers.grouped
        if grouped is not None:
            parts.append(grouped.format(text=text, point=point))
            text = f"REPLACE({text}, ' ', '')"
        pattern = pattern.replace(f"[{mark}]", "[ ]")
        parts.append(is_number.format(text=text, pattern=pattern, point=point, longest=GRAMMAR.longest))
        return " AND ".join(parts)

    def _difference(self, number: int, equal: bool) -> str:
        """Return the difference between the number in the column and a given one, with the correct sign."""
        facts = self.dialect.numbers
        if not self.column.conversion.is_for_sql:
            return (
                f"CASE WHEN {self._given(str(self.is_text))} THEN NULL {self._difference_of_numbers(number, equal)} END"
            )
        texts = self._numbers_of_texts(self._double_less(facts.to_double, number, equal))
        if facts.is_number is not None and abs(number) >= DOUBLE_EXACT:
            mark = self.column.conversion.number_format.thousands
            whole = f"{WHOLE}|{WHOLE_IN_GROUPS.format(mark=mark)}" if mark else WHOLE
            texts = f"WHEN {self._matches(whole)} THEN {self._given(facts.whole, number, self._digits())} {texts}"
        if self.is_text is None:
            return f"CASE {texts} END"
        numbers = self._difference_of_numbers(number, equal)
        return f"CASE WHEN {self._given(self.is_text)} THEN CASE {texts} END {numbers} END"

    def _difference_of_numbers(self, number: int, equal: bool) -> str:
        """Return the branches of that difference for a column of numbers."""
        facts = self.dialect.numbers
        exact = f"ELSE {self._given(facts.exact, number)}"
        if facts.is_float is None:
            return exact
        double = self._double_less(self._given(facts.from_number), number, equal)
        return f"WHEN {self._given(facts.is_float)} THEN {double} {exact}"

    def _double_less(self, double: str, number: int, equal: bool) -> str:
        """Return the difference between a double and a whole number, never 0 for a number that is not a double."""
        if equal and int(float(number)) != number:
            return "1"
        return f"{double} - {self.dialect.number(float(_double_below(number)))}"

    def _given(self, template: str, bound: int = 0, text: str | None = None) -> str:
        """Return a fact of the dialect about this column, or about a number's plain text in it."""
        below = _double_below(bound)
        steps = _in_brackets(str(below)) + (f" - {bound - below}" if bound > below else "")
        scale = min(18, 37 - len(str(2 * abs(bound))))  # a number near the bound may have one more digit
        return template.format(
            value=self.value, text=text or self.text, bound=_in_brackets(str(bound)), steps=steps, scale=scale
        )


class CodeColumn(NumberColumn):
    """A column of codes, compared as doubles; the parameters are those of `NumberColumn`."""

    def __init__(self, column: RuleColumn, name: str, dialect: Dialect, held: Held | None = None) -> None:
        super().__init__(replace(column, type="float"), name, dialect, held or assumed_numbers(dialect))

    def one_of(self, values: Sequence[str]) -> str:
        """Return the predicate for rows with one of some codes; empty where none is possible."""
        nulls = set(self.column.conversion.null_numbers)
        found = self._compare([int(value) for value in values if int(value) not in nulls], "=", "IN")
        return f"({' OR '.join(found)})" if len(found) > 1 else "".join(found)

    def none_of(self, values: Sequence[str]) -> str:
        """Return the predicate for rows with a number other than these codes."""
        codes = dict.fromkeys([*map(int, values), *self.column.conversion.null_numbers])
        value, _ = self.beside(0, equal=True)
        nan = self.dialect.nan
        guards = [f"NOT {nan.is_nan.format(value=value)}"] if nan.sorts == "compares false" and nan.is_nan else []
        guards = guards or self.not_nan(value, None, None)
        parts = [*self._compare(list(codes), "<>", "NOT IN"), *(guards if self.may_be_nan else [])]
        return " AND ".join(parts or [f"{value} IS NOT NULL"])

    def _compare(self, codes: Sequence[Number], with_one: str, with_several: str) -> list[str]:
        """Return a comparison for each form of the column that codes are compared with."""
        beside: dict[str, list[str]] = {}
        for code in codes:
            value, literal = self.beside(code, equal=True)
            beside.setdefault(value, []).append(literal)
        return [
            f"{value} {with_several} ({', '.join(literals)})"
            if len(literals) > 1
            else f"{value} {with_one} {literals[0]}"
            for value, literals in beside.items()
        ]


def _in_brackets(number: str) -> str:
    """Return a number as it is written after a sign."""
    return f"({number})" if number.startswith("-") else number


def _double_below(number: int) -> int:
    """Return the largest double that is at most a whole number."""
    nearest = float(number)
    return int(nearest if nearest <= number else math.nextafter(nearest, -math.inf))
