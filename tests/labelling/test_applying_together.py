"""Two runs that apply labels at once: one of them does, the other is told to run again, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest
from applications import COMPUTED, applied, apply, expected, labelled, target
from databases import marked, of
from draws import spread
from rulesets import small_rules

from shallowrules.errors import DataError
from shallowrules.labelling.databases import Application, plan_labels, run_plan, running
from shallowrules.labelling.databases.inspecting import Database
from shallowrules.labelling.databases.refusals import NOTHING_CHANGED, REASONS, explain
from shallowrules.sources.connecting import connect, parse_url

pytest.importorskip("sqlalchemy")
pytest.importorskip("duckdb")

STYLES = ("view", "table", "update", "column")
DELAYS = (0.0, 0.01, 0.05)
"""Seconds that the second run begins later."""


def run_together(plans, monkeypatch, *, inside, delay):
    """Run plans in threads; return the message of each, None where it succeeds.

    `inside` lets them wait for each other once each has looked at the database, as far as the database lets them.
    """
    gate = threading.Barrier(len(plans))
    real = running._run

    def waiting(*arguments):
        with suppress(threading.BrokenBarrierError):
            gate.wait(0.5)
        return real(*arguments)

    said = [None] * len(plans)

    def run(place):
        threading.Event().wait(place * delay)
        try:
            run_plan(plans[place])
        except DataError as error:
            said[place] = str(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(plans))]
    with monkeypatch.context() as patch:
        if inside:
            patch.setattr(running, "_run", waiting)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("style", spread(STYLES, 2))
def test_one_of_two_runs_is_done_and_the_other_is_to_try_again(shop, monkeypatch, style, inside):
    if style == "column" and shop.dialect not in COMPUTED:
        return
    application = Application(style=style, lock_timeout=5.0)
    for delay in DELAYS:
        plans = [plan_labels(small_rules(), of(shop), application) for _ in range(2)]
        said = run_together(plans, monkeypatch, inside=inside, delay=delay)
        assert None in said, said
        for message in filter(None, said):
            assert "again" in message
        assert labelled(shop, target(style)) == expected()
        run_plan(plan_labels(small_rules(), of(shop), Application(style=style), undo=True))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["view", "table"])
def test_who_is_told_so_does_it_again(shop, monkeypatch, style):
    plans = [plan_labels(small_rules(), of(shop), Application(style=style)) for _ in range(2)]
    assert any(run_together(plans, monkeypatch, inside=True, delay=0.0))
    applied(shop, style, "--replace")
    assert labelled(shop, target(style)) == expected()


@pytest.mark.services
@pytest.mark.parametrize("database", ["mysql"], indirect=True)
def test_a_run_that_lasts_longer_than_is_waited_is_said(shop):
    plan = plan_labels(small_rules(), of(shop), Application(style="view"))
    with connect(parse_url(shop.url)) as connection:
        assert Database(connection, plan.rows).claim(plan.thing, 0)
        done = apply(shop, "view", "--lock-timeout", "1")
    assert done.exit_code not in (0, 2)
    assert "another run" in done.stderr
    assert "--lock-timeout" in done.stderr
    applied(shop, "view")


def kinds():
    """Yield every code of a refusal that goes away by itself, with its database."""
    for reason in ("lock", "rival"):
        for dialect, codes in REASONS[reason].items():
            for code in codes:
                yield pytest.param(dialect, code, marks=marked(dialect)[0].marks, id=f"{dialect}-{code}")


@pytest.mark.slow
@pytest.mark.parametrize(("database", "code"), [*kinds()], indirect=["database"])
def test_every_kind_of_conflict_says_to_run_again(shop, code):
    named = {"sqlstate": code} if shop.dialect == "postgres" and len(code) == 5 else {}
    named |= {"sqlite_errorname": code} if shop.dialect == "sqlite" else {}
    number = int(code) if code.isdecimal() and shop.dialect == "mysql" else f"Error: {code}"
    refusal = SimpleNamespace(orig=SimpleNamespace(args=(number, "as the database says it"), **named))
    with connect(parse_url(shop.url)) as connection:
        database = Database(connection, of(shop))
        said = str(explain(refusal, database, "view", [], "a view", NOTHING_CHANGED))
    assert "again" in said
    assert "Nothing has changed" in said


@pytest.mark.parametrize("database", ["duckdb"], indirect=True)
def test_a_file_of_duckdb_that_another_process_writes(shop):
    script = f"import duckdb; c = duckdb.connect({str(shop.path)!r}); print(1, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        done = apply(shop, "view")
        other.communicate(b"\n")
    assert done.exit_code not in (0, 2)
    assert "again" in done.stderr
