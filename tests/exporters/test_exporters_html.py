"""The page as text: the contract, its policy, forbidden content, and its size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate, chain

import numpy as np
import pandas as pd
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    rule_sets,
)
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans, export, tradeoff_path
from shallowrules.errors import OptionError
from shallowrules.exporters.html.cards import Pictures
from shallowrules.exporters.html.drawing import draw_bins, place_value
from shallowrules.exporters.html.heat import LEVELS, describe_heat
from shallowrules.exporters.html.scatter import Points
from shallowrules.exporters.html.text import share_pieces, shorten_apart
from shallowrules.exporters.palette import cluster_colours
from shallowrules.exporters.tree_layout import lay_out
from shallowrules.exporters.wording import format_number
from shallowrules.rules import Leaf


class Reader(HTMLParser):
    """The elements, attributes and texts of a page, as a browser reads them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def unpacked(page):
    """Return the data that the page's script gets."""
    [packed] = re.findall(r'<script type="application/octet-stream" id="data">(.*?)</script>', page)
    length, _, letters = packed.partition(" ")
    places = [ord(letter) - (34 if letter > "<" else 33) for letter in letters]
    pairs = zip(places[::2], places[1::2], strict=True)
    bits = "".join(f"{93 * first + second:013b}" for first, second in pairs)
    compressed = bytes(int(bits[8 * i : 8 * i + 8], 2) for i in range(int(length)))
    data = json.loads(zlib.decompress(compressed, -15))
    return {**data, "pieces": joined(data["pieces"], data["lines"])}


def joined(steps, lines):
    """Return the text of each piece, joined from its lines."""
    places = iter(accumulate(chain.from_iterable(steps)))
    return ["".join(lines[next(places)] for _ in piece) for piece in steps]


def text_of(data, numbers):
    return "".join(data["pieces"][number] for number in numbers)


@pytest.mark.parametrize("make", [example_rules, example_of_categories, lambda: make_rules([("x", "float")], 0)])
def test_the_policy_names_script_and_style_by_hash_and_nothing_else(make):
    page = export(make(), "html")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    [script], [style] = (
        re.findall(r"<script>(.*?)</script>", page, re.DOTALL),
        re.findall(r"<style>(.*?)</style>", page, re.DOTALL),
    )
    hashes = ["sha256-" + base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (script, style)]
    directives = dict(part.split(" ", 1) for part in policy.replace("&#39;", "'").split("; "))
    assert directives == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "script-src": f"'{hashes[0]}'",
        "style-src": f"'{hashes[1]}'",
    }
    found = Reader(page)
    names = {name for name, _ in found.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"style", "src", "srcset", "action"}
    assert all(value.startswith("#") for name, value in found.attributes if name == "href")
    assert found.elements.count("script") == 2


@draws(40)
@given(rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_names_from_the_data_make_no_elements(rules):
    page = export(rules, "html")
    calm = replace(
        rules,
        columns=tuple(replace(column, name=f"c{i}") for i, column in enumerate(rules.columns)),
        clusters=tuple(replace(cluster, name=f"n{cluster.index}") for cluster in rules.clusters),
    )
    # A name that is shortened in the drawing has a title with all of it, and that of a leaf may take several lines.
    texts = (page, export(calm, "html"))
    found, expected = ([e for e in Reader(text).elements if e not in ("title", "tspan")] for text in texts)
    assert found == expected


def test_shortened_texts_that_differ_do_not_read_alike():
    texts = [f"Measure of quantity {i:02d} in the last {what}" for i in range(12) for what in ("quarter", "quarters")]
    for length in (16, 20, 36):
        shown = shorten_apart([*texts, *texts, "x"], length)
        assert len(set(shown.values())) == len(texts) + 1
        assert max(map(len, shown.values())) <= length
        assert shown["x"] == "x"


@draws(200)
@given(st.lists(st.text("ab ", max_size=40), max_size=20), st.integers(12, 40))
def test_no_text_is_longer_than_asked(texts, length):
    shown = shorten_apart(texts, length)
    assert set(shown) == set(texts)
    assert len(set(shown.values())) == len(shown)
    assert all(len(short) <= length and (short == text or "…" in short) for text, short in shown.items())


@pytest.mark.parametrize("n", [1, 4])
def test_the_name_of_a_leaf_is_drawn_whole(n):
    name = "Monthly charges <= 63, tenure 10 to 20, DSL or Fiber optic, " * n
    rules = example_rules()
    named = replace(rules, clusters=tuple(replace(c, name=f"{name}{c.index}") for c in rules.clusters))
    drawn = re.findall(r'<text class="nm".*?</text>', export(named, "html"))
    assert len(drawn) == len(named)
    for text in drawn:
        index = re.search(r'data-k="(\d+)"', text)[1]
        lines = re.findall(r"<tspan[^>]*>(.*?)</tspan>", text)
        assert " ".join(lines).replace("\u00a0", " ").replace("&lt;", "<") == f"{name}{index}"
        assert not any(line.endswith("&lt;=") for line in lines)


def heat_of(rules):
    return describe_heat(rules, cluster_colours([rules]), Pictures.of(rules), 1)


def test_the_heat_map_has_all_clusters_and_the_columns_that_separate_most():
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 1, (6, 40)) * np.linspace(5, 0.1, 40)
    X = pd.DataFrame(centers[np.arange(600) % 6] + rng.normal(0, 0.1, (600, 40)), columns=[f"c{i}" for i in range(40)])
    rules = ExplainableKMeans(6, random_state=0).fit(X).rules_
    heat = heat_of(rules)
    assert [row["column"] for row in heat["rows"]] == [column.name for column, _ in rules.separation[:30]]
    assert heat["left_out"] == 10
    assert [head["label"] for head in heat["heads"]] == [cluster.label for cluster in rules.by_size]
    page = export(rules, "html")
    assert page.count('<td class="h') == 30 * 6
    for row in heat["rows"]:
        place = [column.name for column in rules.columns].index(row["column"])
        assert [cell["text"] for cell in row["cells"]] == [format_number(c.means[place]) for c in rules.by_size]
        spread = X.iloc[:, place].std()
        for cell, cluster in zip(row["cells"], rules.by_size, strict=True):
            z = (cluster.means[place] - rules.columns[place].mean) / spread
            if all(abs(abs(z) - limit) > 0.1 for limit in LEVELS):  # by the histogram, the deviation is about that
                assert cell["level"] == np.sign(z) * sum(abs(z) >= limit for limit in LEVELS)


def test_one_far_row_leaves_the_colors_of_the_heat_map():
    rng = np.random.default_rng(0)
    spend = np.r_[rng.normal(200, 30, 5000), rng.normal(700, 30, 5000)]
    X = pd.DataFrame({"spend": spend, "age": rng.normal(40, 9, 10_000)})
    levels = []
    for far in (200.0, 90_000.0):
        X.loc[0, "spend"] = far
        rules = ExplainableKMeans(clusterer=np.repeat([0, 1], 5000), random_state=0).fit(X).rules_
        heat = heat_of(rules)
        [row] = [row for row in heat["rows"] if row["column"] == "spend"]
        levels.append({head["label"]: cell["level"] for head, cell in zip(heat["heads"], row["cells"], strict=True)})
    assert levels == [{0: -3, 1: 3}] * 2


def test_a_share_that_hardly_differs_has_no_color():
    frame = pd.DataFrame({"x": np.r_[np.zeros(50), np.ones(50)], "sex": ["f", "m"] * 50})
    frame.loc[0, "sex"] = "m"
    rules = ExplainableKMeans(clusterer=np.repeat([0, 1], 50)).fit(frame).rules_
    rows = {row["column"]: [cell["level"] for cell in row["cells"]] for row in heat_of(rules)["rows"]}
    assert rows["sex"] == [0, 0]
    assert sorted(rows["x"]) == [-3, 3]


def test_copies_are_those_of_the_exporters():
    rules = example_of_categories()
    data = unpacked(export(rules, "html", dialect="duckdb", table="a.b", title="T"))
    made = {
        "SQL": export(rules, "sql", style="select", dialect="duckdb", table="a.b"),
        "Python": export(rules, "python"),
        "Sheet": export(rules, "markdown", title="T"),
    }
    assert {form: text_of(data, data["forms"][form][0]) for form in made} == made


def test_a_form_that_cannot_express_the_rules_says_so():
    rules = make_rules([("x" * 200, "float")], (0, 0.5, 0, 1))
    data = unpacked(export(rules, "html", dialect="postgres"))
    assert "sql cannot express these rules" in text_of(data, data["forms"]["SQL"][0])
    assert text_of(data, data["forms"]["Python"][0]) == export(rules, "python")


def test_options_are_checked():
    for options, said in (
        ({"dialect": "cobol"}, "unknown SQL dialect 'cobol'"),
        ({"title": " "}, "title must be text"),
        ({"table": ""}, "'' is not a table name"),
    ):
        with pytest.raises(OptionError, match=said):
            export(example_rules(), "html", **options)


@pytest.mark.parametrize("rules", [balanced_rules(40), chain_rules(60)], ids=["balanced", "chain"])
def test_places_of_a_tree_do_not_meet(rules):
    places = lay_out(rules.nodes)
    leaves = [place.position for place, node in zip(places, rules.nodes, strict=True) if isinstance(node, Leaf)]
    assert sorted(leaves) == list(range(len(leaves)))
    assert len({(place.level, place.position) for place in places}) == len(places)
    for place in places[1:]:
        parent = places[place.parent]
        assert place.level == parent.level + 1
        assert (place.position < parent.position) == place.goes_left
    assert places[0].share == 1
    assert sum(p.share for p, n in zip(places, rules.nodes, strict=True) if isinstance(n, Leaf)) == pytest.approx(1)


def test_a_histogram_is_drawn_bin_by_bin():
    assert draw_bins([0.5, 0.25, 0, 0.25], 0.5) == "M0 46V0h54V23h54V46h54V23h54V46z"
    assert draw_bins([0.0, 0.0], 0.5) == "M0 46z"
    assert place_value(15, (10, 20, 40)) == 54
    assert place_value(30, (10, 20, 40)) == 162
    assert (place_value(-1, (10, 20)), place_value(99, (10, 20))) == (0, 216)


def test_pieces_and_their_lines_are_shared():
    texts = ["# T\n## A\na\n## B\nb\n", "# T\n## A\na\n## B\nc\n", ""]
    numbers, steps, lines = share_pieces({"one": texts, "two": ["## A\na\n"]})
    pieces = joined(steps, lines)
    assert ["".join(pieces[i] for i in found) for found in numbers["one"]] == texts
    assert "".join(pieces[i] for i in numbers["two"][0]) == "## A\na\n"
    assert sorted(pieces) == ["", "# T\n", "## A\na\n", "## B\nb\n", "## B\nc\n"]
    assert sorted(lines) == ["# T\n", "## A\n", "## B\n", "a\n", "b\n", "c\n"]


@given(st.dictionaries(st.text(max_size=3), st.lists(st.text("## A1.,\n\r\u2028<é😀", max_size=40), max_size=4)))
def test_any_texts_come_back(forms):
    numbers, steps, lines = share_pieces(forms)
    pieces = joined(steps, lines)
    assert {form: ["".join(pieces[i] for i in text) for text in texts] for form, texts in numbers.items()} == forms
    assert len(set(lines)) == len(lines)


def test_a_page_of_wine_is_small_and_one_of_50_clusters_is_not_large():
    random = np.random.default_rng(0)
    centers = random.random((50, 10))
    X = pd.DataFrame(
        centers[np.arange(5000) % 50] + random.normal(0, 0.05, (5000, 10)), columns=[f"x{i}" for i in range(10)]
    )
    page = export(ExplainableKMeans(50, random_state=0, refine="none").fit(X).rules_, "html")
    assert page.count('<article class="card') == 50
    assert len(page.encode()) < 400_000
    assert len(export(example_rules(), "html").encode()) < 60_000


def of_many_clusters(n_rows, spread):
    random = np.random.default_rng(0)
    centers = random.random((50, 16))
    values = centers[np.arange(n_rows) % 50] + random.normal(0, spread, (n_rows, 16))
    return pd.DataFrame(np.floor(10 * values), columns=[f"x{i}" for i in range(16)]).astype(int)


@pytest.fixture(scope="module")
def long_path():
    """Return a path of 20 trees of 50 clusters."""
    clusterer = KMeans(50, n_init=1, random_state=0)
    model = ExplainableKMeans(clusterer=clusterer, refine="none")
    tradeoffs = [0, *np.geomspace(3e-4, 3, 60)]
    path = tradeoff_path(model, of_many_clusters(5000, 0.3), tradeoffs=tradeoffs).rule_sets()
    assert len(path) >= 20
    return replace(path, trees=path.trees[:20])


@pytest.mark.renders
def test_a_page_of_50_clusters_and_20_trees_is_below_600_kb(long_path, tmp_path):
    long_path.to_json(tmp_path / "path.json")
    page = export(long_path.trees[0].rules, "html", path=tmp_path / "path.json")
    data = unpacked(page)
    assert len(data["trees"]) == 20
    assert all(len(clusters) == 50 for clusters in data["clusters"])
    assert len(page.encode()) < 600_000
    for i, tree in enumerate(long_path):
        assert text_of(data, data["forms"]["Sheet"][i]) == export(
            tree.rules, "markdown", title="Clusters and their rules"
        )
        assert text_of(data, data["forms"]["SQL"][i]) == export(tree.rules, "sql", style="select")


@pytest.mark.slow
def test_of_many_clusters_the_largest_moves_are_shown_and_the_rest_counted(long_path):
    rules = long_path.trees[5].rules
    page = export(rules, "html")
    moves = sorted(
        (
            (weight, cluster.index, origin)
            for cluster in rules.clusters
            for origin, weight in zip(cluster.reference_clusters, cluster.reference_weights, strict=True)
            if origin != cluster.index and weight
        ),
        key=lambda move: (-move[0], move[1:]),
    )
    [table] = re.findall(r'<table class="confusion">.*?</table>', page, re.DOTALL)
    cells = [re.sub("<[^>]*>", " ", row).split()[:3] for row in re.findall(r"<tr>.*?</tr>", table)[1:]]
    assert cells == [[str(index), str(origin), f"{weight:g}"] for weight, index, origin in moves[:20]]
    share = sum(weight for weight, *_ in moves[20:]) / rules.statistics.weight
    assert f"and so are {len(moves) - 20} smaller groups of this kind, together {100 * share:.1f}% of the table" in page


# --- points


def test_points_are_drawn_by_cluster_and_without_them_there_are_none(tmp_path):
    rules = example_rules()
    file = tmp_path / "points.csv"
    file.write_text("x,y,cluster\n0,0,0\n1,2,1\n0.5,1,1\n")
    page = export(rules, "html", points=file)
    [drawn] = re.findall(r'<svg class="dots".*?</svg>', page, re.DOTALL)
    assert sorted(path.count("h0") for path in re.findall(r"<path [^>]*>", drawn)) == [1, 2]
    assert "M12 12h0" in drawn
    assert "M508 348h0" in drawn
    assert page == export(rules, "html", points=Points(((0.0, 0.0, 0), (1.0, 2.0, 1), (0.5, 1.0, 1))))
    assert '<svg class="dots"' not in export(rules, "html")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n", "line 2 of .* does not hold two numbers and a cluster"),
        ("x,y,cluster\n1,2,0\n1,inf,0\n", "line 3 of "),
        ("x,y,cluster\n1,2,9\n", "points in cluster 9, which the rules do not have"),
        ("x,y,cluster\n", "has no rows"),
    ],
)
def test_a_file_without_points_is_refused(tmp_path, text, message):
    (tmp_path / "points.csv").write_text(text)
    with pytest.raises(OptionError, match=message):
        export(example_rules(), "html", points=tmp_path / "points.csv")


# --- a path


@pytest.fixture(scope="module")
def path():
    model = ExplainableKMeans(4, random_state=0, scale="minmax", refine="none")
    return tradeoff_path(model, load_wine(as_frame=True).data).rule_sets()


def written(path, tmp_path):
    path.to_json(tmp_path / "path.json")
    return tmp_path / "path.json"


def test_a_path_gives_a_slider_with_every_tree(path, tmp_path):
    assert len(path) > 2
    own = path.trees[1].rules
    page = export(own, "html", path=written(path, tmp_path))
    data = unpacked(page)
    assert data["shown"] == 1
    assert len(data["points"]) == len(data["trees"]) == len(path)
    for i, tree in enumerate(path):
        assert text_of(data, data["forms"]["Python"][i]) == export(tree.rules, "python")
        assert data["clusters"][i] == {str(cluster.index): cluster.name for cluster in tree.rules.clusters}
    assert re.findall(r'<input type="range"[^>]*max="(\d+)" value="(\d+)"', page) == [(str(len(path) - 1), "1")]
    assert page.count('<rect class="p" ') == len(path)
    assert page.count('<rect class="on" ') == 1  # the one chosen is drawn over the others


def test_rules_that_are_not_on_the_path_have_a_place_among_its_trees(path, tmp_path):
    data = load_wine(as_frame=True).data
    other = ExplainableKMeans(4, random_state=0, scale="minmax", method="imm").fit(data).rules_
    found = unpacked(export(other, "html", path=written(path, tmp_path)))
    assert len(found["trees"]) == len(path) + 1
    assert "the rules that this page was made from" in found["points"][found["shown"]]
    costs = [tree.rules.statistics.cost for tree in path]
    assert found["shown"] == sum(cost <= other.statistics.cost for cost in costs)


def test_a_path_of_another_clustering_is_refused(path, tmp_path):
    with pytest.raises(OptionError, match="must be of the same table and clustering"):
        export(example_rules(), "html", path=written(path, tmp_path))
    for text, message in (("{}", "'shallowrules-path/1'"), ("[", "not valid JSON")):
        file = tmp_path / "other.json"
        file.write_text(text)
        with pytest.raises(OptionError, match=message):
            export(example_rules(), "html", path=file)
