"""The pages of docs/ that show commands show what these print now."""

from __future__ import annotations

import os
import re
import runpy

import pytest
from conftest import ROOT

from shallowrules.engines import ENGINES
from shallowrules.errors import MissingExtraError

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

DOCS = runpy.run_path(str(ROOT / "docs" / "run_pages.py"))


def page_of(name):
    return DOCS["page_of"](name).read_text(encoding="utf-8")


def unvarying(text):
    """Return what does not depend on the machine, the time or the version."""
    text = re.sub(r"PostgreSQL \d.*|[0-9a-f]{64}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "…", text)
    return re.sub(r"shallowrules \d+\.\d+\.\d+\S*", "shallowrules …", text)


@pytest.mark.parametrize("name", [name for name in DOCS["PLACES"] if name != "database"])
def test_a_page_is_what_its_commands_print(name):
    page = page_of(name)
    with DOCS["PLACES"][name]() as shell:
        renewed = DOCS["renewed"](page, shell)
    assert unvarying(renewed) == unvarying(page)
    assert not os.path.exists(shell.folder)


@pytest.mark.slow
def test_the_page_of_the_database_is_what_its_commands_print():
    try:
        ENGINES["postgres"].check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    page = page_of("database")
    with DOCS["cellar"]() as shell:
        renewed = DOCS["renewed"](page, shell)
        assert sorted(os.listdir(shell.folder)) == ["rules.json", "shallowrules.toml"]
        assert "a cork" not in renewed
    assert unvarying(renewed) == unvarying(page)
    assert not os.path.exists(shell.folder)
    assert not os.path.exists(shell.environment["PGHOST"])


def test_the_page_of_the_database_goes_from_fit_to_undo():
    commands = re.findall(r"^\$ shallowrules (.*)$", page_of("database"), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["fit", "label", "drift", "drift", "verify", "label"]
    assert commands[-1].endswith("--undo")
