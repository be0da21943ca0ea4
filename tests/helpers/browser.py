"""A browser for tests of the page: Debian's chromium, driven by playwright; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from shallowrules.errors import MissingExtraError
from shallowrules.verification.runners.page import open_chromium, type_rows

__all__ = ["Opened", "WithoutScript", "chromium", "type_rows"]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser; skip where it or playwright is not installed."""
    with ExitStack() as opened:
        try:
            browser = opened.enter_context(open_chromium())
        except MissingExtraError as error:
            pytest.skip(str(error))
        yield browser


class Opened:
    """A page that was opened from a file, with its requests and complaints."""

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
        """Close it; it must have requested only itself, and complained of nothing."""
        self.context.close()
        outside = [url for url in self.requests if not url.startswith((self.path.as_uri(), "blob:"))]
        assert (outside, self.complaints) == ([], [])


class WithoutScript(Opened):
    """A page in a browser without JavaScript."""

    page_has_script = False

    def __init__(self, browser: Any, path: Any) -> None:
        super().__init__(browser, path, java_script_enabled=False)
