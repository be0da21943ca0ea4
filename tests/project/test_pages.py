"""The pages of docs/ that show commands show their current output."""

from __future__ import annotations

import os
import re
import runpy
from importlib.util import find_spec

import pytest
from conftest import ROOT

from shallowrules.errors import MissingExtraError
from shallowrules.verification.engines import ENGINES

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

RUN_PAGES = runpy.run_path(str(ROOT / "docs" / "run_pages.py"))
renewed, place_of = RUN_PAGES["renewed"], RUN_PAGES["place_of"]
PAGES = {name: path.read_text(encoding="utf-8") for name, path in RUN_PAGES["pages"]().items()}

IMPORTED = {"registry": ("mlflow", "skops"), "service": ("fastapi", "httpx")}
"""Packages of the extra `engines` that the code of a page imports."""

pytestmark = pytest.mark.docs


def unvarying(text):
    """Return the text without anything that depends on the machine, the time or the version."""
    text = re.sub(r"PostgreSQL \d.*|[0-9a-f]{64}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "…", text)
    return re.sub(r"shallowrules \d+\.\d+\.\d+\S*", "shallowrules …", text)


@pytest.mark.parametrize("name", [name for name in PAGES if name != "database"])
def test_the_code_of_a_page_runs_and_prints_what_it_shows(name, request):
    page = PAGES[name]
    if missing := [package for package in IMPORTED.get(name, ()) if find_spec(package) is None]:
        pytest.skip(f"{missing[0]} is not installed: pip install 'shallowrules[engines]'")
    if "$DATA" in page:
        request.getfixturevalue("shared_data")
    with place_of(name) as shell:
        now = renewed(name, page, shell)
    assert unvarying(now) == unvarying(page)
    assert not os.path.exists(shell.folder)


@pytest.mark.services
def test_the_page_of_the_database_is_what_its_commands_print():
    try:
        ENGINES["postgres"].check_installed()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    page = PAGES["database"]
    with place_of("database") as shell:
        now = renewed("database", page, shell)
        assert sorted(os.listdir(shell.folder)) == ["migrations", "models", "rules.json", "shallowrules.toml"]
        assert "a cork" not in now
    assert unvarying(now) == unvarying(page)
    assert not os.path.exists(shell.folder)
    assert not os.path.exists(shell.environment["PGHOST"])


def test_the_page_of_the_database_goes_from_fit_to_undo():
    commands = re.findall(r"^\$ shallowrules (.*)$", PAGES["database"], re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["fit", "label", "drift", "drift", "verify", "label"]
    assert commands[-1].endswith("--undo")


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```sh\nfalse\ntrue\n```", "page, line 2: exit status 1"),
        ("text\n\n```python\nx = 1\n```\n\n```python\nx + y\n```", 'File "page.md", line 8'),
        ("1. A list\n\n   ```python\n   import nothing_of_this_name\n   ```", 'File "page.md", line 4'),
        ("<!-- run sh\nfalse\n-->\n```sh\ntrue\n```", "page, line 2: exit status 1"),
        ("```\nfalse\n```", "page, line 1: a block without a language"),
        ("```bash\nfalse\n```", "page, line 1: bash"),
        ("<!-- printed by: false -->\n```sql\n1\n```", "page, line 2: false"),
        ("<!-- printed by: true -->\n| 1 |\n", "page, line 1: true"),
    ],
)
def test_code_that_fails_is_named_by_page_and_line(page, said):
    with place_of("page") as shell, pytest.raises(RuntimeError, match=re.escape(said)):
        renewed("page", page, shell)


@pytest.mark.parametrize(
    "page",
    [
        "<!-- not run: it installs -->\n```sh\nfalse\n```",
        "```text\nfalse\n```",
        "<!-- run python\nx = 1\n-->\n```python\nassert x\n```",
        "<!-- run sh\necho 1 > x\n-->\n```python\nassert open('x').read() == '1\\n'\n```",
    ],
)
def test_what_is_left_out_is_not_run_and_what_is_not_shown_is(page):
    with place_of("page") as shell:
        assert renewed("page", page, shell) == page


@pytest.mark.parametrize(
    ("page", "now"),
    [
        ("<!-- printed by: seq 2 -->\n```sql\n0\n```", "<!-- printed by: seq 2 -->\n```sql\n1\n2\n```"),
        (
            "<!-- printed by: echo 'no code' -->\n```python\n```",
            "<!-- printed by: echo 'no code' -->\n```python\nno code\n```",
        ),
        (
            "x\n    <!-- printed by: seq 2 -->\n    ```sql\n    ```\n",
            "x\n    <!-- printed by: seq 2 -->\n    ```sql\n    1\n    2\n    ```\n",
        ),
        ("<!-- printed by: echo '| 2 |' -->\n| 1 |\n| 1 |\n\ny", "<!-- printed by: echo '| 2 |' -->\n| 2 |\n\ny"),
    ],
)
def test_what_a_command_prints_is_put_into_a_block_or_a_table(page, now):
    with place_of("page") as shell:
        assert renewed("page", page, shell) == now


def test_what_a_job_of_the_gallery_found_is_in_its_outputs():
    jobs = PAGES["gallery"].split("\n## ")[1:]
    assert len(jobs) == 5
    for job in jobs:
        [insight] = re.findall(r"(?:^> .*\n)+", job, re.MULTILINE)
        blocks = re.findall(r"^```\w+\n.*?^```$|^\|[^\n]*$", job, re.MULTILINE | re.DOTALL)
        for figure in re.findall(r"\d+(?:\.\d+)?%?", insight):
            assert re.search(rf"(?<![\d.]){figure.rstrip('%')}(?!\.?\d)", "\n".join(blocks)), (figure, job[:40])


def test_the_pictures_of_the_method_are_those_that_the_script_draws(tmp_path):
    drawn = runpy.run_path(str(ROOT / "docs" / "method_pictures.py"))
    assert drawn["main"]([str(tmp_path)]) == 0
    names = {path.name for path in (ROOT / "docs" / "method").iterdir()}
    assert {path.name for path in tmp_path.iterdir()} == names
    for name in names:
        assert (tmp_path / name).read_bytes() == (ROOT / "docs" / "method" / name).read_bytes(), name


def test_every_page_with_code_is_run():
    assert {"README", "CONTRIBUTING", "index", "scale", "exporter-plugins", "examples/README"} <= PAGES.keys()
    assert RUN_PAGES["PLACES"].keys() | IMPORTED.keys() <= PAGES.keys()
