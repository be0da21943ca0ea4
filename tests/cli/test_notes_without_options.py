"""Notes that the rules keep state facts: a text that is signed names no option, whatever the terminal advised."""

from __future__ import annotations

import csv
import io
import random
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest
from commandline import call
from draws import drawn
from sklearn.datasets import load_iris

from shallowrules import RuleSet
from shallowrules.cli.commands import shallowrules
from shallowrules.fitting.data import FitParameters

CONTEXT = click.Context(shallowrules)
COMMANDS = [shallowrules.get_command(CONTEXT, name) for name in shallowrules.list_commands(CONTEXT)]
N_ROWS = 120


def options_in(text):
    """Return the options of commands, and the parameters with a value, that a text names."""
    names = {name for command in COMMANDS for each in command.params for name in each.opts if name.startswith("-")}
    options = "|".join(map(re.escape, names))
    parameters = "|".join(field.name for field in fields(FitParameters))
    return re.findall(rf"(?<![\w-])(?:{options})(?![\w-])|\b(?:{parameters})=\S", text)


def text_of_page(page):
    """Return the text of a page that its controls do not fold away, without the names of styles and scripts."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL))


def check(*arguments):
    """Run a command on table t.csv; its sheet and page name no option. Return the output on the terminal."""
    done = call("run", "t.csv", *arguments, "-o", "out", "--write", "markdown,html", "--force")
    assert done.exit_code == 0, done.stderr
    for form in ("report.md", "report.html"):
        text = Path("out", form).read_text(encoding="utf-8")
        assert options_in(text if form == "report.md" else text_of_page(text)) == [], form
    assert options_in("\n".join(RuleSet.from_json("out/rules.json").statistics.notes)) == []
    return done.stderr


def of(values):
    """Return a column that has these values in turn."""
    values = list(values)
    return [values[i * 7919 % len(values)] for i in range(N_ROWS)]


def text_of(columns, delimiter=","):
    """Return a CSV file with two plain columns besides."""
    pick = random.Random(0)
    columns = {"x": [pick.randint(0, 99) for _ in range(N_ROWS)], **columns, "kind": of("abc")}
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(
        [columns, *zip(*columns.values(), strict=True)]
    )
    return stream.getvalue()


COLUMNS = {
    "a code": ("zip", of(range(10115, 10135)), "--categories"),
    "leading zeros": ("plant", of(f"{i:05}" for i in range(30)), "--categories plant"),
    "an ID": ("CustomerID", of(range(12346, 12406)), "--exclude CustomerID"),
    "dates as numbers": ("day", of(20240100 + i for i in range(1, 32)), "--exclude day"),
    "a null marker": ("temp", of([-200, *range(-5, 40)]), "--null -200"),
    "labels": ("cluster", of(range(4)), "--labels cluster"),
    "a format": ("price", of(f"1.{i:03},50" for i in range(100, 190)), "--format"),
    "three digits": ("size", of(f"{i}.{100 + i}" for i in range(1, 30)), "--thousands"),
    "a unit": ("weight", of(["5 kg", "7 kg", "12 kg", "9 kg"]), "--format"),
    "letters": ("reach", of(["1.5k", "20k", "3M", "4k"]), "write them out"),
    "other text": ("sum", of(["1.234.567", "1.5", "88"]), "is read as text"),
    "truth values": ("paid", of(["true", "false"]), "truth values"),
    "one value": ("land", of([7]), "only one value"),
    "dates": ("since", of(f"{i}.03.2020" for i in range(13, 28)), "dates written as"),
}


@pytest.mark.parametrize(("name", "values", "said"), [pytest.param(*case, id=what) for what, case in COLUMNS.items()])
def test_notes_on_columns(tmp_path, monkeypatch, name, values, said):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text_of({name: values}), encoding="utf-8")
    assert said in check("-k", 3)


NUMBERS = [(i * 7 % 31, i * i % 57 * 1000) for i in range(N_ROWS)]
TABLE = text_of({"y": of(range(31))})
GAPS = text_of({"y": of(["", *range(30)]), "city": of(["", "Ulm", "Bonn"])})
NAMED = "name,y\n" + "".join(f"{'Total' if i == 60 else 'ab'[i % 2]},{i % 31}\n" for i in range(N_ROWS))
FILES = {
    "a title": ("Sales of 2024\n\n" + TABLE, [], "--skip"),
    "no header": ("".join(f"{a},{b}\n" for a, b in NUMBERS), [], "--header none"),
    "a last row": (TABLE + "\nTotal,93,\n", [], "--footer"),
    "comments": ("# made by hand\n" + TABLE.replace("\n", "\n# a pause\n", 1), [], "--comment"),
    "totals within": (NAMED, [], "--comment"),
    "blanks": (TABLE.replace(",", "   "), [], "--delimiter"),
    "scales": ("".join(f"{a},{b}\n" for a, b in [("small", "large"), *NUMBERS]), ["--scale", "none"], "--scale minmax"),
    "minmax": (TABLE, ["--scale", "minmax"], "--scale minmax"),
    "robust": (TABLE, ["--scale", "robust"], "--scale robust"),
    "weights": (TABLE, ["--weight", "y"], "weighted by column 'y'"),
    "a measure": (TABLE, ["--measure", "y"], "added up in each cluster"),
    "labels": (TABLE, ["--labels", "kind"], "to measure distances"),
    "the label -1": (text_of({"g": of(range(-1, 3))}), ["--labels", "g"], "explained as a cluster like any other"),
    "noise": (text_of({"g": of(range(-1, 3))}), ["--labels", "g", "--noise", "cluster"], "to measure distances"),
    "rows without a value": (GAPS, ["--drop-missing"], "excluded for missing values"),
    "imputed values": (GAPS, ["--impute", "median", "--missing", "category"], "the median"),
    "a thorough search": (TABLE, ["--refine", "thorough", "--budget", "3"], "searched thoroughly"),
    "rounding": (text_of({"y": of(i / 7 for i in range(90))}), ["--round-within", "0.2"], "rounded"),
}


@pytest.mark.parametrize(("text", "options", "said"), [pytest.param(*case, id=what) for what, case in FILES.items()])
def test_notes_on_files_and_fits(tmp_path, monkeypatch, text, options, said):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    assert said in check(*([] if "--labels" in options else ["-k", 3]), *options)


def test_the_note_on_more_rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load_iris(as_frame=True).data.to_csv("t.csv", index=False)
    assert "rules instead of 3, the cost would fall" in check("-k", 3)


def test_notes_of_a_refit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = load_iris(as_frame=True).data
    table.to_csv("t.csv", index=False)
    check("-k", 3)
    said = ""
    for name, later, gain in (("stay", table * 1.01, "90%"), ("move", table.sample(60, random_state=0) * 1.3, "0%")):
        later.to_csv("t.csv", index=False)
        done = call(
            "refit", "out/rules.json", "t.csv", "--min-gain", gain, "-o", f"{name}.json", "--page", f"{name}.html"
        )
        assert done.exit_code in (0, 1), done.stderr
        said += done.stderr
        assert options_in(call("export", f"{name}.json", "markdown").stdout) == []
        assert options_in(text_of_page(Path(f"{name}.html").read_text(encoding="utf-8"))) == []
    assert "the earlier rules stay" in said
    assert "lie outside the range of the earlier table" in said


@pytest.mark.slow
def test_drawn_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = [case for what, case in COLUMNS.items() if what != "a format"]
    for seed in range(drawn(60)):
        pick = random.Random(seed)
        chosen = pick.sample(kinds, pick.randint(2, 6))
        text = text_of({name: values for name, values, _ in chosen}, delimiter=pick.choice(",;"))
        Path("t.csv").write_text(pick.choice(["", "Sales\n\n"]) + text, encoding="utf-8")
        scale = pick.choice(["auto", "none", "minmax", "standard", "robust"])
        told = check("-k", pick.randint(2, 5), "--scale", scale)
        assert all(said in told for _, _, said in chosen)
