"""A wheel for 64-bit ARM, made by a cross compiler, grows the same trees under qemu as this machine does.

Debian's Python for ARM, and packages of this environment's versions for it, go into `build/arm`.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT
from test_packaging import NOT_SOURCE, run

TOOLS = ("aarch64-linux-gnu-gcc", "qemu-aarch64", "apt-get", "dpkg")
MISSING = [name for name in TOOLS if shutil.which(name) is None]
pytestmark = [
    pytest.mark.ports,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif("SHALLOWRULES_WHEEL" in os.environ, reason="it builds a wheel of its own"),
]

ARM = ROOT / "build" / "arm"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
DEBIAN = [
    *(f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib"),
    *("libc6", "libgcc-s1", "libgomp1", "libstdc++6", "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5"),
]
PACKAGES = ["numpy", "scipy", "scikit-learn", "threadpoolctl", "joblib", "narwhals", "jinja2", "sqlglot"]
TREES = ROOT / "tests" / "helpers" / "trees.py"
TABLES = ["mice"]
"""Real tables; qemu takes some ten times as long as this machine."""


def obtained(*command: str | Path, cwd: Path) -> None:
    """Run a command that needs the network; without it, skip."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"{command[0]} could not get Python or packages for ARM: {done.stderr[-300:]}")


@pytest.fixture(scope="module")
def system() -> Path:
    """Return a folder with Debian's Python for ARM; apt keeps its lists for ARM apart from those of this machine."""
    root = ARM / "root"
    if not (root / "complete").exists():
        shutil.rmtree(ARM, ignore_errors=True)
        for folder in ("state/lists/partial", "cache/archives/partial", "debs"):
            (ARM / folder).mkdir(parents=True)
        (ARM / "status").touch()
        options = ["APT::Architecture=arm64", "APT::Architectures::=arm64", f"Dir::State={ARM / 'state'}"]
        options += [f"Dir::State::status={ARM / 'status'}", f"Dir::Cache={ARM / 'cache'}"]
        apt = ["apt-get", *(word for option in options for word in ("-o", option))]
        obtained(*apt, "update", cwd=ARM)
        obtained(*apt, "download", *DEBIAN, cwd=ARM / "debs")
        for package in (ARM / "debs").iterdir():
            run("dpkg", "-x", package, root, cwd=ARM)
        (root / "complete").touch()
    return root


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Return a wheel for ARM."""
    tree = tmp_path_factory.mktemp("arm") / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_SOURCE)
    if (ROOT / "build" / "cython").is_dir():  # the C is that of any machine
        shutil.copytree(ROOT / "build" / "cython", tree / "build" / "cython")
    compiler = "aarch64-linux-gnu-gcc"
    switches = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tree.parent, cwd=tree, **switches)
    [wheel] = tree.parent.glob("*.whl")
    assert wheel.name.endswith("-cp311-abi3-linux_aarch64.whl")
    return wheel


@pytest.fixture(scope="module")
def site(system, wheel, tmp_path_factory) -> Path:
    """Return a folder with the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("site")
    wanted = [f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES]
    platform = ["--python-platform", "aarch64-unknown-linux-gnu", "--python-version", PYTHON.removeprefix("python")]
    uv = [sys.executable, "-m", "uv"]
    obtained(*uv, "pip", "install", "-q", "--target", folder, *platform, "--only-binary", ":all:", *wanted, cwd=ARM)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_trees_are_those_of_this_machine(system, site, request):
    tables = []
    if "SHALLOWRULES_DATA" in os.environ:
        tables = [request.getfixturevalue("shared_data") / f"{name}.npz" for name in TABLES]
    emulated = ["qemu-aarch64", "-L", system, system / "usr" / "bin" / PYTHON]
    machine = "import platform, shallowrules as s; print(platform.machine(), s.__file__)"
    switches = {"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    assert run(*emulated, "-c", machine, cwd=site, **switches).split() == [
        "aarch64",
        str(site / "shallowrules" / "__init__.py"),
    ]
    there = run(*emulated, TREES, "--print", "--openmp", "on", *tables, cwd=site, **switches)
    assert there == run(sys.executable, TREES, "--print", *tables, cwd=ROOT)
    assert len(there.splitlines()) > 15
