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


def test_nothing_is_left_whose_time_has_come():
    version = tuple(map(int, shallowrules.__version__.split(".")[:2]))
    for path in (ROOT / "shallowrules").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_deprecated":
                major, minor = map(int, ast.literal_eval(node.args[1]).split("."))
                assert version < (major, minor + WARNING_VERSIONS), f"{path}:{node.lineno}"
