"""Rules as a workbook for Excel and LibreOffice: sheets to read, and one that labels the rows of a pasted table.

"Rules" has figures, and each rule in words; "Clusters" the sizes, means and shares; "Differences" what sets each
cluster apart from all other rows; `shallowrules.exporters.xlsx.labelling` describes the others.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shallowrules.errors import MissingExtraError, OptionError, OptionName
from shallowrules.exporters.base import ClusterAs, check_cluster_as
from shallowrules.exporters.context import check_length, check_no_times, check_whole_thresholds
from shallowrules.exporters.xlsx.book import MAX_ROWS, Book
from shallowrules.exporters.xlsx.labelling import FIRST_ROW, SHEETS, Labelling
from shallowrules.exporters.xlsx.reading import write_clusters, write_differences, write_rules
from shallowrules.rules import DOUBLE_EXACT, RuleSet

__all__ = ["XlsxExporter", "XlsxOptions"]


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
        check_no_times(rules, self.name, held=("date",))
        check_whole_thresholds(rules, self.name, range(1 - DOUBLE_EXACT, DOUBLE_EXACT))
        content = io.BytesIO()
        workbook = xlsxwriter.Workbook(content, {"in_memory": True})
        workbook.set_properties(
            {"created": datetime(2000, 1, 1, tzinfo=UTC).replace(tzinfo=None)}
        )  # the same each time
        book = Book(workbook, f"Rules {rules.sha256[:12]}")
        read, clusters, differences, *labelling = map(workbook.add_worksheet, SHEETS)
        write_rules(book, read, rules)
        write_clusters(book, clusters, rules)
        write_differences(book, differences, rules)
        Labelling(book, labelling, rules, settings.cluster_as, settings.label_rows).write()
        workbook.close()
        return content.getvalue()
