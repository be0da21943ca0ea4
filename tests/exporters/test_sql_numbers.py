"""Numbers in columns of text, and other numbers in columns of whole ones, as SQL reads them."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import (
    FRACTIONS,
    INFINITIES,
    NO_NUMBERS,
    make_rules,
    text_rules,
)
from sqltables import EXECUTED, Database

from shallowrules.exporters import export

duckdb = pytest.importorskip("duckdb")


def test_what_is_no_number_gets_no_cluster_even_in_a_column_that_held_integers():
    rules = make_rules([("n", "integer")], (0, 5, 0, 1))
    predicate = export(rules, "sql", dialect="duckdb", style="case")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {predicate} FROM (VALUES ('NaN'::DOUBLE), (7.5), (3)) t(n)").fetchall()
    assert found == [(None,), (1,), (0,)]
    predicate = export(rules, "sql", dialect="sqlite", style="case")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [("",), ("abc",), (7,), (float("inf"),), (3,)])
        found = connection.execute(f"SELECT {predicate} FROM t").fetchall()
    assert found == [(None,), (None,), (1,), (1,), (0,)]


@pytest.mark.slow
@pytest.mark.parametrize("imputed", [None, 1, 7])
@pytest.mark.parametrize("bound", [1, 0, -1, 2**53 - 1, 2**53, 2**53 + 1])
@pytest.mark.parametrize("engine", EXECUTED)
def test_fractions_in_a_column_that_held_whole_numbers(engine, bound, imputed, predicates):
    rules = text_rules(bound, imputed)
    texts = [*FRACTIONS, "nan"] if engine == "duckdb" else FRACTIONS
    # One row at a time: beside a fraction, NumPy takes whole numbers for floats.
    expected = [int(rules.assign({"n": np.array([text], object)})[0]) for text in texts]
    with Database(engine, rules, [(text,) for text in texts], types=("DOUBLE", "TEXT")) as database:
        case = export(rules, "sql", dialect=engine, style="case")
        found = [label for (label,) in database.query(f'SELECT {case} FROM "data" ORDER BY "row number"')]
    assert [-1 if label is None else label for label in found] == expected


def labels_of_texts(engine, rules, texts):
    with Database(engine, rules, [(text,) for text in texts], types=("TEXT", "TEXT")) as database:
        case = export(rules, "sql", dialect=engine, style="case")
        found = [label for (label,) in database.query(f'SELECT {case} FROM "data" ORDER BY "row number"')]
    return [-1 if label is None else label for label in found]


def label_of_text(rules, text):
    """Return the cluster of a text by rules of one cut, by the grammar of their numbers."""
    number = None if rules.columns[0].conversion.is_null(text) else rules.columns[0].conversion.number(text)
    if number is None or math.isnan(number) or number in rules.columns[0].conversion.null_numbers:
        return -1
    return int(number > rules.nodes[0].threshold)


@pytest.mark.parametrize("bound", [0, 2**53 + 1, 0.5])
@pytest.mark.parametrize("engine", EXECUTED)
def test_text_that_is_no_number_gets_no_cluster(engine, bound):
    rules = text_rules(bound)
    assert labels_of_texts(engine, rules, ["5", " -3 ", *NO_NUMBERS]) == [int(bound < 5), 0, *[-1] * len(NO_NUMBERS)]


@pytest.mark.parametrize("imputed", [None, 0, 7])
@pytest.mark.parametrize("bound", [0, 2**53 + 1, 0.5])
@pytest.mark.parametrize("engine", EXECUTED)
def test_infinity_in_a_column_of_text(engine, bound, imputed):
    rules = text_rules(bound, imputed)
    assert labels_of_texts(engine, rules, INFINITIES) == [int("-" not in text) for text in INFINITIES]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_infinity_may_mean_no_value(dialect):
    [column] = (rules := text_rules(0.5)).columns
    rules = replace(rules, columns=(replace(column, nulls=("inf", "NA")),))
    assert labels_of_texts(dialect, rules, ["inf", " inf ", "-inf", "NA", "1"]) == [-1, -1, 0, -1, 1]


number_like = st.one_of(
    st.sampled_from(INFINITIES),
    st.text("+-._0123456789eExXinfa \n\t", min_size=1, max_size=8),
    st.from_regex(r"[ ]?[+-]?([0-9]{1,3}[.]?[0-9]{0,2}|[.][0-9]{1,2})([eE][+-]?[0-9])?[ \n]?", fullmatch=True),
)


@draws(60)
@given(texts=st.lists(number_like, min_size=1, max_size=30), bound=st.sampled_from([0, 2**53 + 1, 0.5]))
@pytest.mark.parametrize("engine", EXECUTED)
def test_texts_are_read_by_the_grammar_of_numbers(engine, texts, bound):
    rules = text_rules(bound)
    assert labels_of_texts(engine, rules, texts) == [label_of_text(rules, text) for text in texts]
