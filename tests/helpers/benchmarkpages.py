"""Where the benchmarks are, and pages that they write into."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["SCRIPTS", "page_of_both", "renewed"]

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"


def renewed(page: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script on tiny tables, and have it renew its table in a page."""
    begin, end = (f"<!-- measured by benchmarks/{script}: {word} -->" for word in ("begin", "end"))
    page.write_text(f"before\n{begin}\na stale table\n{end}\n")
    command = [sys.executable, str(SCRIPTS / script), "--quick", *options, "--markdown", str(page)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "a stale table" not in page.read_text()
    return done


def page_of_both(folder: Path) -> Path:
    """Return a page that each of the scripts paper.py and quality.py can write into."""
    page = folder / "page.md"
    page.write_text("".join(f"before\n<!-- measured by benchmarks/{script}: begin -->\nold\n"
                            f"<!-- measured by benchmarks/{script}: end -->\nafter\n"
                            for script in ("paper.py", "quality.py")))  # fmt: skip
    return page
