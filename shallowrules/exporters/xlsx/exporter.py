"""Rules as a workbook for Excel and LibreOffice: a sheet to read, and one that gives pasted rows their cluster.

"Rules" is the sheet: figures, and each rule in words. "Label rows" has a column for each column that the rules test,
the cluster, the value read from each cell, and a column for each rule, which is TRUE where a row meets it, so that
people can see why a row has its cluster. "Values" holds the numbers and texts that the formulas compare with.
"Clusters" shows what sets each cluster apart from all other rows.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shallowrules.errors import ExportError, MissingExtraError, OptionError, OptionName, counted
from shallowrules.exporters.base import ClusterAs, check_cluster_as
from shallowrules.exporters.context import check_length, check_no_times, check_whole_thresholds
from shallowrules.exporters.rendering import one_line
from shallowrules.exporters.wording import COLUMNS_SHOWN, ConditionWords, describe_figures, describe_profile
from shallowrules.exporters.xlsx.formulas import (
    CONSTANTS_SHEET,
    WHOLE_DIGITS,
    Conditions,
    Constants,
    column_letters,
    read_formula,
)
from shallowrules.exporters.xml_text import check_xml_text
from shallowrules.rules import DOUBLE_EXACT, RuleSet

__all__ = ["XlsxExporter", "XlsxOptions"]

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
MAX_FORMULA, MAX_ARGUMENTS, MAX_TEXT = 8_192, 255, 32_767

MAX_CONDITIONS_SHOWN = 12

FIRST_ROW = 4
"""First row to label, counted from 1: below an explanation, the clusters of the rules and the names."""

NONE, UNREADABLE = "(no cluster)", "(a cell cannot be read)"
OTHER_ANSWERS = (NONE, UNREADABLE, "")
"""Texts for a row without a cluster; the last one where nothing was pasted."""

HOW_TO = (
    "Paste rows below the names of the columns, in their order; the cluster appears beside them. A row without a value "
    f"in a column that its rule tests is in {NONE}. {UNREADABLE} means, for example, text in a column of "
    "numbers. The columns to the right show the values that were read, and which rule a row matches. For more rows, "
    "copy the formulas of the last row "
    "down. Excel keeps 15 digits of a number that is typed or pasted."
)


@dataclass(frozen=True)
class XlsxOptions:
    """Options of the exporter ``"xlsx"``.

    Parameters
    ----------
    cluster_as : {"number", "name"}
        The label of a row: the number of its cluster, or the name, the label that it was given.
    label_rows : int
        Rows of the sheet "Label rows" that have formulas.
    """

    cluster_as: ClusterAs = "number"
    label_rows: int = 500

    def __post_init__(self) -> None:
        check_cluster_as(self.cluster_as)
        most = MAX_ROWS - FIRST_ROW
        if (
            isinstance(self.label_rows, bool)
            or not isinstance(self.label_rows, int)
            or not 1 <= self.label_rows <= most
        ):
            raise OptionError(
                OptionName("label_rows"), f" must be a whole number from 1 to {most}, not {self.label_rows!r}"
            )


class _Exact(float):
    """A number that XlsxWriter writes with all its digits; it gives 16, and a double needs 17."""

    def __format__(self, form: str) -> str:
        return repr(float(self))


class XlsxExporter:
    """Writes rules as a workbook; options: `XlsxOptions`."""

    name = "xlsx"
    file_extension = ".xlsx"
    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    options = XlsxOptions

    def export(self, rules: RuleSet, **options: Any) -> bytes:
        """Return the workbook.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If a workbook cannot hold a name, a category, a threshold, or so many columns or rules.
        MissingExtraError
            If XlsxWriter is not installed.
        """
        settings = XlsxOptions(**options)
        try:
            import xlsxwriter
        except ImportError:
            raise MissingExtraError("the exporter 'xlsx'", "XlsxWriter", "xlsx") from None
        check_length(rules)
        check_no_times(rules, self.name)
        check_whole_thresholds(rules, self.name, range(1 - DOUBLE_EXACT, DOUBLE_EXACT))
        content = io.BytesIO()
        workbook = xlsxwriter.Workbook(content, {"in_memory": True})
        workbook.set_properties(
            {"created": datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)}
        )  # the same each time
        sheets = _Sheets(rules, settings, workbook)
        sheets.write()
        workbook.close()
        return content.getvalue()


class _Sheets:
    """The sheets of a workbook, as they are written."""

    def __init__(self, rules: RuleSet, settings: XlsxOptions, workbook: Any) -> None:
        self.rules = rules
        self.settings = settings
        self.rules_sheet, self.label_sheet, self.values_sheet, self.clusters_sheet = map(
            workbook.add_worksheet, ("Rules", "Label rows", CONSTANTS_SHEET, "Clusters")
        )
        self.unwrapped = workbook.add_format({})
        self.plain = workbook.add_format({"text_wrap": True, "valign": "top"})
        self.bold = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        self.share = workbook.add_format({"num_format": "0.0%", "valign": "top"})

    def write(self) -> None:
        """Write all of them."""
        self._write_rules()
        self._write_labelling()
        self._write_clusters()

    def _text(self, sheet: Any, row: int, column: int, text: str, form: Any = None) -> None:
        """Write a text as a text, whatever it begins with."""
        check_xml_text(text)
        if "\r" in text or re.search(r"_x[0-9A-Fa-f]{4}_", text):
            raise ExportError(f"a workbook would change the text {text!r}: rename the column, category or cluster")
        if len(text) > MAX_TEXT:
            raise ExportError(f"a cell holds at most {MAX_TEXT:,} characters, and {text[:40]!r}… has {len(text):,}")
        if sheet.write_string(row, column, text, form or self.plain) != 0:
            raise ExportError(f"the workbook has no row {row + 1} or column {column + 1}")

    def _write_rules(self) -> None:
        sheet, rules = self.rules_sheet, self.rules
        self._text(sheet, 0, 0, "Rules of the clusters", self.unwrapped)
        figures = describe_figures(rules)
        lines = [figures["table"], figures["clusters"], figures["price"]]
        lines.append(f"{figures['waes']} conditions explain a row on average.")
        for row, line in enumerate(lines, start=1):
            self._text(sheet, row, 0, line, self.unwrapped)
        top = len(lines) + 2
        for column, heading in enumerate(("Cluster", "Name", "Rule", "Rows", "Share", "Leaf")):
            self._text(sheet, top, column, heading, self.bold)
        words = ConditionWords()
        names = {cluster.index: cluster.name for cluster in rules.clusters}
        for row, rule in enumerate(rules, start=top + 1):
            sheet.write_number(row, 0, rule.cluster, self.plain)
            self._text(sheet, row, 1, names[rule.cluster])
            said = ", and ".join(f"{c.column.name} {words(c)}" for c in rule.conditions)
            self._text(sheet, row, 2, said[: MAX_TEXT - 1] or "all rows")
            sheet.write_number(row, 3, rule.rows, self.plain)
            sheet.write_number(row, 4, rule.share, self.share)
            sheet.write_number(row, 5, rule.leaf, self.plain)
        sheet.set_column(0, 0, 22)
        sheet.set_column(1, 1, 24)
        sheet.set_column(2, 2, 80)
        sheet.freeze_panes(top + 1, 0)

    def _write_labelling(self) -> None:
        sheet, rules = self.label_sheet, self.rules
        tested = rules.tested_columns
        asked = tested or (0,)
        cluster_at = len(asked)
        read_at = cluster_at + 1
        rule_at = read_at + len(tested)
        wanted = rule_at + len(rules)
        if wanted > MAX_COLUMNS:
            raise ExportError(
                f"a sheet has at most {MAX_COLUMNS:,} columns, and {counted(len(tested), 'tested column')} with "
                f"{counted(len(rules), 'rule')} would take {wanted:,}"
            )
        inputs, reads, found = (
            (column_letters(first), column_letters(last - 1))
            for first, last in ((0, cluster_at), (read_at, rule_at), (rule_at, wanted))
        )
        sheet.set_row(0, 60)
        sheet.merge_range(0, 0, 0, 9, HOW_TO, self.plain)
        for place, feature in enumerate(asked):
            self._text(sheet, FIRST_ROW - 2, place, rules.columns[feature].name, self.bold)
        self._text(sheet, FIRST_ROW - 2, cluster_at, "cluster", self.bold)
        for place, feature in enumerate(tested):
            self._text(sheet, FIRST_ROW - 3, read_at + place, "read as", self.bold)
            self._text(sheet, FIRST_ROW - 2, read_at + place, rules.columns[feature].name, self.bold)
        answers = self._answers()
        for place, rule in enumerate(rules):
            answer = answers[rule.cluster]
            if isinstance(answer, str):
                self._text(sheet, FIRST_ROW - 3, rule_at + place, answer, self.bold)
            else:
                sheet.write_number(FIRST_ROW - 3, rule_at + place, answer, self.bold)
            said = str(rule) if len(rule.conditions) <= MAX_CONDITIONS_SHOWN else f"rule {place + 1}"
            self._text(sheet, FIRST_ROW - 2, rule_at + place, said, self.bold)
        sheet.set_column(0, wanted - 1, 14)
        sheet.freeze_panes(FIRST_ROW - 1, cluster_at + 1)
        labels = f"${found[0]}${FIRST_ROW - 2}:${found[1]}${FIRST_ROW - 2}"
        constants = Constants()
        for row in range(FIRST_ROW, FIRST_ROW + self.settings.label_rows):
            unreadable = f"SUMPRODUCT(--ISERROR({reads[0]}{row}:{reads[1]}{row}))>0" if tested else "FALSE"
            matched = f"MATCH(TRUE,{found[0]}{row}:{found[1]}{row},0)"
            self._formula(
                row,
                cluster_at,
                f'IF(COUNTA({inputs[0]}{row}:{inputs[1]}{row})=0,"",IF({unreadable},"{UNREADABLE}",'
                f'IF(ISERROR({matched}),"{NONE}",INDEX({labels},1,{matched}))))',
            )
            cells = {feature: f"{column_letters(read_at + place)}{row}" for place, feature in enumerate(tested)}
            for place, feature in enumerate(tested):
                given = f"{column_letters(place)}{row}"
                self._formula(row, read_at + place, read_formula(rules.columns[feature], given, constants))
            conditions = Conditions(cells, constants)
            for place, rule in enumerate(rules):
                tests = list(map(conditions, rule.conditions))
                if len(tests) > MAX_ARGUMENTS:
                    raise ExportError(
                        f"a rule has {len(tests)} conditions, and a formula takes at most {MAX_ARGUMENTS}"
                    )
                self._formula(row, rule_at + place, f"AND({','.join(tests)})" if tests else "TRUE")
        self._write_values(constants)

    def _write_clusters(self) -> None:
        """Write a line for each of the columns in which a cluster differs most from all other rows."""
        sheet = self.clusters_sheet
        headings = ("Cluster", "Name", "Column", "Mean or share here", "In the table", "Compared with all other rows")
        for column, heading in enumerate(headings):
            self._text(sheet, 0, column, heading, self.bold)
        row = 1
        for cluster in self.rules.by_size:
            for line in describe_profile(self.rules, cluster)[:COLUMNS_SHOWN]:
                sheet.write_number(row, 0, cluster.index, self.plain)
                texts = cluster.name, line["column"], line["here"], line["table"], line["mark"]
                for column, text in enumerate(texts, start=1):  # only to read: what a cell cannot hold is left out
                    sheet.write_string(row, column, one_line(text)[:MAX_TEXT], self.plain)
                row += 1
        sheet.set_column(0, 0, 8)
        sheet.set_column(1, 2, 24)
        sheet.set_column(3, 4, 30)
        sheet.set_column(5, 5, 44)
        sheet.freeze_panes(1, 0)

    def _answers(self) -> dict[int, int | str]:
        """Return the label of each cluster's rows: texts where a cell would not show a number with all its digits."""
        clusters = self.rules.clusters
        if self.settings.cluster_as == "number":
            shown = all(abs(cluster.index) < WHOLE_DIGITS for cluster in clusters)
            return {cluster.index: cluster.index if shown else str(cluster.index) for cluster in clusters}
        for cluster in clusters:
            if cluster.name in OTHER_ANSWERS:
                raise ExportError(
                    f"cluster {cluster.index} is called {cluster.name!r}, which the workbook shows for a row without "
                    "one; rename it, or use the number"
                )
        return {cluster.index: cluster.name for cluster in clusters}

    def _formula(self, row: int, column: int, formula: str) -> None:
        if len(formula) > MAX_FORMULA:
            raise ExportError(
                f"a formula would have {len(formula):,} characters, and Excel takes at most {MAX_FORMULA:,}"
            )
        # Without a value, so that every program computes it when it opens the workbook.
        self.label_sheet.write_formula(row - 1, column, f"={formula}", None, "")

    def _write_values(self, constants: Constants) -> None:
        sheet = self.values_sheet
        self._text(sheet, 0, 0, "Value", self.bold)
        self._text(sheet, 0, 1, "compared with", self.bold)
        for row, (value, remark) in enumerate(constants.cells, start=1):
            if isinstance(value, str):
                self._text(sheet, row, 0, value)
            else:
                sheet.write_number(row, 0, _Exact(value))
            self._text(sheet, row, 1, remark)
        sheet.set_column(0, 1, 30)
