"""The workbook: rows are pasted into it, and LibreOffice computes their clusters."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.xlsx.book import MAX_TEXT
from shallowrules.exporters.xlsx.formulas import FIRST_DAY, column_letters, serial_of
from shallowrules.exporters.xlsx.labelling import FIRST_ROW, LABEL_SHEET, NONE, PASTED, SHEETS, WORKINGS_SHEET
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleColumn, RuleSet, Value
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.runners.base import Form, Labels, spread

__all__ = [
    "PARTS",
    "compute_workbooks",
    "find_libreoffice",
    "is_held",
    "paste_rows",
    "run_workbook",
    "shown_labels",
]

WHAT = "computing the workbook"
TITLE = "LibreOffice"
LIBREOFFICE = "apt-get install libreoffice-calc-nogui"
MAX_ROWS = 25_000
"""Rows of a table that are pasted: LibreOffice takes some milliseconds for each."""

MAX_SECONDS = 1800
"""How long LibreOffice may take for all workbooks; it has no time limit of its own."""

PARTS = tuple(f"xl/worksheets/sheet{SHEETS.index(name) + 1}.xml" for name in (LABEL_SHEET, WORKINGS_SHEET))
"""The sheets with formulas in the file: the one of labels, and the one from which they are computed."""

CSV_OF_LABELS = (
    "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false," + f"{SHEETS.index(LABEL_SHEET) + 1}"
)
CHANGED = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
"""Characters that a cell of text does not keep."""


Pasted = Value | date
"""The content of a cell."""

CELL = re.compile(r'(<c r="([A-Z]+[0-9]+)".*?</c>)')


@contextmanager
def run_workbook(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Write the workbook as `export` does; LibreOffice is started once, for all rows."""
    workbook = export(rules, "xlsx")
    find_libreoffice()
    label = partial(_computed, rules, workbook)
    yield {"workbook in LibreOffice": Form(lambda table: label([table])[0], partial(_pasted, rules), label)}


def find_libreoffice() -> str:
    """Return the path of the program; MissingExtraError where it is not installed."""
    program = shutil.which("soffice")
    if program is None:
        raise MissingExtraError(WHAT, TITLE, command=LIBREOFFICE)
    return program


def compute_workbooks(workbooks: Sequence[bytes]) -> list[list[list[str]]]:
    """Return the rows that LibreOffice shows in the sheet of labels of each of several workbooks, as texts.

    It is started once, with a profile of its own.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    EngineError
        If it does not compute one of them.
    """
    program = find_libreoffice()
    if not workbooks:  # it would wait for input
        return []
    with tempfile.TemporaryDirectory(prefix="shallowrules-workbook-") as name:
        folder = Path(name)
        files = [folder / f"w{number}.xlsx" for number in range(len(workbooks))]
        for file, workbook in zip(files, workbooks, strict=True):
            file.write_bytes(workbook)
        command = [program, f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless", "--norestore"]
        command += ["--convert-to", CSV_OF_LABELS, "--outdir", str(folder / "out"), *map(str, files)]
        said = _run(command)
        shown = []
        for file in files:
            made = folder / "out" / f"{file.stem}-{LABEL_SHEET}.csv"
            if not made.exists() or not made.stat().st_size:
                raise EngineError(TITLE, " ".join(command), said or "it computed no labels")
            with made.open(encoding="utf-8", newline="") as lines:
                shown.append(list(csv.reader(lines)))
        return shown


def _run(command: Sequence[str]) -> str:
    """Return a program's output. If it takes too long or is interrupted, it is ended with all that it started."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        said, _ = process.communicate(timeout=MAX_SECONDS)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise EngineError(TITLE, " ".join(command), f"it took more than {MAX_SECONDS} seconds") from None
    return said.strip()


def paste_rows(workbook: bytes, names: Sequence[str], rows: Sequence[Sequence[Pasted | None]]) -> bytes:
    """Return a workbook with a table pasted where rows get their labels.

    Where it has formulas for fewer rows, those of its last row are copied down, as the sheet tells people to do.

    Parameters
    ----------
    workbook : bytes
        As the exporter writes it.
    names : sequence of str
        Those of the table's columns.
    rows : sequence of sequence
        A value for each of them, None for an empty cell; each as `is_held` allows.
    """
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive, zipfile.ZipFile(changed, "w") as made:
        for name in archive.namelist():
            content = archive.read(name)
            if name in PARTS:
                pasted = (names, *rows) if name == PARTS[0] else [()] * (1 + len(rows))
                content = _with_rows(content.decode(), pasted).encode()
            made.writestr(name, content)
    return changed.getvalue()


def _with_rows(sheet: str, rows: Sequence[Sequence[Pasted | None]]) -> str:
    """Return a sheet with rows pasted, starting at the one with the names."""
    first = FIRST_ROW - 1
    start = sheet.index(f'<row r="{first}"')
    end = sheet.index("</sheetData>")
    written = re.findall(r"(<row [^>]*>)(.*?)</row>", sheet[start:end])
    last = first + len(written) - 1
    number_of_last = re.compile(rf'(?<=[A-Z"]){last}(?![0-9])')  # references to a row, or to a cell without $
    copied = [number_of_last.split(part) for part in written[-1]]
    lines = []
    for number, row in enumerate(rows, start=first):
        if number > last:
            opening, formulas = (str(number).join(pieces) for pieces in copied)
        else:
            opening, formulas = written[number - first]
        if row:
            cells = {place: cell for cell, place in CELL.findall(formulas)}
            for j, value in enumerate(row, start=PASTED):
                place = f"{column_letters(j)}{number}"
                cells[place] = "" if value is None else _cell(place, value)
            formulas = "".join(cells.values())
        lines.append(f"{opening}{formulas}</row>")
    rest = (f"{opening}{formulas}</row>" for opening, formulas in islice(written, len(rows), None))
    return "".join([sheet[:start], *lines, *rest, sheet[end:]])


def _cell(place: str, value: Pasted) -> str:
    if isinstance(value, date):
        return f'<c r="{place}"><v>{serial_of(value)}</v></c>'
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{float(value)!r}</v></c>'


def is_held(value: Pasted | None) -> bool:
    """Return whether a cell can hold a value unchanged, or be empty for it."""
    if isinstance(value, str):
        return 0 < len(value) <= MAX_TEXT and not CHANGED.search(value)
    if isinstance(value, date):
        return value >= FIRST_DAY
    return value is None or (math.isfinite(value) and float(value) == value)


def shown_labels(shown: Sequence[Sequence[str]], n_rows: int) -> list[str]:
    """Return the column of clusters for the rows that were pasted."""
    return [row[0] for row in shown[FIRST_ROW - 1 : FIRST_ROW - 1 + n_rows]]


def _computed(rules: RuleSet, workbook: bytes, tables: Sequence[Table]) -> list[Labels]:
    rows = [row for table in tables for row in _rows_of(rules, table)]
    clusters = {str(cluster.label): cluster.index for cluster in rules.clusters} | {NONE: NO_CLUSTER}
    foreign = Answers(rules).foreign
    labels = np.full(len(rows), foreign, dtype=np.int64)
    if rows:
        names = [rules.columns[feature].name for feature in rules.tested_columns]
        [shown] = compute_workbooks([paste_rows(workbook, names, rows)])
        found = shown_labels(shown, len(rows))
        labels[: len(found)] = [clusters.get(label, foreign) for label in found]
    return np.split(labels, np.cumsum([table.n_rows for table in tables])[:-1])


def _rows_of(rules: RuleSet, table: Table) -> Iterator[list[Pasted | None]]:
    """Yield the cells that are pasted for each row: a value for each tested column, None for an empty cell."""
    columns = [rules.columns[feature] for feature in rules.tested_columns]
    given = Table(tuple(_as_pasted(column, table[column.name]) for column in columns), table.n_rows)
    for row in python_rows(given):
        yield [None if value is None or value != value else value for value in row]


def _as_pasted(column: RuleColumn, given: Column) -> Column:
    """Return a column as it is pasted: text is first converted where the rules have something else."""
    if (given.type == column.type and not column.codes) or (given.is_numeric and column.is_numeric):
        return given
    return replace(column, imputed=None).read(given)


def _pasted(rules: RuleSet, table: Table) -> NDArray[np.bool_]:
    """Return which rows are pasted: at most `MAX_ROWS`, those that cells can hold, and none that is empty."""
    rows = _rows_of(rules, table)
    held = (all(map(is_held, row)) and any(value is not None for value in row) for row in rows)
    return np.fromiter(held, bool, table.n_rows) & spread(table.n_rows, MAX_ROWS)
