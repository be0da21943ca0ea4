"""Printed text: none of it commands the terminal, and one row is not "rows"."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commandline import call
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules import ExplainableKMeans, files
from shallowrules.cli.escaping import join_words, printable, shell_word
from shallowrules.cli.summary import show_rules
from shallowrules.errors import DataError
from shallowrules.exporters import export
from shallowrules.files import atomic_write

COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, line breaks left out."""

HOSTILE = "x\x1b[31mred\x07\x9b2J\u202e"


def write_table(name, values):
    frame = pd.DataFrame({"a": np.arange(12) % 5 + 0.5, name: values, "b": np.arange(12) % 3})
    frame.to_csv("t.csv", index=False)


PROBLEMS = {
    "too many texts": [f"text {row}" for row in range(12)],
    "an id": list(range(100, 112)),
    "no values": [None] * 12,
    "missing values": [1.5, None, *range(10)],
    "dates": [f"2020-01-{row + 10}" for row in range(12)],
    "nearly numeric": [*range(11), "N/A"],
    "infinite": [*range(11), "inf"],
    "constant": [1] * 12,
    "fine": [row % 4 for row in range(12)],
}


@pytest.mark.slow
@pytest.mark.parametrize("problem", few(PROBLEMS, 3))
def test_no_name_of_a_column_commands_the_terminal(tmp_path, monkeypatch, problem):
    monkeypatch.chdir(tmp_path)
    write_table(HOSTILE, PROBLEMS[problem])
    for arguments in (
        ["run", "t.csv", "-k", "2", "--force"],
        ["path", "t.csv", "-k", "2"],
        ["verify", "t_rules/rules.json", "t.csv"],
        ["label", "t_rules/rules.json", "t.csv", "-o", f"{HOSTILE}.csv", "--force"],
        ["run", HOSTILE, "-k", "2"],
        ["run", "t.csv", "-k", "2", "--exclude", HOSTILE + "!"],
        ["run", "t.csv", "-k", HOSTILE],
        ["export", "t_rules/rules.json", HOSTILE],
        [HOSTILE],
        ["run", "--" + HOSTILE],
    ):
        result = call(*arguments)
        assert not COMMANDS.search(result.output), (arguments, result.output)
        assert not COMMANDS.search(result.stderr), (arguments, result.stderr)


def test_the_way_out_is_a_command_that_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(HOSTILE, PROBLEMS["too many texts"])
    error = call("run", "t.csv", "-k", "2", "--force").stderr
    proposed = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {error.partition('This works: ')[2]}"], capture_output=True, check=True
    ).stdout
    words = proposed.decode("utf-8", "surrogateescape").split("\0")[1:-1]
    if "\\u" not in error or not HOSTILE.isascii():  # bash needs a locale of UTF-8 for these
        words[words.index("--exclude") + 1] = HOSTILE
    assert call(*words).exit_code == 0


@draws(30)
@given(st.text(st.characters(max_codepoint=126), max_size=8))
def test_words_survive_a_shell(text):
    word = shell_word(text.replace("\0", ""))
    assert printable(word) == word
    assert subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout.decode() == (
        text.replace("\0", "")
    )


def test_plain_words_are_quoted_as_ever():
    words = ["shallowrules", "run", "a b.csv", "--exclude", "größe,'x'"]
    assert join_words(words) == shlex.join(words)


def test_one_row_is_no_rows():
    with pytest.raises(DataError, match=re.escape("(1 row)")):
        ExplainableKMeans(2).fit(pd.DataFrame({"a": [1.0, np.nan, 3.0]}))
    rules = make_rules([("a", "float")], 0)
    assert repr(rules).startswith("RuleSet(1 rule, 1 cluster, 1 column")
    for text in (repr(rules), str(rules), *(export(rules, name) for name in ("sql", "python", "markdown"))):
        assert not re.search(r"\b1 (rows|clusters|rules|columns|values)\b", text), text


def test_no_negative_zero():
    """The cost is a sum, which may come out a little less than that of the clustering that is explained."""
    rules = make_rules([("a", "float")], (0, 1.5, 0, 1), cost=1200.0 - 1e-9)
    assert rules.statistics.normalized_cost < 1
    with CliRunner().isolation() as streams:
        show_rules(rules)
        shown = streams[0].getvalue().decode()
    assert "(+0.0%)" in shown
    for name in ("sql", "python", "markdown"):
        assert not re.search(r"-0(\.0+)? ?%", export(rules, name))


@pytest.mark.skipif(sys.platform == "win32", reason="has no umask")
def test_a_file_has_the_permissions_of_any_new_file_whatever_other_threads_do(tmp_path):
    """The umask was read by setting it, for the whole process: another thread's file could be made without one."""
    seen = []

    def another_thread(frame, event, argument):
        """Make a file, as another thread may do at any line that writes this one."""
        path = tmp_path / "other"
        path.touch()
        seen.append(stat.S_IMODE(path.stat().st_mode))
        path.unlink()
        return another_thread

    def trace(frame, event, argument):
        return another_thread if frame.f_code.co_filename == files.__file__ else None

    before, traced = os.umask(0o027), sys.gettrace()
    sys.settrace(trace)
    try:
        atomic_write(tmp_path / "new", "text")
    finally:
        sys.settrace(traced)
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert len(seen) > 10
    assert set(seen) == {0o640}
    os.mknod(tmp_path / "kept", 0o600)
    atomic_write(tmp_path / "kept", "text")
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o600
