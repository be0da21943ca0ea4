"""The corridor has no back doors: every import of the package against the table of floors."""

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from goldenfiles import FOLDER, sections

PACKAGE = "shallowrules"
SOURCE = Path(__file__).resolve().parents[2] / PACKAGE


@dataclass(frozen=True)
class Floor:
    """Folders that may import from the floors below, and not from each other."""

    folders: str
    gives: str


# The page CONTRIBUTING.md has this table.
FLOORS = [
    Floor(
        "errors deprecation files _kernel",
        "exceptions; how a name goes; whole files or none; the Cython kernel, over arrays and bytes only",
    ),
    Floor("tables", "typed raw columns; what a text is as a number or a time; labels"),
    Floor("sources measures", "rows from files and databases; exact sums, cost, agreement, histograms"),
    Floor(
        "partitions", "tables in parts: files, databases, Dask, Spark; a function called on every part, results merged"
    ),
    Floor("encoding", "the matrix that is clustered, and where each of its columns came from"),
    Floor("clustering", "the unrestricted partition: centers, assignment, cost; starts of k-means"),
    Floor("trees", "the tree; growing, searching and refining it, of a table or of its parts; thresholds and rounding"),
    Floor(
        "rules", "conditions, the tree in raw columns and units, matching; JSON documents; names, changes, explanations"
    ),
    Floor("fitting exporters", "one fit: prepare, grow, finish, describe; rules as text, bytes or files"),
    Floor("displays", "cards for notebooks and pictures of matplotlib; rules load it by name (`rules/shown.py`)"),
    Floor(
        "models labelling",
        "the estimator, trade-offs, numbers of clusters, prices; labels in files and databases, drift",
    ),
    Floor("verification dask", "every form of the rules against the tree, and the engines for it; labels for Dask"),
    Floor("cli", "the command line"),
    Floor(
        "__init__ __main__ estimator tree",
        "the public names, each loaded on first use; `python -m shallowrules`; names in old pickles",
    ),
]
LEVELS = {folder: level for level, floor in enumerate(FLOORS) for folder in floor.folders.split()}
OPEN = FLOORS[0].folders.split()

# What comes with an extra: outside the command line it is imported where it is used, not on top of a module.
EXTRAS = {"click", "rich", "duckdb", "matplotlib", "sqlalchemy", "pandas", "polars", "pyarrow", "chdb", "pyspark"}
EXTRAS |= {"dask", "distributed", "adbc_driver_manager", "adbc_driver_postgresql", "psycopg", "xlsxwriter"}
EXTRAS |= {"python_calamine"}

CYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<source>[\w.]+)[ \t]+)?c?import[ \t]+(?P<names>[^\n#]+)", re.MULTILINE
)


def module_name(path: Path) -> str:
    """Return the dotted name of a module below the package: "" for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_files() -> list[Path]:
    return sorted(path for kind in ("py", "pyx", "pxd", "pxi") for path in SOURCE.rglob(f"*.{kind}"))


FILES = source_files()
MODULES = {module_name(path) for path in FILES}


def folder_of(module: str) -> str:
    """Return the folder of a module, or the module that lies loose."""
    return module.split(".")[0] or "__init__"


def written_imports(text: str, is_python: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield (where from, names) for each import, wherever in the file it stands; plain imports have no names."""
    if is_python:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from ((alias.name, []) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]
        return
    text = re.sub(r"\(([^()]*)\)", lambda bracket: " ".join(bracket[1].split()), text)  # names over several lines
    for found in CYTHON_IMPORT.finditer(text):
        names = [name.split()[0] for name in found["names"].split(",") if name.strip()]
        if found["source"]:
            yield found["source"], names
        else:
            yield from ((name, []) for name in names)


def absolute(source: str, module: str, is_package: bool) -> str:
    """Return the origin of an import as an absolute name, also for relative imports."""
    level = len(source) - len(source.lstrip("."))
    if not level:
        return source
    parts = [PACKAGE, *module.split(".")] if module else [PACKAGE]
    parts = parts[: len(parts) - level + is_package]
    return ".".join([*parts, source[level:]] if source[level:] else parts)


def own_imports(text: str, module: str, is_package: bool = False, is_python: bool = True) -> set[str]:
    """Return the modules of the package that a text imports, named below the package."""
    found = set()
    for source, names in written_imports(text, is_python):
        base = absolute(source, module, is_package)
        if base != PACKAGE and not base.startswith(PACKAGE + "."):
            continue
        below = base[len(PACKAGE) + 1 :]
        for name in names or [""]:
            member = ".".join(part for part in (below, name) if part)
            found.add(member if member in MODULES else below)
    return found - {module}


def imports_of(path: Path) -> set[str]:
    return own_imports(
        path.read_text(encoding="utf-8"), module_name(path), path.stem == "__init__", path.suffix == ".py"
    )


def test_a_module_imports_from_its_folder_and_from_below_only():
    for path in FILES:
        folder = folder_of(module_name(path))
        assert folder in LEVELS, f"{folder!r} is on no floor: give it one in the table above"
        for imported in imports_of(path):
            other = folder_of(imported)
            may = other == folder or other in OPEN or LEVELS[other] < LEVELS[folder]
            assert may, f"{path}: {folder!r} may not import {imported or PACKAGE!r}"


def loaded_by_name(path: Path) -> Iterator[str]:
    """Yield how the names of the package's modules begin that a file gives to `import_module`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            if isinstance(name, ast.Constant) and str(name.value).startswith(f"{PACKAGE}."):
                yield name.value


def test_rules_alone_load_a_module_of_another_folder_by_its_name():
    found = {module_name(path): name for path in FILES if path.suffix == ".py" for name in loaded_by_name(path)}
    assert found == {"rules.shown": f"{PACKAGE}.displays."}


def test_a_test_imports_no_test_of_another_folder():
    tests = SOURCE.parent / "tests"
    folders = {path.stem: path.parent for path in tests.rglob("test_*.py")}
    assert folders
    for path in tests.rglob("*.py"):
        for source, _ in written_imports(path.read_text(encoding="utf-8"), is_python=True):
            assert folders.get(source, path.parent) == path.parent, (
                f"{path.name} runs only if {source} is collected too"
            )


def page_with_floors(page: str) -> str:
    """Return the page CONTRIBUTING with the table of floors."""
    lines = [f"| {', '.join(f'`{name}`' for name in floor.folders.split())} | {floor.gives} |" for floor in FLOORS]
    table = "\n".join(["| folder | gives |", "|---|---|", *lines])
    return re.sub(r"(?<=<!-- floors: begin -->\n).*(?=\n<!-- floors: end -->)", lambda _: table, page, flags=re.DOTALL)


def test_the_page_has_the_table_of_floors():
    path = SOURCE.parent / "CONTRIBUTING.md"
    page = path.read_text(encoding="utf-8")
    if os.environ.get("SHALLOWRULES_UPDATE_GOLDEN") == "1":
        page = page_with_floors(page)
        path.write_text(page, encoding="utf-8")
    assert "<!-- floors: begin -->" in page
    assert page_with_floors(page) == page, "run once with SHALLOWRULES_UPDATE_GOLDEN=1"


def test_no_import_cycles():
    graph: dict[str, set[str]] = {}
    for path in FILES:  # a .pyx and its .pxd are one module
        module = module_name(path)
        graph.setdefault(module, set()).update(imports_of(path))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(reversed(error.args[1])))


def test_the_core_imports_no_extra_on_top_of_a_module():
    for path in FILES:
        if path.suffix != ".py" or folder_of(module_name(path)) == "cli":
            continue
        names = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add((node.module or "").split(".")[0])
        assert not names & EXTRAS, path


@pytest.mark.parametrize(
    ("text", "module", "is_package", "is_python", "expected"),
    [
        ("import shallowrules.tables.table", "encoding", False, True, {"tables.table"}),
        ("from shallowrules import tables, export", "cli.main", False, True, {"tables", ""}),
        ("from shallowrules.exporters.base import Exporter", "models", False, True, {"exporters.base"}),
        ("def f():\n    from .rules import RuleSet", "dask", False, True, {"rules"}),
        ("from . import errors", "exporters", True, True, set()),
        ("from .. import errors", "exporters", True, True, {"errors"}),
        ("from numpy import tables\nimport shallowrulesque", "dask", False, True, set()),
        ("from shallowrules.trees.tree cimport (\n    a,\n    b)  # why", "_kernel.x", False, False, {"trees.tree"}),
        ("cimport shallowrules.trees.tree as t, cython", "_kernel.x", False, False, {"trees.tree"}),
        ("cdef f():\n    from .. import trees, rules", "_kernel.x", False, False, {"trees", "rules"}),
    ],
)
def test_the_reader_of_imports(text, module, is_package, is_python, expected):
    assert own_imports(text, module, is_package, is_python) == expected


def test_golden_words_are_those_of_a_test():
    for path in sorted((FOLDER / "words").iterdir()):
        [module] = Path(__file__).parents[1].glob(f"*/{path.stem}.py")
        tree = ast.parse(module.read_text(encoding="utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert {name.split("[")[0] for name in sections(path)} <= tests, path.name
