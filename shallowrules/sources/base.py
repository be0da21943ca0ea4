"""Sources of rows, and refusals that name their files and columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import ClassVar, NoReturn

from shallowrules.errors import DataError, Finding
from shallowrules.files import FULL
from shallowrules.tables.column import Column
from shallowrules.tables.names import named_alike, show_absent
from shallowrules.tables.table import Table

__all__ = ["Provenance", "Source", "check_names", "in_file", "named", "refuse"]


@dataclass(frozen=True)
class Provenance:
    """Where rows come from.

    Parameters
    ----------
    kind : str
        "csv", "json", "parquet", …
    files : tuple of str
        The files, in the order of their rows; empty where the rows are in none.
    """

    kind: str
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ", ".join(self.files) or self.kind


class Source(ABC):
    """Rows with named columns.

    A source has to say how many rows there are and give columns (`count_rows`, `read`); everything else follows from
    these.

    Parameters
    ----------
    names : list of str
        Of all columns, in order. DataError where two are the same name in SQL, unless `names_may_repeat`.
    provenance : Provenance

    Attributes
    ----------
    column_notes : dict from str to tuple of Finding
        By the name of a column that was read: findings about it that have to be reported.
    """

    names_may_repeat: ClassVar[bool] = False
    """Whether columns are found by their places, so that names need to differ in SQL only among the columns that are
    read."""

    def __init__(self, names: list[str], provenance: Provenance) -> None:
        if not self.names_may_repeat:
            check_names(names)
        self.names = names
        self.provenance = provenance
        self.column_notes: dict[str, tuple[Finding, ...]] = {}

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows; DataError if there are none."""

    @abstractmethod
    def read(self, positions: Sequence[int], as_text: Sequence[str], findings: list[Finding]) -> list[Column]:
        """Return columns by position, those named in `as_text` as text where the source holds text.

        Faults of a column are added to `findings`, and the column is then read as text.
        """

    def zero_padded(self) -> set[str]:
        """Return columns whose whole numbers are written with leading zeros, as codes are, as far as a sample tells."""
        return set()

    def positions(self, columns: Sequence[str] | None = None, exclude: Sequence[str] = ()) -> list[int]:
        """Return the positions of the wanted columns, except for excluded ones; DataError names one that is missing.

        An excluded name may be a pattern, such as ``flag_*``, unless a column has that name.
        """
        place: dict[str, int] = {}
        left_out: set[str] = set()
        for j, name in enumerate(self.names):
            place.setdefault(name, j)
        for name in exclude:
            is_pattern = name not in place and any(character in name for character in "*?[")
            found = [each for each in self.names if (fnmatchcase(each, name) if is_pattern else each == name)]
            if not found:
                self._refuse_absent(name, "no column matches" if is_pattern else "there is no column")
            left_out.update(found)
        for name in columns or ():
            if name not in place:
                self._refuse_absent(name, "there is no column")
        if columns is None:
            chosen = [j for j, name in enumerate(self.names) if name not in left_out]
        else:
            chosen = [place[name] for name in dict.fromkeys(columns) if name not in left_out]
        if not chosen:
            raise DataError("no column is left to read")
        if self.names_may_repeat:
            check_names(self.names, {self.names[j] for j in chosen})
        return chosen

    def _refuse_absent(self, name: str, what: str) -> NoReturn:
        message = f"{what} {show_absent(name, self.names)}; the columns are: {', '.join(map(repr, self.names))}"
        raise DataError(message, findings=[Finding("missing column", message, name)])

    def table(
        self,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        as_text: Sequence[str] = (),
        findings: list[Finding] | None = None,
    ) -> Table:
        """Return the wanted columns of all rows.

        Parameters
        ----------
        columns : sequence of str, optional
            These columns only, in this order.
        exclude : sequence of str
            Columns that are not read, by name or by a pattern such as ``flag_*``; faults in their values do not matter.
        as_text : sequence of str
            Columns to leave as the text that they are in the source, for rules that know how to convert it.
        findings : list of Finding, optional
            Where to add faults of columns. By default DataError reports them.
        """
        positions = self.positions(columns, exclude)
        found: list[Finding] = []
        columns_read = self.read(positions, as_text, found)
        table = Table(tuple(columns_read), self.count_rows())
        if findings is None:
            refuse(found)
        else:
            findings += found
        return table


@contextmanager
def named(file: str) -> Iterator[None]:
    """Put the file before the message of an error, once."""
    try:
        yield
    except DataError as error:
        if type(error) is not DataError or str(error).startswith(f"{file}: "):
            raise
        findings = [replace(finding, file=file) for finding in error.findings]
        raise DataError(f"{file}: ", *error.parts, findings=findings) from error.__cause__
    except OSError as error:
        if error.errno in FULL:
            raise  # the error names a temporary file
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error


def in_file(finding: Finding, file: str) -> Finding:
    """Return a finding in one of several files, with the name of the file."""
    return replace(finding, message=f"{file}: {finding.message}", file=file)


def refuse(findings: Sequence[Finding]) -> None:
    """Raise DataError with all findings, if there are any."""
    if findings:
        raise DataError("; ".join(finding.message for finding in findings), findings=findings)


def check_names(names: Sequence[str], among: Collection[str] | None = None) -> None:
    """Refuse names that a database would treat as the same, of all or `among` some."""
    alike = named_alike(names, among)
    if alike is None:
        return
    earlier, other = (names[place] for place in alike)
    what = f"are both named {other!r}" if earlier == other else f"are named {earlier!r} and {other!r}, one name in SQL"
    message = f"columns {alike[0] + 1} and {alike[1] + 1} {what}: rename one of them"
    refuse([Finding("equal names", message, other)])
