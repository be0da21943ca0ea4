"""The page: rows are typed into it in a browser, and it shows their clusters."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import compress, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.html.walking import describe_inputs
from shallowrules.rules import RuleColumn, RuleSet
from shallowrules.rules.boundary import has_text
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table
from shallowrules.tables.times import format_time, time_of
from shallowrules.verification.comparing import python_rows
from shallowrules.verification.runners.base import Form, Labels, spread

__all__ = ["open_chromium", "run_page", "type_rows"]

WHAT = "running the page"
CHROMIUM = "apt-get install chromium"
READY = "html[data-ready]"
ROWS_AT_ONCE = 500
MAX_ROWS = 25_000
"""Rows of a table that are typed in: a browser takes a millisecond for each."""

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
]

TYPE_ROWS = """rows => rows.map(row => {
  for (const field of document.querySelectorAll('#row [data-c]')) field.value = row[field.dataset.c] ?? '';
  document.querySelector('#row').dispatchEvent(new Event('input'));
  const answer = document.querySelector('#answer');
  return [answer.dataset.cluster ?? null, answer.dataset.move ? JSON.parse(answer.dataset.move) : null];
})"""


@contextmanager
def run_page(rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Open the page as a person does, from a file."""
    text = export(rules, "html")
    with tempfile.TemporaryDirectory(prefix="shallowrules-page-") as folder, open_chromium() as browser:
        path = Path(folder, "page.html")
        path.write_text(text, encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector(READY)
        yield {"page in chromium": Form(partial(_answered, rules, page), partial(_asks, rules))}


@contextmanager
def open_chromium() -> Iterator[Any]:
    """Start the system's chromium; MissingExtraError where it, or playwright, is not installed."""
    try:
        api = import_module("playwright.sync_api")
    except ImportError:
        raise MissingExtraError(WHAT, "playwright", "engines") from None
    program = shutil.which("chromium")
    if program is None:
        raise MissingExtraError(WHAT, "chromium", command=CHROMIUM)
    try:
        manager = api.sync_playwright()
        playwright = manager.start()
    except api.Error as error:  # in a thread that runs an event loop, as notebooks do
        raise EngineError("playwright", "start", str(error)) from error
    try:
        try:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        except api.Error as error:
            raise EngineError("chromium", "start", str(error)) from error
        try:
            yield browser
        finally:
            browser.close()
    finally:
        playwright.stop()


def type_rows(page: Any, rules: RuleSet, rows: Sequence[Sequence[Any]]) -> list[tuple[int | None, Any]]:
    """Type rows into the page; return the cluster of each, None for none, and the smallest change that it names.

    A row has a value for each column of the rules; those that no rule tests do not matter.
    """
    return _type(page, list(_fields(rules, rows)))


def _type(page: Any, rows: Sequence[dict[str, str]]) -> list[tuple[int | None, Any]]:
    """Type rows into the page; each has its texts by the number of the column."""
    return [
        (None if cluster in (None, "") else int(cluster), move)
        for start in range(0, len(rows), ROWS_AT_ONCE)
        for cluster, move in page.evaluate(TYPE_ROWS, rows[start : start + ROWS_AT_ONCE])
    ]


def _fields(rules: RuleSet, rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, str]]:
    """Yield the texts of the fields for each row, by the number of the column."""
    inputs = describe_inputs([rules])
    for row in rows:
        yield {str(each["index"]): _field(each, rules.columns[each["index"]], row[each["index"]]) for each in inputs}


def _field(described: Mapping[str, Any], column: RuleColumn, value: Any) -> str:
    """Return the text of a field, or the number of its choice."""
    if value is None or value != value:
        return ""
    if described["choices"] is None:
        if (time := time_of(value)) is not None:
            return format_time(*time)
        return value.strip() if isinstance(value, str) else column.conversion.written(value)
    values = described["values"]
    return str(values.index(value)) if value in values else "other"


def _rows_of(rules: RuleSet, table: Table) -> Iterator[list[Any]]:
    """Yield the rows as they are typed in: a category that means "no value" has no choice, and is omitted."""
    given: list[Iterator[Any]] = []
    for column in rules.columns:
        if column.name not in table.names:
            given.append(repeat(None, table.n_rows))
        elif column.is_numeric:
            given.append(_values(table[column.name]))
        else:
            given.append(_values(replace(column, imputed=None).read(table[column.name])))
    return map(list, zip(*given, strict=True))


def _values(column: Column) -> Iterator[Any]:
    return (value for (value,) in python_rows(Table((column,), len(column.values))))


def _asks(rules: RuleSet, table: Table) -> NDArray[np.bool_]:
    """Return which rows are typed in: at most `MAX_ROWS`, spread over the table, and no empty one.

    A number that its format cannot write is not typed.
    """
    formatted = [feature for feature in rules.tested_columns if rules.columns[feature].format]

    def can_be_typed(row: Sequence[Any]) -> bool:
        return all(has_text(rules.columns[feature], row[feature]) for feature in formatted)

    rows = list(_rows_of(rules, table))
    typed = np.fromiter(map(can_be_typed, rows), bool, len(rows))
    typed[typed] = [any(fields.values()) for fields in _fields(rules, compress(rows, typed))]
    return typed & spread(table.n_rows, MAX_ROWS)


def _answered(rules: RuleSet, page: Any, table: Table) -> Labels:
    found = _type(page, list(_fields(rules, _rows_of(rules, table))))
    return np.array([NO_CLUSTER if cluster is None else cluster for cluster, _ in found], dtype=np.int64)
