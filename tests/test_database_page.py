"""docs/database.md shows what its commands print, against the PostgreSQL of the demo."""

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

DEMO = runpy.run_path(str(ROOT / "docs" / "database_demo.py"))
PAGE = DEMO["PAGE"].read_text(encoding="utf-8")


def unvarying(text):
    """Return what does not depend on the machine, the time or the version."""
    text = re.sub(r"PostgreSQL \d.*|[0-9a-f]{64}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "…", text)
    return re.sub(r"shallowrules \d+\.\d+\.\d+\S*", "shallowrules …", text)


@pytest.mark.slow
def test_the_page_is_what_its_commands_print(capsys):
    try:
        ENGINES["postgres"].check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    with DEMO["cellar"]() as shell:
        renewed = DEMO["renewed"](PAGE, shell)
        assert sorted(os.listdir(shell.folder)) == ["rules.json", "shallowrules.toml"]
        assert "a cork" not in renewed
    assert unvarying(renewed) == unvarying(PAGE)
    assert not os.path.exists(shell.folder)
    assert not os.path.exists(shell.environment["PGHOST"])


def test_the_page_goes_from_fit_to_undo():
    commands = re.findall(r"^\$ shallowrules (.*)$", PAGE, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["fit", "label", "drift", "drift", "verify", "label"]
    assert commands[-1].endswith("--undo")
