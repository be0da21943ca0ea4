"""Rows that a fit keeps in files while its tree grows: read and encoded once, and gone afterwards."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shallowrules.encoding.rows import Rows
from shallowrules.errors import DataError
from shallowrules.fitting import stored_rows as scratch
from shallowrules.partitions import Part, TableParts, ThreadedPartitions
from shallowrules.tables.table import Table
from shallowrules.trees.parts.node_passes import collect_part


class Streamed(ThreadedPartitions):
    """Parts that are yielded again in each pass; passes are counted."""

    def __init__(self, tables: list[Table]) -> None:
        self.own = TableParts(tables, n_threads=2)
        super().__init__(self.own.kinds, "streamed", 2)
        self.passes = 0

    def parts(self) -> Iterator[Part]:
        self.passes += 1
        return self.own.parts()


def encode(part: Part) -> Rows:
    """Take the first column for both spaces, the second one for weights; rows of weight 0 are left out."""
    weight = part["x1"].values
    X = part["x0"].values[weight > 0][:, None].astype(np.float32)
    return Rows(X, X, weight[weight > 0])


def two_spaces(part: Part) -> Rows:
    X = np.asfortranarray(np.stack([part["x0"].values, part["x1"].values], axis=1))
    return Rows(X[:, :1], X)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def tables() -> list[Table]:
    whole = np.column_stack([np.arange(30.0), np.arange(30) % 3])
    whole[20:, 1] = 0.0  # a part without rows that count
    return [Table.of(part) for part in np.split(whole, [5, 20])]


@pytest.mark.parametrize("encoder", [encode, two_spaces])
def test_rows_are_read_once_and_are_the_same(encoder, folder: Path) -> None:
    streamed = Streamed(tables())
    expected = streamed.map_reduce(collect_part, encoder).rows()
    with scratch.stored_rows(streamed, encoder, 1000) as (parts, read):
        assert list(folder.iterdir())
        for _ in range(3):
            found = parts.map_reduce(collect_part, read).rows()
            assert found.X_explain.dtype == expected.X_explain.dtype
            assert (found.X_cluster is found.X_explain) == (expected.X_cluster is expected.X_explain)
            order = np.argsort(found.X_explain[:, 0])
            for name in ("X_explain", "X_cluster", "weight"):
                if getattr(expected, name) is not None:
                    rows = np.argsort(expected.X_explain[:, 0])
                    np.testing.assert_array_equal(getattr(found, name)[order], getattr(expected, name)[rows])
            assert (found.weight is None) == (expected.weight is None)
    assert streamed.passes == 2
    assert not list(folder.iterdir())


def interrupt(folder: Path) -> None:
    assert list(folder.iterdir())
    raise KeyboardInterrupt


def test_nothing_is_left_after_an_error(folder: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        scratch.stored_rows(Streamed(tables()), encode, 1000),
    ):
        interrupt(folder)
    assert not list(folder.iterdir())


def test_a_disk_that_is_full_is_an_error_that_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(stream: object, array: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", save)
    with (
        pytest.raises(DataError, match=r"No space left on device\); free some space there, or .*TMPDIR"),
        scratch.stored_rows(Streamed(tables()), encode, 1000),
    ):
        pass
    assert not list(folder.iterdir())


def test_parts_stay_where_they_are_if_they_are_in_memory_or_the_disk_has_no_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory, streamed = TableParts(tables()), Streamed(tables())
    with scratch.stored_rows(in_memory, encode, 1000) as (parts, read):
        assert parts is in_memory
        assert read is encode
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with scratch.stored_rows(streamed, encode, 900) as (parts, read):
        assert parts is streamed
        assert read is encode
