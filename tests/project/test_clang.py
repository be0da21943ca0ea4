"""A kernel built by Clang grows the same trees, and its OpenMP library, LLVM's, runs beside scikit-learn's libgomp."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from test_packaging import NOT_SOURCE, TWO_OPENMPS, run

LIBOMP = next(iter(sorted(Path("/usr/lib").glob("llvm-*/lib/libomp.so*"))), None)
pytestmark = [
    pytest.mark.ports,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("clang") is None or LIBOMP is None,
        reason="not installed: clang and LLVM's libomp",
    ),
    pytest.mark.skipif("SHALLOWRULES_WHEEL" in os.environ, reason="it makes a build of its own"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """Return a copy of the sources with a kernel that Clang compiled, not optimized, which saves most of the time."""
    tree = tmp_path_factory.mktemp("clang") / "tree"
    shutil.copytree(ROOT, tree, ignore=NOT_SOURCE)
    if (ROOT / "build" / "cython").is_dir():
        shutil.copytree(ROOT / "build" / "cython", tree / "build" / "cython")
    compiler = ROOT / "build" / "clang-for-a-test"  # always in one place, by which compiled modules are kept
    compiler.parent.mkdir(exist_ok=True)
    compiler.write_text('#!/bin/sh\nexec clang "$@" -O0\n')
    compiler.chmod(0o755)
    switches = {"CC": str(compiler), "LDSHARED": f"{compiler} -shared"}
    run(sys.executable, "setup.py", "build_ext", "--inplace", cwd=tree, **switches)
    return tree


def test_the_trees_are_the_same(tree):
    told = run(
        sys.executable, ROOT / "tests" / "helpers" / "trees.py", "--openmp", "on", cwd=tree, PYTHONPATH=str(tree)
    )
    assert told == "OpenMP is on; the trees are equal\n"


def test_llvms_openmp_and_libgomp_run_side_by_side(tree):
    code = f"{TWO_OPENMPS}\nprint(shallowrules.__file__)"
    *loaded, package = run(sys.executable, "-c", code, cwd=tree, PYTHONPATH=str(tree)).splitlines()
    assert Path(package).parent == tree / "shallowrules"
    assert sorted(Path(file).name.partition(".")[0].partition("-")[0] for file in loaded) == ["libgomp", "libomp"]


@pytest.mark.parametrize("allowed", [False, True])
def test_two_of_llvms_end_the_process_unless_told_otherwise(allowed, tmp_path):
    """Wheels for macOS are serial for this reason: scikit-learn brings one of LLVM's there."""
    shutil.copy(LIBOMP, tmp_path / "another.so")
    code = "import ctypes, sys\nfor file in sys.argv[1:]: print(ctypes.CDLL(file).omp_get_max_threads())"
    environment = {name: value for name, value in os.environ.items() if name != "KMP_DUPLICATE_LIB_OK"}
    done = subprocess.run(
        [sys.executable, "-c", code, LIBOMP, tmp_path / "another.so"],
        env=environment | ({"KMP_DUPLICATE_LIB_OK": "TRUE"} if allowed else {}),
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) is allowed
    assert ("OMP: Error #15" in done.stderr) is not allowed
