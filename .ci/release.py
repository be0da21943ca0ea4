"""What must hold before a release: prints each fault, or with --tag the command that tags the commit.

--ci-passed COMMIT is the statement that .ci/run passed on this commit. --tagged TAG looks at a commit that has its tag.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path


def git(root: Path, *arguments: str) -> str:
    """Return the output of git; empty if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.rstrip()


def version_of(root: Path) -> str:
    """Return the version, which only pyproject.toml has."""
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def faults(root: Path, ci_passed: str = "", tagged: str = "") -> list[str]:
    """Return what keeps the commit from being released."""
    version = version_of(root)
    found = []
    changed = git(root, "status", "--porcelain")
    if changed or not git(root, "rev-parse", "HEAD"):
        found.append(f"the tree is not clean; commit or remove these:\n{changed}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.M):
        found.append(f"CHANGELOG.md has no line '## [{version}] - YYYY-MM-DD'")
    if re.search(r"^## \[Unreleased\]\s+(?!## )\S", changes, re.M):
        found.append("CHANGELOG.md has entries under Unreleased; move them to the version")
    if tagged:
        if tagged != f"v{version}":
            found.append(f"the tag is {tagged}, and the version in pyproject.toml {version}")
    elif git(root, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists; raise the version in pyproject.toml")
    minor = ".".join(version.split(".")[:2])
    if not (root / "tests" / "pickles" / minor).is_dir():
        found.append(f"tests/pickles/{minor} is missing; tests/pickles/make.py writes it")
    if ci_passed and git(root, "rev-parse", f"{ci_passed}^{{commit}}") != git(root, "rev-parse", "HEAD"):
        found.append(f"CI passed on {ci_passed}, which is not the commit that is checked out")
    return found


def main() -> int:
    """Return 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ci-passed", default="", metavar="COMMIT")
    parser.add_argument("--tagged", default="", metavar="TAG")
    parser.add_argument("--tag", action="store_true")
    told = parser.parse_args()
    root = Path(__file__).resolve().parents[1]
    found = faults(root, told.ci_passed, told.tagged)
    for fault in found:
        print(f"not ready: {fault}", file=sys.stderr)
    if told.tag and not found:
        version = version_of(root)
        print(
            "Nothing is tagged or uploaded. .github/workflows/release.yml publishes a version once its tag is pushed:"
        )
        print(f'  git tag -a v{version} -m "shallowrules {version}"')
        print(f"  git push origin v{version}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
