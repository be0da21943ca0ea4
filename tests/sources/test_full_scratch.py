"""A folder for temporary files that is full: the message says which it is and what to do, whatever was kept there."""

from __future__ import annotations

import builtins
import io
import os
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest
from commandline import call, write_groups

from shallowrules.errors import DataError
from shallowrules.files import atomic_write, scratch_folder
from shallowrules.partitions import open_partitions
from shallowrules.sources import DatabaseRows, files, read_table
from shallowrules.sources.engine import open_database

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")


@pytest.fixture
def full(tmp_path, monkeypatch):
    """Return the folder for temporary files, in which no file finds room."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "scratch"
    folder.mkdir()
    write_groups("t.csv")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    real = io.open

    def into_full(file, mode="r", *arguments, **options):
        is_scratch = isinstance(file, str | os.PathLike) and folder in Path(os.path.abspath(file)).parents
        return real("/dev/full" if is_scratch and set(mode) & set("wax") else file, mode, *arguments, **options)

    monkeypatch.setattr(builtins, "open", into_full)
    monkeypatch.setattr(io, "open", into_full)
    yield folder
    assert not list(folder.iterdir())


def says_so(message, folder):
    message = " ".join(message.split())
    return str(folder) in message and "TMPDIR" in message and "is full" in message


def latin(path):
    path.write_bytes("a,ö\n1,2\n3,4\n".encode("latin-1"))
    return path, {"encoding": "latin-1"}


def marked(path):
    path.write_text("sep=;\na;b\n1;2\n3;4\n")
    return path, {}


def several(path):
    path.mkdir()
    for name in ("1.csv", "2.csv"):
        latin(path / name)
    return path, {"encoding": "latin-1"}


@pytest.mark.parametrize("make", [latin, marked, several])
def test_a_file_that_is_written_in_another_form(full, tmp_path, make):
    where, options = make(tmp_path / "x.csv")
    with pytest.raises(DataError) as caught:
        read_table(where, **options)
    assert says_so(str(caught.value), full)


def test_standard_input(full):
    result = call("fit", "-", "-k", "2", input=Path("t.csv").read_text())
    assert result.exit_code not in (0, 2)
    assert result.stdout == ""
    assert says_so(result.stderr, full)


def test_a_pipe(full):
    os.mkfifo("pipe.csv")
    text = Path("t.csv").read_text()

    def write():
        with suppress(BrokenPipeError):
            Path("pipe.csv").write_text(text)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(DataError) as caught:
        read_table("pipe.csv")
    writer.join()
    assert says_so(str(caught.value), full)


def test_a_pipe_larger_than_the_room_that_is_left(full, monkeypatch):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 100}))
    result = call("fit", "-", "-k", "2", input=Path("t.csv").read_text())
    assert result.exit_code not in (0, 2)
    message = " ".join(result.stderr.split())
    assert str(full) in message
    assert "TMPDIR" in message


def test_rows_of_a_database_in_parts(full, tmp_path):
    with closing(sqlite3.connect("x.db")) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
        database.commit()
    with pytest.raises(DataError) as caught, open_partitions(DatabaseRows("sqlite:///x.db", "t")):
        pass
    assert says_so(str(caught.value), full)


def test_what_goes_to_a_pipe(full):
    os.mkfifo("out.json")
    with pytest.raises(DataError) as caught:
        atomic_write("out.json", "{}")
    assert says_so(str(caught.value), full)


def test_what_duckdb_keeps(full):
    limits = "SET memory_limit = '30MB'; SET max_temp_directory_size = '1KB'; SET threads = 1"
    table = "CREATE TABLE t AS SELECT n, hash(n) AS h FROM range(5000000) r (n)"
    with pytest.raises(DataError) as caught, scratch_folder() as scratch, open_database(scratch) as database:
        database.execute(f"{limits}; {table}")
    assert says_so(str(caught.value), full)


def test_a_full_target_is_not_the_folder_for_temporary_files(tmp_path):
    """For a device that is itself full, the system's own message."""
    with pytest.raises(OSError, match="No space left") as caught:
        atomic_write("/dev/full", "{}")
    assert caught.value.filename == "/dev/full"
