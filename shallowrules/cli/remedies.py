"""Options with which a refused table is accepted: tried out, with their cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from shallowrules.cli.advice import RefusedTable, Remedy, first_of
from shallowrules.cli.missing import filled_text
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.preparation import LoadedTable, prepared
from shallowrules.errors import Finding, ShallowRulesError, counted
from shallowrules.files import Reading
from shallowrules.sources import Where, input_files

__all__ = ["working_remedy"]

MAX_TRIALS = 6
"""Maximum number of attempts at completing a proposed command."""


def working_remedy(
    where: Where, fit: FitOptions, reading: Reading, refused: RefusedTable, memory: int | None
) -> tuple[Remedy, str] | None:
    """Return options with which the table is accepted, tried out, and their cost; None if none are found.

    Missing values are handled last, once all null markers are known and columns are excluded.
    """
    if not all(map(os.path.isfile, input_files(where))):
        return None  # a pipe is read once
    remedy, findings = Remedy(), list[Finding]()
    for _ in range(MAX_TRIALS):
        known, remedy = remedy, remedy | refused.remedy.without_rows()
        if remedy == known:
            remedy = known | refused.remedy
        if remedy == known:
            return None
        findings += refused.findings
        losses = _tried(where, fit, reading, remedy, memory)
        if isinstance(losses, RefusedTable):
            refused = losses
            continue
        if losses is None:
            return None
        fewer = replace(remedy, null=_needed(remedy, findings))
        for tried in (fewer.without_rows(), fewer) if fewer != remedy else ():
            if isinstance(lost := _tried(where, fit, reading, tried, memory), str):
                return tried, lost
        return remedy, losses
    return None


def _tried(
    where: Where, fit: FitOptions, reading: Reading, remedy: Remedy, memory: int | None
) -> str | RefusedTable | None:
    """Return a remedy's cost to a table, or why it is still refused; None where the table is not at fault."""
    try:
        with prepared(where, *_remedied(fit, reading, remedy), memory) as loaded:
            return _losses(loaded, remedy)
    except RefusedTable as error:
        return error
    except ShallowRulesError:
        return None


def _needed(remedy: Remedy, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the null markers of a remedy that occur in a column that it does not exclude anyway."""
    kept = {text for finding in findings if finding.column not in remedy.exclude for text in finding.values}
    return tuple(text for text in remedy.null if text in kept)


def _remedied(fit: FitOptions, reading: Reading, remedy: Remedy) -> tuple[FitOptions, Reading]:
    """Return the options as a remedy changes them."""
    fit = replace(
        fit,
        exclude=(*fit.exclude, *remedy.exclude),
        categories=(*fit.categories, *remedy.categories),
        drop_missing=fit.drop_missing or remedy.drop_missing,
        impute=remedy.impute or fit.impute,
        missing=remedy.missing or fit.missing,
    )
    reading = replace(
        reading,
        null=(*reading.null, *remedy.null),
        format=(*reading.format, *remedy.format),
        encoding=remedy.encoding or reading.encoding,
    )
    return fit, reading


def _losses(loaded: LoadedTable, remedy: Remedy) -> str:
    """Return the loss that a remedy caused to a table, as a sentence; "" for none."""
    out = [_columns(remedy.exclude)] if remedy.exclude else []
    if loaded.left_out:
        out.append(f"{loaded.left_out:,} of {counted(loaded.n_rows + loaded.left_out, 'row')}")
    lost = [f"excludes {' and '.join(out)}"] if out else []
    if loaded.filled:
        lost.append(f"imputes {filled_text(loaded.filled)}")
    if remedy.categories:
        lost.append(f"treats {_columns(remedy.categories)} as categories, which have no order")
    return f"The command below {', and '.join(lost)}." if lost else ""


def _columns(names: Sequence[str]) -> str:
    """Return how many columns there are and which, the first of many."""
    shown = first_of([*map(repr, names)])
    return f"column {shown}" if len(names) == 1 else f"{len(names):,} columns ({shown})"
