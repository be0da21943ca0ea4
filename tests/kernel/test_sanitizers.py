"""`make sanitize` can fail: the kernel it tests has the sanitizers, and they stop a program at its error."""

import ctypes
import importlib.util
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from shallowrules import _kernel

pytestmark = pytest.mark.skipif("SHALLOWRULES_SANITIZE" not in os.environ, reason="`make sanitize` runs these")

ROOT = Path(__file__).resolve().parents[2]

ERRORS = """
void fill(double *values, long n) { for (long i = 0; i < n; i++) values[i] = 1.0; }
void negate(int *value) { *value = -*value; }
void shift(int *value) { *value = 1 << *value; }
void truncate_first(double *values) { values[0] = (int)values[0]; }
"""

# Calls one of the functions above on arrays of NumPy, as the kernel is called.
CALL = """
import ctypes, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
integer = np.array([int(sys.argv[3])], dtype=np.intc)
values = np.full(1000, 3e10)
arguments = {
    "fill": [values.ctypes, ctypes.c_long(int(sys.argv[3]))],
    "negate": [integer.ctypes],
    "shift": [integer.ctypes],
    "truncate_first": [(values / int(sys.argv[3])).ctypes],
}
getattr(library, sys.argv[2])(*arguments[sys.argv[2]])
print("done")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory, setup_script) -> Path:
    """Compile functions that err on demand, with the flags of the kernel."""
    folder = tmp_path_factory.mktemp("sanitizers")
    (folder / "errors.c").write_text(ERRORS)
    compiler = os.environ.get("CC", "cc")
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    flags = ["-shared", "-fPIC", "-fwrapv", *setup_script.SANITIZE_FLAGS]  # Python's own flags have -fwrapv
    subprocess.run([compiler, *flags, "errors.c", "-o", "errors.so"], cwd=folder, env=plain, check=True)
    return folder / "errors.so"


def call(library: Path, function: str, argument: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CALL, str(library), function, str(argument)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


INT_MIN = -(2 ** (8 * ctypes.sizeof(ctypes.c_int) - 1))


@pytest.mark.parametrize(
    ("function", "harmless", "harmful", "error"),
    [
        ("fill", 1000, 1001, "heap-buffer-overflow"),
        ("negate", 1, INT_MIN, "negation of"),
        ("shift", 4, 40, "shift exponent 40 is too large"),
        ("truncate_first", 100, 1, "outside the range of representable values"),
    ],
)
def test_an_error_ends_the_program(library, function, harmless, harmful, error):
    fine = call(library, function, harmless)
    assert (fine.returncode, fine.stdout) == (0, "done\n"), fine.stderr
    stopped = call(library, function, harmful)
    assert stopped.returncode != 0
    assert error in stopped.stderr
    assert stopped.stdout == ""


def test_every_module_of_the_kernel_is_sanitized():
    modules = [
        importlib.util.find_spec(module.name)
        for module in pkgutil.walk_packages(_kernel.__path__, f"{_kernel.__name__}.")
        if not module.ispkg
    ]
    files = [Path(spec.origin) for spec in modules if spec and spec.origin and not spec.origin.endswith(".py")]
    assert len(files) == len(list((ROOT / "shallowrules" / "_kernel").rglob("*.pyx"))) + 1  # what Cython shares
    for file in files:
        compiled = file.read_bytes()
        assert b"__asan_report_" in compiled, file
        assert b"__ubsan_handle_" in compiled, file
