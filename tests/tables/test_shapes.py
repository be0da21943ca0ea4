"""Tables as people have them: a shape is read as it is meant or refused with a way out, and every form agrees on it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commandline import call
from draws import few, spread
from shapes import SHAPES

from shallowrules.exporters import export
from shallowrules.labelling.answers import Answers
from shallowrules.rules import RuleSet
from shallowrules.sources import read_table
from shallowrules.verification.runners.python import define
from shallowrules.verification.runners.sql import labels_of_file

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesWarning")

TOLD_AGAIN = ("--header", "--skip", "--comment", "--footer", "--encoding", "--format", "--keep-text")
"""What rules do not keep of how a file was read, or only where it is needed."""

READS = ("name", "type", "codes", "dates", "decimal", "nulls", "format", "imputed")
"""What rules keep of how a column was read."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def fit(shape):
    """Write the file of a shape, fit it, and return how that ended."""
    Path("t.csv").write_bytes(shape.content)
    options = [*([] if "--labels" in shape.options else ["-k", 2]), *shape.options]
    return call("fit", "t.csv", *options, *(["--columns", shape.column] if shape.column else []), "-o", "r.json")


def reading(shape):
    """Return the options that every command needs."""
    return [
        word
        for option, value in zip(shape.options, [*shape.options, ""][1:], strict=True)
        if option in TOLD_AGAIN
        for word in (option, value)
    ]


def said(result):
    """Return the notes, warnings and refusals of a command."""
    return [line for line in result.stderr.splitlines() if line.strip() and "for the clustering, every col" not in line]


def check_refusal(result):
    """Assert that nothing was written, and that each proposed command runs."""
    assert result.exit_code == 3
    assert sorted(path.name for path in Path().iterdir()) == ["t.csv"]
    for line in result.stderr.splitlines():
        before, colon, command = line.partition(": ")
        if colon and before in ("This works", "Or"):
            assert call(*shlex.split(command)[1:], "--force").exit_code == 0, command


def tree_labels(rules, shape):
    """Return the clusters that the rules give the rows of the file as it was fitted."""
    told = dict(zip(reading(shape)[::2], reading(shape)[1::2], strict=True))
    values = {name[2:].replace("-", "_"): int(value) if value.isdigit() else value for name, value in told.items()}
    values |= {name: [values[name]] for name in ("format", "keep_text") if name in values}
    tested = [rules.columns[i].name for i in rules.tested_columns]
    texts = [rules.columns[i].name for i in rules.tested_columns if rules.columns[i].converts_text]
    return rules.assign(read_table("t.csv", columns=tested, as_text=texts, **values))


def check_labels(expected, shape):
    """Assert that `label` gives every row the rules' cluster."""
    done = call("label", "r.json", "t.csv", *reading(shape), "-o", "labels.csv", "--cluster-column", "of the tree")
    assert done.exit_code == 0, done.stderr
    rows = Path("labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    given = [re.search(r"(\d*)$", row)[1] for row in rows]
    assert given == ["" if cluster < 0 else str(cluster) for cluster in expected.tolist()]


def check_forms(rules, expected, shape, *exporters):
    """Run every form, assert that only differences reported for a loader occur, and return the messages."""
    options = [word for name in exporters for word in ("--exporter", name)]
    result = call("verify", "r.json", "t.csv", *reading(shape), *options)
    for line in result.stdout.splitlines():
        found = re.fullmatch(r" *(.+?) {2,}([\d,]+) +([\d,]+) *", line)
        if found is not None and not re.search(r"after|on the file itself", found[1]):
            assert found[3] == "0", line
    text = " ".join(result.stdout.split()) + " ".join(result.stderr.split())
    if result.exit_code == 1:
        assert re.search(
            r"Load it by|Specify the types|make it a \S+( number)? in the table|Make the empty texts NULL", text
        )
    for advice in re.findall(r"pandas\.read_csv\((.*?)\)(?=[^,)]|$)", text):
        if "'t.csv'" not in advice:
            continue
        frame = eval(f"pandas.read_csv({advice})", {"pandas": pandas})
        labels = define(export(rules, "pandas"))["assign_cluster"](frame)
        np.testing.assert_array_equal(labels.fillna(-1).astype(int), expected, advice)
    for advice in re.findall(r"read_csv\(…, (.*?)\)(?: |$)", text):
        labels = labels_of_file(rules, f"read_csv('t.csv', {advice})", len(expected), Answers(rules))
        np.testing.assert_array_equal(labels, expected, advice)
    lines = result.stdout.splitlines()
    table = next((i for i, line in enumerate(lines) if not line.strip() and i > 2), len(lines))
    return [f"verify: {result.exit_code}", *filter(str.strip, lines[table:]), *said(result)]


@pytest.mark.parametrize("name", few(SHAPES, 8))
def test_a_shape_is_read_as_it_is_meant_or_refused_with_a_way_out(name, words):
    shape = SHAPES[name]
    result = fit(shape)
    lines = [shlex.join(shape.options)] * bool(shape.options)
    if result.exit_code:
        check_refusal(result)
        words("\n".join([*lines, *said(result)]))
        return
    rules = RuleSet.from_json("r.json")
    for column in json.loads(Path("r.json").read_text(encoding="utf-8"))["columns"]:
        lines.append(", ".join(f"{key} {column[key]!r}" for key in READS if key in column))
    lines += [line for line in said(result) if line.startswith(("note:", "warning:"))]
    expected = tree_labels(rules, shape)
    check_labels(expected, shape)
    lines += check_forms(rules, expected, shape, "python", "pandas", "sql")
    words("\n".join(lines))


FOR_WORKBOOKS = [name for name in SHAPES if not name.startswith("dates")]
"""A workbook has no rules on dates."""


@pytest.mark.renders
@pytest.mark.slow
@pytest.mark.parametrize("name", spread(FOR_WORKBOOKS, 6))
def test_a_workbook_gives_the_labels_of_a_shape(name):
    if fit(SHAPES[name]).exit_code:
        return  # as the test above has it
    rules = RuleSet.from_json("r.json")
    found = check_forms(rules, tree_labels(rules, SHAPES[name]), SHAPES[name], "xlsx")
    assert found[0] == "verify: 0", found
