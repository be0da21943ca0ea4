"""The files built from a clean tree: the sdist, the wheel made from it, and the package installed elsewhere."""

import importlib
import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from setuptools import Distribution

ROOT = Path(__file__).resolve().parents[2]

NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "*.so", "*.pyd", "*.c")

# Fits and exports with every exporter; prints the templates it loaded, then those that are shipped.
RENDER_ALL = """
import importlib.resources, sys
import jinja2
from sklearn.datasets import load_iris

loaded = set()
get_source = jinja2.PackageLoader.get_source

def recording(self, environment, name):
    loaded.add(name)
    return get_source(self, environment, name)

jinja2.PackageLoader.get_source = recording

import shallowrules
from shallowrules.exporters.languages import JavaScriptExporter
from shallowrules.exporters.python import PythonExporter
from shallowrules.exporters.sql import STYLES
from shallowrules.verification.runners.languages import TOOLCHAINS, Toolchain, label_by

assert shallowrules.__file__.startswith(sys.prefix), shallowrules.__file__
model = shallowrules.ExplainableKMeans(3, random_state=0).fit(load_iris().data)
shallowrules.tradeoff_path(model, load_iris().data).rule_sets().to_json("path.json")
chosen = {
    "sql": [{"style": style, "dialect": "postgres"} for style in STYLES],
    "python": [{"vectorized": True, "reasons": True}],
    "dbt": [{"table": "raw.customers"}],
    "html": [{"path": "path.json"}],
}
for name in shallowrules.exporter_names():
    for options in chosen.get(name, [{}]):
        assert shallowrules.export(model.rules_, name, **options), (name, options)
PythonExporter().vectors_test(model.rules_, "rules.py", "rules.vectors.json")
JavaScriptExporter().vectors_test(model.rules_, "rules.mjs", "rules.vectors.json")
Toolchain.command = lambda *arguments: b""  # nothing is compiled
for toolchain in TOOLCHAINS.values():
    label_by(toolchain, [(model.rules_, [])])
files = importlib.resources.files("shallowrules.templates").iterdir()
print(sorted(loaded))
print(sorted(file.name for file in files if file.name.endswith(".j2")))
"""

# The labels that a model gives, whatever built the kernel.
FIT = """
from sklearn.datasets import load_digits
import shallowrules
from shallowrules import _kernel
model = shallowrules.ExplainableKMeans(10, random_state=0, n_jobs=2).fit(load_digits().data)
print(_kernel.openmp_enabled(), shallowrules.__file__)
print(model.labels_.tolist())
"""


class Built(NamedTuple):
    tree: Path
    sdist: Path
    wheel: Path


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command and return its output, which is also the message if it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


TEMPLATES = ("*.j2", "*.css", "*.js")


def sources(*patterns: str) -> set[str]:
    """Return the files of the package and its templates that match, relative to the repository."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in ("shallowrules", "templates")
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
    }


wheel_only = pytest.mark.skipif("SHALLOWRULES_WHEEL" not in os.environ, reason="`make wheel` runs these")

lowest_only = pytest.mark.skipif("SHALLOWRULES_LOWEST" not in os.environ, reason="`make test-lowest` runs these")

# Fits with two threads, KMeans before and after; prints the files of the OpenMP libraries that were loaded.
TWO_OPENMPS = """
import threadpoolctl
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
import shallowrules

X = load_digits().data.repeat(20, axis=0)
labels = []
for n_jobs in (1, 2):
    reference = KMeans(10, n_init=1, random_state=0).fit(X)
    labels.append(shallowrules.ExplainableKMeans(clusterer=reference, n_jobs=n_jobs).fit(X).labels_.tolist())
assert labels[0] == labels[1]
for library in threadpoolctl.threadpool_info():
    if library["user_api"] == "openmp":
        print(library["filepath"])
"""

TYPED_USE = """
from shallowrules import ExplainableKMeans, RuleSet, export
rules: RuleSet = ExplainableKMeans(3).fit([[0.0], [1.0], [2.0]]).rules_
text: str | bytes | dict[str, str | bytes] = export(rules, "sql")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    """Build from a copy: leftovers in the tree (old manifests, compiled files) must not help."""
    folder = tmp_path_factory.mktemp("packaging")
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_SOURCE)
    # Without isolation no index is asked: the test extra has all that a build needs.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", tree, cwd=folder)
    [sdist] = (folder / "dist").glob("*.tar.gz")
    [wheel] = (folder / "dist").glob("*.whl")
    return Built(tree, sdist, wheel)


@pytest.mark.builds
def test_the_sdist_has_every_source_and_nothing_compiled(built):
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = sources("*.py", "*.pyx", "*.pxd", "*.h", "*.md", *TEMPLATES, "py.typed")
    expected |= {"LICENSE", "Makefile", "MANIFEST.in", "dev-tools.txt", "pyproject.toml", "setup.py"}
    expected.add("tests/project/test_packaging.py")
    assert expected <= names
    assert not {name for name in names if name.endswith((".c", ".so", ".pyd", ".pyc"))}


def test_an_archive_of_the_same_files_has_the_same_bytes(setup_script, tmp_path, monkeypatch):
    archives = []
    for number in (1, 2):
        folder = tmp_path / str(number) / "shallowrules-1.0"
        (folder / "tests").mkdir(parents=True)
        for name, mode in (("setup.py", 0o600), ("tests/run", 0o700)):
            (folder / name).write_text(name)
            (folder / name).chmod(mode | (0o044 if number == 1 else 0))
            os.utime(folder / name, (1e9 * number, 1e9 * number))
        monkeypatch.chdir(folder.parent)
        monkeypatch.setattr("time.time", lambda time=1e9 * number: time)
        command = setup_script.Sdist(Distribution())
        archives.append(Path(command.make_archive("made", "gztar", base_dir="shallowrules-1.0")).read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(fileobj=io.BytesIO(archives[0])) as archive:
        assert {member.name: member.mode for member in archive if member.isfile()} == {
            "shallowrules-1.0/setup.py": 0o644,
            "shallowrules-1.0/tests/run": 0o755,
        }


@pytest.mark.builds
def test_the_wheel_has_the_package_its_templates_and_its_license(built):
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    expected = {
        name.replace("templates/", "shallowrules/templates/", 1) if name.startswith("templates/") else name
        for name in sources("*.py", "*.pxd", *TEMPLATES, "py.typed")
    }
    suffix = ".pyd" if sys.platform == "win32" else ".abi3.so"
    assert "-cp311-abi3-" in built.wheel.name
    expected |= {name.removesuffix(".pyx") + suffix for name in sources("*.pyx")}
    expected.add(f"shallowrules/_kernel/shared/_cyutility{suffix}")  # what the others share
    assert expected <= names
    licenses = {name.partition(".dist-info/licenses/")[2] for name in names}
    assert {"LICENSE", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "licenses").iterdir())} <= licenses
    outside = {name for name in names if not name.startswith("shallowrules")}
    assert not outside, "the wheel installs something beside the package"


@pytest.mark.builds
def test_every_template_renders_from_an_installed_wheel(built, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    places = {"base": str(tmp_path / "env"), "platbase": str(tmp_path / "env")}
    python = Path(sysconfig.get_path("scripts", "venv", vars=places), "python")
    site_packages = Path(sysconfig.get_path("purelib", "venv", vars=places))
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", built.wheel),
        cwd=tmp_path,
    )
    # The dependencies come from this environment. A path in a .pth file does not switch on the .pth files found
    # there, so that an editable install stays out.
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages / "dependencies.pth").write_text("\n".join(sorted(dependencies)))
    loaded, shipped = run(python, "-I", "-W", "error", "-c", RENDER_ALL, cwd=tmp_path).splitlines()
    assert loaded == shipped


@pytest.mark.builds
def test_a_serial_build_says_so_and_gives_the_same_tree(built):
    # The C that Cython made here is made again where a source is newer; it does not depend on the switch.
    if (ROOT / "build" / "cython").is_dir():
        shutil.copytree(ROOT / "build" / "cython", built.tree / "build" / "cython")
    # Not optimized, which saves most of the time. The compiler has one path always, by which compiled modules are kept.
    compiler = ROOT / "build" / "cc-for-a-test"
    compiler.parent.mkdir(exist_ok=True)
    usual = os.environ.get("CC") or sysconfig.get_config_var("CC")
    compiler.write_text(f'#!/bin/sh\nexec {usual} "$@" -O0\n')
    compiler.chmod(0o755)
    switches = {"SHALLOWRULES_NO_OPENMP": "1", "CC": str(compiler)}
    run(sys.executable, "setup.py", "build_ext", "--inplace", cwd=built.tree, **switches)
    says, labels = run(sys.executable, "-c", FIT, cwd=built.tree).splitlines()
    assert says == f"False {built.tree / 'shallowrules' / '__init__.py'}"
    assert labels == run(sys.executable, "-c", FIT, cwd=ROOT).splitlines()[1]


class Build:
    """The part of setuptools' command that `Kept` looks at: two modules, in a folder of its own."""

    compiler = SimpleNamespace(compiler_so=[sys.executable, "-O3"], linker_so=["ld"])
    extensions = (SimpleNamespace(name="a"), SimpleNamespace(name="b"))

    def __init__(self, folder: Path):
        self.folder = folder

    def get_ext_fullpath(self, name: str) -> str:
        return str(self.folder / f"{name}.so")

    def write(self) -> None:
        self.folder.mkdir()
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).write_text(f"{extension.name} of {self.folder.name}")

    def read(self) -> list[str]:
        return [Path(self.get_ext_fullpath(extension.name)).read_text() for extension in self.extensions]


def test_compiled_modules_are_kept_until_what_they_come_from_changes(setup_script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(setup_script, "CACHE", "kept")
    (tmp_path / setup_script.KERNEL).mkdir(parents=True)
    sources = [tmp_path / setup_script.SCRIPT, *(tmp_path / setup_script.KERNEL / f"a.{kind}" for kind in ("pyx", "h"))]
    for source in sources:
        source.write_text("before")
    one, two = Build(tmp_path / "one"), Build(tmp_path / "two")
    one.write()
    kept = setup_script.Kept(one, ["-g0"])
    assert not kept.is_current()
    kept.put()
    assert setup_script.Kept(two, ["-g0"]).is_current()
    assert not setup_script.Kept(two, ["-g1"]).is_current()
    for source in sources:
        source.write_text("after")
        assert not setup_script.Kept(two, ["-g0"]).is_current()
        source.write_text("before")
    (tmp_path / setup_script.KERNEL / "new.pxd").touch()
    assert not setup_script.Kept(two, ["-g0"]).is_current()
    (tmp_path / setup_script.KERNEL / "new.pxd").unlink()
    setup_script.Kept(two, ["-g0"]).take()
    assert two.read() == one.read() == ["a of one", "b of one"]


@pytest.mark.parametrize("folder", [ROOT, ROOT / "tests"], ids=["from the repository", "from elsewhere"])
def test_templates_are_found_where_the_package_is_installed(folder):
    listing = "import jinja2; print(*jinja2.PackageLoader('shallowrules.templates', '').list_templates())"
    found = run(sys.executable, "-c", listing, cwd=folder).split()
    assert {Path(name).name for name in sources(*TEMPLATES)} <= set(found)


def installed() -> Path:
    """Return the folder that the package is installed in."""
    return Path(sysconfig.get_path("platlib"))


@wheel_only
def test_the_wheel_is_what_is_tested():
    import shallowrules

    package = installed() / "shallowrules"
    assert Path(shallowrules.__file__) == package / "__init__.py"
    for name in sources("*.py", *TEMPLATES, "*.pyi", "py.typed"):
        assert (package / name.removeprefix("shallowrules/")).is_file(), name
    for name in sorted(sources("*.py", "*.pyx")):
        parts = "shallowrules", *Path(name.removeprefix("shallowrules/")).with_suffix("").parts
        if "__main__" not in parts:  # it runs the command line
            module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
            assert package in Path(module.__file__ or "").parents, name
    tags = importlib.metadata.distribution("shallowrules").read_text("WHEEL") or ""
    assert "manylinux" in tags or "musllinux" in tags


@wheel_only
def test_the_wheels_command_line_works(tmp_path):
    command = Path(sysconfig.get_path("scripts"), "shallowrules")
    run(command, "sample", "iris", "-o", "iris.csv", cwd=tmp_path)
    run(command, "run", "iris.csv", "-k", "3", cwd=tmp_path)
    for exporter in importlib.metadata.entry_points(group="shallowrules.exporters"):
        if exporter.dist and exporter.dist.name == "shallowrules":
            name = f"exported{exporter.load().file_extension}"  # a folder, of several files
            run(command, "export", "iris_rules/rules.json", exporter.name, "-o", name, cwd=tmp_path)
            assert (tmp_path / name).is_file() or any((tmp_path / name).rglob("*.*"))
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            (tmp_path / name).unlink(missing_ok=True)


@wheel_only
def test_the_wheels_types_are_seen(tmp_path):
    (tmp_path / "use.py").write_text(TYPED_USE)
    run(sys.executable, "-m", "mypy", "--follow-imports=silent", "use.py", cwd=tmp_path)
    (tmp_path / "use.py").write_text(TYPED_USE.replace("RuleSet = ", "int = "))
    wrong = subprocess.run([sys.executable, "-m", "mypy", "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert 'has type "RuleSet"' in wrong.stdout


@wheel_only
def test_the_wheels_openmp_and_scikit_learns_work_side_by_side(tmp_path):
    loaded = [Path(line) for line in run(sys.executable, "-c", TWO_OPENMPS, cwd=tmp_path).splitlines()]
    assert {"shallowrules.libs", "scikit_learn.libs"} <= {path.parent.name for path in loaded}


@lowest_only
def test_every_floor_is_the_version_that_is_installed():
    floors: dict[str, set[Version]] = {}
    for text in importlib.metadata.requires("shallowrules") or []:
        requirement = Requirement(text)
        lowest = {Version(each.version) for each in requirement.specifier if each.operator == ">="}
        floors.setdefault(canonicalize_name(requirement.name), set()).update(lowest)
    installed = {
        canonicalize_name(each.name): Version(each.version) for each in importlib.metadata.distributions() if each.name
    }
    differing = {
        name: (versions, installed[name])
        for name, versions in floors.items()
        if name in installed and versions and versions != {installed[name]}
    }
    assert not differing
