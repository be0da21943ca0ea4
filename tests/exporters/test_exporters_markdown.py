"""The Markdown sheet: its text, its content, and that data in it stays text."""

import html
import re
from dataclasses import replace

import pytest
from draws import draws
from goldenfiles import assert_golden
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    balanced_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    plain_names,
    rule_sets,
)
from structures import MARKDOWN, markdown_structure

from shallowrules.errors import OptionError
from shallowrules.exporters import export
from shallowrules.exporters.markdown import MarkdownLanguage
from shallowrules.exporters.rendering import escape_markdown
from shallowrules.rules import RuleSet


def shown(text):
    """Return the text that a reader sees, each run of spaces as one."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", MARKDOWN.render(text))))


def test_golden():
    assert_golden("sheet.md", export(example_rules(), "markdown"))
    assert_golden("categories.md", export(example_of_categories(), "markdown"))


@draws(100)
@given(name=hostile_names | st.text(max_size=10))
def test_names_show_as_they_are(name):
    for text, kind in (
        (f"{escape_markdown(name)} x", "paragraph_open"),
        (f"## {escape_markdown(name)} x", "heading_open"),
    ):
        assert markdown_structure(text) == [kind, "inline", kind.replace("open", "close")]
        plain = "".join(c if c.isprintable() else " " for c in name)
        told_apart = shown(text).replace("\u2068", "").replace("\u2069", "")  # of right to left, from what is around
        assert told_apart.split() == [*plain.split(), "x"]


def _rename_values(document, index, data):
    """Give a column's categories other names, in the column and wherever the tree asks for them."""
    column = document["columns"][index]
    count = len(column["values"])
    new = data.draw(st.lists(hostile_texts, min_size=count, max_size=count, unique=True))
    renamed = dict(zip(column["values"], new, strict=True))
    column["values"] = new
    for node in document["nodes"]:
        if node.get("column") == index:
            node["values"] = [renamed[value] for value in node["values"]]


@draws(60)
@given(data=st.data())
def test_hostile_names_change_no_structure(data):
    tame = data.draw(rule_sets(plain_names, cluster_names=plain_names, max_depth=3, kinds=MIXED))
    document = tame.to_dict()
    names = data.draw(
        st.lists(hostile_names, min_size=len(tame.columns), max_size=len(tame.columns), unique=True).filter(
            lambda names: all(escape_markdown(name) for name in names)
        )
    )
    for column, name in zip(document["columns"], names, strict=True):
        column["name"] = name
    n_clusters = len(tame.clusters)
    names = data.draw(
        st.lists(hostile_names.filter(escape_markdown), min_size=n_clusters, max_size=n_clusters, unique=True)
    )
    for cluster, name in zip(document["clusters"], names, strict=True):
        cluster["name"] = name
    document["statistics"]["notes"] = [data.draw(hostile_names.filter(escape_markdown)), "note"]
    tame_document = {**tame.to_dict(), "statistics": {**document["statistics"], "notes": ["a", "b"]}}
    for index, column in enumerate(document["columns"]):
        if column["type"] == "text":
            _rename_values(document, index, data)
    hostile, tame = RuleSet.from_dict(document), RuleSet.from_dict(tame_document)
    assert markdown_structure(export(hostile, "markdown")) == markdown_structure(export(tame, "markdown"))


def test_clusters_come_largest_first():
    rules = example_rules()
    headings = re.findall(r"^## Cluster (.*)$", export(rules, "markdown"), re.MULTILINE)
    assert headings == [escape_markdown(cluster.title) for cluster in rules.by_size]


@pytest.mark.parametrize("value", [0.1, 12.85, 1e-07, 1e22, 123456.789, -5e-324, 5.0, 2.0**60])
def test_thresholds_are_exact(value):
    text = export(make_rules([("x", "float")], (0, value, 0, 1)), "markdown")
    found = re.search(r"is at most (\S+)\.$", text, re.MULTILINE)
    assert found
    assert float(found[1].replace(",", "")) == value


def test_integer_thresholds_are_exact():
    text = export(make_rules([("n", "integer")], (0, 2**53 + 1, 0, 1)), "markdown")
    assert "**n** is at most 9,007,199,254,740,993." in text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1234567.8, "1,234,568"),
        (12.3456, "12.35"),
        (0.000123456, "0.0001235"),
        (1.5e-7, "1.500e-07"),
        (-3.0, "-3"),
        (0.0, "0"),
        (1e20, "1.000e+20"),
        (1234, "1,234"),
        (999.96, "1,000"),
    ],
)
def test_other_numbers_are_readable(value, written):
    assert MarkdownLanguage().number(value) == written


def test_very_many_columns_are_cut_and_counted():
    columns = [(f"x{j}", "float") for j in range(50)]
    rules = make_rules(columns, (49, 1.0, 0, 1))
    text = export(rules, "markdown")
    assert text.count("\n30 other columns, in which it differs less, are not shown.\n") == 2
    assert text.count("x49 (tested)") == 2
    every = export(rules, "markdown", all_columns=True)
    assert "other columns" not in every
    assert all(f"| x{j} " in every for j in range(50))


def test_a_constant_column_deviates_in_nothing():
    document = make_rules([("x", "float")], 0).to_dict()
    document["columns"][0].update(minimum=10, maximum=10, mean=10)
    text = export(RuleSet.from_dict(document), "markdown")
    assert "| x | 10 | 10 |  |" in text


def test_a_single_leaf_takes_every_row():
    assert "Every row is here." in export(make_rules([("x", "float")], 3), "markdown")


@pytest.mark.parametrize(
    ("cost", "sentence"),
    [
        (1.05, "5.00% less tight"),
        (1.0, "costs nothing"),
        (0.9, "10.00% tighter than those of the clustering without rules."),
    ],
)
def test_the_price_is_in_words(cost, sentence):
    assert sentence in export(make_rules([("x", "float")], 0, cost=cost, reference_cost=1.0), "markdown")


def test_given_labels_need_not_be_the_tightest_clusters():
    rules = make_rules([("x", "float")], 0, cost=0.9, reference_cost=1.0, labelled=True)
    assert "10.00% tighter than the given ones." in export(rules, "markdown")


def test_weights_are_named():
    text = export(make_rules([("x", "float")], 0, weighted=True, weight=12.5), "markdown")
    assert "weighing 12.5 in all" in text
    assert "by its weight" in text


def test_the_title():
    assert export(example_rules(), "markdown", title="Wine *2024*").startswith("# Wine \\*2024\\*\n")
    for title in ("", " ", None):
        with pytest.raises(OptionError, match="title"):
            export(example_rules(), "markdown", title=title)


@pytest.mark.slow
def test_many_rules_are_not_listed_in_the_contents():
    text = export(balanced_rules(5000), "markdown")
    assert "one of 715 rules holds, see below" in text


def test_rules_of_a_database_say_so_and_no_more():
    rules = replace(make_rules([("x", "float")], (0, 1.0, 0, 1)), settings={"seed": 0})
    assert "rows of a database; seed 0" in export(rules, "html")
    sheet = export(rules, "markdown")
    assert "| Table | rows of a database (113 rows, 1 column) |" in sheet
    assert "| Seed | 0 |" in sheet
