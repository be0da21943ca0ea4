"""What goes works for two minor versions, and warns."""

from __future__ import annotations

import ast
import inspect

import pytest
from conftest import ROOT

import shallowrules
from shallowrules.cli.output import warnings_shown
from shallowrules.deprecation import WARNING_VERSIONS, warn_deprecated
from shallowrules.errors import ShallowRulesDeprecation

SENTENCE = "old_name() is deprecated since version 0.9 and will be removed in version 0.11; use new_name()"


def old_name() -> int:
    """Return 1, as it always did."""
    warn_deprecated("old_name()", "0.9", "new_name()")
    return 1


def test_what_goes_works_and_warns_at_the_line_that_uses_it():
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(FutureWarning) as caught:
        assert old_name() == 1
    [warning] = caught
    assert warning.category is ShallowRulesDeprecation
    assert str(warning.message) == SENTENCE
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_the_command_line_shows_it(capsys):
    with warnings_shown():
        old_name()
    assert SENTENCE in " ".join(capsys.readouterr().err.split())


def overdue(text, version):
    """Return the lines that warn of what a version should no longer have."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_deprecated":
            major, minor = map(int, ast.literal_eval(node.args[1]).split("."))
            lines += [node.lineno] * (version >= (major, minor + WARNING_VERSIONS))
    return lines


def test_nothing_is_left_whose_time_has_come():
    version = tuple(map(int, shallowrules.__version__.split(".")[:2]))
    files = list((ROOT / "shallowrules").rglob("*.py"))
    assert files
    assert {path: lines for path in files if (lines := overdue(path.read_text(encoding="utf-8"), version))} == {}


@pytest.mark.parametrize(("version", "lines"), [((0, 4), []), ((0, 5), [2]), ((1, 0), [2])])
def test_what_a_version_should_no_longer_have_is_found(version, lines):
    assert overdue('def old():\n    warn_deprecated("old()", "0.3", "new()")\n', version) == lines
