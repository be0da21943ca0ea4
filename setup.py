"""The Cython extensions of `shallowrules._kernel` and how they are compiled; everything else is in pyproject.toml.

Environment variables:

SHALLOWRULES_DEBUG=1       turn Cython's run-time checks (bounds, uninitialised memoryviews, None) back on
SHALLOWRULES_NO_OPENMP=1   build serially even where OpenMP works
SHALLOWRULES_SANITIZE=1    compile with AddressSanitizer and UndefinedBehaviorSanitizer (`make sanitize`)
SHALLOWRULES_COVERAGE=1    count how often each line of the kernel runs, for gcov (`make coverage`)
SOURCE_DATE_EPOCH=SECONDS  the time of all files in the sdist and the wheel; the sdist's is 1980 otherwise
SHALLOWRULES_CACHE=FOLDER  keep the compiled modules there, and take them from there when nothing has changed: a wheel
                           is built in a new folder each time (the Makefile names one below `build`)
"""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

DEBUG, NO_OPENMP, SANITIZE, COVERAGE = (
    os.environ.get(f"SHALLOWRULES_{switch}", "") not in ("", "0")
    for switch in ("DEBUG", "NO_OPENMP", "SANITIZE", "COVERAGE")
)

CACHE = os.environ.get("SHALLOWRULES_CACHE", "")

KERNEL, SCRIPT = Path("shallowrules/_kernel"), Path("setup.py")

# One build for Python 3.11 and all later versions: Python's stable ABI, which free-threaded builds do not have.
STABLE_ABI = "" if sysconfig.get_config_var("Py_GIL_DISABLED") else "0x030B0000"

# Cython's memoryviews, compiled once. Without this module, every module that uses them has its own copy, which
# doubles what has to be compiled. Cython writes the source of this module too.
SHARED_MODULE = "shallowrules._kernel.shared._cyutility"

# The directives of every .pyx, here and nowhere else. A checked build computes the same: wraparound and cdivision
# change the meaning of an expression, so they stay as they are; a checked build reports a negative index as an error.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "wraparound": False,
    "cdivision": True,
    "embedsignature": True,
}

# No -ffast-math and no fused multiply-add: a cut must not depend on how the compiler reorders a sum, nor a tree on
# the machine it was grown on. No -march=native: wheels travel.
# No debugging symbols, which Python's own flags ask for: they take a fifth of the time.
COMPILE_FLAGS = {
    "msvc": ["/O2", "/fp:precise", "/std:c11"],  # MSVC knows `restrict` from C11 on
    "unix": ["-O3", "-ffp-contract=off", "-fno-math-errno", "-g1" if DEBUG else "-g0"],
}

# -fno-wrapv: Python's own flags make signed overflow defined, and so invisible. A double that does not fit the integer
# it is converted to is undefined too, but "undefined" leaves it out.
SANITIZE_FLAGS = [
    *("-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv"),
    *("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"),
]

# Threads count in the same places. At -O1 nearly every line of Cython still has code of its own.
COVERAGE_FLAGS = ["-O1", "--coverage", "-fprofile-update=atomic"]

# Cython's memoryviews run when an array is handed over, not for each row: -O3 takes 5 s for them, this takes 2.
SHARED_MODULE_FLAGS = {"msvc": [], "unix": ["-O1"]}

OPENMP_PROGRAM = """
#include <omp.h>
int main(void) {
    int threads = 0;
    #pragma omp parallel reduction(+ : threads)
    threads += 1;
    return threads >= 1 && omp_get_max_threads() >= 1 ? 0 : 1;
}
"""


def extensions():
    """Return one extension for each .pyx of the kernel, and the module that they share."""
    headers = sorted(path.as_posix() for pattern in ("*.h", "*.pxd") for path in KERNEL.rglob(pattern))
    sources = {".".join(path.with_suffix("").parts): path.as_posix() for path in sorted(KERNEL.rglob("*.pyx"))}
    sources[SHARED_MODULE] = SHARED_MODULE.replace(".", "/") + ".c"
    return [
        Extension(
            name,
            [source],
            include_dirs=[KERNEL.as_posix()],
            depends=[] if name == SHARED_MODULE else headers,
            py_limited_api=bool(STABLE_ABI),
        )
        for name, source in sources.items()
    ]


def openmp_candidates(compiler_type):
    """Return the pairs of compile and link flags that may switch OpenMP on, likeliest first."""
    if compiler_type == "msvc":
        return [(["/openmp"], [])]
    if sys.platform == "darwin":  # Apple's clang knows the pragma but ships no runtime
        return [(["-Xpreprocessor", "-fopenmp"], ["-lomp"]), (["-fopenmp"], ["-fopenmp"])]
    return [(["-fopenmp"], ["-fopenmp"])]


def runs_with(compiler, compile_flags, link_flags):
    """Return whether a tiny OpenMP program compiles, links and runs with these flags; a cross compiler's is not run."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "openmp.c")
        source.write_text(OPENMP_PROGRAM)
        try:
            objects = compiler.compile([str(source)], output_dir=folder, extra_postargs=compile_flags)
            compiler.link_executable(objects, "openmp", output_dir=folder, extra_postargs=link_flags)
            if "_PYTHON_HOST_PLATFORM" in os.environ:  # Python's variable for the machine that a cross build is for
                return True
            program = Path(folder, compiler.executable_filename("openmp"))
            return subprocess.run([program], timeout=60, check=False).returncode == 0
        except Exception as error:  # whatever the error is, the kernel is built serially
            print(f"OpenMP with {' '.join(compile_flags)}: {error}", file=sys.stderr)
            return False


class Configuration:
    """What a step of the build was told, kept in a file; whether it is told something else now."""

    def __init__(self, path, told):
        self.path, self.text = path, json.dumps(told)
        self.changed = not path.exists() or path.read_text() != self.text

    def remember(self):
        """Write the file, once the step is done."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(self.text)


class Kept:
    """The compiled modules of the last build with these flags, and the hash of what they came from.

    Any Python that has the stable ABI may have built them; another has modules of its own.
    """

    def __init__(self, command, flags):
        compiler = command.compiler.compiler_so[0]
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
        python = [STABLE_ABI or sys.version, sysconfig.get_platform()]
        told = [python, flags, compiler, version, [os.environ.get(name) for name in ("CFLAGS", "CPPFLAGS", "LDFLAGS")]]
        self.folder = Path(CACHE) / hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        sources = sorted(path for pattern in ("*.pyx", "*.pxd", "*.h") for path in KERNEL.rglob(pattern))
        told = [cython_version, DIRECTIVES, [(path.as_posix(), path.read_text()) for path in [SCRIPT, *sources]]]
        self.hash = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        paths = [Path(command.get_ext_fullpath(extension.name)) for extension in command.extensions]
        self.modules = {path: self.folder / f"{i} {path.name}" for i, path in enumerate(paths)}

    def is_current(self):
        """Return whether the modules came from the sources as they are now."""
        said = self.folder / "sources"
        return said.exists() and said.read_text() == self.hash

    def take(self):
        """Copy the modules to where they would be built."""
        print(f"shallowrules: compiled before, taken from {self.folder}", file=sys.stderr)
        for built, kept in self.modules.items():
            built.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, built)
            shutil.copymode(kept, built)

    def put(self):
        """Keep the modules; what they came from is written last, so that a part of them is never taken."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for built, kept in self.modules.items():
            shutil.copy(built, kept)
        (self.folder / "sources").write_text(self.hash)


class BuildKernel(build_ext):
    """`build_ext` that asks the compiler at hand for OpenMP, and rebuilds when the answer or a switch changed."""

    def finalize_options(self):
        """Keep what was built for an editable install: setuptools would compile everything anew in a new folder."""
        super().finalize_options()
        if self.editable_mode:
            self.build_lib = str(Path(self.get_finalized_command("build").build_base, "editable"))

    def build_extensions(self):
        """Set the flags of all extensions, translate them to C and compile them."""
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        openmp = self.find_openmp()
        compile_flags, link_flags = openmp or ([], [])
        if SANITIZE:
            compile_flags, link_flags = compile_flags + SANITIZE_FLAGS, link_flags + SANITIZE_FLAGS
        if COVERAGE:
            compile_flags, link_flags = compile_flags + COVERAGE_FLAGS, [*link_flags, "--coverage"]
        print(f"shallowrules: OpenMP {'on' if openmp else 'off, the kernel runs serially'}", file=sys.stderr)
        for extension in self.extensions:
            extension.extra_compile_args = COMPILE_FLAGS[kind] + compile_flags
            extension.extra_link_args = link_flags
            extension.define_macros = [("SHALLOWRULES_OPENMP", "1" if openmp else "0")]
            if STABLE_ABI:
                extension.define_macros += [("Py_LIMITED_API", STABLE_ABI)]
            if extension.name == SHARED_MODULE and not SANITIZE:
                extension.extra_compile_args = extension.extra_compile_args + SHARED_MODULE_FLAGS[kind]

        flags = [COMPILE_FLAGS[kind], SHARED_MODULE_FLAGS[kind], compile_flags, link_flags]
        # Time stamps do not show a change of flags or directives, so the last ones are kept in files.
        build = Path(self.get_finalized_command("build").build_base)
        compilation = Configuration(build / f"configuration-{sys.implementation.cache_tag}.json", flags)
        kept = Kept(self, flags) if CACHE and kind == "unix" else None
        if kept and kept.is_current() and not self.force:
            kept.take()
        else:
            self.force = bool(self.force or compilation.changed)
            self.translate_and_compile(build)
            if kept:
                kept.put()
        compilation.remember()
        self.remove_stale()

    def translate_and_compile(self, build):
        """Translate what has changed to C, once for all versions of Python, and compile it."""
        translation = Configuration(
            build / "cython" / "configuration.json", [DIRECTIVES, SHARED_MODULE, cython_version]
        )
        translated = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED_MODULE,
            build_dir=(build / "cython").as_posix(),
            nthreads=os.cpu_count() or 1,
            force=translation.changed,
        )
        translation.remember()
        sources = {extension.name: extension.sources for extension in translated}
        for extension in self.extensions:  # the same objects, because setuptools keeps state in them
            extension.sources = sources[extension.name]
        super().build_extensions()

    def remove_stale(self):
        """Remove compiled modules that this build does not make: an import would find them here, and first."""
        known = {Path(self.get_ext_filename(extension.name)) for extension in self.extensions}
        for pattern in ("*.so", "*.pyd"):
            for path in KERNEL.rglob(pattern):
                if path not in known:
                    path.unlink()

    def find_openmp(self):
        """Return the compile and link flags that work here, or None."""
        if NO_OPENMP:
            return None
        candidates = openmp_candidates(self.compiler.compiler_type)
        return next((flags for flags in candidates if runs_with(self.compiler, *flags)), None)


def undated(member):
    """Return a member of the sdist without what differs between machines: times, owners, permissions of groups."""
    member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", 315_532_800))
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    return member


class Sdist(sdist):
    """`sdist` that writes the same bytes whenever and wherever it packs the same files."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        """Pack a folder as a tar archive; the header of gzip has no time or name either."""
        assert format == "gztar"
        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=undated)
        return path


if __name__ == "__main__":  # not in the processes that translate to C
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildKernel, "sdist": Sdist},
        options={
            "build_ext": {"parallel": os.cpu_count()},
            "bdist_wheel": {"py_limited_api": "cp311"} if STABLE_ABI else {},
        },
    )
