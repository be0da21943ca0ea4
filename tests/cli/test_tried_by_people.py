"""Small things that people try: Excel files, a byte order mark, an index, a notebook."""

from __future__ import annotations

import codecs
import gzip
import re
import zipfile

import pytest
from commandline import call
from rulesets import example_rules, small_rules

from shallowrules import ExplainableKMeans, RuleSet, tradeoff_path
from shallowrules.errors import DataError
from shallowrules.sources import file_relation, read_table


def test_a_byte_order_mark_in_a_rules_file_is_skipped(tmp_path):
    rules = example_rules()
    path = tmp_path / "rules.json"
    rules.to_json(path)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert RuleSet.from_json(path) == rules


@pytest.mark.slow
@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;", "sep=|", "sep=\t", "\ufeffsep=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_first_line_that_names_the_delimiter(tmp_path, line, end, compressed):
    delimiter = line.strip('"')[-1]
    text = end.join([line, delimiter.join("ab"), delimiter.join(["1,5", "x"]), delimiter.join(["2,5", "y"]), ""])
    path = tmp_path / ("t.csv.gz" if compressed else "t.csv")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    table = read_table(path, decimal=",")
    assert table.names == ["a", "b"]
    assert table["a"].values.tolist() == [1.5, 2.5]
    assert file_relation(path) is None


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        ("a;b\n1;2\n1;2;3\n", 4, " has 3 field"),
        ('a;b\n1;2\n\n1;"2\n', 5, ": "),
        ('a;"b\n1;2\n', 2, ": "),
        ("1;2\n5;4\n", 2, ", '1, 2', may name"),
        ("\n1;2\n5;4\n", 3, ", '1, 2', may name"),
        ("a;b\n1;\0\n", 3, " has a zero byte"),
        ("a;b\n1;\udcff\n", 3, ": byte 0xff"),
    ],
)
def test_lines_are_counted_from_that_line_on(tmp_path, rows, line, said):
    path = tmp_path / "t.csv"
    for first, lines in (("sep=;\n", 0), ("", 1)):
        path.write_bytes((first + rows).encode(errors="surrogateescape"))
        with pytest.raises(DataError, match=re.escape(f"t.csv: line {line - lines}{said}")):
            read_table(path, delimiter=";")


def test_a_column_may_be_named_like_that_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sep=x,b\n1,2\n")
    assert read_table(path).names == ["sep=x", "b"]


@pytest.mark.parametrize("name", ["t.xlsx", "t.csv", "t.xls", "t.ods"])
def test_a_damaged_workbook_is_refused_by_what_it_is(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if name == "t.xls":
        (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))
    else:
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("content.xml" if name == "t.ods" else "xl/workbook.xml", "<x/>")
    result = call("run", name, "-k", "2")
    assert result.exit_code == 3
    assert f"{name}: the workbook cannot be read" in result.stderr


def test_another_archive_is_refused_by_what_it_is(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", "a\n1\n")
    with pytest.raises(DataError, match="archive; unpack it"):
        read_table(tmp_path / "t.zip")


def test_rules_have_an_index():
    rules = small_rules()
    assert [rules[i] for i in range(len(rules))] == list(rules) == list(rules[:])
    assert rules[-1] is rules.rules[-1]
    assert rules[1:] == rules.rules[1:]
    with pytest.raises(IndexError):
        rules[len(rules)]


def test_a_path_is_shown_in_a_notebook():
    path = tradeoff_path(ExplainableKMeans(2, random_state=0), [[0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.5, 9.0]])
    assert path._repr_html_().count("<tr>") == 1 + len(path)
