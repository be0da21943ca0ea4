"""The sheet of a workbook that takes a pasted table and gives each row its cluster, and those that it relies on.

"Label rows" has the cluster and its name at the left, and the pasted table from `PASTED` on, in the order of its own
columns: the formulas find those that the rules test by their names. "Workings" has, for each row, the number of the
rule that it matches, the value read from each tested column, and whether it matches each rule. "Values" holds the
numbers, dates and texts that the formulas compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from shallowrules.errors import ExportError, counted
from shallowrules.exporters.base import ClusterAs
from shallowrules.exporters.xlsx.book import MAX_COLUMNS, MAX_ROWS, Book
from shallowrules.exporters.xlsx.formulas import (
    CONSTANTS_SHEET,
    WHOLE_DIGITS,
    Conditions,
    Constants,
    column_letters,
    read_formula,
    serial_of,
)
from shallowrules.rules import RuleSet

__all__ = [
    "FIRST_ROW",
    "LABEL_SHEET",
    "MISSING",
    "NONE",
    "PASTED",
    "SHEETS",
    "UNREADABLE",
    "WORKINGS_SHEET",
    "Labelling",
]

LABEL_SHEET, WORKINGS_SHEET = "Label rows", "Workings"
SHEETS = ("Rules", "Clusters", "Differences", LABEL_SHEET, WORKINGS_SHEET, CONSTANTS_SHEET)
"""All sheets of a workbook, in their order."""

MAX_FORMULA, MAX_ARGUMENTS = 8_192, 255

MAX_CONDITIONS_SHOWN = 12

FIRST_ROW = 5
"""First row to label, counted from 1: below the explanation and the names of the columns."""

PASTED = 2
"""The column where a pasted table begins, counted from 0."""

PASTED_LETTER, LAST_LETTER = column_letters(PASTED), column_letters(MAX_COLUMNS - 1)

NONE, UNREADABLE, MISSING = "(no cluster)", "(a cell cannot be read)", "(see cell A2)"
OTHER_ANSWERS = (NONE, UNREADABLE, MISSING, "")
"""Texts for a row without a cluster; the last one where nothing was pasted."""

HEADER = FIRST_ROW - 1
COUNTS, FILLED, PLACES, NAMES = 1, 2, 3, 4
"""Rows of "Workings" above the tested columns: pasted columns of that name, at most 2; the cells with a value in the
only one, and its place, both else 0; the name."""

CLUSTER, CALLED, SAID = FILLED, PLACES, NAMES
"""Rows above the rules: the number of the cluster (or its name), its name, and the rule."""

REMARKS = {
    COUNTS: "pasted columns of this name",
    FILLED: "cells with a value; cluster",
    PLACES: "place; name of the cluster",
    NAMES: "rule that matches",
}

HOW_TO = f"Paste a table at {PASTED_LETTER}{HEADER}: its column names and its rows, with all columns in any order."
ANSWERS = (
    f"{NONE}: a value that the rules need is missing. {UNREADABLE}: for example, text in a column of numbers. "
    f"The sheet {WORKINGS_SHEET} shows how each row was read."
)


class _Exact(float):
    """A number that XlsxWriter writes with all its digits; it gives 16, and a double needs 17."""

    def __format__(self, form: str) -> str:
        return repr(float(self))


class Labelling:
    """The sheets that label rows, as they are written.

    Parameters
    ----------
    book : Book
    sheets : three of xlsxwriter.worksheet.Worksheet
        For the pasted table, the workings and the values.
    rules : RuleSet
    cluster_as : {"number", "name"}
    n_rows : int
        Rows that have formulas.
    """

    def __init__(self, book: Book, sheets: Sequence[Any], rules: RuleSet, cluster_as: ClusterAs, n_rows: int) -> None:
        self.book = book
        self.sheet, self.workings, self.values = sheets
        self.rules = rules
        self.rows = range(FIRST_ROW, FIRST_ROW + n_rows)
        self.answers = _answers(rules, cluster_as)
        self.tested = rules.tested_columns
        self.rules_at = 1 + len(self.tested)
        self.width = self.rules_at + len(rules)
        if self.width > MAX_COLUMNS:
            raise ExportError(
                f"a sheet has at most {MAX_COLUMNS:,} columns, and {counted(len(self.tested), 'tested column')} with "
                f"{counted(len(rules), 'rule')} would take {self.width:,}: use another exporter"
            )
        self.span_of_columns = column_letters(1), column_letters(self.rules_at - 1)
        self.span_of_rules = column_letters(self.rules_at), column_letters(self.width - 1)
        self.constants = Constants()

    def write(self) -> None:
        """Write the three sheets."""
        self._write_pasted()
        self._write_heads()
        for row in self.rows:
            self._write_workings(row)
        self._write_values()

    def _write_pasted(self) -> None:
        """Write the place for the table, and the clusters beside it."""
        sheet, book = self.sheet, self.book
        book.write(sheet, 0, 0, HOW_TO, book.unwrapped)
        self._formula(sheet, 2, 0, self._state(), book.form(bold=True))
        book.write(sheet, 2, 0, ANSWERS, book.unwrapped)
        book.head(sheet, HEADER - 1, ("Cluster", "Name"))
        for place, feature in enumerate(self.tested or (0,), start=PASTED):
            book.write(sheet, HEADER - 1, place, self.rules.columns[feature].name, book.heading)
        for row in self.rows:
            rule = f"{WORKINGS_SHEET}!$A{row}"
            for column, (above, otherwise) in enumerate(((CLUSTER, f'{rule}&""'), (CALLED, '""'))):
                answer = f"INDEX({self._above_rules(above)},1,{rule})"
                self._formula(sheet, row, column, f"IF(ISNUMBER({rule}),{answer},{otherwise})")
        widths = (24, 32, *[14] * max(6, len(self.tested)))
        book.lay_out(sheet, widths, rows=self.rows[-1], head=range(HEADER - 1, HEADER), fixed=PASTED)

    def _state(self) -> str:
        """Return the formula of a message on the pasted table as a whole, which is empty if it can be read."""
        last = self.rows[-1]
        below = "COUNTA({0}${1}${2}:${1}${3})".format
        rows, labelled, worked = (
            below(other, letter, last + 1, MAX_ROWS)
            for other, letter in (("", PASTED_LETTER), ("", "A"), (f"{WORKINGS_SHEET}!", "A"))
        )
        said = (
            f"IF({rows}>MIN({labelled},{worked}),"
            f'"Rows below {last} have no formulas: copy those of row {last} down, here and on {WORKINGS_SHEET}.","")'
        )
        if not self.tested:
            return said
        filled = f"COUNTA(${PASTED_LETTER}${FIRST_ROW}:${LAST_LETTER}${last})>0"
        for row, number, message in (
            (FILLED, 0, "No value in column "),
            (COUNTS, 2, "Two columns are called "),
            (COUNTS, 0, "No column is called "),
        ):
            place = f"MATCH({number},{self._above_columns(row)},0)"
            found = f'"{message}"&INDEX({self._above_columns(NAMES)},1,{place})'
            said = f"IF(AND({filled},ISNUMBER({place})),{found},{said})"
        return said

    def _write_heads(self) -> None:
        """Write what stands above the workings of the rows."""
        sheet, book = self.workings, self.book
        for row, remark in REMARKS.items():
            book.write(sheet, row - 1, 0, remark, book.heading)
        names = f"'{LABEL_SHEET}'!${PASTED_LETTER}${HEADER}:${LAST_LETTER}${HEADER}"
        cells = f"'{LABEL_SHEET}'!${PASTED_LETTER}${FIRST_ROW}:${LAST_LETTER}${self.rows[-1]}"
        for column, feature in enumerate(self.tested, start=1):
            letters = column_letters(column)
            same = f'EXACT({names}&"",{letters}${NAMES})'
            count, place = f"{letters}${COUNTS}", f"{letters}${PLACES}"
            self._formula(sheet, COUNTS, column, f"MIN(2,SUMPRODUCT(--{same}))", book.heading)
            self._formula(sheet, FILLED, column, f"IF({place}=0,0,COUNTA(INDEX({cells},0,{place})))", book.heading)
            found = f"SUMPRODUCT({same}*COLUMN({names}))-{PASTED}"
            self._formula(sheet, PLACES, column, f"IF({count}=1,{found},0)", book.heading)
            book.write(sheet, NAMES - 1, column, self.rules.columns[feature].name, book.heading)
        names_of = {cluster.index: cluster.name for cluster in self.rules.clusters}
        for column, rule in enumerate(self.rules, start=self.rules_at):
            book.write(sheet, CLUSTER - 1, column, self.answers[rule.cluster], book.heading)
            book.write(sheet, CALLED - 1, column, names_of[rule.cluster], book.heading)
            is_short = len(rule.conditions) <= MAX_CONDITIONS_SHOWN
            said = str(rule) if is_short else f"rule {column - self.rules_at + 1}"
            book.write(sheet, SAID - 1, column, said, book.heading)
        widths = (30, *[18] * len(self.tested), *[28] * len(self.rules))
        book.lay_out(sheet, widths, rows=self.rows[-1], head=range(NAMES), fixed=1)

    def _write_workings(self, row: int) -> None:
        """Write the formulas of a row: its values, whether it matches each rule, and the number of the one it does."""
        sheet = self.workings
        pasted = f"'{LABEL_SHEET}'!${PASTED_LETTER}{row}:${LAST_LETTER}{row}"
        matched = f'IFERROR(MATCH(TRUE,{self.span_of_rules[0]}{row}:{self.span_of_rules[1]}{row},0),"{NONE}")'
        if self.tested:
            unreadable = f"SUMPRODUCT(--ISERROR({self.span_of_columns[0]}{row}:{self.span_of_columns[1]}{row}))>0"
            missing = f"MIN({self._above_columns(PLACES)})=0"
            matched = f'IF({missing},"{MISSING}",IF({unreadable},"{UNREADABLE}",{matched}))'
        self._formula(sheet, row, 0, f'IF(COUNTA({pasted})=0,"",{matched})')
        cells = {}
        for column, feature in enumerate(self.tested, start=1):
            letters = column_letters(column)
            cells[feature] = f"{letters}{row}"
            given = f"INDEX({pasted},1,{letters}${PLACES})"
            read = self.rules.columns[feature]
            form = self.book.dates if read.type == "date" else None
            self._formula(sheet, row, column, read_formula(read, given, self.constants), form)
        conditions = Conditions(cells, self.constants)
        for column, rule in enumerate(self.rules, start=self.rules_at):
            tests = list(map(conditions, rule.conditions))
            if len(tests) > MAX_ARGUMENTS:
                raise ExportError(
                    f"a rule has {len(tests)} conditions, and a formula takes at most {MAX_ARGUMENTS}: use another "
                    "exporter"
                )
            self._formula(sheet, row, column, f"AND({','.join(tests)})" if tests else "TRUE")

    def _above_columns(self, row: int) -> str:
        """Return the cells above the tested columns in a row of the workings."""
        return "{2}!${0}${3}:${1}${3}".format(*self.span_of_columns, WORKINGS_SHEET, row)

    def _above_rules(self, row: int) -> str:
        """Return the cells above the rules in a row of the workings."""
        return "{2}!${0}${3}:${1}${3}".format(*self.span_of_rules, WORKINGS_SHEET, row)

    def _formula(self, sheet: Any, row: int, column: int, formula: str, form: Any = None) -> None:
        """Write a formula; the row is counted from 1, as in formulas."""
        if len(formula) > MAX_FORMULA:
            raise ExportError(
                f"a formula would have {len(formula):,} characters, and Excel takes at most {MAX_FORMULA:,}: use "
                "another exporter"
            )
        # Without a value, so that every program computes it when it opens the workbook.
        sheet.write_formula(row - 1, column, f"={formula}", form, "")

    def _write_values(self) -> None:
        sheet, book = self.values, self.book
        book.head(sheet, 0, ("Value", "compared with"))
        for row, (value, remark) in enumerate(self.constants.cells, start=1):
            if isinstance(value, date):
                book.write(sheet, row, 0, serial_of(value), book.dates)
            else:
                book.write(sheet, row, 0, value if isinstance(value, str) else _Exact(value))
            book.write(sheet, row, 1, remark)
        book.lay_out(sheet, (30, 30), rows=1 + len(self.constants.cells), head=range(1))


def _answers(rules: RuleSet, cluster_as: ClusterAs) -> dict[int, int | str]:
    """Return the label of each cluster's rows: texts where a cell would not show a number with all its digits."""
    clusters = rules.clusters
    for cluster in clusters:
        if cluster_as == "name" and cluster.name in OTHER_ANSWERS:
            raise ExportError(
                f"cluster {cluster.label} is called {cluster.name!r}, which the workbook shows for a row without "
                "one; rename it, or use the number"
            )
    if cluster_as == "name":
        return {cluster.index: cluster.name for cluster in clusters}
    shown = all(abs(cluster.index) < WHOLE_DIGITS for cluster in clusters)
    return {cluster.index: cluster.label if shown else str(cluster.label) for cluster in clusters}
