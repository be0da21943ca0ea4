"""Vectors of any width, on any machine and from any compiler, give the same bits."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.builds,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the flags are those of GCC on Linux"),
    pytest.mark.skipif("SHALLOWRULES_SANITIZE" in os.environ, reason="a program of its own"),
]

TESTS = Path(__file__).resolve().parents[1]
COMPILER = os.environ.get("CC", "cc")

WINE = "/usr/lib/wine/wine64"  # Debian has it there

# How to compile `vectors.c`, and the emulator that runs it.
BUILDS = {
    "without AVX2": ([COMPILER], ["qemu-x86_64", "-cpu", "Nehalem"]),
    "one instruction set": ([COMPILER, "-DNO_CLONES"], []),
    "AVX2": ([COMPILER, "-DNO_CLONES", "-march=x86-64-v3"], []),
    "AVX-512": ([COMPILER, "-DNO_CLONES", "-march=x86-64-v4"], []),
    "no vectors": ([COMPILER, "-DNO_VECTORS"], []),
    "Clang": (["clang"], []),
    "ARM": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"]),
    "Clang for ARM": (["clang", "--target=aarch64-linux-gnu", "-static"], ["qemu-aarch64"]),
}
PORTS = {
    "musl": (["musl-gcc", "-static"], []),
    "Windows": (["x86_64-w64-mingw32-gcc", "-static"], [WINE]),
    "no vectors on Windows": (["x86_64-w64-mingw32-gcc", "-static", "-DNO_VECTORS"], [WINE]),
}
NEEDS = {"AVX2": {"avx2", "bmi2", "fma"}, "AVX-512": {"avx512bw", "avx512cd", "avx512dq", "avx512vl"}}
"""What the machine has to have, as Linux calls it."""


@functools.cache
def features() -> set[str]:
    return set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())


@pytest.fixture(scope="module")
def checksums(tmp_path_factory, setup_script):
    """Return a function that compiles `vectors.c` with a command, and returns what the program prints."""
    folder = tmp_path_factory.mktemp("vectors")

    def run(command: list[str], emulator: list[str]) -> str:
        flags = [*setup_script.COMPILE_FLAGS["unix"], "-I", str(TESTS.parent / "shallowrules" / "_kernel")]
        source = str(TESTS / "helpers" / "vectors.c")
        subprocess.run([*command, *flags, source, "-lm", "-o", "vectors.exe"], cwd=folder, check=True)
        wine = {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}
        done = subprocess.run(
            [*emulator, "./vectors.exe"], cwd=folder, env=os.environ | wine, check=True, capture_output=True, text=True
        )
        return done.stdout

    return run


@pytest.fixture(scope="module")
def expected(checksums):
    return checksums([COMPILER], [])


@pytest.mark.parametrize("build", [*BUILDS, *(pytest.param(build, marks=pytest.mark.ports) for build in PORTS)])
def test_every_build_gives_the_same_bits(build, checksums, expected):
    command, emulator = (BUILDS | PORTS)[build]
    missing = [name for name in (command[0], *emulator[:1]) if shutil.which(name) is None]
    if missing or not NEEDS.get(build, set()) <= features():
        pytest.skip(f"the machine lacks {', '.join(missing) or build}")
    if platform.machine() != "x86_64" and ("x86" in " ".join([*command, *emulator])):
        pytest.skip("for x86-64")
    assert len(expected.splitlines()) > 1000
    assert checksums(command, emulator) == expected
