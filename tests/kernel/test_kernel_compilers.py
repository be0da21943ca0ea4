"""Other compilers take all C that Cython made of the kernel: for Windows, where a long has 32 bits, and for musl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT

KERNEL = ROOT / "shallowrules" / "_kernel"
TRANSLATED = ROOT / "build" / "cython" / "shallowrules" / "_kernel"

pytestmark = [
    pytest.mark.ports,
    pytest.mark.skipif(sys.platform == "win32", reason="it is about Windows as seen from elsewhere"),
    pytest.mark.skipif("SHALLOWRULES_SANITIZE" in os.environ, reason="it runs nothing of the kernel"),
    pytest.mark.skipif("SHALLOWRULES_WHEEL" in os.environ, reason="a wheel has no sources"),
]

WINE = Path("/usr/include/wine/wine")

# The compiler with its flags. Clang for MSVC's libraries defines what MSVC defines, and not what GCC does; Wine has the
# headers for it.
COMPILERS = {
    "MinGW": ["x86_64-w64-mingw32-gcc", "-fopenmp", "-Wconversion"],
    "Clang as MSVC": [
        *("clang", "--target=x86_64-pc-windows-msvc", "-std=c11", "-Wshorten-64-to-32"),
        *("-isystem", str(WINE / "msvcrt"), "-isystem", str(WINE / "windows")),
    ],
    "musl": ["musl-gcc", "-fopenmp"],
}
WIDE = r"'(?:Py_ssize_t|s?size_t|u?int64_t|(?:unsigned )?long long\b[^']*)'"
NARROWED = re.compile(WIDE + r".* to '(?:unsigned )?long(?: [^l']*)?'")


@pytest.fixture(scope="module")
def headers(tmp_path_factory) -> Path:
    """Return a folder with Python's headers, and a `pyconfig.h` as on Windows."""
    folder = tmp_path_factory.mktemp("headers") / "python"
    shutil.copytree(sysconfig.get_path("include"), folder)
    shutil.copy(ROOT / "tests" / "helpers" / "windows" / "pyconfig.h", folder)
    return folder


def sources() -> list[Path]:
    """Return the C of the kernel; all of it, or there is none."""
    found = sorted(TRANSLATED.rglob("*.c"))
    expected = {path.stem for path in KERNEL.rglob("*.pyx")} | {"_cyutility"}
    if {path.stem for path in found} != expected:
        pytest.skip("the kernel is not translated here: make build")
    return found


def compiled(compiler: str, source: Path, out: Path, *flags: str) -> list[str]:
    """Compile a file; return the messages about numbers of 64 bits that become a long."""
    command = [*COMPILERS[compiler], "-c", "-O0", *flags, source, "-o", out]
    done = subprocess.run(command, env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True)
    assert done.returncode == 0, f"{source}\n{done.stderr[-3000:]}"
    return [line for line in done.stderr.splitlines() if NARROWED.search(line)]


@pytest.fixture(params=COMPILERS)
def compiler(request) -> str:
    """Return a compiler that is there, with its headers."""
    command = COMPILERS[request.param]
    missing = [word for word in command if word.startswith("/") and not Path(word).exists()]
    if shutil.which(command[0]) is None or missing:
        pytest.skip(f"not installed: {command[0]} {' '.join(missing)}")
    return request.param


def test_every_module_compiles(compiler, headers, tmp_path, setup_script):
    python = sysconfig.get_path("include") if compiler == "musl" else str(headers)
    flags = [f"-DPy_LIMITED_API={setup_script.STABLE_ABI}", "-DSHALLOWRULES_OPENMP=1", "-I", python, "-I", str(KERNEL)]
    files = sources()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        narrowed = pool.map(lambda file: compiled(compiler, file, tmp_path / f"{files.index(file)}.o", *flags), files)
        assert [line for lines in narrowed for line in lines] == []


def test_a_number_that_would_not_fit_a_long_is_seen(compiler, tmp_path):
    (tmp_path / "long.c").write_text("long of(long long number) { return number; }\n")
    narrowed = compiled(compiler, tmp_path / "long.c", tmp_path / "long.o")
    assert len(narrowed) == (compiler != "musl")  # a long has 64 bits there
