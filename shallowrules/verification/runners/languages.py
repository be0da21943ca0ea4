"""The functions in programming languages: compiled and run where the compiler is installed.

Rows go to a program's standard input column by column, numbers as their bits; the program answers with a line for each.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import EngineError, MissingExtraError
from shallowrules.exporters.languages import (
    CExporter,
    GoExporter,
    JavaExporter,
    JavaScriptExporter,
    LanguageExporter,
    LanguageOptions,
    RExporter,
    RustExporter,
)
from shallowrules.exporters.languages.language import KindName, kind_of
from shallowrules.exporters.rendering import render
from shallowrules.labelling.answers import Answers
from shallowrules.rules import INT64, RuleSet
from shallowrules.tables.column import Column
from shallowrules.tables.table import Table
from shallowrules.tables.times import format_time
from shallowrules.verification.runners.base import Form, Labels, as_given

__all__ = ["TOOLCHAINS", "Toolchain", "label_by", "run_language"]

Case = tuple[RuleSet, Sequence[Table]]


@dataclass(frozen=True)
class Toolchain:
    """How the text of an exporter becomes a program.

    Attributes
    ----------
    exporter : type
    program : str
        The compiler or interpreter.
    installed_by : str
        The command that installs it.
    name : str
        The name of the text, where ``{number}`` is that of the case.
    file : str
        The file of the text, by its name; a path is one that the main program imports.
    main : str
        The file of the program that labels rows; its template is named after the exporter.
    build : sequence of str
        The command that compiles it, if it is compiled.
    run : sequence of str
        The command that runs it.
    others : mapping from str to str
        Other files that it needs.
    """

    exporter: type[LanguageExporter]
    program: str
    installed_by: str
    name: str
    file: str
    main: str
    build: tuple[str, ...]
    run: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The name of the language."""
        return self.exporter.language.title

    def check_installed(self) -> None:
        """Raise MissingExtraError where the compiler is not installed."""
        if shutil.which(self.program) is None:
            raise MissingExtraError(f"running {self.title}", self.program, command=self.installed_by)

    def command(self, arguments: Sequence[str], folder: str, given: bytes = b"") -> bytes:
        """Run a command in a folder, and return its answer."""
        try:
            done = subprocess.run(arguments, cwd=folder, input=given, capture_output=True, check=False)
        except OSError as error:
            raise EngineError(self.program, " ".join(arguments), str(error)) from error
        if done.returncode:
            said = done.stderr.decode(errors="replace")[:2000].strip()
            said = said or f"{arguments[0]} ends with status {done.returncode}"
            raise EngineError(self.program, " ".join(arguments), said)
        return done.stdout


TOOLCHAINS: Mapping[str, Toolchain] = {
    chain.exporter.name: chain
    for chain in (
        Toolchain(
            JavaScriptExporter,
            "node",
            "apt-get install nodejs",
            name="label{number}",
            file="{name}/rules.mjs",
            main="main.mjs",
            build=(),
            run=("node", "main.mjs"),
        ),
        Toolchain(
            CExporter,
            "cc",
            "apt-get install gcc",
            name="label_{number}",
            file="{name}.h",
            main="main.c",
            build=("cc", "-std=c99", "-O1", "-o", "main", "main.c"),
            run=("./main",),
        ),
        Toolchain(
            JavaExporter,
            "javac",
            "apt-get install default-jdk-headless",
            name="Label{number}",
            file="{name}.java",
            main="Main.java",
            build=("javac", "Main.java"),
            run=("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "Main"),
        ),
        Toolchain(
            GoExporter,
            "go",
            "apt-get install golang-go",
            name="label{number}",
            file="{name}/rules.go",
            main="main.go",
            build=("go", "build", "-o", "main", "main.go"),
            run=("./main",),
            others=(("go.mod", "module labels\n\ngo 1.18\n"),),
        ),
        Toolchain(
            RustExporter,
            "rustc",
            "apt-get install rustc",
            name="label_{number}",
            file="{name}.rs",
            main="main.rs",
            build=("rustc", "--edition", "2021", "-C", "debuginfo=0", "-o", "main", "main.rs"),
            run=("./main",),
        ),
        Toolchain(
            RExporter,
            "Rscript",
            "apt-get install r-base-core",
            name="label_{number}",
            file="{name}.R",
            main="main.R",
            build=(),
            run=("Rscript", "--vanilla", "-e", 'source("main.R")'),  # which reads longer lines than Rscript does
        ),
    )
}


@contextmanager
def run_language(name: str, rules: RuleSet) -> Iterator[Mapping[str, Form]]:
    """Return the form of the rules in a language, which is compiled when it is asked."""
    chain = TOOLCHAINS[name]
    chain.check_installed()
    chain.exporter().export(rules)  # refused before any work

    def label_several(tables: Sequence[Table]) -> Sequence[Labels]:
        [labels] = label_by(chain, [(rules, tables)])
        return labels

    yield {
        chain.title: Form(
            lambda table: label_several([table])[0], partial(rows_held, chain.exporter, rules), label_several
        )
    }


def label_by(chain: Toolchain, cases: Sequence[Case]) -> list[list[Labels]]:
    """Return the clusters of the rows of tables, for each of several rule sets, which are compiled into one program."""
    described: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="shallowrules-languages-") as folder:
        for number, (rules, _) in enumerate(cases):
            exporter, name = chain.exporter(), chain.name.format(number=number)
            file = Path(folder, chain.file.format(name=name))
            file.parent.mkdir(parents=True, exist_ok=True)
            text = exporter.export(rules, name=name)
            for path, content in text.items() if isinstance(text, Mapping) else [(file.name, text)]:
                file.with_name(path).write_text(content, encoding="utf-8")
            inputs = exporter.context(rules, LanguageOptions(name=name))["inputs"]
            described.append({"name": name, "file": chain.file.format(name=name), "inputs": inputs})
        template = f"main_{chain.exporter.name}{Path(chain.main).suffix}.j2"
        main = render(chain.exporter.language, template, {"cases": described})
        for path, content in ((chain.main, main), *chain.others):
            Path(folder, path).write_text(content, encoding="utf-8")
        if chain.build:
            chain.command(chain.build, folder)
        write = _in_json if chain.exporter.language.reads_text else _in_bits
        answers = chain.command(chain.run, folder, write(cases)).decode().split()
    sizes = [[table.n_rows for table in tables] for _, tables in cases]
    if len(answers) != sum(map(sum, sizes)):
        raise EngineError(chain.program, " ".join(chain.run), f"{len(answers)} labels of {sum(map(sum, sizes))} rows")
    labels, rest = [], iter(answers)
    for (rules, _), each in zip(cases, sizes, strict=True):
        understood = Answers(rules).cluster
        labels.append([np.array([understood(_number(next(rest))) for _ in range(n)], dtype=np.int64) for n in each])
    return labels


def _number(answer: str) -> int | None:
    return None if answer == "none" else int(answer)


def rows_held(exporter: type[LanguageExporter], rules: RuleSet, table: Table) -> NDArray[np.bool_]:
    """Return which rows of a table a language can hold: not those with certain characters, or beyond 64 bits."""
    held = np.ones(table.n_rows, dtype=bool)
    if exporter.language.reads_text:
        return held
    for feature in rules.tested_columns:
        asked, kind = rules.columns[feature], kind_of(rules, feature)
        column = as_given(asked, table[asked.name])
        if kind == "text":
            held &= [not isinstance(text, str) or not exporter.language.lacks(text) for text in column.values.tolist()]
        elif kind == "whole":
            held &= column.absent | [value in INT64 for value in column.values.tolist()]
    return held


def _in_bits(cases: Sequence[Case]) -> bytes:
    """Return the rows of all tables of each case: their number, then the values of each column."""
    found = []
    for rules, tables in cases:
        found.append(struct.pack(">i", sum(table.n_rows for table in tables)))
        for feature in rules.tested_columns:
            asked = rules.columns[feature]
            columns = [as_given(asked, table[asked.name]) for table in tables]
            found.append(_BITS[kind_of(rules, feature)](columns))
    return b"".join(found)


def _numbers(columns: Sequence[Column]) -> bytes:
    return b"".join(
        np.where(column.absent, np.nan, column.values.astype(np.float64)).astype(">f8").tobytes() for column in columns
    )


def _wholes(columns: Sequence[Column]) -> bytes:
    present = b"".join((~column.absent).astype(np.int8).tobytes() for column in columns)
    values = (np.where(column.absent, 0, column.values).astype(">i8").tobytes() for column in columns)
    return present + b"".join(values)


def _texts(columns: Sequence[Column]) -> bytes:
    texts = [text.encode() if isinstance(text, str) else None for column in columns for text in column.values.tolist()]
    sizes = [-1 if text is None else len(text) for text in texts]
    return b"".join(struct.pack(">i", size) + (text or b"") for size, text in zip(sizes, texts, strict=True))


def _truths(columns: Sequence[Column]) -> bytes:
    return bytes(
        255 if absent else bool(value)
        for column in columns
        for absent, value in zip(column.absent.tolist(), column.values.tolist(), strict=True)
    )


_BITS: Mapping[KindName, Callable[[Sequence[Column]], bytes]] = {
    "number": _numbers,
    "whole": _wholes,
    "text": _texts,
    "truth": _truths,
}


def _in_json(cases: Sequence[Case]) -> bytes:
    """Return the rows of each case as they were read, numbers as texts: JSON has neither NaN nor whole numbers."""
    found = []
    for _, tables in cases:
        rows: list[Any] = []
        for table in tables:
            columns = [
                [
                    (column.name, _json_value(column, *each))
                    for each in zip(column.values.tolist(), column.absent.tolist(), strict=True)
                ]
                for column in table.columns
            ]
            rows += zip(*columns, strict=True) if columns else [()] * table.n_rows
        found.append(rows)
    return json.dumps(found).encode()


def _json_value(column: Column, value: Any, absent: bool) -> Any:
    if absent and value == value:
        return None
    if column.is_time:
        return format_time(column.type, value)
    if isinstance(value, float):
        return {"number": "NaN" if value != value else repr(value).replace("inf", "Infinity")}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"whole": str(value)}
    return value
