"""The tree as PMML: its XML, and the predictions of a scoring engine."""

from __future__ import annotations

import math
import operator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from draws import draws
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from rulesets import (
    MIXED,
    boundary_rows,
    chain_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    route,
    rule_sets,
)

from shallowrules.errors import ExportError, MissingExtraError
from shallowrules.exporters import export
from shallowrules.exporters.context import is_exact_in_doubles
from shallowrules.rules import Leaf
from shallowrules.verification.runners.pmml import NO_PREDICTION, open_models

XML = "{http://www.dmg.org/PMML-4_4}"


def in_xml(rules, **options):
    """Return the document, None where XML cannot hold a name or a category."""
    try:
        return export(rules, "pmml", **options)
    except ExportError as error:
        assert "XML cannot hold the character" in str(error)  # noqa: PT017
        return None


@draws(200, deadline=None)
@given(rules=rule_sets(hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts))
def test_names_stay_in_their_attributes(rules):
    text = in_xml(rules, cluster_as="name", cluster_column="predicted by rules")
    if text is None:
        return
    root = ElementTree.fromstring(text)
    fields = [field.get("name") for field in root.iter(f"{XML}DataField")]
    assert fields == [*(rules.columns[j].name for j in rules.tested_columns), "predicted by rules"]
    leaves = [node for node in root.iter(f"{XML}Node") if node.get("score") is not None]
    names = {cluster.index: cluster.name for cluster in rules.clusters}
    assert [leaf.get("score") for leaf in leaves] == [
        names[node.cluster] for node in rules.nodes if isinstance(node, Leaf)
    ]
    assert {p.get("field") for p in root.iter(f"{XML}SimplePredicate")} <= set(fields[:-1])


OPERATORS = {"equal": operator.eq, "notEqual": operator.ne, "lessOrEqual": operator.le, "greaterThan": operator.gt}


def holds(predicate, row):
    """Return whether a predicate is true of a row without gaps, judged by the standard's wording alone."""
    kind = predicate.tag.removeprefix(XML)
    if kind in ("True", "False"):
        return kind == "True"
    if kind == "CompoundPredicate":
        join = {"and": all, "or": any}[predicate.get("booleanOperator")]
        return join(holds(each, row) for each in predicate)
    value, held = predicate.get("value"), row[predicate.get("field")]
    held = str(held).lower() if isinstance(held, bool) else held
    return OPERATORS[predicate.get("operator")](held, {str: str, float: float, int: Fraction}[type(held)](value))


@draws(200, deadline=None)
@given(rules=rule_sets(kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
def test_its_predicates_lead_each_row_to_the_leaf_of_the_tree(rules, seed):
    text = in_xml(rules)
    if text is None:
        return
    root = ElementTree.fromstring(text).find(f"{XML}TreeModel/{XML}Node")
    for row in boundary_rows(rules, seed, 20):
        if any(value is None or value != value for value in row):
            continue
        node, held = root, named(rules, [row])[0]
        while node.get("score") is None:
            [node] = [child for child in node.findall(f"{XML}Node") if holds(child[0], held)]
        assert int(node.get("score")) == route(rules, row)


@pytest.mark.parametrize("character", ["\0", "\x1b", "\ud800", "\uffff"])
def test_what_xml_cannot_hold_is_named(character):
    with pytest.raises(ExportError, match=f"U\\+{ord(character):04X}"):
        export(make_rules([(f"a{character}", "float")], (0, 1.0, 0, 1)), "pmml")


def test_a_column_of_the_name_of_the_prediction():
    with pytest.raises(ExportError, match="'cluster'"):
        export(make_rules([("cluster", "float")], (0, 1.0, 0, 1)), "pmml")


def test_a_deep_tree():
    rules = chain_rules(3000)
    text = export(rules, "pmml")
    assert text.count("<Node ") == len(rules.nodes)
    assert text.count("</Node>") == len(rules.nodes)


@pytest.fixture(scope="module")
def score():
    """Return a function that gives the predictions of a document for rows."""

    def score(text, rows):
        model = read(text)
        found = [next(iter(model.predict(row).values())) for row in rows]
        return [-1 if cluster in NO_PREDICTION or cluster != cluster else cluster for cluster in found]

    with ExitStack() as opened:
        try:
            read = opened.enter_context(open_models())
        except MissingExtraError as error:
            pytest.skip(str(error))
        yield score


def named(rules, rows):
    return [dict(zip([column.name for column in rules.columns], row, strict=True)) for row in rows]


@pytest.mark.services
def test_an_engine_gives_the_clusters_of_the_tree(score):
    cases = [(example_rules(), 0), (example_of_categories(), 1)]

    @draws(80, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(rules=rule_sets(hostile_names, kinds=MIXED, categories=hostile_texts), seed=st.integers(0, 2**32))
    def draw(rules, seed):
        told_apart = all(
            is_exact_in_doubles(rules, j) for j in rules.tested_columns if rules.columns[j].type == "integer"
        )
        if told_apart and in_xml(rules) is not None:  # the engine compares whole numbers as doubles
            cases.append((rules, seed))

    draw()
    assert len(cases) > 2
    for rules, seed in cases:
        rows = boundary_rows(rules, seed)
        assert score(export(rules, "pmml"), named(rules, rows)) == [route(rules, row) for row in rows], rules


@pytest.mark.services
def test_an_engine_takes_what_means_no_value_as_missing(score):
    rules = make_rules([("x", "float"), ("c", "text")], (0, 0.5, 0, (1, "A", 1, 2)))
    nulls = tuple(replace(column, nulls=("NA", "-9")) for column in rules.columns)
    rows = [{"x": -9.0, "c": "A"}, {"x": 1.0, "c": "NA"}, {"x": 1.0, "c": "B"}, {"x": math.nan, "c": "A"}]
    assert score(export(replace(rules, columns=nulls), "pmml"), rows) == [-1, -1, 2, -1]
    imputed = (replace(nulls[0], imputed=0.25), replace(nulls[1], imputed="A"))
    assert score(export(replace(rules, columns=imputed), "pmml"), rows) == [0, 1, 2, 0]


@pytest.mark.services
def test_an_engine_cuts_no_fraction_off_a_whole_number(score):
    rules = make_rules([("n", "integer")], (0, 1, 0, (0, 7, 1, 2)))
    rows = [{"n": value} for value in (1, 1.4, 2, 7, 7.5, -(2**63), 2**63 - 1)]
    assert score(export(rules, "pmml"), rows) == [0, 1, 1, 1, 2, 0, 2]
    rules = make_rules([("n", "integer")], (0, 2**53 + 1, 0, 1))
    assert score(export(rules, "pmml"), [{"n": 2**53 + step} for step in range(4)]) == [0, 0, 1, 1]


def test_the_output_has_a_name_without_blanks_and_the_header_the_hash_of_the_rules():
    rules = example_rules()
    for options, name in (({}, "predicted_cluster"), ({"cluster_column": "the  cluster\n"}, "predicted_the_cluster")):
        root = ElementTree.fromstring(export(rules, "pmml", **options))
        [output] = root.iter(f"{XML}OutputField")
        assert output.get("name") == name
        [extension] = root.iter(f"{XML}Extension")
        assert (extension.get("name"), extension.get("value")) == ("rules_sha256", rules.sha256)
    with pytest.raises(ExportError, match="the table has a column 'predicted_cluster'"):
        export(make_rules([("predicted_cluster", "float")], (0, 0.5, 0, 1)), "pmml")
