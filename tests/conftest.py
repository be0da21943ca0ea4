"""Fixtures and settings of all tests: hypothesis's profiles and the larger tables outside the repository."""

import importlib.util
import os
import re
import shutil
import signal
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from commandline import call, write_groups
from comparing import PLACES
from databases import SERVERS, SMALL, File, execute, marked, objects_of
from draws import drawn
from goldenfiles import assert_words
from hypothesis import HealthCheck, settings
from rulesets import small_rules
from sklearn.datasets import make_blobs
from strategies import Problem
from tables import TABLES, table_of_some_size

from shallowrules.errors import MissingExtraError
from shallowrules.verification.runners import RUNNERS
from shallowrules.verification.runners.languages import TOOLCHAINS

# No profile limits how long an example takes: the machine may be busy. How many are drawn is said in `draws`.
settings.register_profile("dev", max_examples=drawn(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

ROOT = Path(__file__).resolve().parent.parent

LONG = ("services", "builds", "measures", "renders", "slow")
"""Marks of tests that take some twenty times as long as others."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a full run, put the files that take longest first: otherwise one of them would end the run alone."""
    if config.getoption("loadscopereorder", True):
        return
    weights: Counter[Path] = Counter()
    for item in items:
        weights[item.path] += 1 if all(item.get_closest_marker(mark) is None for mark in LONG) else 20
    items.sort(key=lambda item: (-weights[item.path], item.path))


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a table read in parts where --memory is given, although there is room for it."""
    monkeypatch.setattr("shallowrules.cli.fitting.memory_for_parts", lambda rows, memory: memory)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the larger tables (letter, avila, …), or skip."""
    folder = Path(os.environ.get("SHALLOWRULES_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no tables at {folder}: set SHALLOWRULES_DATA to the folder that has them")
    return folder


@pytest.fixture(scope="session")
def setup_script() -> ModuleType:
    """Return setup.py as a module."""
    spec = importlib.util.spec_from_file_location("setup_script", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def five_groups():
    """Return a table of five groups."""
    return make_blobs(500, 4, centers=5, cluster_std=1.0, random_state=3)[0]


@pytest.fixture(scope="session")
def six_groups():
    """Return a table of six groups that overlap."""
    return make_blobs(600, 4, centers=6, cluster_std=2.0, random_state=3)[0]


@pytest.fixture(scope="session")
def predicates(tmp_path_factory):
    """Return a template that separates the clusters' predicates by NUL, which no name holds."""
    path = tmp_path_factory.mktemp("templates") / "predicates.sql.j2"
    path.write_text("{% for cluster in clusters %}{{ cluster.predicate }}\x00{% endfor %}")
    return path


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive():
    """Let SIGINT interrupt, here and in processes started from here: it is ignored in a shell's background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


STARTED = ("html", "pmml", "xlsx")
"""Exporters whose text a program has to be started for: a browser, Java, a spreadsheet."""
TESTS_OF_STARTED = {
    "test_every_command",
    "test_examples",
    "test_hostile_texts",
    "test_pages",
    "test_shapes",
    "test_exporters_times",
    "test_sources_times",
    "test_verify_runners",
}
TESTS_OF_LANGUAGES = {"test_exporters_languages", "test_verify_failed"}


@pytest.fixture(scope="module", autouse=True)
def few_programs(request):
    """Let `verify` start these programs in their own tests only: each start takes seconds, and many tests verify."""

    @contextmanager
    def left_out(rules):
        raise MissingExtraError("this in a test of something else", "a test of its own")
        yield

    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ not in TESTS_OF_STARTED:
            for name in STARTED:
                patch.setitem(RUNNERS, name, left_out)
        if request.module.__name__ not in TESTS_OF_LANGUAGES:
            for name in TOOLCHAINS:
                patch.setitem(RUNNERS, name, left_out)
        yield


@pytest.fixture(scope="session")
def running():
    """Return a function that gives the engine of a place, which starts once; it skips where that is not installed."""
    engines = {}
    with ExitStack() as opened:

        def running(place):
            if place not in engines:
                try:
                    PLACES[place].check_installed()
                except MissingExtraError as missing:
                    pytest.skip(str(missing))
                engines[place] = opened.enter_context(PLACES[place].open())
            return engines[place]

        yield running


@pytest.fixture
def engine(request, running):
    """Return the engine of a place, which is the parameter."""
    return running(request.param)


@pytest.fixture(params=["sqlite", pytest.param("duckdb", marks=pytest.mark.slow), *marked(*SERVERS)])
def database(request, tmp_path, running):
    """Return a database of each kind that rows are read from, with a `url`."""
    pytest.importorskip("sqlalchemy")
    if request.param in ("sqlite", "duckdb"):
        return File(request.param, tmp_path / "file.db")
    pytest.importorskip({"postgres": "psycopg", "mysql": "pymysql"}[request.param])
    return running(request.param)


@pytest.fixture
def fill(database):
    """Return a function that makes a table, which is dropped at the end."""
    made = []

    def fill(table, columns, rows):
        database.create(table, columns, rows)
        made.append(table)

    yield fill
    for table in made:
        database.drop(table)


@pytest.fixture
def small(database, fill, tmp_path, monkeypatch):
    """Return a database with the table ``small``; the rules are beside it."""
    monkeypatch.chdir(tmp_path)
    small_rules().to_json("rules.json")
    fill("small", [("x", database.types["float"]), ("i", database.types["integer"])], SMALL)
    return database


@pytest.fixture
def shop(small):
    """Return a database with the table ``small``; objects that a test creates besides it are dropped at the end."""
    before = objects_of(small)
    yield small
    for kind, name in objects_of(small):
        if (kind, name) not in before:
            execute(
                small, f"DROP {kind} IF EXISTS {small.quote(name)}{' CASCADE' if small.dialect == 'postgres' else ''}"
            )


PLUGINS = ROOT / "tests" / "plugins"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that puts a distribution with entry points on the path."""
    monkeypatch.syspath_prepend(str(PLUGINS))

    def install(distribution, exporters, version="1.0", folder="site"):
        site = tmp_path / folder
        info = site / f"{distribution}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = "".join(f"{name} = {value}\n" for name, value in exporters.items())
        (info / "entry_points.txt").write_text(f"[shallowrules.exporters]\n{lines}")
        monkeypatch.syspath_prepend(str(site))

    yield install
    for path in PLUGINS.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def words(request, tmp_path):
    """Return a function that checks text, or pairs of a question and its answer, against the golden words of the test.

    Sentences are only in ``golden/words``, so that a better one takes a single switch; tests ask for the kind of
    a finding, and for the names and numbers in it. The folder of the test is written ``…``.
    """
    said = []

    def words(text):
        if not isinstance(text, str):
            text = "\n".join(f"{asked}\n    {answer}" for asked, answer in text)
        said.append(re.sub("(/private)?" + re.escape(str(tmp_path)), "…", text))

    yield words
    if said:
        assert_words(request.module.__name__, request.node.name, "\n".join(said) + "\n")


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or bytes to a file and returns its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(params=TABLES)
def table(request) -> Problem:
    return table_of_some_size(request.param)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a table of groups and the rules of it, made once for a module."""
    folder = tmp_path_factory.mktemp("made")
    write_groups(folder / "t.csv")
    assert call("fit", folder / "t.csv", "-k", 3, "-o", folder / "rules.json").exit_code == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Work in a copy of the folder that the module has `made`."""
    monkeypatch.chdir(tmp_path)
    for path in made.iterdir():
        shutil.copy(path, tmp_path / path.name, follow_symlinks=False)
    return tmp_path
