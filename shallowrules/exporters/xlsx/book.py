"""What all sheets of a workbook share: cells of text that stay text, headings, and how a sheet prints."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from shallowrules.errors import ExportError
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.xml_text import check_xml_text

__all__ = ["MAX_COLUMNS", "MAX_ROWS", "MAX_TEXT", "Book"]

MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767

A4 = 9
"""Its number among the sizes of paper."""

LINE, MAX_HEIGHT = 15, 409
"""Height of a line, and the most of a row, in points."""

CHARACTERS = 1.1, 0.9
"""Characters of plain and of bold text in a line, for each that its width names."""


class Book:
    """A workbook as it is written.

    Parameters
    ----------
    workbook : xlsxwriter.Workbook
    footer : str
        Printed below each page, beside its number.
    """

    def __init__(self, workbook: Any, footer: str) -> None:
        self.workbook = workbook
        self.footer = footer
        self.plain = self.form(text_wrap=True)
        self.unwrapped = self.form()
        self.title = self.form(bold=True, font_size=14)
        self.heading = self.form(bold=True, text_wrap=True, align="left", bottom=1, bg_color="#EDF0F2")
        self.heading_of_figures = self.form(bold=True, text_wrap=True, align="right", bottom=1, bg_color="#EDF0F2")
        self.numbers = self.form(align="left")
        self.counts = self.form(num_format="#,##0")
        self.shares = self.form(num_format="0.0%")
        self.texts = self.form(align="right")
        self.dates = self.form(num_format="yyyy-mm-dd", align="left")
        self._wrapped: list[tuple[Any, int, int, str, float]] = []

    def form(self, **properties: Any) -> Any:
        """Return a cell format that aligns the content with the top."""
        return self.workbook.add_format({"valign": "top", **properties})

    def write(self, sheet: Any, row: int, column: int, value: str | float, form: Any = None) -> None:
        """Write a number, or a text as a text, whatever it begins with."""
        if isinstance(value, str):
            check_xml_text(value)
            if "\r" in value or re.search(r"_x[0-9A-Fa-f]{4}_", value):
                raise ExportError(f"a workbook would change the text {value!r}: rename the column, category or cluster")
            if len(value) > MAX_TEXT:
                raise ExportError(
                    f"a cell holds at most {MAX_TEXT:,} characters, and {value[:40]!r}… has {len(value):,}: rename the "
                    "column, category or cluster"
                )
        if self._put(sheet, row, column, value, form) != 0:
            raise ExportError(
                f"a sheet has at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns, and the rules need row "
                f"{row + 1:,}, column {column + 1:,}: use another exporter"
            )

    def show(self, sheet: Any, row: int, column: int, value: str | float, form: Any = None) -> None:
        """Write what is only read: a part of a text that no cell can hold; as text, a number that no cell can hold."""
        is_text = isinstance(value, str) or not math.isfinite(value)
        self._put(sheet, row, column, one_line(str(value))[:MAX_TEXT] if is_text else value, form)

    def _put(self, sheet: Any, row: int, column: int, value: str | float, form: Any) -> int:
        form = form or self.plain
        if not isinstance(value, str):
            return int(sheet.write_number(row, column, value, form))
        if form.text_wrap:
            self._wrapped.append((sheet, row, column, value, CHARACTERS[form.bold]))
        return int(sheet.write_string(row, column, value, form))

    def head(self, sheet: Any, row: int, headings: Sequence[str], figures: int | None = None) -> None:
        """Write the headings of a table, from column `figures` on above figures."""
        for column, heading in enumerate(headings):
            is_above = figures is not None and column >= figures
            self.show(sheet, row, column, heading, self.heading_of_figures if is_above else self.heading)

    def lay_out(self, sheet: Any, widths: Sequence[float], *, rows: int, head: range, fixed: int = 0) -> None:
        """Set the widths of columns and the heights of rows, and how a sheet prints: across the page, with its head.

        Parameters
        ----------
        sheet : xlsxwriter.worksheet.Worksheet
        widths : sequence of float
            In characters, one for each column.
        rows : int
            Rows of the sheet, with its head.
        head : range
            The rows with headings of columns, which each page has. They and the rows above them stay in sight.
        fixed : int
            Columns at the left that stay in sight.
        """
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        for row, lines in self._lines(sheet, widths).items():
            sheet.set_row(row, min(lines * LINE, MAX_HEIGHT))
        sheet.freeze_panes(head.stop, fixed)
        sheet.set_landscape()
        sheet.set_paper(A4)
        sheet.fit_to_pages(1, 0)
        sheet.repeat_rows(head[0], head[-1])
        sheet.print_area(0, 0, rows - 1, len(widths) - 1)
        sheet.set_footer(f"&L{self.footer}&R&P of &N")

    def _lines(self, sheet: Any, widths: Sequence[float]) -> dict[int, int]:
        """Return the lines of each row that needs more than one: not every program finds the height of a row."""
        lines: dict[int, int] = {}
        for of, row, column, text, filled in self._wrapped:
            if of is sheet and column < len(widths):
                most = max(1, int(filled * widths[column]))
                needed = sum(max(1, len(wrap(line, most, break_on_hyphens=False))) for line in text.split("\n"))
                lines[row] = max(needed, lines.get(row, 1))
        return {row: number for row, number in lines.items() if number > 1}
