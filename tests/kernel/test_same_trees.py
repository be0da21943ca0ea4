"""The trees of `trees.py` are those of its golden file, with which wheels for other systems are compared."""

from __future__ import annotations

import pytest
import trees
from goldenfiles import assert_golden


def test_the_trees_are_the_golden_ones():
    assert_golden(trees.GOLDEN.name, "\n".join(trees.lines()) + "\n")


@pytest.mark.parametrize("openmp", ["on", "off"])
def test_the_script_says_what_differs(openmp, tmp_path, monkeypatch, capsys):
    expected = trees.GOLDEN.read_text(encoding="utf-8")
    monkeypatch.setattr(trees, "lines", lambda files: iter(expected.splitlines()))
    monkeypatch.setattr(trees, "openmp_enabled", lambda: True)
    monkeypatch.setattr("sys.argv", ["trees.py", "--openmp", openmp])
    assert trees.main() == (openmp == "off")
    monkeypatch.setattr(trees, "GOLDEN", tmp_path / "trees.txt")
    trees.GOLDEN.write_text(expected.replace("iris: 7 leaves", "iris: 6 leaves"), encoding="utf-8")
    assert trees.main() == 1
    assert ("-iris: 6 leaves" in capsys.readouterr().out) == (openmp == "on")
