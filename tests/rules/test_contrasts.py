"""What sets a cluster apart: marks, their wording, and where they are shown."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from draws import drawn
from rulesets import DELETE, change, make_rules
from sklearn.tree import DecisionTreeClassifier

from shallowrules import ExplainableKMeans, RuleSet, Tree, export, rules_of_tree
from shallowrules.errors import RulesFormatError
from shallowrules.rules.words.contrasts import MARKS, MIN_ROWS


def a_fit(n_rows: int = 300, seed: int = 0) -> RuleSet:
    """Return rules of a table with a long tail, a flag, a category, and an uninformative column."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n_rows)
    table = pd.DataFrame(
        {
            "noise": random.normal(size=n_rows),
            "level": random.normal(4.0 * group),
            "spending": np.exp(random.normal(5 - group, 1.0)),
            "member": (random.random(n_rows) < 0.2 + 0.3 * group).astype(int),
            "city": np.where(random.random(n_rows) < 0.7, np.array(["Bonn", "Ulm", "Kiel"])[group], "Jena"),
        }
    )
    table.loc[0, "spending"] = 1e9
    return ExplainableKMeans(3, cluster_columns=["level"], explain_columns=["level"], random_state=0).fit(table).rules_


def with_delta(delta: float) -> RuleSet:
    """Return rules of two clusters and a column with this delta in the first."""
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    signs = zip(rules.clusters, (1, -1), strict=True)
    return replace(rules, clusters=tuple(replace(each, deltas=(sign * delta,)) for each, sign in signs))


@pytest.mark.parametrize(
    ("delta", "mark"),
    [
        (0.0, ""),
        (0.149999, ""),
        (0.15, "↑ higher in 58% of pairs"),
        (-0.329999, "↓ lower in 66% of pairs"),
        (-0.33, "↓↓ lower in 67% of pairs"),
        (0.84, "↑↑ higher in 92% of pairs"),
        (0.985, "↑↑ higher in over 99% of pairs"),
        (1.0, "↑↑ higher in all pairs"),
    ],
)
def test_marks_and_their_words(delta, mark):
    text = export(with_delta(delta), "markdown")
    [line] = [line for line in text.split("## Cluster 0")[1].splitlines() if line.startswith("| x (tested)")]
    assert line.split(" | ")[-1] == f"{mark} |"


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("n_rows", [MIN_ROWS - 1, MIN_ROWS])
def test_few_rows_inside_or_outside_have_no_marks(n_rows, inside):
    X = np.concatenate([np.zeros(n_rows), np.ones(40)])[:, None]
    labels = (X[:, 0] > 0).astype(int)
    rules = rules_of_tree(Tree.from_sklearn(DecisionTreeClassifier().fit(X, labels)), X, reference=labels)
    cluster = 0 if inside else 1
    assert rules.contrasts[cluster][0].delta == (-1 if inside else 1)
    assert rules.contrasts[cluster][0].marks == (2 if n_rows == MIN_ROWS else 0)


def test_one_extreme_row_leaves_marks_where_they_are():
    random = np.random.default_rng(1)
    moved = 0
    for _ in range(drawn(200, 20)):
        n_rows = int(random.integers(60, 200))
        group = random.integers(0, 3, n_rows)
        X = np.column_stack([random.normal(group * random.uniform(0, 2), 1.0), random.normal(size=n_rows), group])
        tree = Tree.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X[:, 2:], group))
        tree = replace(tree, feature=np.where(tree.feature == 0, 2, tree.feature).astype(np.int32))
        extreme = [*random.choice([-1e15, 1e15], 2), random.integers(0, 3)]
        before, after = (rules_of_tree(tree, each) for each in (X, np.vstack([X, extreme])))
        for cluster in before.clusters:
            bound = 2 / min(cluster.rows, n_rows - cluster.rows)
            new = {each.index: each for each in after.contrasts[cluster.index]}
            for old in before.contrasts[cluster.index]:
                assert abs(new[old.index].delta - old.delta) <= bound
                if cluster.rows >= MIN_ROWS and all(abs(abs(old.delta) - limit) > bound for limit in MARKS):
                    assert new[old.index].marks == old.marks
                    moved += old.marks > 0
    assert moved


@pytest.mark.parametrize("weighted", [False, True])
def test_a_column_of_0_and_1_is_marked_alike_as_number_text_and_truth_value(weighted):
    random = np.random.default_rng(2)
    seen = set()
    for _ in range(drawn(100, 10)):
        n_rows = int(random.integers(40, 120))
        group = random.integers(0, 3, n_rows)
        flag = (random.random(n_rows) < random.random(3)[group]).astype(int)
        flag[:2] = 0, 1
        weight = random.integers(1, 4, n_rows).astype(float) if weighted else None
        table = pd.DataFrame({"level": 9.0 * group + random.random(n_rows), "number": flag, "truth": flag == 1})
        table["text"] = np.array(["no", "yes"])[flag]
        rules = ExplainableKMeans(clusterer=group, explain_columns=["level"]).fit(table, sample_weight=weight).rules_
        for found in rules.contrasts.values():
            by_name = {each.column.name: each for each in found}
            number, truth, text = (by_name[name] for name in ("number", "truth", "text"))
            assert number.delta == truth.delta == text.delta
            assert number.marks == truth.marks == text.marks
            assert number.words == truth.words == text.words
            seen.add(number.marks)
    assert seen == {0, 1, 2}


def test_one_row_far_out_does_not_hide_a_column():
    rules = a_fit()
    marks = [each.marks for found in rules.contrasts.values() for each in found if each.column.name == "spending"]
    assert sorted(marks)[1:] == [2, 2]
    assert "(median " in export(rules, "markdown")


def test_columns_are_listed_by_delta_in_sheet_page_workbook_and_explanation():
    rules = a_fit()
    sheet, page = export(rules, "markdown"), export(rules, "html")
    with zipfile.ZipFile(io.BytesIO(export(rules, "xlsx"))) as book:
        strings = book.read("xl/sharedStrings.xml").decode()
    [explained] = rules.explain({"level": [4.0]})
    for cluster in rules.clusters:
        contrasts = rules.contrasts[cluster.index]
        sizes = [abs(each.delta) for each in contrasts]
        assert sizes == sorted(sizes, reverse=True)
        part = (
            sheet.split(f"## Cluster {cluster.title}\n")[1].split("\n## ")[0].split("Compared with all other rows")[1]
        )
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        named = [line.removeprefix("| ").split(" | ")[0].removesuffix(" (tested)") for line in lines]
        tested = {c.feature for rule in rules.rules_of(cluster.index) for c in rule.conditions}
        assert [name.split(" is ")[0] for name in named] == [
            each.column.name for each in contrasts if each.marks or each.index in tested
        ]
        unsaid = len(contrasts) - len(lines)
        assert ("not shown." in part) == (unsaid > 0)
        assert f"\n{unsaid} other column" in part or not unsaid
        marked = [each for each in contrasts if each.marks]
        assert marked
        for each in marked[:4]:
            assert each.short in part
            assert each.words in page
            assert each.words in strings
    own = rules.contrasts[explained.cluster.index]
    said = str(explained).split("what sets the cluster apart:\n")[1].splitlines()
    assert said == [f"  {each}" for each in own if each.marks][:4]


def test_default_names_are_made_of_the_rules_alone():
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=200), "b": random.normal(size=200)})
    model = ExplainableKMeans(3, cluster_columns=["a"], explain_columns=["a"], random_state=0)
    rules = [model.fit(each).rules_ for each in (table, table.assign(b=-10 * table["a"]))]
    assert rules[0].contrasts != rules[1].contrasts
    assert [cluster.name for cluster in rules[0].clusters] == [cluster.name for cluster in rules[1].clusters]


def test_documents_without_deltas_are_read_and_mark_no_number():
    document = a_fit().to_dict()
    for column in document["columns"]:
        column.pop("quartiles", None)
    for cluster in document["clusters"]:
        del cluster["deltas"], cluster["medians"]
    rules = RuleSet.from_dict(document)
    for found in rules.contrasts.values():
        assert all(each.delta is None for each in found if each.column.is_numeric)
        assert {each.column.name for each in found if each.marks} == {"city"}
    text = export(rules, "markdown")
    clusters = text.split("## How these rules were made")[0]
    assert "of pairs" not in clusters
    assert "median" not in clusters


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("columns", 0, "quartiles"), [0.0, 1.0], "quartiles that are not three numbers"),
        (("columns", 0, "quartiles"), [0.5, 0.0, 0.7], "quartiles that are not three numbers"),
        (("columns", 0, "quartiles"), [-1e9, 0.0, 0.7], "quartiles that are not three numbers"),
        (("columns", 4, "quartiles"), [0.0, 0.0, 0.0], "quartiles that are not three numbers"),
        (("clusters", 1, "deltas"), [0.0], "1 deltas, not 5"),
        (("clusters", 1, "medians"), [], None),
        (("clusters", 1, "deltas", 0), 1.5, "delta 1.5, which is not from -1 to 1"),
        (("clusters", 1, "deltas", 0), 1.0, r"share \* \(1 - share\) \* delta sums to"),
        (("clusters", 1, "deltas", 0), DELETE, "4 deltas, not 5"),
        (("clusters", 1, "deltas", 4), 0.0, "delta or median of the type text"),
        (("clusters", 1, "medians", 0), 1e9, "median 1000000000.0, which is outside"),
    ],
)
def test_what_a_document_may_not_say(place, value, message):
    document = a_fit().to_dict()
    change(*place, value)(document)
    if message is None:
        assert RuleSet.from_dict(document).clusters[1].medians == ()
        return
    with pytest.raises(RulesFormatError, match=message):
        RuleSet.from_dict(document)
