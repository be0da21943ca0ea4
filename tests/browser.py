"""A browser for tests of the page: Debian's chromium, driven by playwright; nothing is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser; skip where it or playwright is not installed."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'shallowrules[engines]'"
    )
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page that was opened from a file, and what it asked for and complained of."""

    def __init__(self, browser: Any, path: Any, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.path = path
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = self.open()

    def open(self) -> Any:
        """Open the file in a new tab."""
        page = self.context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.path.as_uri())
        if self.page_has_script:
            page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    page_has_script = True

    def close(self) -> None:
        """Close it; it must have asked for itself alone, and have complained of nothing."""
        self.context.close()
        outside = [url for url in self.requests if not url.startswith((self.path.as_uri(), "blob:"))]
        assert (outside, self.complaints) == ([], [])


class WithoutScript(Opened):
    """A page in a browser without JavaScript."""

    page_has_script = False

    def __init__(self, browser: Any, path: Any) -> None:
        super().__init__(browser, path, java_script_enabled=False)


TYPE_ROWS = """rows => rows.map(row => {
  for (const field of document.querySelectorAll('#row [data-c]')) field.value = row[field.dataset.c] ?? '';
  document.querySelector('#row').dispatchEvent(new Event('input'));
  const answer = document.querySelector('#answer');
  return [answer.dataset.cluster ?? null, answer.dataset.move ? JSON.parse(answer.dataset.move) : null];
})"""


def type_rows(page: Any, rules: Any, rows: Sequence[Sequence[Any]]) -> list[tuple[int | None, Any]]:
    """Type rows into the page; return the cluster of each, None for none, and the smallest change that it names."""
    typed = [{str(i): _field(rules.columns[i], row[i]) for i in rules.tested_columns} for row in rows]
    found = page.evaluate(TYPE_ROWS, typed)
    return [(None if cluster in (None, "") else int(cluster), move) for cluster, move in found]


def _field(column: Any, value: Any) -> str:
    """Return what stands in the field of a column for a value."""
    if value is None or value != value:
        return ""
    if column.is_numeric:
        return repr(value)
    return str(column.values.index(value)) if value in column.values else "other"
