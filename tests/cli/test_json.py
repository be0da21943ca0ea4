"""``--json``: one document on stdout whatever comes of a command, valid by its schema, with the terminal's figures."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from commandline import COMMAND, call, spawn
from draws import draws
from hypothesis import HealthCheck, given
from jsonresults import DOCUMENT, DOES, FINDS, asked, document_of, figure, find, make_folder, rows_of
from rulesets import MIXED, hostile_names, hostile_texts, make_rules, rule_sets, small_rules

from shallowrules.cli import commands
from shallowrules.cli.escaping import as_utf8, printable
from shallowrules.cli.failures import DONE, FOUND, INTERRUPTED, MISUSED, STOPPED
from shallowrules.cli.figures import rules_of
from shallowrules.cli.results import SCHEMA, plain, record_note, recording
from shallowrules.rules import changes_between

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_folder(tmp_path_factory)


@pytest.fixture(autouse=True)
def in_folder(folder):
    """Every test works in the folder."""


# Outcomes ------------------------------------------------------------------------------------------


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    assert DOCUMENT["title"] == DOCUMENT["properties"]["schema"]["const"] == SCHEMA
    named = [
        rule["if"]["properties"]["command"]["const"]
        for rule in DOCUMENT["allOf"]
        if "command" in rule["if"]["properties"]
    ]
    assert sorted(named) == sorted(DOES)
    offered = [
        name
        for name in commands.NAMES
        if any("--json" in each.opts for each in import_module(f"shallowrules.cli.commands.{name}").command.params)
    ]
    assert offered == sorted(DOES)


@pytest.mark.parametrize("name", DOES)
def test_what_is_done_is_a_document_beside_the_same_text(name):
    said = call(*DOES[name])
    for path in ("out.csv", "new.json"):
        Path(path).unlink(missing_ok=True)
    shutil.rmtree("t_rules", ignore_errors=True)
    document, stderr = asked(*DOES[name])
    assert (document["command"], document["status"], document["error"]) == (name, DONE, None)
    assert document["result"]
    assert sorted(stderr.splitlines()) == sorted([*said.stdout.splitlines(), *said.stderr.splitlines()])
    shown = re.findall(r"^(?:note|warning): .*$", stderr, re.MULTILINE)
    for note, line in zip(document["notes"], shown, strict=True):
        remedy = line.removeprefix(f"{note['kind']}: {note['fact']}")
        assert remedy in [f"{begin}{note['remedy']}{end}" for begin, end in JOINED] if note["remedy"] else not remedy


JOINED = [(" (", ")"), (": ", ""), ("; ", ""), (" ", "")]
"""What stands around a remedy on the terminal."""


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        (" (--scale minmax)", "--scale minmax"),
        (" (--format 'a=(1)')", "--format 'a=(1)'"),
        ("; use --null x", "use --null x"),
        (": --exclude a excludes it (or --numbers a)", "--exclude a excludes it (or --numbers a)"),
        (" (a) or (b)", "(a) or (b)"),
        ("", None),
    ],
)
def test_a_remedy_reads_as_words(remedy, words):
    with recording(["run", "--json"]) as record:
        record_note("note", "fact", remedy)
    assert record.notes == [{"kind": "note", "fact": "fact", "remedy": words}]


def test_a_table_without_rows_is_labelled_as_shown():
    Path("empty.csv").write_text("width,my height\n")
    document, stderr = asked("label", "rules.json", "empty.csv", "-o", "out.csv")
    [none] = document["result"]["clusters"]
    assert (none["cluster"], none["rows"], none["share"]) == (None, 0, None)
    assert rows_of(stderr, "cluster")[0] == ["without a cluster", "0"]


@pytest.mark.parametrize("name", FINDS)
def test_what_is_found_is_the_result_and_no_error(monkeypatch, name):
    document, _ = find(name, monkeypatch)
    assert (document["command"], document["status"], document["error"]) == (name, FOUND, None)
    assert document["result"]


@pytest.mark.parametrize("name", DOES)
@pytest.mark.parametrize(
    ("status", "kind"), [(MISUSED, "usage"), (STOPPED, "file"), (STOPPED, "table"), (INTERRUPTED, "interrupted")]
)
def test_what_stops_a_command_is_the_error(monkeypatch, name, status, kind):
    words = DOES[name]
    if kind == "usage":
        words = [*words, "--nothing-like-it"]
    elif kind == "interrupted":
        monkeypatch.setattr(import_module(f"shallowrules.cli.commands.{name}").command, "callback", interrupt)
    else:
        for path in ("t.csv", "moved.csv", "rules.json"):
            Path(path).unlink() if kind == "file" else Path(path).write_bytes(b"\x00\xff\xfe\n,,\n")
    document, stderr = asked(*words)
    assert (document["command"], document["status"], document["result"]) == (name, status, None)
    wanted = "rules" if kind == "table" and "rules.json" in words else kind
    assert document["error"]["kind"] == wanted
    assert printable(document["error"]["message"]) in stderr
    assert "Traceback" not in stderr


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


# Numbers and texts ---------------------------------------------------------------------------------


def test_values_as_json_holds_them():
    largest = sys.float_info.max
    values = [math.nan, math.inf, -math.inf, np.float32("nan"), -0.0, 2**63 + 1, np.int64(2**62 + 1), np.bool_(True)]
    assert plain(values) == [None, largest, -largest, None, 0, 2**63 + 1, 2**62 + 1, True]
    assert plain({"a": (date(2024, 2, 29), None, Path("x"), True)}) == {"a": ["2024-02-29", None, "x", True]}
    assert plain({"\udce9": "\udce9"}) == {"\\udce9": "\\udce9"}
    assert plain(np.array([[1, 2]]), str) == [[1, 2]]


def test_whole_numbers_have_all_digits():
    rules = make_rules([("id", "integer")], (0, 2**62 + 1, 0, 1))
    rules.to_json("big.json")
    done = call("explain", "big.json", "--row", f"id={2**62 + 3}", "--json")
    assert f'"value": {2**62 + 3},' in done.stdout
    assert document_of(done.stdout)["result"]["rows"][0]["move"]["to"] == 2**62 + 1


def test_a_figure_that_is_not_known_is_null():
    Path("same.csv").write_text("a\n" + "0\n" * 30 + "1\n")
    document, text = asked("clusters", "same.csv", "--to", "2")
    [count] = document["result"]["counts"]
    assert figure(count["silhouette"], ".3f") == rows_of(text, "k")[0][2]


HOSTILE = ['say "no"', "two\nlines", "\x1b[31mred", "'; DROP TABLE x; --", "naïve ☃ 𝔘", "\u202eright", "a\\b", "[bold]"]


def test_hostile_names_of_columns_and_clusters():
    columns = [(name, "float") for name in HOSTILE]
    tree = 0
    for place in range(len(HOSTILE)):
        tree = (place, 1.5, tree, place + 1)
    names = {index: f"{name} {index}" for index, name in enumerate(HOSTILE)}
    rules = make_rules(columns, tree, names)
    rules.to_json("hostile.json")
    rows = [[*map(str, range(len(HOSTILE)))], ["1"] * len(HOSTILE)]
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    Path("h.csv").write_text("\n".join(map(",".join, [quoted, *rows])) + "\n", encoding="utf-8")
    explained, stderr = asked("explain", "hostile.json", "h.csv", "--number", "2")
    row = explained["result"]["rows"][0]
    assert {step["column"] for step in row["steps"]} == set(HOSTILE)
    assert "\x1b" not in stderr
    drifted, _ = asked("drift", "hostile.json", "h.csv", "--max-shift", "0")
    assert {c["name"] for c in drifted["result"]["clusters"]} >= set(names.values())
    labelled, _ = asked("label", "hostile.json", "h.csv", "-o", "out.csv")
    assert labelled["result"]["rows"] == 2
    other = replace(rules, columns=tuple(replace(c, name=f"{c.name}2") for c in rules.columns))
    other.to_json("other.json")
    changed, _ = asked("diff", "hostile.json", "other.json")
    assert set(changed["result"]["untested"]) == set(HOSTILE)
    refused, _ = asked("drift", "other.json", "h.csv")
    assert refused["error"]["column"] in {f"{name}2" for name in HOSTILE}


@draws(40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(*[rule_sets(names=hostile_names, cluster_names=hostile_names, kinds=MIXED, categories=hostile_texts)] * 2)
def test_rules_with_any_names_have_a_document(old, new):
    for command, result in (("run", rules_of(new)), ("diff", changes_between(old, new).to_dict())):
        envelope = {"schema": SCHEMA, "command": command, "status": 0, "result": result, "notes": [], "error": None}
        document = document_of(json.dumps(plain(envelope), allow_nan=False) + "\n")
        if command == "run":
            assert [c["name"] for c in document["result"]["clusters"]] == [as_utf8(c.name) for c in new.by_size]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_names_that_are_not_utf_8():
    name = os.fsdecode(b"caf\xe9.csv")
    shutil.copy("t.csv", name)
    document, _ = asked("run", name, "-k", "3", "-o", os.fsdecode(b"out\xe9"))
    assert document["result"]["files"][0] == "out\\udce9/rules.json"
    document, _ = asked("drift", "rules.json", os.fsdecode(b"none\xe9.csv"))
    assert document["error"]["kind"] == "file"


# Streams -------------------------------------------------------------------------------------------


def test_help_and_a_value_are_no_request():
    assert call("drift", "--json", "--help").stdout.startswith("Usage: ")
    shown = call("clusters", "t.csv", "--to", "2", "--null", "--json")
    assert shown.exit_code == DONE
    assert "silhouette" in shown.stdout
    assert call("drift", "rules.json", "t.csv", "--", "--json").stdout == ""


def test_what_is_printed_on_the_way_goes_to_stderr(monkeypatch):
    from shallowrules.rules import RuleSet

    read = RuleSet.from_json

    def chatty(path):
        print("a plugin says hello")
        return read(path)

    monkeypatch.setattr(RuleSet, "from_json", chatty)
    _, stderr = asked(*DOES["diff"])
    assert "a plugin says hello" in stderr


def test_a_process_writes_one_document():
    done = spawn(*DOES["drift"], "--json")
    assert document_of(done.stdout)["status"] == done.returncode == DONE
    assert "\x1b" not in done.stderr
    wrong = spawn("drift", "--json", "--no")
    assert document_of(wrong.stdout)["status"] == wrong.returncode == MISUSED


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, 143)])
def test_an_interrupted_process_writes_one_document(number, status):
    Path("t.csv").unlink()
    os.mkfifo("t.csv")  # reading waits for a writer
    process = subprocess.Popen(
        [*COMMAND, *DOES["drift"], "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    writer = os.open("t.csv", os.O_WRONLY)
    time.sleep(0.2)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    os.close(writer)
    document = document_of(output)
    assert process.returncode == document["status"] == status
    assert document["error"]["kind"] == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("where", ["closed", "full", "a reader that has gone"])
def test_a_document_that_cannot_be_written_is_3(where):
    if where == "full" and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    shell = {
        "closed": '"$@" >&-',
        "full": '"$@" > /dev/full',
        "a reader that has gone": '{ sleep 0.2; "$@"; echo "status $?" >&2; } | true; exit 3',
    }[where]
    words = ["sh", "-c", shell, "sh", *COMMAND, *DOES["diff"], "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (STOPPED, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert where != "a reader that has gone" or "status 3\n" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_a_product_does_not_go_to_stdout():
    with open("out.txt", "w+") as out:
        words = ["refit", "rules.json", "t.csv", "-o", "/dev/stdout", "--force", "--json"]
        done = subprocess.run([*COMMAND, *words], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        out.seek(0)
        document = document_of(out.read())
    assert done.returncode == document["status"] == STOPPED
    assert document["error"]["kind"] == "refused"


# Databases -----------------------------------------------------------------------------------------


@pytest.fixture
def shop():
    pytest.importorskip("sqlalchemy")
    import sqlite3

    with sqlite3.connect("shop.db") as connection:
        connection.execute('CREATE TABLE t (width REAL, "my height" REAL)')
        rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    return ["--database", "sqlite:///shop.db", "--table", "t"]


def test_labels_in_a_database(shop):
    words = ["label", "rules.json", *shop, "--apply"]
    planned, stderr = asked(*words, "view", "--dry-run")
    applied = planned["result"]["applied"]
    assert (applied["done"], applied["dry_run"], planned["result"]["rows"]) == (False, True, 60)
    assert all(f"{statement};" in stderr for statement in applied["statements"])
    done, _ = asked(*words, "view")
    assert (done["result"]["applied"]["done"], done["result"]["applied"]["written"]) == (True, None)
    refused, _ = asked(*words, "update", input="")
    assert (refused["status"], refused["error"]["kind"]) == (STOPPED, "refused")
    assert refused["result"]["applied"]["done"] is False
    updated, _ = asked(*words, "update", "--yes")
    assert updated["result"]["applied"]["written"] == 60
    again, _ = asked(*words, "update", "--yes")
    assert again["result"]["applied"]["changes"] == 0
    assert sum(cluster["rows"] for cluster in updated["result"]["clusters"]) == 60
    undone, _ = asked(*words, "update", "--undo", "--yes")
    assert (undone["result"]["applied"]["undo"], undone["result"]["clusters"]) == (True, None)


def test_a_database_is_counted_and_verified(shop):
    drifted, _ = asked("drift", "rules.json", *shop)
    assert (drifted["status"], drifted["result"]["rows"]) == (DONE, 60)
    verified, _ = asked("verify", "rules.json", *shop, "-o", "c.json")
    assert verified["result"]["files"] == ["c.json"]
    written = json.loads(Path("c.json").read_text())
    certificate = copy.deepcopy(verified["result"]["certificate"])
    assert certificate == written
    styles = [(style["form"], style["rows"], style["mismatches"]) for style in written["styles"]]
    found = verified["result"]["comparisons"]
    assert [(each["form"], each["rows"], each["disagreements"]) for each in found] == styles


def test_rules_of_any_kind_have_a_document():
    small_rules().to_json("small.json")
    document, _ = asked("diff", "small.json", "rules.json")
    assert document["result"]["unrelated"]
