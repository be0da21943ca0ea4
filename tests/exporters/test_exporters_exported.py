"""The output of exporters: text, bytes or files, by a function and by commands, and names that no folder can hold."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from commandline import call, refused, spawn, write_groups
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from rulesets import example_rules

from shallowrules.cli.output import write_files
from shallowrules.errors import PluginError
from shallowrules.exporters import check_exporter, export
from shallowrules.exporters.exported import exported_faults, find_clash

EXPORTERS = {
    "bytes": "files_exporter:BytesExporter",
    "files": "files_exporter:FilesExporter",
    "named": "files_exporter:NamedFilesExporter",
}
FILES = {
    "model.sql": b"model.sql: \xc3\xa9\n",
    "docs/notes.txt": b"\xff\r\n",
    "docs/picture.bin": b"docs/picture.bin: \xc3\xa9\n",
}


def files_in(folder):
    """Return the bytes of every file, by its name in the folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
    }


@pytest.fixture
def folder(tmp_path, monkeypatch, install):
    """A working folder with a table and its rules, and the plugins."""
    install("files", EXPORTERS)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    example_rules().to_json("rules.json")
    return work


@pytest.mark.parametrize("value", EXPORTERS.values())
def test_every_kind_of_result_meets_the_contract(install, value):
    install("files", {})
    import files_exporter

    check_exporter(getattr(files_exporter, value.partition(":")[2]))


def test_bytes_and_files_come_through_as_they_are(folder):
    assert export(example_rules(), "bytes")[:4] == b"\xff\x00\r\n"
    assert export(example_rules(), "files") == {
        "model.sql": "model.sql: é\n",
        "docs/notes.txt": b"\xff\r\n",
        "docs/picture.bin": "docs/picture.bin: é\n",
    }


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "returned NoneType, not str, bytes or a mapping of files"),
        ({}, "without files"),
        ({"a": 1}, "returned int as file 'a', not str"),
        ({1: "a"}, "named 1"),
        ({"a": "x", "A": "y"}, "the files 'a' and 'A', which cannot be in one folder"),
        ({"a/b": "x", "A": "y"}, "the files 'a/b' and 'A'"),
        ({"é": "x", unicodedata.normalize("NFD", "É"): "y"}, "cannot be in one folder"),
        ("\ud800", "an unpaired surrogate at character 0"),
        ({"a": "b\udfff"}, "text as file 'a' with an unpaired surrogate at character 1"),
    ],
)
def test_what_no_file_can_hold_is_named(value, fault):
    assert fault in "; ".join(exported_faults(value))


UNSAFE = [
    "", "/", "/etc/passwd", "..", "../x", "a/../b", "a/./b", "a//b", "a/", "a\\b", "C:x", "a\nb", "a\0b", " a", "a ",
    "a.", "con", "NUL.txt", "x/Com1.sql", "a?", "a*b", "<a>", "a|b", 'a"b', "a/\ud800", "x" * 256,
]  # fmt: skip


@pytest.mark.parametrize("name", UNSAFE)
def test_a_name_that_leaves_its_folder_or_goes_on_one_system_only_is_refused(folder, name):
    with pytest.raises(PluginError, match="exporter 'files' returned a file named "):
        export(example_rules(), "files", names=(name,))
    assert files_in(folder).keys() == {"rules.json"}


PARTS = st.text(st.sampled_from('abAB.. /\\:*~-é\u0301\0\n\u202e"'), max_size=5) | st.sampled_from(["..", "nul", "a"])


@draws(300, deadline=None)
@given(names=st.lists(st.lists(PARTS, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6, unique=True))
def test_files_of_drawn_names_are_refused_or_written_where_they_belong(tmp_path_factory, names):
    exported = {name: name.encode("utf-8", "surrogatepass") for name in names}
    if exported_faults(exported):
        return
    root = tmp_path_factory.mktemp("drawn")
    (root / "beside").write_text("mine")
    write_files(root / "out", exported)
    found = files_in(root)
    assert found.pop("beside") == b"mine"
    assert found == {f"out/{name}": content for name, content in exported.items()}


@draws(300, deadline=None)
@given(names=st.lists(st.lists(st.sampled_from(["a", "A", "b", "é", "É"]), min_size=1, max_size=3), max_size=6))
def test_a_clash_is_found_whatever_the_order(names):
    files = ["/".join(parts) for parts in names]

    def clash(first, second):
        one, other = first.lower().split("/"), second.lower().split("/")
        shorter = min(len(one), len(other))
        return one[:shorter] == other[:shorter]

    expected = any(clash(files[i], files[k]) for k in range(len(files)) for i in range(k))
    found = find_clash(files)
    assert (found is not None) == expected
    if found is not None:
        assert clash(files[found[0]], files[found[1]])
        assert found[0] < found[1]


def test_export_writes_several_files_to_a_folder(folder):
    assert call("export", "rules.json", "files", "-o", "out").exit_code == 0
    assert files_in("out") == FILES
    (folder / "out" / "mine.txt").write_text("mine")
    assert "use --force" in refused("export", "rules.json", "files", "-o", "out")
    assert call("export", "rules.json", "files", "-o", "out", "--force").exit_code == 0
    assert files_in("out") == {**FILES, "mine.txt": b"mine"}
    assert sorted(os.listdir(folder / "out")) == ["docs", "mine.txt", "model.sql"]


def test_an_option_that_the_command_has_too_goes_by_the_name_of_the_exporter(folder):
    (folder / "names.csv").write_text("number,name\n0,Zero\n")
    assert "--files-names" in call("export", "files", "--help").stdout
    given = call("export", "rules.json", "files", "--files-names", "a", "--names", "names.csv", "-o", "out")
    assert given.exit_code == 0
    assert files_in("out") == {"a": b"a: \xc3\xa9\n"}


def test_export_of_several_files_wants_a_folder(folder):
    assert "files gives 3 files: name a folder for them (-o DIR)" in refused("export", "rules.json", "files", status=2)
    (folder / "file").write_text("x")
    assert "file is a file" in refused("export", "rules.json", "files", "-o", "file")
    (folder / "out").mkdir()
    (folder / "out" / "docs").write_text("a file in the way")
    assert "docs is a file" in refused("export", "rules.json", "files", "-o", "out")
    message = refused("export", "rules.json", "files", "--files-names", "rules.json", "-o", ".")
    assert "rules.json is the file that is read" in message


def test_export_writes_bytes_as_they_are(folder):
    expected = export(example_rules(), "bytes")
    assert call("export", "rules.json", "bytes").stdout_bytes == expected
    assert call("export", "rules.json", "bytes", "-o", "out.bin").exit_code == 0
    assert Path("out.bin").read_bytes() == expected
    assert "is a folder" in refused("export", "rules.json", "bytes", "-o", ".")


def test_run_writes_texts_bytes_and_files_side_by_side(folder):
    write_groups()
    done = call("run", "t.csv", "-k", 3, "--write", "sql,bytes,files", "-o", "out")
    assert done.exit_code == 0
    found = files_in("out")
    assert {name: found[name] for name in FILES} == FILES
    assert set(found) == {"rules.json", "settings.json", "rules.sql", "rules.bin", *FILES}
    assert Path("out/docs/notes.txt").as_posix() in done.stdout


@pytest.mark.parametrize("clashing", ["Rules.SQL", "rules.sql/x", "RULES.json"])
def test_run_refuses_files_that_clash_before_anything_is_written(folder, clashing):
    write_groups()
    message = refused("run", "t.csv", "-k", 3, "--write", "sql,files", "--files-names", clashing, status=2)
    assert f"exporter 'files' writes {clashing}, and so do" in message


def test_run_replaces_several_files_only_where_it_may(folder):
    write_groups()
    (folder / "out").mkdir()
    (folder / "out" / "model.sql").write_text("mine")
    message = refused("run", "t.csv", "-k", 3, "--write", "files", "-o", "out")
    assert "out/model.sql exists; use --force" in message
    assert call("run", "t.csv", "-k", 3, "--write", "files", "-o", "out", "--force").exit_code == 0
    assert files_in("out")["model.sql"] == FILES["model.sql"]


def test_a_declared_name_is_no_clash_where_files_have_their_own(folder):
    write_groups()
    done = call("run", "t.csv", "-k", 3, "--write", "named,python", "-o", "out")
    assert done.exit_code == 0
    assert set(files_in("out")) == {"rules.json", "settings.json", "rules.py", *FILES}


@pytest.mark.parametrize("moment", range(6))
def test_a_failure_among_several_files_leaves_no_folder_behind(tmp_path, monkeypatch, moment):
    replace, calls = os.replace, iter(range(1000))
    write_files(tmp_path / "out", {"kept.txt": "old", "a/old.txt": "old"})
    before = files_in(tmp_path)

    def interrupted(*paths):
        if next(calls) == moment + 5:  # each of the five files takes its place on the stage first
            raise KeyboardInterrupt
        replace(*paths)

    monkeypatch.setattr(os, "replace", interrupted)
    new = dict.fromkeys(("a/old.txt", "a/b/c.txt", "d/e.txt", "kept.txt", "f.txt"), "new")
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "out", new)
    assert files_in(tmp_path) == before
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["a", "out"]


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_a_result_goes_through_a_pipe_that_is_named(folder):
    done = spawn("export", "rules.json", "sql", "-o", "/dev/stdout")
    assert done.stdout == export(example_rules(), "sql")
