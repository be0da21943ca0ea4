"""The comment before the first SQL statement, and that the text comes through a Jinja file unchanged."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2 import Environment, TemplateSyntaxError
from rulesets import FRAGMENTS, make_rules
from sqlstyles import styles_of

from shallowrules.errors import ExportError
from shallowrules.exporters import export
from shallowrules.exporters.sql import DIALECTS

EVERYWHERE = [(dialect, style) for dialect in DIALECTS for style in styles_of(dialect)]
MARKS = (
    "{{ x }}",
    "{% if y %}",
    "{#",
    "#}",
    "{{",
    "{%",
    "}}",
    "{% raw %}",
    "{% endraw %}",
    "{%- endraw -%}",
    "{%\nendraw%}",
)


def header(text):
    return [line[3:] for line in text.splitlines() if line.startswith("-- ")]


@pytest.mark.parametrize(("dialect", "style"), EVERYWHERE)
def test_the_header_says_what_made_the_text_and_what_it_is_worth(dialect, style):
    rules = make_rules([("x", "float"), ("i", "integer")], (0, 0.5, 0, (1, 3, 1, 2)))
    text = export(rules, "sql", dialect=dialect, style=style)
    made, worth, *others = header(text)
    assert made == f"Written by shallowrules {version('shallowrules')} from the rules with SHA-256 {rules.sha256}."
    s = rules.statistics
    assert worth.startswith(
        f"{s.rows} rows, 3 clusters; k-means cost {s.normalized_cost:.3f} times that of the clusters "
    )
    assert "A rule that tests a column does not match a row without a value in it." in others
    [unmatched] = [line for line in others if line.startswith("A row that no rule matches")]
    assert unmatched.endswith(
        {"where": "in no cluster.", "check": "a cluster.", "drift": "a cluster."}.get(style, "NULL.")
    )


def test_the_header_says_what_a_missing_value_and_an_unmatched_row_get():
    rules = make_rules([("x", "float"), ("a\nb", "text")], (0, 0.5, 0, (1, "u", 1, 2)))
    x, text = rules.columns
    some = replace(rules, columns=(x, replace(text, imputed="u")))
    lines = header(export(some, "sql", style="case", otherwise=-5))
    assert 'A missing value of "a b" counts as "u".' in lines
    assert "A rule that tests another column does not match a row without a value in it." in lines
    assert "A row that no rule matches gets -5." in lines
    every = replace(some, columns=(replace(x, imputed=2.5), some.columns[1]))
    lines = header(export(every, "sql", style="case"))
    assert 'A missing value of "x" counts as 2.5.' in lines
    assert not any("does not match" in line for line in lines)


@pytest.mark.parametrize(
    ("dialect", "kind", "threshold", "nulls", "said"),
    [
        ("mysql", "integer", 7, (), "YEAR"),
        ("mysql", "float", 0.5, (), "YEAR"),
        ("mysql", "float", 100.0, (), None),
        ("mysql", "integer", 1999, (), None),
        ("mysql", "integer", 7, ("NA",), None),  # then it is read as a number
        ("clickhouse", "integer", 2000, (), "Decimal"),
        ("clickhouse", "float", 2000.0, (), None),
        ("clickhouse", "integer", 2000, ("NA",), None),
        ("postgres", "float", 0.5, ("NA",), "extra_float_digits"),
        ("postgres", "float", 0.5, (), None),
        ("sqlite", "float", 1e-290, (), "1e-280"),
        ("sqlite", "float", 1e-270, (), None),
        ("oracle", "boolean", True, (), "truth value"),
        ("oracle", "integer", 1, (), None),
        ("spark", "text", "A", (), "CHAR(n)"),
        ("duckdb", "float", 0.5, (), None),
    ],
)
def test_the_header_says_what_the_engine_may_get_wrong_in_these_rules(dialect, kind, threshold, nulls, said):
    rules = make_rules([("x", kind)], (0, threshold, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], nulls=nulls),))
    for style in ("where", "case", "view"):
        cautions = [
            line
            for line in header(export(rules, "sql", dialect=dialect, style=style, guards="full"))
            if "cluster " not in line
        ]
        cautions = [line for line in cautions if any(line == c.text for c in DIALECTS[dialect].cautions)]
        assert len(cautions) == (said is not None)
        assert said is None or said in cautions[0]


def wrong_without_a_caution(engine, values, rules, table):
    """Return the values that SQL puts in a different cluster than the tree does, where its text has no caution."""
    text = export(rules, "sql", dialect=engine.dialect, style="case", guards="full")
    found = engine.query(f"SELECT {engine.quote('x')}, {text}\nFROM {table}")
    labels = {int(float(value)): int(label) for value, label in found}
    tree = dict(zip(values, rules.assign({"x": values}).tolist(), strict=True))
    said = any(caution.text in text for caution in DIALECTS[engine.dialect].cautions)
    assert sorted(labels) == sorted(tree)
    return said, [value for value in values if labels[value] != tree[value]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "float"])
@pytest.mark.parametrize("engine", ["mysql"], indirect=True)
def test_mariadb_says_so_wherever_a_year_gets_another_cluster(engine, kind):
    years = [0, 1901, 1969, 1970, 1998, 1999, 2000, 2007, 2069, 2155]
    engine.query("CREATE TABLE years (x YEAR)")
    try:
        engine.query(f"INSERT INTO years VALUES {', '.join(f'({year})' for year in years)}")
        seen = set()
        thresholds = [-50, -1, 0, 1, 7, 69, 70, 98, 99, 100, 101, 1900, 1998, 2155]
        for threshold in [*thresholds, *([t + 0.5 for t in thresholds] if kind == "float" else [])]:
            rules = make_rules([("x", kind)], (0, threshold, 0, 1))
            said, wrong = wrong_without_a_caution(engine, years, rules, "years")
            assert said or not wrong, threshold
            seen.add((said, bool(wrong)))
        assert (True, True) in seen  # else there is nothing to say
        assert (False, False) in seen
    finally:
        engine.query("DROP TABLE years")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["clickhouse"], indirect=True)
def test_clickhouse_says_so_wherever_a_decimal_gets_another_cluster(engine):
    seen = set()
    for scale in (2, 10, 22, 23, 30, 35, 37):
        table = f"(SELECT toDecimal128('0', {scale}) AS x UNION ALL SELECT toDecimal128('1', {scale}))"
        for threshold in (0, 1, 12, 120, 1999, 100_000, 2**31, 2**40, 2**53 - 1):
            rules = make_rules([("x", "integer")], (0, threshold, 0, 1))
            said, wrong = wrong_without_a_caution(engine, [0, 1], rules, table)
            assert said or not wrong, (scale, threshold)
            assert scale >= 23 or not wrong
            seen.add((said, bool(wrong)))
    assert (True, True) in seen
    assert (False, False) in seen


@given(
    names=st.lists(st.sampled_from([*FRAGMENTS, *MARKS]), min_size=5, max_size=5),
    style=st.sampled_from(["case", "select", "view", "where", "drift"]),
    dialect=st.sampled_from(sorted(DIALECTS)),
    trimmed=st.booleans(),
)
@example(names=["{% endraw %}", "a", "b", "{% raw %}", "c"], style="case", dialect="ansi", trimmed=False)
def test_text_comes_through_a_jinja_file_as_it_is(names, style, dialect, trimmed):
    column, *labels = (name.replace("\0", "") for name in names)
    column = column.replace("\r", "")  # Jinja drops it, and then there is no such column
    if dialect == "ansi":  # which has no other way to write it
        labels = [label.replace("\r", "") for label in labels]
    column = f"x {column}" if DIALECTS[dialect].names.refused_columns is None else "x"
    rules = make_rules([(column, "text")], (0, f"v {labels[0]}", 0, 1), {0: f"a {labels[1]}", 1: f"b {labels[2]}"})
    try:
        text = export(rules, "sql", dialect=dialect, style=style, cluster_as="name")
    except ExportError:  # the dialect cannot hold a name; other tests look at that
        return
    environment = Environment(trim_blocks=trimmed, lstrip_blocks=trimmed, keep_trailing_newline=True)
    try:
        read = environment.from_string(f"{{{{ 'before' }}}}\n{text}\nafter").render()
    except TemplateSyntaxError:
        assert re.search(r"\{%[-+]?\s*endraw", column)  # only such a name cannot be had
        return
    plain = text.replace("/* {% raw %} */\n", "/*  */\n").replace("/* {% endraw %} */\n", "/*  */\n")
    assert read == f"before\n{plain}\nafter"
    if not re.search(r"\{[{%#]", text):
        assert text == plain
