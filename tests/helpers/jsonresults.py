"""Commands with --json: those that do and find something, their documents, and the figures that the terminal shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commandline import call, write_groups

from shallowrules.cli.results import SCHEMA
from shallowrules.exporters.sql import cluster_predicates

jsonschema = pytest.importorskip("jsonschema")

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text(encoding="utf-8"))

DOES = {
    "clusters": ["clusters", "t.csv", "--to", "3"],
    "diff": ["diff", "rules.json", "rules.json"],
    "drift": ["drift", "rules.json", "t.csv"],
    "explain": ["explain", "rules.json", "t.csv", "--number", "1", "--number", "2"],
    "label": ["label", "rules.json", "t.csv", "-o", "out.csv"],
    "path": ["path", "t.csv", "-k", "3", "--refine", "none"],
    "refit": ["refit", "rules.json", "moved.csv", "-o", "new.json"],
    "run": ["run", "t.csv", "-k", "3"],
    "verify": ["verify", "rules.json", "t.csv", "--exporter", "python"],
}
FINDS = {
    "diff": ["diff", "rules.json", "others.json", "t.csv"],
    "drift": ["drift", "rules.json", "moved.csv"],
    "verify": ["verify", "rules.json", "t.csv", "--exporter", "sql", "--dialect", "sqlite"],
}


def strict(part: Any) -> Any:
    """Return a schema that knows every entry, so that a document with one that it does not describe is not valid."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: strict(held) for key, held in part.items()}
    if "required" in found and isinstance(found.get("properties"), dict):
        found.setdefault("additionalProperties", False)
    return found


VALIDATOR = jsonschema.Draft202012Validator(strict(DOCUMENT))


def document_of(text: str) -> Any:
    """Return the one document that a text is, after a check."""
    document, end = json.JSONDecoder().raw_decode(text)
    assert text[end:] == "\n"
    assert text.isascii()
    VALIDATOR.validate(document)
    return document


def asked(*arguments: object, **settings: Any) -> tuple[Any, str]:
    """Run a command with --json in this process; return its document and what stderr got."""
    done = call(*arguments, "--json", **settings)
    document = document_of(done.stdout)
    assert document["status"] == done.exit_code
    assert document["schema"] == SCHEMA
    return document, done.stderr


def make_folder(parent: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables and rules that the commands read."""
    folder = parent.mktemp("made")
    write_groups(folder / "t.csv")
    header, *rows = (folder / "t.csv").read_text().splitlines()
    (folder / "moved.csv").write_text("\n".join([header, *rows[::3], rows[1], "99,99"]) + "\n")
    (folder / "sum.csv").write_text("\n".join([f"{header},sum", *(f"{row},{i / 4}" for i, row in enumerate(rows))]))
    for clusters, name in ((3, "rules.json"), (4, "others.json")):
        assert call("fit", folder / "t.csv", "-k", clusters, "-o", folder / name).exit_code == 0
    return folder


def find(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    """Run a command that finds something; for `verify`, SQL is made wrong."""
    if name == "verify":
        monkeypatch.setattr(
            "shallowrules.verification.runners.sql.cluster_predicates",
            lambda *given, **kept: dict.fromkeys(cluster_predicates(*given, **kept), "1 = 1"),
        )
    return asked(*FINDS[name])


def rows_of(text: str, first: str) -> list[list[str]]:
    """Return the cells of the printed table whose first heading is given."""
    lines = text.splitlines()
    [begin] = [i for i, line in enumerate(lines) if re.match(rf" ?{re.escape(first)}(?:  |$)", line)]
    found = []
    for line in lines[begin + 2 :]:
        if not line.strip():
            break
        found.append(re.split(r" {2,}", line.strip()))
    return found


def figure(value: Any, spec: str) -> str:
    """Return a figure of a document as the terminal shows it."""
    return "–" if value is None else format(value, spec)
