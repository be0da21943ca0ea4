"""Drawn tables as people write them, against the plain ones they came from: the same rules and labels, or a message."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest
from commandline import call
from draws import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shallowrules.tables.number_format import MARKS, NumberFormat

FORMS = ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%d.%m.%y"]
GAPS = ["", "k.A.", "n/a", "-999"]
TITLES = [[], ["Sales of 2023"], ["Sales of 2023", "all in EUR"], ["Sales of 2023", ""]]
FOOTERS = [[], ["Source: office"], ["", "* preliminary figures"]]


@dataclass(frozen=True)
class Drawn:
    """A column: its cells in plain form and as dressed, and the options for the dressed form and for both."""

    name: str
    plain: list[str | None]
    dressed: list[str | None]
    told: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


@st.composite
def number_columns(draw, name, n_rows):
    """Draw numbers, in a format that people use."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(st.sampled_from(["", *(mark for mark in MARKS if mark != decimal)]))
    before = draw(st.sampled_from(["", "", "$", "CHF"]))
    behind = "" if before else draw(st.sampled_from(["", "", "%", "\u20ac", "kg"]))
    form = NumberFormat(thousands, decimal, before, behind, draw(st.sampled_from(["front", "minus", "parentheses"])))
    values = st.integers(-5000, 90_000) if draw(st.booleans()) else st.decimals(-500, 9000, places=2)
    plain = [str(draw(values)) for _ in range(n_rows)]
    return Drawn(name, plain, [form.written(text) for text in plain], ("--format", f"{name}={form.example}"))


@st.composite
def date_columns(draw, name, n_rows):
    """Draw dates, written in one form."""
    form = draw(st.sampled_from(FORMS))
    days = [date(2000, 1, 1) + timedelta(draw(st.integers(0, 9000))) for _ in range(n_rows)]
    return Drawn(name, [f"{day}" for day in days], [day.strftime(form) for day in days], ("--dates", f"{name}={form}"))


@st.composite
def code_columns(draw, name, n_rows):
    """Draw codes, which programs that know no missing whole numbers write with a zero after."""
    plain = [str(draw(st.sampled_from([3, 7, 11]))) for _ in range(n_rows)]
    behind = draw(st.sampled_from(["", ".0"]))
    return Drawn(name, plain, [text + behind for text in plain], both=("--categories", name))


@st.composite
def text_columns(draw, name, n_rows):
    """Draw categories."""
    plain = [draw(st.sampled_from(["north", "south", "o'Hara", "x, y"])) for _ in range(n_rows)]
    return Drawn(name, plain, plain)


@st.composite
def dressed_tables(draw):
    """Draw the columns of a table, some cells of which are missing, and how it is dressed besides."""
    n_rows = draw(st.integers(12, 30))
    kinds = draw(st.lists(st.sampled_from([date_columns, code_columns, text_columns]), max_size=2))
    columns = [draw(kind(f"c{j}", n_rows)) for j, kind in enumerate([number_columns, *kinds])]
    gap = draw(st.sampled_from(GAPS))
    share = draw(st.sampled_from([0, 0, 10, 30]))
    found = []
    for column in columns:
        lacks = [draw(st.integers(1, 100)) <= share for _ in range(n_rows)]
        cells = [["" if lack else cell for cell, lack in zip(column.plain, lacks, strict=True)]]
        cells += [[gap if lack else cell for cell, lack in zip(column.dressed, lacks, strict=True)]]
        found.append(Drawn(column.name, *cells, column.told, column.both))
    title, footer = draw(st.sampled_from(TITLES)), draw(st.sampled_from(FOOTERS))
    told = ["--skip", str(len(title))] if title else []
    told += ["--footer", "1"] if footer else []
    told += ["--null", gap] if gap and any(gap in column.dressed for column in found) else []
    return found, title, footer, draw(st.sampled_from(";\t")), told


def write(path, columns, cells, title=(), footer=(), delimiter=","):
    """Write a table, and a column of two groups in it."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        stream.writelines(line + "\n" for line in title)
        rows = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        rows.writerow(["group", *(column.name for column in columns)])
        groups = [str(i % 2 * 90 + i % 5) for i in range(len(columns[0].plain))]
        rows.writerows(zip(groups, *(getattr(column, cells) for column in columns), strict=True))
        stream.writelines(line + "\n" for line in footer)


def outcome(name, *options):
    """Return the tree over a file, without how its text was read; None where it is refused; and all messages."""
    done = call("fit", f"{name}.csv", "-k", "3", "-o", f"{name}.json", "--force", *options)
    assert done.exit_code in (0, 3), done.stderr
    if done.exit_code:
        return None, done.stderr
    rules = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
    columns = [(column["name"], column["type"], column.get("imputed")) for column in rules["columns"]]
    return (columns, rules["nodes"]), done.stderr


def labels(name, *options):
    """Return the labels that a file gets by the rules that were fitted on it."""
    done = call("label", f"{name}.json", f"{name}.csv", "-o", f"{name}_labels.csv", "--force", *options)
    assert done.exit_code == 0, done.stderr
    rows = Path(f"{name}_labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [re.search(r"(\d*)$", row)[1] for row in rows]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shallowrules.errors.ShallowRulesWarning")
@given(dressed_tables(), st.sampled_from([["--drop-missing"], ["--impute", "median", "--missing", "category"]]))
@draws(200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_a_dressed_table_gives_the_rules_of_the_plain_one_or_a_word(tmp_path, monkeypatch, drawn, missing):
    monkeypatch.chdir(tmp_path)
    columns, title, footer, delimiter, told = drawn
    write("plain.csv", columns, "plain")
    write("dressed.csv", columns, "dressed", title, footer, delimiter)
    both = [*missing, *(word for column in columns for word in column.both)]
    plain, _ = outcome("plain", *both)
    of_columns = [word for column in columns for word in column.told]
    tree, said = outcome("dressed", *both, *told, *of_columns)
    assert tree == plain, said
    if tree is not None:
        extent = [word for i, word in enumerate(told) if "--null" not in told[max(0, i - 1) : i + 1]]
        assert labels("dressed", *extent) == labels("plain")
    found, said = outcome("dressed", *both)
    if found is None:
        assert plain is None or "--" in said
    elif found != plain:  # read otherwise than it was meant, as a person can read
        assert any(f"'{column.name}'" in line for column in columns for line in said.splitlines() if "note: " in line)
