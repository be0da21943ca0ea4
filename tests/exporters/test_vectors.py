"""Test vectors: rows at the limits of the rules as strict JSON, the schema of a row, and the test that runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import jsonschema
import pytest
from commandline import call
from dbtprojects import DBT, build_project
from draws import draws
from hypothesis import given
from rulesets import (
    MIXED,
    code_rules,
    example_of_categories,
    example_rules,
    hostile_names,
    hostile_texts,
    make_rules,
    rule_sets,
)

from shallowrules.exporters import export, exporter_names
from shallowrules.exporters.languages import JavaScriptExporter
from shallowrules.exporters.vectors import FORMAT, row_schema, vectors


def value_of(written):
    """Return a value as the page on output formats says."""
    if not isinstance(written, dict):
        return written
    [(kind, text)] = written.items()
    return {"float": float, "integer": int}[kind](text)


def refused(constant):
    raise AssertionError(f"{constant} is not JSON")


def read(rules):
    return json.loads(vectors(rules), parse_constant=refused)


def disagreements(rules, **options):
    """Return the number of vectors, and those to which the emitted Python gives another label."""
    namespace = {"__name__": "emitted"}
    exec(export(rules, "python", **options), namespace)
    label = "name" if options.get("cluster_as") == "name" else "cluster"
    rows = read(rules)["rows"]
    wrong = []
    for vector in rows:
        row = {column: value_of(written) for column, written in vector["row"].items()}
        if namespace["assign_cluster"](row) != value_of(vector[label]):
            wrong.append(vector)
    return len(rows), wrong


@draws(60)
@given(rules=rule_sets(hostile_names, kinds=MIXED, categories=hostile_texts))
def test_the_emitted_python_gives_the_labels(rules):
    for options in ({}, {"cluster_as": "name", "style": "flat"}):
        number, wrong = disagreements(rules, **options)
        assert number
        assert wrong == []


def with_column(rules, **changes):
    return replace(rules, columns=(replace(rules.columns[0], **changes), *rules.columns[1:]))


CONVERTED = {
    "null markers": with_column(make_rules([("x", "float")], (0, 0.5, 0, 1)), nulls=("NA", "-9"), imputed=7.0),
    "decimal comma": with_column(make_rules([("x", "float")], (0, 0.5, 0, 1)), decimal=","),
    "format": with_column(make_rules([("x", "float")], (0, 1234.5, 0, 1)), format="$1,234.50"),
    "codes": code_rules(),
    "large": make_rules([("n", "integer")], (0, 2**53 + 1, 0, (0, 2**62, 1, 2))),
    "categories": example_of_categories(),
    **{kind: make_rules([("x", kind)], (0, 10_000, 0, 1)) for kind in ("date", "timestamp", "timestamptz", "duration")},
    "written dates": with_column(make_rules([("x", "date")], (0, 10_000, 0, 1)), dates="%d.%m.%Y"),
    "one leaf": make_rules([("x", "float")], 3),
}


@pytest.mark.parametrize("rules", CONVERTED.values(), ids=CONVERTED.keys())
def test_vectors_of_every_kind_of_column(rules):
    number, wrong = disagreements(rules)
    assert number
    assert wrong == []


@pytest.mark.parametrize("rules", CONVERTED.values(), ids=CONVERTED.keys())
def test_rows_are_of_the_schema_that_their_types_allow(rules):
    schema = json.loads(row_schema(rules))
    jsonschema.Draft202012Validator.check_schema(schema)
    for vector in read(rules)["rows"]:
        if not any(isinstance(value, dict) for value in vector["row"].values()):
            jsonschema.validate(vector["row"], schema)
    for column in schema["required"]:
        row = dict.fromkeys(schema["required"])
        jsonschema.validate(row, schema)
        for wrong in ({name: value for name, value in row.items() if name != column}, {**row, column: [1]}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(wrong, schema)


def test_the_document():
    document = read(example_rules())
    assert document["format"] == FORMAT
    assert document["rules_sha256"] == example_rules().sha256
    assert document["columns"]["order"] == "integer"
    rows = [json.dumps(vector) for vector in document["rows"]]
    assert len(rows) == len(set(rows))
    values = [value for vector in document["rows"] for value in vector["row"].values()]
    for special in ({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"integer": str(-(2**63))}, None):
        assert special in values
    assert all(abs(value) <= 2**53 for value in values if isinstance(value, int))
    zero = read(make_rules([("x", "float")], (0, -0.0, 0, 1)))
    assert {"float": "-0.0"} in [vector["row"]["x"] for vector in zero["rows"]]


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--cluster-as", "name", "--function-name", "segment")])
def test_the_command_writes_vectors_schema_and_a_test_that_passes(tmp_path, options):
    rules = example_of_categories()
    rules.to_json(tmp_path / "rules.json")
    target = tmp_path / "my rules.py"
    done = call("export", tmp_path / "rules.json", "python", "-o", target, "--vectors", *options)
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "my rules.py", "my rules.schema.json", "my rules.vectors.json", "rules.json", "test_my rules.py",
    ]  # fmt: skip
    assert (tmp_path / "my rules.vectors.json").read_text() == vectors(rules)
    test = (tmp_path / "test_my rules.py").read_text()
    assert "import shallowrules" not in test
    assert "from shallowrules" not in test
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(read(rules)['rows']) + 1} passed" in done.stdout
    (tmp_path / "my rules.py").write_text(target.read_text().replace("'Two year'", "'Another year'"))
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1


NODE = shutil.which("node")


def run_by_node(folder):
    """Run the tests of a folder; return the status and the number of tests that passed."""
    done = subprocess.run([NODE, "--test"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, int(re.search(r"^\S+ pass (\d+)$", done.stdout, re.MULTILINE)[1])


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_command_writes_a_test_that_node_runs(tmp_path):
    rules = example_of_categories()
    rules.to_json(tmp_path / "rules.json")
    words = ("export", tmp_path / "rules.json", "javascript", "-o", tmp_path / "js", "--vectors")
    for options in ((), ("--cluster-as", "name", "--name", "rules", "--force")):
        done = call(*words, *options)
        assert done.exit_code == 0, done.stderr
        names = ["rules.d.mts", "rules.mjs", "rules.schema.json", "rules.test.mjs", "rules.vectors.json"]
        assert sorted(path.name for path in (tmp_path / "js").iterdir()) == names
        assert (tmp_path / "js" / "rules.vectors.json").read_text() == vectors(rules)
        assert run_by_node(tmp_path / "js") == (0, len(read(rules)["rows"]) + 1)
    module = tmp_path / "js" / "rules.mjs"
    module.write_text(module.read_text().replace('"Two year"', '"Another year"'))
    assert run_by_node(tmp_path / "js")[0] == 1
    module.write_text(module.read_text().replace(rules.sha256, ""))
    assert run_by_node(tmp_path / "js")[1] < len(read(rules)["rows"])


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_node_runs_vectors_of_every_kind_of_column(tmp_path):
    exporter, number = JavaScriptExporter(), 0
    columns = [("__proto__", "text"), ('a"\n</script>', "float")]
    hostile = make_rules(columns, (0, "é😀", 0, (1, -0.0, 2**53, 3)))
    for place, rules in enumerate([*CONVERTED.values(), hostile]):
        folder = tmp_path / str(place)
        folder.mkdir()
        files = {**exporter.export(rules), **exporter.vectors_test(rules, "rules.mjs", "rules.vectors.json")}
        for name, text in {**files, "rules.vectors.json": vectors(rules)}.items():
            (folder / name).write_text(text)
        number += len(read(rules)["rows"]) + 1
    assert run_by_node(tmp_path) == (0, number)


@pytest.mark.parametrize("name", exporter_names())
def test_every_exporter_has_vectors(tmp_path, name):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    rules.to_json(tmp_path / "rules.json")
    target = tmp_path / ("rules.txt" if isinstance(export(rules, name), str | bytes) else "folder")
    done = call("export", tmp_path / "rules.json", name, "-o", target, "--vectors")
    assert done.exit_code == 0, done.stderr
    [written] = tmp_path.glob("**/*.vectors.json")
    assert written.read_text() == vectors(rules)
    [schema] = tmp_path.glob("**/*.schema.json")
    assert (schema.parent, schema.read_text()) == (written.parent, row_schema(rules))


@pytest.mark.builds
@pytest.mark.skipif(DBT is None, reason="dbt is not installed: make build/dbt/bin/dbt")
def test_dbt_builds_a_project_with_vectors_beside_the_model(tmp_path):
    rules = make_rules([("x", "float")], (0, 0.5, 0, 1))
    rules.to_json(tmp_path / "rules.json")
    folder = tmp_path / "project"
    words = ("dbt", "--table", "main.t", "--dialect", "duckdb", "-o", folder, "--vectors")
    done = call("export", tmp_path / "rules.json", *words)
    assert done.exit_code == 0, done.stderr
    names = sorted(path.name for path in (folder / "models").iterdir())
    assert {"t_clusters.vectors.json", "t_clusters.schema.json"} < {*names}
    built, _ = build_project(folder, {"t": [("x", "DOUBLE", [0.25, 0.75] * 10)]}, {})
    assert "t_clusters_limits" in built.stdout
    assert "PASS t_clusters_complete" in built.stdout
    assert "json" not in built.stdout


def test_vectors_need_a_place(tmp_path):
    example_rules().to_json(tmp_path / "rules.json")
    for arguments, message in (
        (["python"], "--vectors writes files beside that of -o: name it (-o FILE)"),
        (["javascript"], "javascript gives 2 files: name a folder for them (-o DIR)"),
        (["sql", "--style", "view", "--migration", tmp_path / "m"], "--vectors and --migration exclude each other"),
    ):
        result = call("export", tmp_path / "rules.json", *arguments, "--vectors")
        assert result.exit_code == 2
        assert message in result.stderr
    result = call("export", tmp_path / "rules.json", "sql", "-o", tmp_path / "rules.sql", "--vectors")
    assert result.exit_code == 0, result.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["rules.json", "rules.schema.json", "rules.sql", "rules.vectors.json"]
    result = call("export", tmp_path / "rules.json", "pmml", "-o", tmp_path / "rules.pmml", "--vectors")
    assert result.exit_code == 3
    assert "rules.vectors.json" in result.stderr
    assert "use --force to overwrite" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_vectors_leave_links_and_pipes(tmp_path):
    example_rules().to_json(tmp_path / "rules.json")
    words = ["export", tmp_path / "rules.json", "python", "-o", tmp_path / "out.py", "--vectors", "--force"]
    (tmp_path / "elsewhere").mkdir()
    for name in ("out.py", "out.vectors.json"):
        (tmp_path / "elsewhere" / name).write_text("old")
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    assert call(*words[:-1]).exit_code == 3
    assert call(*words).exit_code == 0
    for name in ("out.py", "out.vectors.json"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "elsewhere" / name).read_text() == (tmp_path / name).read_text() != "old"
    for name in ("out.schema.json", "out.py"):
        (tmp_path / name).unlink()
        os.mkfifo(tmp_path / name)
        done = call(*words)
        assert done.exit_code == 3
        assert f"{tmp_path / name} is a pipe or a device; --vectors writes files" in done.stderr
        assert not (tmp_path / name).is_file()
    (tmp_path / "out.py").unlink()
    (tmp_path / "out.py").symlink_to(tmp_path / "rules.json")
    assert "is the file that is read" in call(*words).stderr
