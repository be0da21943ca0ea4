"""Tables without rows, from standard input, from pipes and from devices."""

from __future__ import annotations

import os
import threading

import pandas as pd
import pytest
from click.testing import CliRunner
from commandline import call
from rulesets import make_rules

from shallowrules.cli.commands import shallowrules
from shallowrules.errors import DataError
from shallowrules.sources import files, read_table

TABLE = "a,c,t\n" + "".join(f"{row % 7}.5,{'xy'[row % 2]},{row % 3}\n" for row in range(40))


@pytest.fixture
def rules():
    columns = [("a", "float"), ("c", "text"), ("t", "boolean"), ("n", "integer")]
    make_rules(columns, (0, 1.5, (1, "x", 0, 1), (2, True, 0, (3, 4, 1, 2)))).to_json("rules.json")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("source", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.json"])
def test_a_table_without_rows_is_labelled(rules, source, target):
    types = {"a": "f8", "c": "str", "t": "bool", "n": "i8"}
    frame = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})
    (frame.to_csv if source.endswith("csv") else frame.to_parquet)(source, index=False)
    result = call("label", "rules.json", source, "-o", target)
    assert result.exit_code == 0, result.stderr
    if not target.endswith("json"):
        read = pd.read_csv if target.endswith("csv") else pd.read_parquet
        assert list(read(target).columns) == ["a", "c", "t", "n", "cluster"]
        assert len(read(target)) == 0


def test_one_of_several_tables_may_have_no_rows(rules):
    with open("one.csv", "w") as one, open("two.csv", "w") as two:
        one.write("a,c,t,n\n1.0,x,true,1\n")
        two.write("a,c,t,n\n")
    assert call("label", "rules.json", "one.csv", "two.csv", "-o", "out.csv").exit_code == 0
    assert pd.read_csv("out.csv")["cluster"].tolist() == [0]


def test_standard_input_is_a_table():
    result = CliRunner().invoke(shallowrules, ["run", "-", "-k", "2"], input=TABLE)
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir("table_rules")) == [
        "report.html",
        "report.md",
        "rules.json",
        "rules.py",
        "rules.sql",
        "settings.json",
    ]
    assert (
        'FROM "table"'
        in call("export", "table_rules/rules.json", "sql", "--style", "select", "--table", "table").stdout
    )
    again = CliRunner().invoke(shallowrules, ["label", "table_rules/rules.json", "-", "-o", "out.csv"], input=TABLE)
    assert again.exit_code == 0, again.stderr
    assert len(pd.read_csv("out.csv")) == 40
    empty = CliRunner().invoke(shallowrules, ["run", "-", "-k", "2", "--force"], input="")
    assert empty.exit_code == 3
    assert empty.stderr.startswith("Error: -: ")
    assert empty.stderr.endswith(" empty\n")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_a_device_is_refused(device):
    if not os.path.exists(device):
        pytest.skip(f"there is no {device}")
    with pytest.raises(DataError, match=rf"^{device}: .*\bdevice\b.* - "):
        read_table(device)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_pipe_is_copied_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 64)
    monkeypatch.setattr(files, "MAX_PIPED", len(TABLE))
    os.mkfifo("pipe.csv")

    def write(text):
        try:
            with open("pipe.csv", "w") as pipe:
                pipe.write(text)
        except BrokenPipeError:
            pass

    for text in (TABLE, TABLE + "9.5,x,1\n"):
        writer = threading.Thread(target=write, args=(text,))
        writer.start()
        if text == TABLE:
            assert read_table("pipe.csv").n_rows == 40
        else:
            with pytest.raises(DataError, match=r"^pipe\.csv: .* GB .*\bpipe\b"):
                read_table("pipe.csv")
        writer.join()
