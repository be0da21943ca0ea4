"""Edits as a person types them: a new threshold alone, numbers and dates as files write them, names of clusters."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from commandline import call, refused
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules
from tables import write_people

from shallowrules.errors import DataError, OptionError
from shallowrules.rules import Cut, Membership, RuleSet
from shallowrules.rules.words.editing import edit
from shallowrules.rules.words.typed import read_threshold

OPTIONS = ("-k", "4", "--drop-missing", "--exclude", "weight,segment", "--category-weight", "0.2")


def test_one_tested_value_need_not_be_said(words):
    rules = make_rules(
        [("x", "float"), ("n", "integer"), ("city: old", "text"), ("city", "integer"), ("z", "float")],
        (0, 0.5, (1, 3, 0, (3, 7, 3, 4)), (1, 3, (2, "A -> B", 2, 3), (0, 0.75, 4, 0))),
    )
    nodes = edit(rules, replacements=["n: 50,000", "city: 8", "city: old: one more"]).nodes
    assert [node.threshold for node in nodes if isinstance(node, Cut)] == [0.5, 50_000, 8, 50_000, 0.75]
    assert [node.values for node in nodes if isinstance(node, Membership)] == [("one more",)]
    two = make_rules([("n", "integer"), ("x", "float")], (1, 0.5, (0, 3, 0, 1), (0, 5, 2, 3)))
    edited = edit(two, replacements=["n: 5 -> 3", "n: 4,000"])  # one is left
    assert [node.threshold for node in edited.nodes if isinstance(node, Cut)] == [0.5, 4000, 4000]
    assert edited.words == ("n: 5 -> 3", "n: 3 -> 4000")
    said = []
    for text in ("x: 0.6", "z: 1", "n:", "n: many"):
        with pytest.raises(OptionError) as caught:
            edit(rules, replacements=[text])
        said.append((text, str(caught.value)))
    words(said)


NUMBERS = {
    "12.5": {},
    "12,5": {"decimal": ","},
    "1.234,50": {"decimal": ",", "format": "1.234,50"},
    "1,234.50": {"format": "1,234.50"},
    "1 234,50": {"decimal": ",", "format": "1 234,50"},
    "12.5%": {"format": "12.5%"},
    "$1,234.50": {"format": "$1,234.50"},
}
"""How columns keep their numbers, by an example."""

TYPED = {
    ("float", "12.5"): {
        "50,000": 50_000,
        "1 675": 1675,
        "1\u202f675.5": 1675.5,
        "1'675": 1675,
        "1.675": 1.675,
        "1,67": None,
        "12,5": None,
        "12.5%": None,
        "1 67": None,
    },
    ("integer", "12.5"): {"50,000": 50_000, "-1 675": -1675, "1.675": None, "50%": None},
    ("float", "12,5"): {"12,5": 12.5, "1 675,5": 1675.5, "1.675": 1.675, "1,675": None, "12.5": 12.5, "12,5 %": None},
    ("float", "1.234,50"): {"12,5": 12.5, "1.675,5": 1675.5, "1.675": None, "1.6750": 1.675, "1,675": None},
    ("integer", "1.234,50"): {"1.675": 1675, "1,675": 1675},
    ("float", "12.5%"): {"12.5%": 12.5, "12.5 %": 12.5, "12.5": 12.5, "$12.5": None},
    ("float", "$1,234.50"): {"$1,234.50": 1234.5, "1234.5": 1234.5, "12.5%": None},
    ("date", "%d.%m.%Y"): {"3.2.2024": 19756, "2024-02-03": 19756, "31.2.2024": None, "2/3/2024": None},
    ("date", "%m/%d/%Y"): {"2/3/2024": 19756, "3.2.2024": None},
    ("date", ""): {"2024-02-03": 19756, "3.2.2024": None},
    ("timestamp", "%d.%m.%Y %H:%M"): {"3.2.2024 00:00": 19756 * 86_400_000_000 - 1},
}


def test_thresholds_as_people_type_them(words):
    said = []
    for (kind, form), typed in TYPED.items():
        rules = make_rules([("x", kind)], (0, 5, 0, 1))
        column = replace(rules.columns[0], **NUMBERS.get(form, {"dates": form}))
        for text, expected in typed.items():
            if expected is not None:
                assert read_threshold(text, column) == expected, (kind, form, text)
                continue
            with pytest.raises(DataError) as caught:
                read_threshold(text, column)
            said.append((f"{kind} {form}: {text}", str(caught.value)))
            if " ways" in str(caught.value):
                ways = str(caught.value).rpartition("write ")[2].split(" or ")
                assert len({read_threshold(way, column) for way in ways}) == len(ways) == 2
    words(said)


@given(st.floats(-1e9, 1e9), st.sampled_from(list(NUMBERS)), st.booleans())
def test_a_number_in_the_form_of_its_column_is_that_number_or_refused(value, form, rounds):
    value = round(value, 3) if rounds else value
    column = replace(make_rules([("x", "float")], (0, 5.0, 0, 1)).columns[0], **NUMBERS[form])
    text = column.conversion.written(value)
    try:
        assert read_threshold(text, column) == value
    except DataError:
        assert re.search(r"(?<!\d)[1-9]\d{0,2},\d{3}$", text)
        assert column.decimal == ","
    assert read_threshold(text, column, among=[value]) == value


def test_clusters_are_renamed(words):
    rules = make_rules([("x", "float")], (0, 4.0, (0, 2.0, 3, 1), (0, 6.0, 2, 0)), {3: "three", 1: "1", 2: "two = 2"})
    named = edit(rules, rename=["0=High = spenders", " three = 3 at first ", "two = 2=pair"])
    assert named.names == {0: "High = spenders", 3: "3 at first", 2: "pair"}
    assert (named.nodes, named.words) == (rules.nodes, ())
    assert edit(rules, rename=["three=two = 2", "2=three"]).names == {3: "two = 2", 2: "three"}
    for renames in (["1=both"], ["three=both"], ["3=both", "1=both"]):
        merged = edit(rules, merge=[(3, 1)], rename=renames)
        assert (merged.names, merged.merged) == ({1: "both", 2: "two = 2"}, {3: 1}), renames
    text = "cluster 0: x <= 4\ncluster 7 (new): 4 < x <= 6\ncluster 9: x > 6"
    assert edit(rules, text=text, rename=["new=seven", "9=nine"]).names == {7: "seven", 9: "nine"}
    awkward = make_rules([("x", "float")], (0, 4.0, 0, 1), {0: "1", 1: "a"})
    assert edit(awkward, rename=["0 (1)=zero", "1 (a)=one"]).names == {0: "zero", 1: "one"}
    said = []
    for like, renames in (
        (rules, ["5=five"]),
        (rules, ["0="]),
        (rules, ["three"]),
        (rules, ["1=a", "1=b"]),
        (awkward, ["1=x"]),
    ):
        with pytest.raises(OptionError) as caught:
            edit(like, rename=renames)
        said.append((" ".join(renames), str(caught.value)))
    words(said)


def test_new_names_go_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "people.csv")
    call("fit", "people.csv", *OPTIONS, "-o", "rules.json")
    before = RuleSet.from_json("rules.json")
    renamed = call("edit", "rules.json", "--rename", "0=High spenders", "--rename", "2=Savers", "-o", "named.json")
    assert renamed.exit_code == 0, renamed.stderr
    assert f"cluster 0 (High spenders) was called '{before.clusters[0].name}'" in renamed.stderr
    assert renamed.stderr.endswith("written        named.json\n")
    named = RuleSet.from_json("named.json")
    assert named == before.with_names({0: "High spenders", 2: "Savers"})
    edits = ["--merge", "1,2", "--rename", "High spenders=Big", "--table", "people.csv"]
    merged = call("edit", "named.json", *edits, "-o", "merged.json")
    assert merged.exit_code == 0, merged.stderr
    assert merged.stderr.endswith("written        merged.json\n")
    after = RuleSet.from_json("merged.json")
    assert {each.index: each.name for each in after.clusters if each.is_named} == {0: "Big", 1: "Savers"}
    assert call("label", "merged.json", "people.csv", "-o", "labels.csv").exit_code == 0
    lines = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert {"Big", "Savers"} < {line.rpartition(",")[2] for line in lines}
    for form in ("markdown", "html", "sql", "python"):
        assert all(name in call("export", "merged.json", form).stdout for name in ("Big", "Savers")), form
    alone = call("edit", "named.json", "--rename", "0=Great", "--table", "people.csv")
    assert alone.exit_code == 0, alone.stderr
    assert "written" not in alone.stderr
    found = RuleSet.from_dict(json.loads(alone.stdout))
    assert found.clusters[0].title == "0 (Great)"
    assert not any("edited by hand" in note for note in found.statistics.notes)
    assert "no cluster" not in refused("edit", "rules.json", "--rename", "9=x", status=2)
    assert "both be called 'A'" in refused("edit", "rules.json", "--rename", "0=A", "--rename", "1=A")
