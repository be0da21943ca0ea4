"""Every command and every style of SQL on a database of each kind; and hostile names, which touch nothing else.

`every_command.py` and `hostile_database.py` in `tests/conformance` do the same with more tables, types and names.
"""

from __future__ import annotations

from collections import Counter

import pytest
from cases import cases
from columntypes import Texts
from databases import marked
from every_command import APPLIED, REAL, Run
from hostile_database import bystanders, run_round
from places import Place, open_place
from sqlstyles import styles_of
from values import applies

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

DRIVERS = {"postgres": "psycopg", "mysql": "pymysql"}
COMMANDS = {"run", "fit", "path, lines", "verify", "drift", "label -o", "label -o, of a file"}


@pytest.fixture(params=marked("sqlite", "duckdb", "postgres", "mysql", "clickhouse"))
def place(request, running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.param in DRIVERS:
        pytest.importorskip(DRIVERS[request.param])
        engine = running(request.param)
        yield Place(engine, engine.url)
        return
    running(request.param)  # skips where it is not installed
    with open_place(request.param) as place:
        yield place


@pytest.mark.slow
def test_every_row_of_a_table_gets_the_cluster_of_the_tree(place):
    run = Run(place)
    run.real(REAL["wine"]())
    assert run.findings == []
    styles = {*styles_of(place.dialect), "labels"}
    wanted = {f"export {style}" for style in styles - {"labels"}}
    if place.url is not None:
        wanted |= COMMANDS | {f"label {style}" for style in styles & set(APPLIED)}
    assert {command for command, _ in run.rows} == wanted
    assert all(run.rows.values())


@pytest.mark.slow
def test_texts_that_are_numbers(place):
    """Null markers, numbers, and texts that are neither."""
    [case] = [case for case in cases() if case.name == "float, small, words, imputed"]
    kinds = [kind for kind in place.columns if applies(case.rules.columns[0], kind) and not kind.before]
    texts = [kind for kind in kinds if isinstance(kind.holds, Texts)]
    run = Run(place)
    run.case(case, texts[-1:])
    assert run.findings == []
    assert run.rows


@pytest.fixture
def guarded(place):
    """Return a place with tables that have to stay."""
    made = bystanders(place)
    yield place
    for statement in made:
        place.query(statement)


@pytest.mark.slow
def test_hostile_names_touch_nothing_else(guarded):
    refused = Counter()
    _, found = run_round(guarded, 100, refused)
    assert found == []
