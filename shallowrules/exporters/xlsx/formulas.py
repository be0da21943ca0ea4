"""The formulas of a workbook: a cell's value as the rules compare it, and whether a row matches a rule.

A formula holds no number and no text of the data: it refers to cells that do (`Constants`), where a number keeps all
its digits and a text cannot be taken for a formula. Numbers are compared by GESTEP alone: the operators of Excel
compare 15 digits, those of LibreOffice treat numbers as equal that differ by a few units in the last place, and so do
differences and sums there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

from shallowrules.errors import ExportError
from shallowrules.exporters.context import bounds
from shallowrules.rules import Between, ConditionVisitor, NoneOf, Number, OneOf, RuleColumn, Value
from shallowrules.rules.columns import plain_text
from shallowrules.tables.times import to_time

__all__ = [
    "CONSTANTS_SHEET",
    "WHOLE_DIGITS",
    "Conditions",
    "Constants",
    "column_letters",
    "read_formula",
    "serial_of",
]

CONSTANTS_SHEET = "Values"

ERROR = "NA()"
"""The value of a cell that holds no value of its column's type: the sheet "Workings" finds it by ISERROR."""

SMALLEST_NORMAL = 2.0**-1022
DAY_ZERO = date(1899, 12, 30)
FIRST_DAY = date(1900, 3, 1)
"""From it on, Excel and LibreOffice count days alike; before it, Excel counts one that was none."""

WHOLE_DIGITS = 1e15
"""A cell shows whole numbers below it with all their digits."""


def column_letters(column: int) -> str:
    """Return the letters of a column of a sheet, which is counted from 0."""
    letters = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def serial_of(day: date) -> int:
    """Return the number of a date in a cell."""
    return (day - DAY_ZERO).days


class Constants:
    """The numbers, dates and texts that formulas refer to, in the first column of a sheet of their own, with remarks.

    Attributes
    ----------
    cells : list of (float, date or str, str)
    """

    def __init__(self) -> None:
        self.cells: list[tuple[float | date | str, str]] = []
        self._places: dict[tuple[float | date | str, ...], str] = {}

    def value(self, value: Number, column: RuleColumn) -> str:
        """Return a reference to a number or date that a column is compared with."""
        remark = f"column {column.name!r}"
        if column.type != "date":
            return self.number(value, remark)
        day = to_time("date", int(value))
        if not isinstance(day, date) or day < FIRST_DAY:
            raise ExportError(
                f"a rule compares {remark} with {day}, and Excel has no dates before {FIRST_DAY}: use another exporter"
            )
        return self._reference((day,), remark)

    def number(self, value: Number, remark: str) -> str:
        """Return a reference to a number, the nearest double that is not above it.

        A cell holds no other numbers than doubles, which are at most the one if and only if they are at most the other.
        """
        double = float(value)
        if double > value:
            double = math.nextafter(double, -math.inf)
        if 0 < abs(double) < SMALLEST_NORMAL:
            raise ExportError(
                f"a rule compares {remark} with {value!r}, and Excel reads so small a number as 0: use another exporter"
            )
        return self._reference((double,), remark)

    def texts(self, values: Sequence[str], remark: str) -> str:
        """Return a reference to the cells of some texts."""
        for value in values:
            if not value:
                raise ExportError(
                    f"a rule tests whether {remark} is the empty text, which a workbook cannot tell from an empty "
                    "cell: use another exporter"
                )
        return self._reference(tuple(values), remark)

    def _reference(self, values: tuple[float | date | str, ...], remark: str) -> str:
        if values not in self._places:
            first = len(self.cells) + 2  # below a heading, and counted from 1
            self.cells += [(value, remark) for value in values]
            last = len(self.cells) + 1
            place = f"{CONSTANTS_SHEET}!$A${first}"
            self._places[values] = place if first == last else f"{place}:$A${last}"
        return self._places[values]


def _same_number(cell: str, other: str) -> str:
    return f"AND(GESTEP({cell},{other})=1,GESTEP({other},{cell})=1)"


def _one_of_texts(text: str, references: str) -> str:
    return f"SUMPRODUCT(--EXACT({text},{references}))>0"


def read_formula(column: RuleColumn, cell: str, constants: Constants) -> str:
    """Return the value of a cell as the rules compare it.

    That is a number, a text (of a truth value "true" or "false"), the empty text where there is no value, or
    `ERROR`.
    """
    imputed = '""'
    if isinstance(column.imputed, bool):
        imputed = f'"{str(column.imputed).lower()}"'
    elif isinstance(column.imputed, str):
        imputed = constants.texts([column.imputed], f"column {column.name!r}")
    elif column.imputed is not None:
        imputed = constants.value(column.imputed, column)
    if column.type == "boolean":
        found = _read_truth(cell)
    elif column.type == "date":
        found = f"IF(ISNUMBER({cell}),INT({cell}),{_read_words(column, cell, imputed, constants)})"
    elif column.is_numeric:
        found = _read_number(column, cell, imputed, constants)
    else:
        found = _read_text(column, cell, imputed, constants)
    return f"IF(ISBLANK({cell}),{imputed},{found})"


def _read_number(column: RuleColumn, cell: str, imputed: str, constants: Constants) -> str:
    value = cell
    for number in column.conversion.null_numbers:
        value = f"IF({_same_number(cell, constants.number(number, 'no value'))},{imputed},{value})"
    text = _read_words(column, cell, imputed, constants)
    return f"IF(ISLOGICAL({cell}),IF({cell},1,0),IF(ISNUMBER({cell}),{value},{text}))"


def _read_words(column: RuleColumn, cell: str, imputed: str, constants: Constants, otherwise: str = ERROR) -> str:
    """Return the value of a text, given its value if it is not a null marker."""
    words = [word for word in (column.conversion.words if column.is_numeric else column.nulls) if word]
    for word in words:
        if " " in word:
            raise ExportError(
                f"column {column.name!r} has the null marker {word!r} with a blank in it, and TRIM drops some blanks: "
                "use another exporter"
            )
    if words:
        missing = _one_of_texts(f"TRIM({cell})", constants.texts(words, "no value"))
        otherwise = f"IF({missing},{imputed},{otherwise})"
    if "" in column.nulls or column.from_text or column.codes:
        otherwise = f"IF(LEN(TRIM({cell}))=0,{imputed},{otherwise})"
    return otherwise


def _read_text(column: RuleColumn, cell: str, imputed: str, constants: Constants) -> str:
    text = f"IF(LEN({cell})=0,{ERROR},{cell})"
    if column.codes:  # in its plain spelling
        text = f'IF(IFERROR(TEXT(VALUE({cell}),"0")=TRIM({cell}),FALSE),TRIM({cell}),{ERROR})'
    text = _read_words(column, cell, imputed, constants, text)
    other = ERROR
    if column.holds_numbers:
        whole = f"IF(ABS({cell})<{WHOLE_DIGITS:.0f},{_same_number(cell, f'INT({cell})')},FALSE)"
        number = f'IF({whole},TEXT({cell},"0"),{ERROR})'
        other = f"IF(ISLOGICAL({cell}),{ERROR},IF(ISNUMBER({cell}),{number},{ERROR}))"
    return f"IF(ISTEXT({cell}),{text},{other})"


def _read_truth(cell: str) -> str:
    def text(*known: str) -> str:
        return _one_of_texts(f"LOWER(TRIM({cell}))", "{" + ",".join(f'"{word}"' for word in known) + "}")

    number = f'IF({_same_number(cell, "1")},"true",IF({_same_number(cell, "0")},"false",{ERROR}))'
    word = f'IF({text("true", "t", "1", "1.0")},"true",IF({text("false", "f", "0", "0.0")},"false",{ERROR}))'
    return f'IF(ISLOGICAL({cell}),IF({cell},"true","false"),IF(ISNUMBER({cell}),{number},{word}))'


class Conditions(ConditionVisitor[str]):
    """Conditions on cells that have been read, as formulas that are TRUE or FALSE.

    Parameters
    ----------
    cells : dict from int to str
        The cell that holds each column's value.
    constants : Constants
    """

    def __init__(self, cells: dict[int, str], constants: Constants) -> None:
        self.cells = cells
        self.constants = constants

    def between(self, condition: Between) -> str:
        """Return a comparison or two of a number."""
        cell = self.cells[condition.feature]
        lower, upper = bounds(condition)
        tests = [
            f"GESTEP({self.constants.value(bound, condition.column)},{cell})={met}"
            for bound, met in ((lower, 0), (upper, 1))
            if bound is not None
        ]
        return f"IF(ISNUMBER({cell}),AND({','.join(tests)}),FALSE)"

    def one_of(self, condition: OneOf) -> str:
        """Return a test for equality."""
        return self._is(condition, condition.values) if condition.values else "FALSE"

    def none_of(self, condition: NoneOf) -> str:
        """Return a test for inequality and for a value being present."""
        return f"AND(LEN({self.cells[condition.feature]})>0,NOT({self._is(condition, condition.values)}))"

    def _is(self, condition: OneOf | NoneOf, values: Sequence[Value]) -> str:
        texts = list(map(plain_text, values))
        if condition.column.holds_numbers and not all(text.lstrip("-").isdigit() for text in texts):
            raise ExportError(
                f"column {condition.column.name!r} has numbers with fractions as categories, which a workbook shows "
                "differently in other locales: use another exporter"
            )
        return _one_of_texts(
            self.cells[condition.feature], self.constants.texts(texts, f"column {condition.column.name!r}")
        )
