"""``label --csv-safe``: no text of a CSV file is a formula to a spreadsheet, and all other texts are unchanged."""

from __future__ import annotations

import csv
import re
import sqlite3
from contextlib import closing
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import example, given
from hypothesis import strategies as st
from rulesets import small_rules

BEGINNINGS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

texts = st.builds(
    lambda beginning, rest: beginning + rest,
    st.sampled_from(["", *BEGINNINGS, " ", "'", '"', "x", "-5", "+1,5", "-1e5", "1"]),
    st.text(st.sampled_from("=+-@ '\",;19ax|!()\n.e"), max_size=6),
)


def is_number(text):
    return re.fullmatch(r"[+-]?([0-9][0-9.,]*|[.,][0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", text, re.I)


def safe(text):
    """Return the text that should replace a given one."""
    return f"'{text}" if text[:1] and text[0] in BEGINNINGS and not is_number(text) else text


def written(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


@pytest.mark.slow
@draws(30)
@given(
    st.lists(texts, min_size=1, max_size=6),
    texts.filter(lambda name: name.strip() and name.lower() not in ("x", "i", "cluster")),
    texts.filter(lambda cluster: cluster.strip() not in ("", "1", "2")),
    st.sampled_from(["parquet", "sqlite", "csv"]),
)
@example(['=cmd|"/c calc"!A0', "-5", "+1,5", "@x", "\t=1", "-1+1"], "=name", "=cluster", "csv")
def test_every_text_is_as_it_was_or_defused(values, name, cluster, kind):
    with TemporaryDirectory() as folder:
        small_rules().with_names({0: cluster}).to_json(f"{folder}/rules.json")
        numbers = [-0.25 - i for i in range(len(values))]
        frame = pd.DataFrame({"x": numbers, "i": range(len(values)), name: values})
        where = [f"{folder}/t.{kind}"]
        if kind == "parquet":
            frame.to_parquet(*where)
        elif kind == "csv":
            with open(*where, "w", encoding="utf-8", newline="") as stream:
                csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([frame.columns, *frame.values.tolist()])
        else:
            with closing(sqlite3.connect(*where)) as database:
                frame.to_sql("t", database, index=False)
            where = ["--database", f"sqlite:///{where[0]}", "--table", "t"]
        outputs = {}
        for switch in ((), ("--csv-safe",)):
            result = call("label", f"{folder}/rules.json", *where, "-o", f"{folder}/out{len(switch)}.csv", *switch)
            assert result.exit_code == outputs.get("status", result.exit_code), result.stderr
            outputs["status"] = result.exit_code
        if outputs["status"]:  # the table is not a CSV file that is read
            assert kind == "csv"
            return
        plain, defused = written(f"{folder}/out0.csv"), written(f"{folder}/out1.csv")
    assert defused == [[safe(text) for text in row] for row in plain]
    assert plain[0][2] == name
    assert [float(row[0]) for row in defused[1:]] == numbers


def test_without_the_switch_text_is_as_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i,=note\n-0.25,-1,=1+1\n")
    assert call("label", "rules.json", "t.csv", "-o", "out.tsv").exit_code == 0
    assert written("out.tsv") == [["x\ti\t=note\tcluster"], ["-0.25\t-1\t=1+1\t0"]]
    assert call("label", "rules.json", "t.csv", "-o", "safe.csv", "--csv-safe").exit_code == 0
    assert written("safe.csv") == [["x", "i", "'=note", "cluster"], ["-0.25", "-1", "'=1+1", "0"]]


@pytest.mark.parametrize("target", ["out.parquet", "out.json", "out.jsonl"])
def test_it_is_for_csv_files(tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    (tmp_path / "t.csv").write_text("x,i\n1,2\n")
    assert "--csv-safe" in refused("label", "rules.json", "t.csv", "-o", target, "--csv-safe", status=2)
    apply = ("--database", "sqlite:///t.db", "--table", "t", "--apply", "view")
    assert "--csv-safe" in refused("label", "rules.json", *apply, "--csv-safe", status=2)
