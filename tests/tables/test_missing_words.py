"""Words of a CSV file that others read as missing: refused until the user says what they are."""

from __future__ import annotations

import io
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from commandline import call
from draws import few
from pandas._libs.parsers import STR_NA_VALUES

from shallowrules import RuleSet
from shallowrules.errors import DataError
from shallowrules.sources import read_table
from shallowrules.sources.text_findings import MISSING_WORDS

KINDS = ("gravel", "NA", "paved")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_alleys(kinds=KINDS, path="t.csv"):
    """Write a table in which the kind of alley decides the cluster."""
    frame = pd.DataFrame({"area": np.arange(60) % 7, "alley": [kinds[i % len(kinds)] for i in range(60)]})
    frame.to_csv(path, index=False)
    return path


def test_the_words_are_those_of_pandas():
    assert set(MISSING_WORDS) == STR_NA_VALUES - {""}


@pytest.mark.slow
@pytest.mark.parametrize("word", few(MISSING_WORDS, 4))
def test_a_word_is_refused_until_it_is_said_what_it_is(word):
    path = write_alleys(("gravel", word, "paved"))
    with pytest.raises(
        DataError, match="20 of 60 values are .* for example in row 2: most programs .* missing"
    ) as refused:
        read_table(path)
    [finding] = refused.value.findings
    assert (finding.kind, finding.column, finding.values) == ("missing words", "alley", (word,))
    assert read_table(path, keep_text=[word])["alley"].values[1] == word
    assert read_table(path, null=[word])["alley"].values[1] is None
    assert read_table(path, columns=["area"]).names == ["area"]
    assert pd.read_csv(io.StringIO(f"a\nx\n{word}\n"))["a"].isna()[1]


@pytest.mark.parametrize("word", ["unknown", "none of these", "none", "na", "Nan", "nothing", "-", "No", "missing"])
def test_other_words_are_texts(word):
    assert read_table(write_alleys(("gravel", word, "paved")))["alley"].values[1] == word


def test_the_command_line_names_both_ways_out_and_one_that_works():
    write_alleys(("gravel", "NA", "None", "paved"))
    result = call("fit", "t.csv", "-k", "2", "-o", "rules.json")
    assert result.exit_code == 3
    told = " ".join(result.stderr.split())
    assert "column 'alley' is text, and 30 of 60 values are 'NA' or 'None', for example in row 2" in told
    assert "treat them as missing (--null NA --null None) or as text (--keep-text NA --keep-text None)" in told
    words = shlex.split(result.stderr.partition("This works:")[2])
    assert call(*words[1:]).exit_code == 0


@pytest.mark.slow
def test_label_reads_a_word_as_the_rules_do():
    write_alleys()
    assert call("fit", "t.csv", "-k", "3", "--keep-text", "NA", "-o", "kept.json").exit_code == 0
    kept = RuleSet.from_json("kept.json")
    assert call("label", "kept.json", "t.csv", "-o", "kept.csv").exit_code == 0
    assert (
        read_table("kept.csv", keep_text=["NA"])["cluster"].values.tolist()
        == kept.assign(read_table("t.csv", keep_text=["NA"])).tolist()
    )
    verified = call("verify", "kept.json", "t.csv")  # pandas.read_csv takes NA for a missing value
    assert verified.exit_code == 1
    assert "keep_default_na=False" in " ".join(verified.stdout.split())
    assert re.search(r"\n *pandas +\d+ +0 ", verified.stdout)

    options = ["--null", "NA", "--impute", "median"]
    assert call("fit", "t.csv", "-k", "2", *options, "-o", "missing.json").exit_code == 0
    missing = RuleSet.from_json("missing.json")
    assert call("label", "missing.json", "t.csv", "-o", "missing.csv").exit_code == 0
    assert (
        read_table("missing.csv", null=["NA"])["cluster"].values.tolist()
        == missing.assign(read_table("t.csv", null=["NA"])).tolist()
    )

    write_alleys(("gravel", "paved"))
    assert call("fit", "t.csv", "-k", "2", "-o", "without.json").exit_code == 0
    write_alleys()
    result = call("label", "without.json", "t.csv", "-o", "without.csv")
    assert result.exit_code == 3
    assert "--keep-text NA" in result.stderr
    assert call("label", "without.json", "t.csv", "--keep-text", "NA", "-o", "without.csv").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("row", [1, 17, 60])
def test_label_names_the_row_of_what_is_wrong_whether_rows_stream_or_not(target, row):
    write_alleys(("gravel", "paved"))
    assert call("fit", "t.csv", "-k", "2", "-o", "rules.json").exit_code == 0
    frame = pd.read_csv("t.csv")
    frame.loc[row - 1, "alley"] = "NA"
    frame.to_csv("wrong.csv", index=False)
    result = call("label", "rules.json", "wrong.csv", "-o", target)
    assert result.exit_code == 3
    assert f"for example in row {row}:" in result.stderr
