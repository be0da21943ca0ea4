"""Where the benchmarks are, and pages that they write into."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SCRIPTS", "page_of_both", "stale_page"]

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"


def stale_page(page: Path, script: str) -> Path:
    """Return a page with a script's table that should be renewed."""
    begin, end = (f"<!-- measured by benchmarks/{script}: {word} -->" for word in ("begin", "end"))
    page.write_text(f"before\n{begin}\na stale table\n{end}\n")
    return page


def page_of_both(folder: Path) -> Path:
    """Return a page that each of the scripts paper.py and quality.py can write into."""
    page = folder / "page.md"
    page.write_text("".join(f"before\n<!-- measured by benchmarks/{script}: begin -->\nold\n"
                            f"<!-- measured by benchmarks/{script}: end -->\nafter\n"
                            for script in ("paper.py", "quality.py")))  # fmt: skip
    return page
