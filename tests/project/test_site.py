"""The site of docs/: it is built without a warning, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
from browser import chromium
from conftest import ROOT

import shallowrules
from shallowrules import errors

pytestmark = pytest.mark.renders

if find_spec("mkdocs") is None:
    pytest.skip("mkdocs is not installed: pip install 'shallowrules[docs]'", allow_module_level=True)
if not (ROOT / "mkdocs.yml").exists():
    pytest.skip("the sources of the site are not here", allow_module_level=True)


class Resources(HTMLParser):
    """The addresses that a page loads by itself, and those that it links to."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.linked, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster") or (name == "href" and tag != "a"):
                self.loaded.append(value)
            elif name == "href":
                self.linked.append(value)
            elif name == "id":
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "-q", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def parsed(site):
    return {path: Resources(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(parsed):
    assert len(parsed) >= 20
    for path, page in parsed.items():
        for address in page.loaded:
            assert not re.match(r"(?i)(?!data:)[a-z]+:|//", address), (path, address)


def test_every_link_within_the_site_leads_somewhere(site, parsed):
    for path, page in parsed.items():
        if path.name == "404.html":  # its addresses begin at the root
            continue
        for address in [*page.linked, *page.loaded]:
            place, _, anchor = address.partition("#")
            if re.match(r"(?i)[a-z]+:|//", place):
                continue
            target = (path.parent / place.partition("?")[0]).resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_relative_to(site.resolve()), (path, address)
            assert target.exists(), (path, address)
            if anchor and target in parsed:
                assert anchor in parsed[target].anchors or anchor.startswith("__"), (path, address)


def test_the_reference_has_every_public_name_and_every_command(parsed):
    anchors = {anchor for page in parsed.values() for anchor in page.anchors}
    for name in [*shallowrules.__all__, *(f"errors.{name}" for name in errors.__all__)]:
        if name != "__version__":
            assert any(anchor.endswith(f".{name}") for anchor in anchors), name
    from shallowrules.cli.commands import shallowrules as command

    for name in command.commands:
        assert name in anchors, name


def test_a_browser_shows_it_and_asks_nobody_else(site):
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0),
        partial(type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": print_nothing}), directory=site),
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        own = f"http://127.0.0.1:{server.server_address[1]}/"
        asked, complaints = [], []
        with chromium() as browser:
            page = browser.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            for place in ("", "commands/", "api/estimator/", "examples/", "examples/bank_marketing/report.html"):
                page.goto(own + place, wait_until="networkidle")
            page.goto(own, wait_until="networkidle")
            page.click(".md-search__input")
            page.keyboard.type("tradeoff")
            page.wait_for_selector(".md-search-result__item", state="attached")
        assert not [address for address in asked if not address.startswith((own, "data:", "blob:"))]
        assert complaints == []
    finally:
        server.shutdown()
        server.server_close()


def print_nothing(*_):
    """Log nothing, in place of a line for each request."""
