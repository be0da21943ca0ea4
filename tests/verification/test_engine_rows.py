"""The engines themselves: a table goes in and comes back, refusals carry the answer, nothing stays behind."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from databases import marked
from rulesets import example_of_categories, make_rules

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters.sql import DIALECTS
from shallowrules.verification import verify
from shallowrules.verification.engines import ENGINES
from shallowrules.verification.engines import mariadb as mariadb_engine
from shallowrules.verification.engines import postgres as postgres_engine
from shallowrules.verification.engines import spark as spark_engine

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")  # pyspark leaves sockets to the collector


@pytest.fixture(params=marked(*ENGINES))
def engine(request, running):
    return running(request.param)


@pytest.fixture
def table(engine):
    yield "some_rows"
    engine.drop("some_rows")


def test_every_engine_speaks_a_dialect():
    assert set(ENGINES) <= set(DIALECTS)
    assert [engine.dialect for engine in ENGINES.values()] == list(ENGINES)


def test_numbers_come_back_as_they_went_in(engine, table):
    numbers = [0.1, -0.0, 5e-324, math.nextafter(1.0, 2.0), sys.float_info.max, 2.0**53, None]
    numbers += [math.inf, -math.inf] * engine.holds_infinity + [math.nan] * engine.holds_nan
    whole = [2**53 + 1, 2**63 - 1, -(2**63), 0, None]
    rows = [(i, x, whole[i % len(whole)]) for i, x in enumerate(numbers)]
    declared = [("i", engine.types["integer"]), ("x", engine.types["float"]), ("n", engine.types["integer"])]
    engine.create(table, declared, rows)
    found = engine.query(f"SELECT i, x, n FROM {table} ORDER BY i")
    assert [None if n is None else int(n) for _, _, n in found] == [n for _, _, n in rows]
    read = [None if x is None else float(x) for _, x, _ in found]
    assert [x for x in read if x == x] == [x for x in numbers if x is None or x == x]
    assert sum(x != x for x in read) == engine.holds_nan


def test_single_precision_and_truth_values(engine, table):
    numbers = [float(np.float32(x)) for x in (0.1, 1e30, -7.25)]
    declared = [("i", engine.types["integer"]), ("x", engine.types["float32"]), ("b", engine.types["boolean"])]
    engine.create(table, declared, [(i, x, i == 1) for i, x in enumerate(numbers)])
    found = engine.query(f"SELECT i, x, b FROM {table} ORDER BY i")
    np.testing.assert_array_equal(np.array([x for _, x, _ in found], np.float32), np.array(numbers, np.float32))
    assert [b.lower() in ("1", "t", "true") for _, _, b in found] == [False, True, False]


def test_texts_come_back_as_they_went_in(engine, table):
    texts = ["", " a ", "a\tb", "a\nb", "a\r\nb", "\\N", "\\", "'", '"', "\\.", "é😀", "\u2028", "\b\f\v\x7f", None]
    texts += ["a\0b"] * engine.holds_nul
    engine.create(table, [("i", engine.types["integer"]), ("c", engine.types["text"])], list(enumerate(texts)))
    assert [text for _, text in engine.query(f"SELECT i, c FROM {table} ORDER BY i")] == texts


def test_an_empty_table(engine, table):
    engine.create(table, [("i", engine.types["integer"])], [])
    assert engine.query(f"SELECT i FROM {table}") == []


def test_a_refusal_says_what_was_asked_and_answered(engine):
    with pytest.raises(EngineError, match=engine.title) as refused:
        engine.query("SELECT nix FROM nowhere_at_all")
    assert "nowhere_at_all" in refused.value.statement
    assert "nowhere_at_all" in refused.value.answer
    with pytest.raises(EngineError, match="nowhere_at_all"):
        engine.query("SELECT 1", before=["SELECT nix FROM nowhere_at_all"])


def test_settings_are_statements_of_the_engine(engine):
    for setting, back in engine.settings.items():
        assert engine.query("SELECT 1", before=[setting]) == [("1",)]
        assert engine.query("SELECT 1", before=[back]) == [("1",)]
    assert engine.version[0].isdigit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "rows"),
    [
        (example_of_categories(), {"contract": "Two year", "paid": True, "months": 3, "size": "S", "pay ment": "x"}),
        (make_rules([("x", "float")], (0, 0.1, 0, (0, 1e300, 1, 2))), {"x": 0.5}),
    ],
    ids=["categories", "floats"],
)
def test_verify_runs_the_sql_of_every_engine(engine, rules, rows):
    table = {name: np.array([value], object if isinstance(value, str) else None) for name, value in rows.items()}
    comparisons = list(verify(rules, table, [engine.dialect]))
    assert {comparison.form.split(",")[0] for comparison in comparisons} >= {"SQL"}
    for comparison in comparisons:
        assert comparison.disagreements == 0, comparison
        assert comparison.rows > 0


@pytest.mark.services
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_nothing_is_left_of_a_closed_engine(monkeypatch, dialect):
    try:
        ENGINES[dialect].check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    with tempfile.TemporaryDirectory() as folder:  # short, as the path of a socket must be
        os.chmod(folder, 0o777)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with ENGINES[dialect].open() as opened:
            assert os.listdir(folder)
            assert opened.query("SELECT 1") == [("1",)]
        assert not os.listdir(folder)


@pytest.mark.services
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_a_server_ends_with_a_process_that_is_killed(dialect):
    try:
        ENGINES[dialect].check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    with tempfile.TemporaryDirectory() as folder:  # short, as the path of a socket must be
        os.chmod(folder, 0o777)
        script = (
            "import sys, time\nfrom shallowrules.verification.engines import ENGINES\n"
            f"with ENGINES[{dialect!r}].open() as engine:\n    print(engine.version, flush=True)\n    time.sleep(600)\n"
        )
        environment = {**os.environ, "TMPDIR": folder}
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout.readline()
            assert serving(folder)
            process.kill()
        end = time.monotonic() + 60
        while serving(folder) and time.monotonic() < end:
            time.sleep(0.1)
        assert not serving(folder)


def serving(folder):
    """Return the processes that have a folder in their command, except zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if folder.encode() in path.read_bytes():
                found.append(path)
    return found


def test_what_is_missing_is_named(monkeypatch):
    for name in ("duckdb", "chdb.session", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)
    for module in (postgres_engine, mariadb_engine):
        monkeypatch.setattr(module, "program", lambda name: None)
    said = {
        "duckdb": r"needs duckdb, .*\[cli\]",
        "postgres": r"needs PostgreSQL's initdb, postgres and psql, .*\[engines\]",
        "mysql": r"needs MariaDB's .*: apt-get install mariadb-server-core mariadb-client-core$",
        "clickhouse": r"needs chdb, .*\[engines\]",
        "spark": r"needs pyspark, .*\[engines\]",
    }
    for dialect, message in said.items():
        with pytest.raises(MissingExtraError, match=message):
            ENGINES[dialect].check_installed()
        with pytest.raises(MissingExtraError, match=message), ENGINES[dialect].open():
            pass
        rules = make_rules([("x", "float")], (0, 0.1, 0, 1))
        with pytest.raises(MissingExtraError, match=message):
            list(verify(rules, {"x": [0.5]}, [dialect]))


def test_spark_needs_java(monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setattr(spark_engine.shutil, "which", lambda name: None)
    with pytest.raises(MissingExtraError, match="needs Java, .*: apt-get install default-jre-headless$"):
        ENGINES["spark"].check_installed()
