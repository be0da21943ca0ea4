"""A notebook run and rendered by nbconvert: its outputs are tables and pictures, not text."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from conftest import ROOT

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

pytestmark = pytest.mark.renders

CARDS = [
    "model.fit(X)",
    "rules",
    "rules[0]",
    "tradeoff_path(model, X)",
    "compare_cluster_counts(model, X, range(2, 5))",
    "rules.explain(X[:1])[0]",
    "changes_between(rules, fit_to_goal(model, X, max_conditions=1.5).rules_, X)",
    "rules.statistics",
]
PICTURES = [
    "model.plot();",
    "rules.plot();",
    "rules.plot_heat();",
    "model.plot_silhouettes(X);",
    "tradeoff_path(model, X).plot();",
    "compare_cluster_counts(model, X, range(2, 5)).plot();",
]
START = """\
from sklearn.datasets import load_wine
from shallowrules import ExplainableKMeans, compare_cluster_counts, fit_to_goal, tradeoff_path
from shallowrules.rules import changes_between
X = load_wine(as_frame=True).data
model = ExplainableKMeans(3, scale="minmax", random_state=0)
rules = model.fit(X).rules_"""


class Outputs(HTMLParser):
    """The outputs of a rendered notebook: for each, its tags, except those of scikit-learn's box."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[list[str]] = []
        self.cards: list[list[str]] = []
        self.divs: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        kind = dict(attributes).get("class") or ""
        if tag == "div":
            self.divs.append(kind)
            if "jp-OutputArea-output" in kind.split():
                self.found.append([])
            if kind == "shallowrules":
                self.cards.append([])
        if any("jp-OutputArea-output" in each.split() for each in self.divs):
            self.found[-1].append(tag)
        if "shallowrules" in self.divs:
            self.cards[-1].append(tag)

    def handle_endtag(self, tag):
        if tag == "div":
            self.divs.pop()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nbconvert_renders_tables_and_pictures(tmp_path, theme):
    cells = [nbformat.v4.new_code_cell(text) for text in (START, *CARDS, *PICTURES)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "shown.ipynb")
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", "--theme", theme, "shown.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "shown.html").read_text(encoding="utf-8")
    outputs = Outputs(page)
    assert len(outputs.found) == len(CARDS) + len(PICTURES)
    assert len(outputs.cards) == len(CARDS)
    for card in outputs.cards:
        assert "table" in card
        assert not {"pre", "script", "img", "link"} & set(card)
    assert [name for name, card in zip(CARDS, outputs.cards, strict=True) if "svg" in card] == ["model.fit(X)", "rules"]
    assert all("pre" not in found for found in outputs.found[1 : len(CARDS)])  # the first has scikit-learn's box
    assert all("img" in found for found in outputs.found[len(CARDS) :])
    assert f'data-jp-theme-light="{str(theme == "light").lower()}"' in page
