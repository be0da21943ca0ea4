"""Files that cannot be reached: either all rows are read, or an error names those that could not be reached."""

from __future__ import annotations

import builtins
import errno
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from commandline import call, write_groups
from draws import draws, few
from hypothesis import given
from hypothesis import strategies as st

from shallowrules import ExplainableKMeans
from shallowrules.errors import DataError
from shallowrules.partitions import open_partitions
from shallowrules.sources import files_of, read_table

FAULTS = ("dangling file", "dangling folder", "link to itself", "no listing", "no look", "no opening", "pipe")
"""What keeps rows from being reached; the second and the fourth have a name that is not a table's."""

PATTERNS = ("", "**/*.csv", "**/n*.csv")
"""What stands after the folder: nothing, or a pattern that fits all tables in it."""

kinds = st.sampled_from(["file", "file", "folder", "folder", "loop", "linked folder", "notes", "hidden"])
trees = st.recursive(st.just([]), lambda inner: st.lists(st.tuples(kinds, inner), max_size=3), max_leaves=10)


class Tree:
    """A random folder of tables, one row each, and the actions on one of its paths that the system refuses."""

    def __init__(self, place, content):
        self.top, self.outside = Path(place, "data"), Path(place, "other disk")
        self.n_rows, self.n_names = 0, 0
        self.folders, self.refused = [], {}
        self.outside.mkdir()
        self.top.mkdir()
        self.file(self.name(self.top, ".csv"))
        self.fill(self.top, content)

    def name(self, folder, ending="", beginning="n"):
        self.n_names += 1
        return folder / f"{beginning}{self.n_names}{ending}"

    def file(self, path):
        path.write_text(f"a,b\n{self.n_rows},{self.n_rows % 7}\n")
        self.n_rows += 1

    def fill(self, folder, content):
        self.folders.append(folder)
        for kind, inner in content:
            match kind:
                case "file":
                    self.file(self.name(folder, ".csv"))
                case "folder":
                    below = self.name(folder)
                    below.mkdir()
                    self.fill(below, inner)
                case "loop":
                    self.name(folder).symlink_to(self.top)
                case "linked folder":
                    below = self.name(self.outside)
                    below.mkdir()
                    self.name(folder).symlink_to(below)
                    self.fill(below, inner)
                case "notes":
                    self.name(folder, ".md").write_text("no table")
                case "hidden":
                    self.name(folder, ".csv", beginning=".").symlink_to("nowhere")

    def damage(self, fault, place):
        """Put a fault into one of the folders, and return the path that cannot be reached."""
        path = self.name(self.folders[place % len(self.folders)], "" if fault in FAULTS[1:4:2] else ".csv")
        match fault:
            case "dangling file" | "dangling folder":
                path.symlink_to(self.outside / "unmounted")
            case "link to itself":
                path.symlink_to(path.name)
            case "pipe":
                os.mkfifo(path)
            case "no listing":
                path.mkdir()
                self.file(path / "n.csv")
                self.refused[path.resolve()] = "listdir"
            case "no look" | "no opening":
                self.file(path)
                self.refused[path.resolve()] = "stat" if fault == "no look" else "open"
        return path

    @contextmanager
    def refusing(self):
        """Make the system refuse everything that it refuses to users other than root."""
        with ExitStack() as patches:
            for module, name in ((os, "listdir"), (os, "stat"), (builtins, "open")):
                patches.enter_context(mock.patch.object(module, name, self._refusing(name, getattr(module, name))))
            yield

    def _refusing(self, name, real):
        def refuse(path, *arguments, **options):
            if isinstance(path, str | os.PathLike) and name in self.refused.values():
                place = Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                if self.refused.get(place) == name:
                    raise OSError(errno.EACCES, "Permission denied", str(path))
            return real(path, *arguments, **options)

        return refuse


def rows_in_parts(where):
    with open_partitions(where) as parts:
        return sum(part.n_rows for part in parts.parts())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of another kind")
@draws(100)
@given(
    content=trees,
    fault=st.sampled_from([None, *FAULTS]),
    place=st.integers(0, 99),
    pattern=st.sampled_from(PATTERNS),
    read=st.sampled_from([lambda where: read_table(where).n_rows, rows_in_parts]),
)
def test_every_row_is_read_or_what_cannot_be_reached_is_named(content, fault, place, pattern, read):
    with TemporaryDirectory() as folder:
        tree = Tree(folder, content)
        path = None if fault is None else tree.damage(fault, place)
        with tree.refusing():
            if path is None:
                assert read(str(tree.top / pattern)) == tree.n_rows
                return
            with pytest.raises(DataError) as caught:
                read(str(tree.top / pattern))
        assert path.name in str(caught.value)


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """A folder with a table, and rules for it."""
    monkeypatch.chdir(tmp_path)
    tree = Tree(tmp_path, [("folder", [])])
    write_groups(tree.folders[-1] / "groups.csv")
    (tree.top / "n1.csv").unlink()
    ExplainableKMeans(3).fit(read_table(tree.top)).rules_.to_json("rules.json")
    return tree


@pytest.mark.slow
@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("pattern", PATTERNS[:2])
@pytest.mark.parametrize("fault", FAULTS)
def test_commands_name_what_cannot_be_reached(tables, fault, pattern):
    where = str(tables.top / pattern)
    path = tables.damage(fault, 1)
    with tables.refusing():
        for command in (
            ("fit", where, "-k", "3", "-o", "new.json"),
            ("run", where, "-k", "3", "-o", "new"),
            ("fit", where, "-k", "3", "--memory", "1GB", "-o", "new.json"),
            ("label", "rules.json", where, "-o", "labelled.csv"),
            ("verify", "rules.json", where),
        ):
            result = call(*command)
            assert result.exit_code not in (0, 2), result.stdout
            assert path.name in result.stderr
        with pytest.raises(DataError, match=path.name):
            ExplainableKMeans(3).fit_partitions(where)
    assert sorted(os.listdir()) == ["data", "other disk", "rules.json"]


@pytest.mark.parametrize("name", ["link", "link/*.csv", "li*/t.csv", "**/t.csv"])
def test_a_link_that_leads_nowhere_is_named_with_its_end(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("unmounted")
    with pytest.raises(DataError, match="^link: this link leads to unmounted"):
        files_of(name)


def test_a_rules_document_that_cannot_be_read_is_not_taken_for_none(tmp_path):
    tree = Tree(tmp_path, [("folder", [])])
    (tree.folders[1] / "rules.json").write_text("{}")
    tree.refused[tree.folders[1] / "rules.json"] = "open"
    with tree.refusing(), pytest.raises(DataError, match=r"rules\.json"):
        files_of(tree.top)


def test_folders_that_links_lead_to_are_read_once(tmp_path):
    tree = Tree(tmp_path, [("folder", [("file", []), ("folder", [("file", [])])])])
    (tree.top / "latest").symlink_to(tree.folders[1])  # sorts before what it leads to
    (tree.top / "inner").symlink_to(tree.folders[2])
    for where in (tree.top, str(tree.top / "**/*.csv")):
        assert read_table(where).n_rows == tree.n_rows
        assert not any("latest" in file or "inner" in file for file in files_of(where))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("pattern", ["", "/*/*.csv", "/**"])
@pytest.mark.parametrize("mode", few([0o000, 0o444, 0o333]))
def test_a_folder_without_a_right_for_who_asks(tmp_path, mode, pattern):
    """The system's own message, to a user who is not root."""
    for folder in ("open", "closed"):
        Path(tmp_path, "data", folder).mkdir(parents=True)
        Path(tmp_path, "data", folder, "t.csv").write_text("a,b\n1,2\n3,4\n")
    Path(tmp_path, "data", "closed").chmod(mode)
    code = f"""
import os
from shallowrules.sources import files_of, read_table
files_of(os.devnull)
os.setuid(65534)  # after the imports, which may be where only root may look
read_table({"data" + pattern!r})
"""
    for each in [tmp_path, *tmp_path.parents][:3]:
        each.chmod(each.stat().st_mode | 0o011)
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "DataError" in ran.stderr
    assert "closed" in ran.stderr
