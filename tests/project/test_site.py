"""The site of docs/: it is built without a warning, notebooks included, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest
from browser import chromium
from conftest import ROOT

import shallowrules
from shallowrules import errors

pytestmark = [pytest.mark.renders, pytest.mark.docs]

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


class Outputs(HTMLParser):
    """The outputs of the cells of a page: how many trees, tables, pictures and cards they have, and their text."""

    def __init__(self, text):
        super().__init__()
        self.counts, self.text, self.divs = Counter(), "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "div":
            self.divs.append(dict(attrs).get("class") or "")
            self.counts["cards"] += self.divs[-1] == "shallowrules"
        if self.is_within("output"):
            self.counts[tag] += not self.is_within("sk-top-container")

    def handle_endtag(self, tag):
        if tag == "div":
            self.divs.pop()

    def handle_data(self, data):
        self.text += data if self.is_within("output") else ""

    def is_within(self, name):
        return any(name in each.split() for each in self.divs)


NOTEBOOKS = {
    "five-minutes": ({"cards": 2, "svg": 1, "table": 6, "img": 0}, ("THEN 'High proline'", "Cluster 1 (High proline)")),
    "mixed-tables": ({"cards": 1, "svg": 1, "table": 4, "img": 0}, ("missing values", "weighted by 1.3", "Gentoo")),
    "hdbscan-noise": ({"cards": 2, "svg": 2, "table": 4, "img": 1}, ("HDBSCAN calls 92 of 342 rows noise", "0.681")),
    "pca": ({"cards": 2, "svg": 1, "table": 3, "img": 1}, ("'mean concavity', 'worst perimeter'] True",)),
    "from-labels": ({"cards": 1, "svg": 1, "table": 6, "img": 1}, ("95.3% of the rows", "scikit-learn", "0.973")),
    "model-registry": ({"cards": 1, "svg": 1, "table": 3, "img": 0}, ("True", "Model is missing inputs ['proline'].")),
}
"""What the outputs of each notebook have."""


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


def test_llms_txt_has_every_page_of_the_nav(site, parsed):
    def pages(items):
        for item in items:
            for target in item.values():
                yield from pages(target) if isinstance(target, list) else [target]

    title, _, summary, _, *lines = (site / "llms.txt").read_text(encoding="utf-8").splitlines()
    assert (title, summary[:2]) == ("# shallowrules", "> ")
    sections = [line for line in lines if line.startswith("## ")]
    entries = [
        re.fullmatch(r"- \[[^\]]+\]\(([^)]+)\): \S.{15,180}[.]", line) for line in lines if line.startswith("- ")
    ]
    assert len(sections) + len(entries) == sum(map(bool, lines))
    places = [(site / entry[1] / "index.html").resolve() for entry in entries]
    assert all(place in parsed or place.exists() for place in places)
    nav = list(pages(pytest.importorskip("yaml").safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    of_nav = [re.sub(r"(^|/)(README|index)$", "", name.removesuffix(".md")) for name in nav]
    assert [entry[1].strip("./") for entry in entries] == of_nav
    assert len(set(places)) == len(nav)


def test_pictures_have_words_and_are_light(site):
    method = (site / "method" / "index.html").read_text(encoding="utf-8")
    drawn = sorted((ROOT / "docs" / "method").glob("*.svg"))
    assert len(drawn) >= 5
    for path in drawn:
        assert path.stat().st_size < 60_000
        assert path.read_text(encoding="utf-8").strip() in method
    assert len(re.findall(r'<svg [^>]*role="img" aria-label="[^"]{20,}"', method)) == len(drawn)
    gallery = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    shown = re.findall(r'<img alt="([^"]{20,})" src="([\w-]+\.png)"', gallery)
    assert sorted(name for _, name in shown) == sorted(path.name for path in (ROOT / "docs" / "gallery").iterdir())
    assert len(shown) == 5
    assert all((site / "gallery" / name).stat().st_size <= 150_000 for _, name in shown)


def test_the_reference_has_every_public_name_and_every_command(parsed):
    anchors = {anchor for page in parsed.values() for anchor in page.anchors}
    for name in [*shallowrules.__all__, *(f"errors.{name}" for name in errors.__all__)]:
        if name != "__version__":
            assert any(anchor.endswith(f".{name}") for anchor in anchors), name
    from shallowrules.cli.commands import shallowrules as command

    for name in command.commands:
        assert name in anchors, name


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_trees_tables_and_pictures(site, name):
    counts, texts = NOTEBOOKS[name]
    outputs = Outputs((site / "notebooks" / name / "index.html").read_text(encoding="utf-8"))
    assert {kind: outputs.counts[kind] for kind in counts} == counts
    for text in texts:
        assert text in outputs.text
    assert "Traceback" not in outputs.text
    assert (site / "notebooks" / f"{name}.ipynb").read_bytes() == (ROOT / f"docs/notebooks/{name}.ipynb").read_bytes()


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
            for place in PLACES:
                page.goto(own + place, wait_until="networkidle")
            page.goto(own, wait_until="networkidle")
            for words, found in SEARCHED.items():
                page.goto(own, wait_until="networkidle")
                page.click(".md-search__input")
                page.keyboard.type(words)
                page.wait_for_selector(f".md-search-result__link[href*='{found}']", state="attached")
            page.click(f".md-search-result__link[href*='{found}'] >> nth=0")
            page.wait_for_url(f"{own}{found}*")
        assert not [address for address in asked if not address.startswith((own, "data:", "blob:"))]
        assert complaints == []
    finally:
        server.shutdown()
        server.server_close()


SEARCHED = {"tradeoff": "api/estimator/", "exit status scheduler": "automation/", "Kauri": "beside/"}
"""Words, and a page that a search for them finds."""

PLACES = (
    "",
    "beside/",
    "gallery/",
    "method/",
    "commands/",
    "api/estimator/",
    "examples/",
    "examples/bank_marketing/report.html",
    "notebooks/",
    "notebooks/mixed-tables/",  # scikit-learn's box, which others show, writes to the console
)
"""The pages that are opened."""


def print_nothing(*_):
    """Log nothing, in place of a line for each request."""
