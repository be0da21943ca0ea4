"""What to do about findings, in the words of the command line."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from shallowrules.errors import DataError, Finding

__all__ = ["column_list", "exclude", "way_out", "worded"]

MAX_SPELLINGS = 3
"""Distinct texts that are worth a --null each; more are hardly ways to write "no value"."""


def column_list(names: Iterable[str]) -> str:
    """Return column names as a shell word that ``--columns`` and ``--exclude`` understand."""
    return shlex.quote(_listed(names))


def _listed(names: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def exclude(names: Iterable[str]) -> str:
    """Return the option that leaves columns out."""
    return f"--exclude {column_list(names)}"


@contextmanager
def worded() -> Iterator[None]:
    """Add to what is wrong with a source what to do about it."""
    try:
        yield
    except DataError as error:
        if not any(finding.kind in WAYS_OUT for finding in error.findings):
            raise
        told = "; ".join(finding.message for finding in error.findings)
        before = str(error).removesuffix(told)
        advised = "; ".join(f"{finding.message}{way_out(finding)}" for finding in error.findings)
        raise DataError(before + advised, findings=error.findings) from error


def way_out(finding: Finding) -> str:
    """Return what to do about a finding, to be put behind its message; "" where the message says all."""
    word = WAYS_OUT.get(finding.kind)
    return "" if word is None else word(finding)


def _encoding(finding: Finding) -> str:
    return f": say so (for example --encoding {finding.values[0]})"


def _delimiter(finding: Finding) -> str:
    return " (--delimiter)"


def _ragged(finding: Finding) -> str:
    return ": correct the line, or say --delimiter if it is another"


def _comma_numbers(finding: Finding) -> str:
    return (
        ": say --decimal , if it is the decimal separator; if it groups digits, take it out of the file, "
        f"or leave the column out ({exclude([str(finding.column)])})"
    )


def _nearly_numeric(finding: Finding) -> str:
    leave_out = f"leave the column out ({exclude([str(finding.column)])})"
    if len(finding.values) > MAX_SPELLINGS:
        return f": correct the file or {leave_out}"
    nulls = " ".join(f"--null {shlex.quote(token)}" for token in finding.values)
    return f": treat {'it' if len(finding.values) == 1 else 'them'} as missing ({nulls}) or {leave_out}"


WAYS_OUT: Mapping[str, Callable[[Finding], str]] = {
    "encoding": _encoding,
    "delimiter": _delimiter,
    "ragged": _ragged,
    "comma numbers": _comma_numbers,
    "nearly numeric": _nearly_numeric,
}
"""By the kind of a finding that sources make."""
