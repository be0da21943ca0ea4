"""The corridor has no back doors: every import of the package against the table of stages."""

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
SOURCE = Path(__file__).resolve().parent.parent / PACKAGE


@dataclass(frozen=True)
class Stage:
    """Modules or packages of the corridor, what they give, and the other stages that they may import."""

    modules: str
    gives: str
    may_import: str


# The page CONTRIBUTING.md has this table; those of "open" are open to all.
STAGES = {
    "open": Stage("errors files labels qualified_names times", "errors, files, labels, names of tables, dates", ""),
    "_kernel": Stage("_kernel", "arrays and bytes only: codes, nearest centers, the grown tree", ""),
    "table": Stage(
        "table sources conversion",
        "typed raw columns, from arrays, dataframes and files, and what their text needed",
        "_kernel",
    ),
    "partitions": Stage(
        "partitions",
        "tables in parts: files, databases, Dask, Spark; a function called on every part, its results merged; "
        "the memory that there is",
        "table",
    ),
    "summation": Stage("summation", "sums that do not depend on the order of the rows", "_kernel"),
    "encoding": Stage(
        "encoding",
        "the matrix that is clustered, and where each of its columns came from",
        "_kernel table summation",
    ),
    "clustering": Stage(
        "clustering starts blas forked",
        "the unrestricted partition: centers, assignment, cost; several starts of k-means side by side; BLAS with one "
        "thread while k-means runs; OpenMP with one thread in a forked child",
        "_kernel encoding summation",
    ),
    "tree": Stage("tree", "frozen parallel arrays; `apply`, `predict`", ""),
    "metrics": Stage("metrics", "WAD, WAES, cost, agreement", "_kernel summation tree"),
    "growing": Stage(
        "growing searching thorough refining",
        "a grown tree, its thresholds still gaps; others from a sample of the rows, for as long as the user grants; "
        "the best of them",
        "_kernel tree summation metrics",
    ),
    "thresholds": Stage("thresholds", "a readable value for each gap, and rounder ones near it", ""),
    "rounding": Stage(
        "placing moved_rows rounding",
        "the thresholds of a grown tree; what moves with them, added up exactly; rounder ones that leave their gaps, "
        "within a bound on J",
        "_kernel table encoding summation growing tree thresholds",
    ),
    "rules": Stage(
        "rules",
        "conditions, the tree in raw columns and units, its rules and their figures; matching; JSON in and out, of one "
        "tree or of a path",
        "table tree",
    ),
    "describing": Stage(
        "describing assembling histograms",
        "the rules of a tree, measured on a table; put together from what was measured; rows counted in bins, by "
        "cluster",
        "_kernel table encoding clustering summation tree metrics rules",
    ),
    "exporters": Stage("exporters", "text, bytes or files", "rules"),
    "pipeline": Stage(
        "pipeline passes",
        "prepare, grow, finish: here the stages are wired, as plain functions on plain data; rules that were not "
        "grown, measured; the same for a table in parts, whose exact sums are merged; rows kept on disk",
        "_kernel table partitions summation encoding clustering tree metrics growing thresholds rounding rules "
        "describing",
    ),
    "estimator": Stage(
        "estimator tradeoff choosing pricing",
        "the scikit-learn face, the search over λ and over k, what edits and old rules cost",
        "table partitions encoding clustering tree metrics growing rules pipeline",
    ),
    "dask": Stage("dask", "labels for tables of Dask", "rules"),
    "engines": Stage("engines", "database engines that run emitted SQL on this machine", ""),
    "cli": Stage(
        "cli __main__ applying verification boundary drift tested_columns",
        "the command line; labels put into a user's database, and taken away; every form of the rules held against the "
        "tree, on hard rows too; the shares of clusters since training; the tested columns found in a table",
        "all",
    ),
    "face": Stage("__init__", "the public names, each loaded on first use", "all but cli"),
}
EVERYTHING_BUT_CLI = set(STAGES) - {"cli", "face"}
ALL = {"all": EVERYTHING_BUT_CLI | {"face"}, "all but cli": EVERYTHING_BUT_CLI}
ALLOWED = {name: ALL.get(stage.may_import, set(stage.may_import.split())) for name, stage in STAGES.items()}

# What leads back against the data's way, by the name of a public method; imported where it is used.
LEADING_BACK = {
    ("rules.model", "describing"),  # RuleSet.from_tree
}

# What comes with an extra: outside the command line it is imported where it is used, not on top of a module.
EXTRAS = {"click", "rich", "duckdb", "matplotlib", "sqlalchemy", "pandas", "polars", "pyarrow", "chdb", "pyspark"}
EXTRAS |= {"dask", "distributed", "adbc_driver_manager", "adbc_driver_postgresql", "psycopg", "xlsxwriter"}

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


def stage_of(module: str) -> str | None:
    """Return the stage of a module: that of its outermost package below ours."""
    outermost = module.split(".")[0] or "__init__"
    return next((name for name, stage in STAGES.items() if outermost in stage.modules.split()), None)


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
    """Return where an import is from as an absolute name, for relative imports too."""
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


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(SOURCE).as_posix() for path in FILES])
def test_a_module_imports_only_what_its_stage_may(path):
    module = module_name(path)
    stage = stage_of(module)
    assert stage is not None, f"{module!r} is in no stage: give it one in the table above and in the design"
    for imported in imports_of(path):
        if (module, imported) in LEADING_BACK:
            continue
        other = stage_of(imported)
        assert other in {stage, "open"} | ALLOWED[stage], f"stage {stage!r} may not import {imported or PACKAGE!r}"


def page_with_stages(page: str) -> str:
    """Return the page CONTRIBUTING with the table of stages."""

    def names(text: str) -> str:
        return text if text in ALL else ", ".join(f"`{name}`" for name in text.split()) or "–"

    lines = [
        f"| {name} | {names(stage.modules)} | {stage.gives} | {names(stage.may_import)} |"
        for name, stage in STAGES.items()
    ]
    table = "\n".join(["| stage | modules | gives | may import |", "|---|---|---|---|", *lines])
    return re.sub(r"(?<=<!-- stages: begin -->\n).*(?=\n<!-- stages: end -->)", lambda _: table, page, flags=re.DOTALL)


def test_the_page_has_the_table_of_stages():
    path = SOURCE.parent / "CONTRIBUTING.md"
    page = path.read_text(encoding="utf-8")
    if os.environ.get("SHALLOWRULES_UPDATE_GOLDEN") == "1":
        page = page_with_stages(page)
        path.write_text(page, encoding="utf-8")
    assert "<!-- stages: begin -->" in page
    assert page_with_stages(page) == page, "run once with SHALLOWRULES_UPDATE_GOLDEN=1"


def test_a_stage_may_import_stages_only():
    for name, allowed in ALLOWED.items():
        assert allowed <= STAGES.keys(), name


@pytest.mark.parametrize(("module", "imported"), sorted(LEADING_BACK))
def test_what_leads_back_is_imported_where_it_is_used(module, imported):
    text = (SOURCE / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
    on_top = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imported in own_imports(text, module)
    assert imported not in own_imports("\n".join(map(ast.unparse, on_top)), module)


def test_no_import_cycles():
    graph: dict[str, set[str]] = {}
    for path in FILES:  # a .pyx and its .pxd are one module
        module = module_name(path)
        onward = {imported for imported in imports_of(path) if (module, imported) not in LEADING_BACK}
        graph.setdefault(module, set()).update(onward)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " -> ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".py" and stage_of(module_name(path)) != "cli"]
)
def test_the_core_imports_no_extra_on_top_of_a_module(path):
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
    assert not names & EXTRAS


@pytest.mark.parametrize(
    ("text", "module", "is_package", "is_python", "expected"),
    [
        ("import shallowrules.table", "encoding", False, True, {"table"}),
        ("from shallowrules import table, export", "cli.main", False, True, {"table", ""}),
        ("from shallowrules.exporters.base import Exporter", "estimator", False, True, {"exporters.base"}),
        ("def f():\n    from .rules import RuleSet", "tree", False, True, {"rules"}),
        ("from . import errors", "exporters", True, True, set()),
        ("from .. import errors", "exporters", True, True, {"errors"}),
        ("from numpy import table\nimport shallowrulesque", "tree", False, True, set()),
        ("from shallowrules.tree cimport (\n    a,\n    b)  # why", "_kernel.x", False, False, {"tree"}),
        ("cimport shallowrules.tree as t, cython", "_kernel.x", False, False, {"tree"}),
        ("cdef f():\n    from .. import tree, rules", "_kernel.x", False, False, {"tree", "rules"}),
    ],
)
def test_the_reader_of_imports(text, module, is_package, is_python, expected):
    assert own_imports(text, module, is_package, is_python) == expected


def test_golden_words_are_those_of_a_test():
    for path in sorted((FOLDER / "words").iterdir()):
        tree = ast.parse((Path(__file__).parent / f"{path.stem}.py").read_text(encoding="utf-8"))
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert {name.split("[")[0] for name in sections(path)} <= tests, path.name
