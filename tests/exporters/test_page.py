"""The page in a real browser: its content, its answers, and that nothing leaves it."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from browser import Opened, WithoutScript, chromium, type_rows
from markdown_it import MarkdownIt
from rulesets import as_columns, boundary_rows, example_of_categories, example_rules, make_rules, text_rules
from sklearn.datasets import load_wine

from shallowrules import ExplainableKMeans, export, tradeoff_path
from shallowrules.rules import read_names

pytestmark = pytest.mark.renders


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True).data
    return ExplainableKMeans(3, random_state=0, scale="minmax").fit(data).rules_


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens the page of rules; whatever it opened must have been quiet."""
    opened = []

    def show(rules, kind=Opened, options=None, **settings):
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(export(rules, "html", **(options or {})), encoding="utf-8")
        opened.append(kind(browser, path, **settings))
        return opened[-1].page

    yield show
    for each in opened:
        each.close()


# --- a row typed in


def imputed_rules():
    rules = example_of_categories()
    columns = list(rules.columns)
    columns[0] = replace(columns[0], imputed="Two year")
    columns[2] = replace(columns[2], imputed=12, nulls=("-1",))
    return replace(rules, columns=tuple(columns))


def large_integers():
    return make_rules([("n", "integer"), ("x", "float")], (0, 2**53, (0, 2**53 - 1, 0, 1), (1, 0.1, 2, 3)))


@pytest.mark.parametrize(
    "make",
    [example_rules, example_of_categories, imputed_rules, large_integers, lambda: text_rules(1.5, 2.5)],
    ids=["numbers", "categories", "imputed", "large integers", "texts"],
)
def test_a_typed_row_gets_the_cluster_of_assign(show, make):
    rules = make()
    rows = [row for seed in range(4) for row in boundary_rows(rules, seed, 60)]
    blank = [all(row[i] is None or row[i] != row[i] for i in rules.tested_columns) for row in rows]
    rows = [row for row, empty in zip(rows, blank, strict=True) if not empty]  # an empty form asks for nothing
    expected = [None if label == -1 else int(label) for label in rules.assign(as_columns(rules, rows))]
    assert [cluster for cluster, _ in type_rows(show(rules), rules, rows)] == expected
    assert len(set(expected)) >= 2


def test_the_smallest_change_moves_the_row_and_none_is_smaller(show, wine):
    page = show(wine)
    columns = {column.name: column for column in wine.columns}
    random = np.random.default_rng(0)
    tested = [wine.columns[i] for i in wine.tested_columns]
    thresholds = {
        c.name: {b for r in wine for k in r.conditions if k.column.name == c.name for b in (k.lower, k.upper)}
        for c in tested
    }
    rows = [
        tuple(random.uniform(c.minimum, c.maximum) if c in tested else 0.0 for c in wine.columns) for _ in range(60)
    ]
    for row, (cluster, move) in zip(rows, type_rows(page, wine, rows), strict=True):
        index, to, other = move
        changed = [value if i != index else float(to) for i, value in enumerate(row)]
        assert wine.assign([changed]).tolist() == [int(other)] != [cluster]
        size = abs(float(to) - row[index]) / (wine.columns[index].maximum - wine.columns[index].minimum)
        for i in wine.tested_columns:  # every other value that a row could be given, next to a threshold
            column = columns[wine.columns[i].name]
            for bound in thresholds[column.name] - {None}:
                for value in (bound, math.nextafter(bound, math.inf)):
                    if abs(value - row[i]) / (column.maximum - column.minimum) < size * (1 - 1e-12):
                        assert wine.assign([[value if j == i else v for j, v in enumerate(row)]])[0] == cluster


def test_the_way_through_the_tree_is_shown(show, wine):
    page = show(wine)
    page.fill("#row input >> nth=0", "3")
    page.fill("#row input >> nth=1", "800")
    answer = page.inner_text("#answer")
    assert re.search(r"This row is in\s+1", answer)
    assert "proline is 800, which is above 750" in answer
    assert page.locator(".tree .way").count() == 5  # two boxes, a leaf, two branches
    page.fill("#row input >> nth=1", "")
    assert "In no cluster: proline is missing" in page.inner_text("#answer")
    page.fill("#row input >> nth=1", "1,116")
    assert "proline must be a number" in page.inner_text("#answer")
    assert page.get_attribute("#row input >> nth=1", "aria-invalid") == "true"


# --- names, copies


def test_names_stay_in_the_browser_and_are_downloaded(show, wine):
    page = show(wine)
    name, note = (page.locator(f"#cluster-1 .naming {field}") for field in ("input", "textarea"))
    name.fill('Rich, "big" <b>')
    note.fill("two\nlines")
    assert page.inner_text("#cluster-1 h3 .nm") == 'Rich, "big" <b>'
    assert page.text_content('.tree .nm[data-k="1"]') == 'Rich, "big" <b>'
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert name.input_value() == 'Rich, "big" <b>'
    assert note.input_value() == "two\nlines"
    with page.expect_download() as download:
        page.click("#names")
    text = download.value.path().read_bytes().decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    default = {cluster.index: cluster.name for cluster in wine.clusters}
    typed = ["1", 'Rich, "big" <b>', "two\nlines"]
    assert rows == [["number", "name", "note"], ["0", default[0], ""], typed, ["2", default[2], ""]]
    names = read_names(download.value.path())
    assert (names.names, names.notes) == ({**default, 1: 'Rich, "big" <b>'}, {1: "two\nlines"})
    named = wine.with_names(names.names, names.notes)
    assert [cluster.is_named for cluster in named.clusters] == [False, True, False]


def test_given_notes_are_shown_changed_and_downloaded(show, wine, tmp_path):
    page = show(wine.with_names({1: "Rich"}, {1: "<b>seen</b>\nin May", 2: "two"}))
    shown, typed = page.locator("#cluster-1 p.note"), page.locator("#cluster-1 .naming textarea")
    assert shown.text_content() == typed.input_value() == "<b>seen</b>\nin May"
    assert page.locator("#cluster-0 p.note").text_content() == ""
    typed.fill("")
    assert not shown.is_visible()
    page.locator("#cluster-0 .naming textarea").fill("new")
    with page.expect_download() as download:
        page.click("#names")
    names = read_names(download.value.path())
    assert names.names == {cluster.index: "Rich" if cluster.index == 1 else cluster.name for cluster in wine.clusters}
    assert names.notes == {0: "new", 2: "two"}


def test_given_names_are_shown_and_downloaded(show):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {0: "λ, small"})
    page = show(rules)
    assert page.inner_text("#cluster-0 h3 .nm") == "λ, small"
    with page.expect_download() as download:
        page.click("#names")
    assert '0,"λ, small",\r\n1,,\r\n' in download.value.path().read_bytes().decode()


def test_noise_is_minus_one_in_answers_cells_and_names(show):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1), {1: "noise"})
    rules = replace(rules, clusters=tuple(replace(each, noise=each.index == 1) for each in rules.clusters))
    page = show(rules)
    assert [cluster for cluster, _ in type_rows(page, rules, [[0.0], [1.0]])] == [0, 1]
    assert page.inner_text("#answer .label").split() == ["This", "row", "is", "in", "-1", "noise"]
    page.locator(".heat tbody td").nth(1 + [each.index for each in rules.by_size].index(1)).hover()
    assert " in cluster -1 (noise), " in page.text_content(".cell")
    with page.expect_download() as download:
        page.click("#names")
    assert "0,,\r\n-1,noise,\r\n" in download.value.path().read_bytes().decode()


def test_copies_are_what_the_exporters_make(show, wine):
    options = {"dialect": "postgres", "table": "shop.wines", "title": "Wines"}
    page = show(wine, options=options, permissions=["clipboard-read", "clipboard-write"])
    made = {
        "SQL": export(wine, "sql", style="select", dialect="postgres", table="shop.wines"),
        "Python": export(wine, "python"),
        "Sheet": export(wine, "markdown", title="Wines"),
    }
    for form, text in made.items():
        page.click(f'[data-copy="{form}"]')
        page.locator("#said", has_text=f"{form} copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == text


# --- without this and that


def test_cards_and_tree_stay_without_javascript(show, wine):
    page = show(wine, WithoutScript)
    assert page.locator(".card").count() == page.locator(".tree .leaf").count() == 3
    assert page.locator("input:visible, textarea:visible, button:visible").count() == 0
    assert not page.locator("#row").is_visible()
    assert page.locator("#cluster-1 .bins").first.is_visible()


def test_without_histograms_there_are_no_pictures_of_them(show, wine):
    page = show(wine.without_histograms())
    assert page.locator(".card").count() == 3
    assert page.locator(".bins, .confusion").count() == 0


def test_it_prints_without_a_page_for_each_cluster(show, wine):
    pdf = show(wine).pdf(format="A4")
    assert 2 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type/Page/") <= 4


def test_print_leaves_no_page_half_empty(show, wine):
    page = show(wine, viewport={"width": 703, "height": 1000})
    page.emulate_media(media="print")
    # What may not be broken is so low that what is left free at the end of a page is less than a third of it.
    heights = page.evaluate("""[...document.querySelectorAll(".card figure, .rule, .out, .heat tr, .tiles")].map(
        (part) => part.getBoundingClientRect().height)""")
    assert 0 < max(heights) < 1000 / 3
    assert page.evaluate("""[...document.querySelectorAll(".card")].every(
        (card) => ["breakBefore", "breakInside"].every((name) => getComputedStyle(card)[name] === "auto"))""")


# --- the heat map


@pytest.fixture(scope="module")
def many():
    random = np.random.default_rng(0)
    centers = random.normal(0, 5, (14, 4))
    X = centers[np.arange(700) % 14] + random.normal(0, 0.3, (700, 4))
    return ExplainableKMeans(14, random_state=0).fit(X).rules_


def test_the_heat_map_is_gone_through_by_arrow_keys(show, many):
    page = show(many)
    cells = page.locator(".heat td[tabindex='0']")
    assert cells.count() == 1
    cells.focus()
    seen = []
    for key in ("ArrowRight", "ArrowDown", "End", "ArrowRight", "Home", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        places = "(e => [e.parentElement.sectionRowIndex, e.cellIndex - 2])(document.activeElement)"
        seen.append(tuple(page.evaluate(places)))
        assert cells.count() == 1
        value = page.evaluate("getComputedStyle(document.activeElement.firstElementChild).opacity")
        assert value == "1"
        assert page.inner_text(".cell").split(": ")[1].startswith(page.evaluate("document.activeElement.textContent"))
    assert seen == [(0, 1), (1, 1), (1, 13), (1, 13), (1, 0), (1, 0), (0, 0)]


def test_values_of_the_heat_map_are_shown_in_print_and_those_of_few_clusters_always(show, many, wine):
    opacity = """[...new Set([...document.querySelectorAll(".heat td b")].map(
        (value) => getComputedStyle(value).opacity))]"""
    page = show(many)
    page.mouse.move(0, 0)
    assert page.evaluate(opacity) == ["0"]
    page.emulate_media(media="print")
    assert page.evaluate(opacity) == ["1"]
    assert show(wine).evaluate(opacity) == ["1"]


def test_a_long_typed_name_keeps_its_end_in_the_drawing(show, wine):
    page = show(wine)
    for cluster, end in ((0, "first"), (1, "second")):
        page.locator(f"#cluster-{cluster} .naming input").fill("a very long name " * 8 + end)
    shown = [page.text_content(f'.tree .nm[data-k="{cluster}"] tspan:last-of-type') for cluster in (0, 1)]
    assert [text.endswith(end) for text, end in zip(shown, ("first", "second"), strict=True)] == [True, True]


HOSTILE = [
    "<script>window.hacked=1</script>", "</script><script>window.hacked=1</script>", "' onmouseover='window.hacked=1",
    '"><img src=x onerror=window.hacked=1>', "</style><svg onload=window.hacked=1>", "{{ 7*7 }}{% raw %}", "<!--",
    "]]>", "\u202egnp.exe", "&lt;b&gt;", "javascript:window.hacked=1", "<base href=http://a.b/>", "http://a.b/x.png",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_hostile_names_stay_text(show, seed):
    random = np.random.default_rng(seed)
    names = [HOSTILE[i] for i in random.permutation(len(HOSTILE))]
    columns = [(names[0], "text"), (names[1], "float"), (names[2], "text")]
    tree = (0, names[3], (1, 0.5, 0, 1), (2, (names[4], names[5]), 2, 3))
    rules = make_rules(columns, tree, {0: names[6], 1: names[7], 2: names[8]}, notes=(names[9], names[10]))
    page = show(rules, options={"title": names[11]})
    assert page.evaluate("window.hacked === undefined && document.scripts.length === 2")
    assert page.locator("img, iframe, base, object, embed, link").count() == 0
    plain = "".join(c if c.isprintable() else " " for c in names[6])
    assert page.text_content("#cluster-0 h3 .nm") == plain
    page.locator("#cluster-1 .naming input").fill(names[12])
    assert page.text_content("#cluster-1 h3 .nm") == names[12]
    rows = boundary_rows(rules, seed, 30)
    expected = [None if label == -1 else int(label) for label in rules.assign(as_columns(rules, rows))]
    assert [cluster for cluster, _ in type_rows(page, rules, rows)] == expected
    assert page.evaluate("window.hacked === undefined")


@pytest.mark.parametrize(
    "settings",
    [
        {"color_scheme": "light"},
        {"color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}},
        {"viewport": {"width": 320, "height": 640}},
    ],
    ids=["light", "dark", "phone", "enlarged four times"],
)
def test_axe_finds_nothing(show, wine, many, settings):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    for rules in (wine, many, example_of_categories()):
        page = show(rules, **settings)
        page.locator("#row [data-c] >> nth=0").press("Tab")
        type_rows(page, rules, [tuple(1 if c.is_numeric else c.values[0] for c in rules.columns)])
        found = axe.Axe().run(page).response["violations"]
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found] == []
        # Nothing is wider than the window but what scrolls by itself.
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_all_of_it_is_reached_by_keyboard(show, wine):
    page = show(wine)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("(e => e.id || e.dataset.copy || e.dataset.c || e.tagName)(document.activeElement)"))
    tested = {str(i) for i in wine.tested_columns}
    assert {"names", "SQL", "Python", "Sheet", "INPUT", "TEXTAREA", "a", *tested} <= reached


# --- the slider


@pytest.fixture(scope="module")
def path():
    model = ExplainableKMeans(4, random_state=0, scale="minmax", refine="none")
    return tradeoff_path(model, load_wine(as_frame=True).data).rule_sets()


POINTS = """() => [...document.querySelectorAll(".curve rect")].map(
    (point) => ["x", "y"].map((side) => point.getAttribute(side)).join())"""


def test_the_slider_moves_through_the_trees_by_keyboard(show, path, tmp_path):
    file = tmp_path / "path.json"
    path.to_json(file)
    page = show(path.trees[0].rules, options={"path": file}, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#cluster-2 .naming input").fill("named")
    colours = page.evaluate(COLOURS)
    rows = [tuple(row) for row in load_wine().data[::9].tolist()]
    page.focus("#slider")
    for i, tree in enumerate(path):
        assert page.input_value("#slider") == str(i)
        assert page.inner_text("#point").startswith(f"Tree {i + 1} of {len(path)}")
        places = page.evaluate(POINTS)
        assert places[-1] == places[i]  # the chosen point is drawn last, over the others
        assert len(places) == len(path) + 1
        assert page.locator(".tree .leaf").count() == len(tree.rules)
        assert page.inner_text("#cluster-2 h3 .nm") == "named"
        assert page.locator("#cluster-2 .naming input").input_value() == "named"
        assert page.evaluate(COLOURS) == colours
        found = [cluster for cluster, _ in type_rows(page, tree.rules, rows)]
        assert found == tree.rules.assign(rows).tolist()
        page.click('[data-copy="SQL"]')
        page.locator("#said", has_text="SQL copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == export(tree.rules, "sql", style="select")
        page.focus("#slider")
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "slider"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    assert [each["id"] for each in axe.Axe().run(page).response["violations"]] == []


COLOURS = """Object.fromEntries([...document.querySelectorAll('.card')].map(
  card => [card.id, [...card.classList].find(name => /^k[0-9]$/.test(name))]).sort())"""


# --- names that are read from right to left

# Where a category ends and what is after it begins, of each text such as "category: 12.3%" or "category (tested)".
POSITIONS = """([category, between, end]) => {
  const places = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const at = node.data.indexOf(category), after = node.data.indexOf(between, at) + between.length;
    if (at < 0 || after < between.length || !node.data.endsWith(end) || !node.parentElement.offsetWidth) continue;
    const left = (start, end) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      return range.getBoundingClientRect();
    };
    places.push({text: node.data, category: left(at, at + category.length).right, after: left(after, after + 1).left,
                 end: left(node.data.length - 1, node.data.length).left});
  }
  return places;
}"""


@pytest.mark.parametrize("category", ["תל אביב", "القاهرة", "א1", "1א", "١٢", "plain"])
def test_what_is_said_of_a_category_stands_to_the_right_of_it(browser, tmp_path, category):
    rules = make_rules([("עיר", "text"), ("x", "float")], (0, category, (1, 0.5, 0, 1), (0, "zz", 2, 3)))
    sheet = MarkdownIt("commonmark").enable("table").render(export(rules, "markdown"))
    sheet = f'<!doctype html><meta charset="utf-8">{sheet}'
    for form, text, between, end in (("page", export(rules, "html"), ": ", "%"), ("sheet", sheet, " (", ")")):
        path = tmp_path / f"{form}.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        places = page.evaluate(POSITIONS, [category, between, end])
        page.close()
        assert places, form
        for place in places:
            assert place["category"] <= place["after"] < place["end"], (form, place)
