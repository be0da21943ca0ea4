"""Dates as people write them in files: found, asked for, kept with the rules, and read alike by every form."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from commandline import call, refused
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import make_rules

from shallowrules.errors import DataError, OptionError, RulesFormatError
from shallowrules.exporters import export
from shallowrules.rules import RuleSet
from shallowrules.sources import read_table
from shallowrules.sources.engine import open_database
from shallowrules.sources.text_dates import written_cast
from shallowrules.tables.column import Column
from shallowrules.tables.dates import FORMATS, swapped, written_time
from shallowrules.tables.times import DAY
from shallowrules.verification.runners.python import define

pytestmark = pytest.mark.filterwarnings("ignore:'.*' holds dates written as")

DAYS = [date(2024, 1, 1) + timedelta(days=9 * i) for i in range(80)]


def write_dates(path, form, days=DAYS, header="signup"):
    """Write a file of dates in a format, the first half of them with small amounts."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        rows = [(day.strftime(form), 10 + i % 3 + 500 * (i >= len(days) // 2)) for i, day in enumerate(days)]
        csv.writer(stream).writerows([(header, "amount"), *rows])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@draws(200)
@given(st.sampled_from(FORMATS), st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)), st.integers(0, 3))
def test_python_and_duckdb_read_a_format_alike(form, moment, case):
    moment = moment.replace(microsecond=0)
    text = moment.strftime(form)
    text = [text, text.upper(), text.lower(), f" {text} "][case]
    found = written_time(form, text)
    cut = {part: 0 for part, letters in (("hour", ":"), ("minute", "%M"), ("second", "%S")) if letters not in form}
    wanted = (moment.replace(**cut) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert found == wanted
    with open_database(".") as database:
        asked = f"SELECT epoch_us(CAST({written_cast('$1', form)} AS TIMESTAMP))"
        assert database.execute(asked, [text]).fetchall() == [(wanted,)]


@pytest.mark.parametrize(
    "text", ["31/02/2024", "32/01/2024", "1/13/2024", "1/1/24", "2024/1/1", "1/1/2024 10:00", "٣/1/2024", "", "x"]
)
def test_what_is_not_in_the_format_is_none(text):
    assert written_time("%d/%m/%Y", text) is None


@pytest.mark.parametrize("form", [f for f in FORMATS if ":" not in f or f.startswith(("%d.%m.%Y", "%m/%d/%y", "%b"))])
def test_a_format_is_found_and_noted(form):
    days = [datetime(day.year, day.month, day.day, 13, 5) for day in DAYS] if ":" in form else DAYS
    write_dates("t.csv", form, days)
    table = read_table("t.csv")
    assert table["signup"].type == ("timestamp" if ":" in form else "date")
    unit = "M8[us]" if ":" in form else "M8[D]"
    assert table["signup"].values.tolist() == np.array(days, unit).astype(np.int64).tolist()
    assert table["signup"].conversion.dates.replace("%B", "%b") == form.replace("%B", "%b")
    with open("t.json", "w", encoding="utf-8") as stream:
        json.dump([{"signup": day.strftime(form)} for day in days], stream)
    assert read_table("t.json")["signup"].values.tolist() == table["signup"].values.tolist()


def test_two_readings_are_asked_for():
    days = [day for day in DAYS if day.day <= 12]
    write_dates("t.csv", "%d/%m/%Y", days)
    message = refused("run", "t.csv", "-k", 2)
    assert "--dates signup=%d/%m/%Y" in message
    assert "--dates signup=%m/%d/%Y" in message
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        found = read_table("t.csv", dates=[f"signup={form}"])["signup"]
        texts = [day.strftime("%d/%m/%Y") for day in days]
        assert found.values.tolist() == [written_time(form, text) // DAY for text in texts]
        done = call("fit", "t.csv", "-k", 2, "--dates", f"signup={form}", "-o", "rules.json", "--force")
        assert done.exit_code == 0, done.stderr
        assert RuleSet.from_json("rules.json").columns[0].dates == form
    assert swapped("%d/%m/%Y") == "%m/%d/%Y"


def test_a_format_that_is_told_must_fit():
    write_dates("t.csv", "%d/%m/%Y")
    with pytest.raises(DataError, match=r"'signup' has '19/01/2024' in row 3.* give the format .* with dates$"):
        read_table("t.csv", dates=["signup=%m/%d/%Y"])
    message = refused("fit", "t.csv", "-k", 2, "--dates", "signup=%m/%d/%Y")
    assert "give the format of all its values with --dates" in message
    with pytest.raises(OptionError, match="signup=%d/%m/%Y"):
        read_table("t.csv", dates=["signup=%q"])
    with pytest.raises(OptionError, match="no column 'nothing'"):
        read_table("t.csv", dates=["nothing=%d/%m/%Y"])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["%d.%m.%Y", "%d/%m/%y", "%b %d, %Y", "%d-%b-%Y", "%m/%d/%Y %I:%M %p"])
def test_every_form_reads_the_text(form):
    days = [datetime(day.year, day.month, day.day, 13, 5) for day in DAYS] if ":" in form else DAYS
    write_dates("t.csv", form, days)
    done = call("run", "t.csv", "-k", 2, "--columns", "signup", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert f"({form.replace('%B', '%b')})" in done.stderr
    rules = RuleSet.from_json("out/rules.json")
    assert rules.columns[0].dates == form
    text = pd.read_csv("t.csv")
    wanted = rules.assign(pd.DataFrame({"signup": days})).tolist()
    assert set(wanted) == {0, 1}
    assert rules.assign(text).tolist() == wanted
    assert rules.assign(read_table("t.csv")).tolist() == wanted
    iso = pd.DataFrame({"signup": [str(day) for day in days]})
    assert rules.assign(iso).tolist() == wanted
    module = define(export(rules, "python", vectorized=True))
    for texts in (text["signup"], iso["signup"]):
        assert [module["assign_cluster"]({"signup": each}) for each in texts] == wanted
        assert module["assign_clusters"]({"signup": list(texts)}).tolist() == wanted
        assert define(export(rules, "pandas"))["assign_cluster"](pd.DataFrame({"signup": texts})).tolist() == wanted
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"signup": text["signup"].tolist()})
    assert frame.with_columns(define(export(rules, "polars"))["assign_cluster"]())["cluster"].to_list() == wanted
    for name in ("t.csv", "new.parquet"):
        if name == "new.parquet":
            text.to_parquet(name)
        done = call("label", "out/rules.json", name, "-o", "labelled.csv", "--force")
        assert done.exit_code == 0, done.stderr
        assert pd.read_csv("labelled.csv")["cluster"].tolist() == wanted
    assert "has no cluster" in export(rules, "sql", dialect="postgres")
    verified = call("verify", "out/rules.json", "t.csv", "--exporter", "python")
    assert verified.exit_code == 0, verified.output


@pytest.mark.parametrize("stray", ["2024/03/31", "31.13.2024", "x"])
def test_another_text_is_an_error(stray):
    rules = make_rules([("signup", "date")], (0, 19813, 0, 1))
    rules = replace(rules, columns=(replace(rules.columns[0], dates="%d.%m.%Y"),))
    cells = ["31.03.2024", stray]
    with pytest.raises(DataError, match=r"'signup'.*row 2"):
        rules.assign({"signup": cells})
    assign = define(export(rules, "python"))["assign_cluster"]
    with pytest.raises(TypeError, match="signup"):
        assign({"signup": stray})
    rules.to_json("rules.json")
    pd.DataFrame({"signup": cells}).to_csv("new.csv", index=False)
    message = refused("label", "rules.json", "new.csv", "-o", "labelled.csv")
    assert "'signup'" in message
    assert "row 2" in message


def test_a_document_has_a_format_that_is_known():
    rules = make_rules([("signup", "date"), ("x", "float")], (0, 19813, 0, (1, 0.5, 1, 2)))
    first, second = rules.columns
    for columns in ((replace(first, dates="%q"), second), (first, replace(second, dates="%d.%m.%Y"))):
        with pytest.raises(RulesFormatError, match="dates"):
            replace(rules, columns=columns)
    kept = replace(rules, columns=(replace(first, dates="%d.%m.%Y"), second))
    assert RuleSet.from_dict(json.loads(kept.to_json())) == kept


NATURES = {"times of day": time(12), "binary data": b"x", "mixed or nested values": [1, 2], "UUIDs": UUID(int=1)}


@pytest.mark.parametrize("nature", NATURES)
def test_what_is_neither_is_named(nature):
    values = np.empty(3, dtype=object)
    values[:] = [NATURES[nature]] * 3
    assert Column("x", "other", values).nature == nature


@pytest.mark.parametrize("nature", ["times of day", "binary data", "mixed or nested values"])
def test_a_file_is_refused_by_what_it_holds(nature):
    pd.DataFrame({"x": range(60), "it": [NATURES[nature]] * 60}).to_parquet("t.parquet")
    message = refused("fit", "t.parquet", "-k", 2)
    assert "'it'" in message
    assert nature in message


def test_dates_that_are_told_of_numbers_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,1.1.2020\n2,2.1.2020\n")
    with pytest.raises(DataError, match="column 'a' holds numbers, not dates; omit dates"):
        read_table(tmp_path / "t.csv", dates=["a=%d.%m.%Y"])
