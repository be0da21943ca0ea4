"""Cards for notebooks: tables, trees and figures as HTML, well-formed, without markup from names, and with a style of
its own."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import chromium
from draws import drawn
from hypothesis import given
from rulesets import (
    MIXED,
    balanced_rules,
    chain_rules,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    rule_sets,
    small_rules,
)
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shallowrules import ExplainableKMeans, compare_cluster_counts, tradeoff_path
from shallowrules.displays.cards import ROWS_SHOWN
from shallowrules.displays.objects import LEAVES_DRAWN
from shallowrules.exporters.palette import HEAT, SOFT
from shallowrules.exporters.rendering import one_line, shipped
from shallowrules.rules import changes_between

TAGS = {
    *("div", "style", "h4", "p", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "bdi"),
    *("svg", "title", "desc", "rect", "g", "path", "text", "tspan"),
}
ATTRIBUTES = {
    *("class", "style", "scope", "xmlns", "width", "height", "viewbox", "role", "font-family", "font-size", "fill"),
    *("font-weight", "transform", "d", "stroke", "stroke-width", "x", "y", "dy", "rx", "text-anchor"),
}
EMPTY = {"rect", "path"}


class Parsed(HTMLParser):
    """HTML that must be well-formed: tags are closed in order; its tables, as texts, and all its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.tags: set[str] = set()
        self.tables: list[list[list[str]]] = []
        self.text = self.style = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        assert tag in EMPTY
        self.tags.add(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open[-1] == "style":
            self.style += text
            return
        self.text += text
        if {"th", "td"} & set(self.open):
            self.tables[-1][-1][-1] += text


def parsed(shown) -> Parsed:
    """Return the card of an object, which must not hold anything foreign."""
    found = Parsed(shown._repr_html_())
    assert found.tags <= TAGS
    assert {name for name, _ in found.attributes} <= ATTRIBUTES
    styles = {value for name, value in found.attributes if name == "style"}
    assert all(re.fullmatch(r"--c:var\(--k\d\)", style) for style in styles)
    assert "url(" not in found.style
    assert "@import" not in found.style
    return found


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def model(iris):
    return ExplainableKMeans(3, random_state=0).fit(iris)


@pytest.fixture(scope="module")
def shown(iris, model):
    """One of each object that a notebook shows as a card."""
    rules = model.rules_
    other = ExplainableKMeans(4, random_state=0).fit(iris).rules_
    return {
        "RuleSet": rules,
        "Rule": rules[0],
        "TradeoffPath": tradeoff_path(model, iris),
        "ClusterCounts": compare_cluster_counts(ExplainableKMeans(random_state=0), iris, range(2, 5)),
        "Explanation": rules.explain(iris[:1])[0],
        "Changes": changes_between(rules, other, iris),
        "Statistics": rules.statistics,
    }


KINDS = ["RuleSet", "Rule", "TradeoffPath", "ClusterCounts", "Explanation", "Changes", "Statistics"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_has_a_card_with_a_table_a_short_repr_and_a_text(shown, kind):
    found = parsed(shown[kind])
    assert found.tables
    for table in found.tables:
        assert len({len(row) for row in table}) == 1
        assert len(table) > 1
    assert len(repr(shown[kind])) < 100
    assert repr(shown[kind]).startswith(f"{kind}(")
    assert "\n" in str(shown[kind]) or kind == "Rule"


def test_the_card_of_rules_has_the_tree_and_a_row_for_each_rule(model):
    rules = model.rules_
    found = parsed(rules)
    [[heads, *rows]] = found.tables
    assert heads == ["cluster", "rule", "rows", "share"]
    titles = {cluster.index: f"{cluster.index} {cluster.name}" for cluster in rules.clusters}
    assert rows == [[titles[r.cluster], str(r), f"{r.rows:,}", f"{r.share:.1%}"] for r in rules]
    assert "svg" in found.tags
    assert all(cluster.name in found.text for cluster in rules.clusters)


def test_the_card_of_a_path_and_of_counts_has_their_figures(shown):
    path, counts = shown["TradeoffPath"], shown["ClusterCounts"]
    [[heads, *rows]] = parsed(path).tables
    assert heads[0] == "tradeoff"
    assert [float(row[2]) for row in rows] == [round(point.cost, 3) for point in path]
    [[heads, *rows]] = parsed(counts).tables
    assert [int(row[heads.index("k")]) for row in rows] == [each.k for each in counts]
    marked = re.findall(r'<tr class="marked"><td class="number">(\d+)', counts._repr_html_())
    assert marked == [str(counts.recommended.k)]
    assert f"{counts.reason}." in parsed(counts).text


def test_a_card_tells_what_the_text_of_the_terminal_tells(shown):
    for kind in ("Explanation", "Changes"):
        said = " ".join(parsed(shown[kind]).text.split())
        words = set(re.findall(r"[\w.]{3,}", str(shown[kind])))
        missing = {word for word in words if word.lower() not in said.lower()}
        assert missing <= {
            "are",
            "was",
            "change",
            "before",
            "from",
            "cluster",
            "rule",
            "other",
            "now",
            "new",
            "gone",
            "the",
        }


def test_a_row_in_no_cluster_and_rules_without_conditions():
    rules = small_rules()
    found = parsed(rules.explain({"x": [None], "i": [1]})[0])
    assert "In no cluster: x is missing, and the tree tests it" in found.text
    assert found.tables == []
    single = make_rules([("x", "float")], 3)
    assert "every row" in parsed(single).text
    assert "every row" in parsed(single[0]).text
    assert "svg" not in parsed(single).tags


def test_unrelated_rules_say_so():
    other = make_rules([("y", "float")], (0, 1.0, 0, 1))
    assert "nothing in common" in parsed(changes_between(small_rules(), other)).text
    assert "rules unchanged" in parsed(changes_between(small_rules(), small_rules())).text


def test_long_tables_end_with_how_much_is_left_out_and_large_trees_are_not_drawn():
    found = parsed(balanced_rules(ROWS_SHOWN + 4))
    assert len(found.tables[0]) == ROWS_SHOWN + 1
    assert "and 4 more rows" in found.text
    assert "svg" not in found.tags
    assert "svg" in parsed(balanced_rules(LEAVES_DRAWN)).tags
    assert "and 440 more rows" in parsed(chain_rules(500)).text


def test_a_model_shows_the_box_of_scikit_learn_and_once_it_is_fitted_the_rules(model):
    unfitted = ExplainableKMeans(3)
    assert "sk-top-container" in unfitted._repr_html_()
    assert "shallowrules" not in unfitted._repr_html_().replace("shallowrules.models", "")
    with pytest.raises(NotFittedError):
        unfitted.plot()
    assert '<div class="shallowrules">' not in make_pipeline(StandardScaler(), model)._repr_html_()
    box = model._repr_html_()
    assert "sk-top-container" in box
    assert box.endswith(model.rules_._repr_html_())
    assert model._repr_mimebundle_()["text/html"].endswith(model.rules_._repr_html_())
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_hostile_names_are_texts(rules):
    found = parsed(rules)
    [[_, *rows]] = found.tables
    assert len(rows) == min(len(rules), ROWS_SHOWN)
    bare = str.maketrans("", "", "\u2068\u2069")
    for rule, row in zip(rules, rows, strict=False):
        assert row[1].translate(bare) == one_line(str(rule)).translate(bare)
    parsed(rules[0])
    parsed(replace(rules.statistics, notes=tuple(cluster.name for cluster in rules.clusters)))
    parsed(changes_between(rules, small_rules()))


@pytest.mark.parametrize("seed", range(drawn(100)))
def test_drawn_hostile_rules_and_rows_are_shown_as_texts(seed):
    hostile = pytest.importorskip("hostile")
    rules = hostile.Hostile(random.Random(seed)).rules
    parsed(rules)
    rows = {
        column.name: np.array([column.values[0] if column.values else 1.0], dtype=object) for column in rules.columns
    }
    for each in rules.explain(rows):
        parsed(each)


def test_the_style_holds_inside_cards_alone():
    style = parsed(example_rules()).style
    selectors = re.findall(r"(?:^|\})\s*([^{}]+)\{", style)
    assert len(selectors) > 20
    assert all(re.match(r"(:is\([^)]*\) )?\.shallowrules\b", selector) for selector in selectors)


def test_the_colors_of_the_heat_map_are_those_of_the_page():
    page = shipped("page.css").split("@media")[0]
    levels = dict(re.findall(r"--(\w+):(#\w+)", page))
    names = dict(re.findall(r"\.h(\d)\{background:var\(--(\w+)\)", shipped("page.css")))
    assert [levels[names[str(level)]] for level in range(7)] == list(HEAT)
    assert levels["soft"] == SOFT


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.mark.renders
@pytest.mark.parametrize(
    ("scheme", "theme", "is_dark"),
    [
        ("light", "", False),
        ("dark", "", True),
        ("dark", 'data-jp-theme-light="true"', False),
        ("light", 'data-jp-theme-light="false"', True),
        ("light", 'class="vscode-dark"', True),
    ],
)
def test_a_card_has_the_colors_of_the_notebook(browser, scheme, theme, is_dark):
    page = browser.new_page(color_scheme=scheme)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.set_content(f"<body {theme}>{example_rules()._repr_html_()}</body>")
    for selector, place in (
        (".shallowrules", "backgroundColor"),
        ("svg > rect", "fill"),
        ("td", "color"),
        ("svg", "fill"),
    ):
        colour = page.eval_on_selector(selector, f"each => getComputedStyle(each).{place}")
        is_ground = place == "backgroundColor" or selector == "svg > rect"
        assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 384) == (is_dark == is_ground), (selector, colour)
    assert requests == []
    page.close()
