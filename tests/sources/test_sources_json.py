"""JSON files become tables, by the types of their values."""

from __future__ import annotations

import gzip
import json

import pytest
from sourcefiles import read_as_told, typed

from shallowrules.errors import DataError
from shallowrules.sources import read_table


@pytest.mark.parametrize("form", ["lines", "array", "blank lines", "compressed", "pretty"])
def test_json_forms(write, form):
    rows = [{"a": 1, "b/~ '\"": 0.5, "t": "x", "yes": True}, {"t": "y", "a": 2, "yes": None}]
    text = {
        "lines": "\n".join(map(json.dumps, rows)),
        "array": json.dumps(rows),
        "blank lines": "\n\n".join(map(json.dumps, rows)) + "\n\n",
        "compressed": "\n".join(map(json.dumps, rows)),
        "pretty": json.dumps(rows, indent=2),
    }[form]
    path = write(gzip.compress(text.encode()), "t.json.gz") if form == "compressed" else write(text, "t.jsonl")
    assert typed(read_table(path)) == [
        ("a", "integer", [1, 2]),
        ("b/~ '\"", "float", [0.5, None]),
        ("t", "text", ["x", "y"]),
        ("yes", "boolean", [True, None]),
    ]


def test_features_of_geojson_have_the_values_that_they_have(write):
    features = [{"type": "Feature", 'q"\\': i, "v": i / 2 if i else None, "properties": {"a": i}} for i in range(3)]
    table = read_table(write(json.dumps({"type": "FeatureCollection", "features": features}), "t.geojson"))
    assert [(name, kind) for name, kind, _ in typed(table)] == [
        ("type", "text"),
        ('q"\\', "integer"),
        ("v", "float"),
        ("properties", "other"),
    ]
    assert not any(column.absent.all() for column in table.columns)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("1 2.5", "float"),
        ("1 18446744073709551615", "float"),
        ("9007199254740993 -1", "integer"),
        ("null null", "float"),
        ("NaN 1.5", "float"),
        ('"1" "2"', "text"),
        ('"2020-01-01" "2020-01-02"', "date"),
        ('"2020-01-01" "later"', "text"),
        ("[1] [2]", "other"),
        ('{"x":1} null', "other"),
        ('true "x"', "text"),
    ],
)
def test_json_types(write, values, kind):
    path = write("".join(f'{{"a": {value}}}\n' for value in values.split()), "t.ndjson")
    assert read_table(path)["a"].type == kind


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a": 1}\n2\n', "row 2 .*JSON object"),
        ("[1, 2]", "row 1 .*JSON object"),
        ('{"a": 1, "A": 2}', "named 'a' and 'A'"),
        ('{"a": 1}\n{"A": 2}', "named 'a' and 'A'"),
        ('{"a": 1, "a": 2}', "duplicate key"),
        ('{"a": 1}\n{"a": ', "Malformed JSON"),
        ('{"": 1}', "empty name"),
        ("[]", "no rows"),
        ("{}", "rows with columns"),
        ('{"a": 1}\n{"a": "NA"}', "column 'a' .*1 of 2 values .*'NA' in row 2.*--null NA"),
        (b'{"a": "\xff"}', "line 1: byte 0xff"),
    ],
)
def test_json_that_is_not_a_table_is_refused(write, text, named):
    with pytest.raises(DataError, match=named):
        read_as_told(write(text, "t.json"))


def test_json_null_spellings(write):
    path = write('{"a": 1}\n{"a": "NA"}\n', "t.json")
    assert typed(read_table(path, null=["NA"])) == [("a", "integer", [1, None])]


def test_json_is_known_by_its_content(write):
    assert read_table(write(' [{"a": 1}]', "table")).names == ["a"]
