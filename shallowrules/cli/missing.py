"""Missing values: complete rows, substitutes in the others, and the cost of each remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shallowrules.cli.advice import Refusal, Remedy, column_list, counts_of, either_of, exclude, names_of
from shallowrules.cli.options.fitting import FitOptions
from shallowrules.cli.output import Note
from shallowrules.encoding.checks import find_missing
from shallowrules.encoding.imputing import IMPUTED, Filling
from shallowrules.encoding.roles import Roles
from shallowrules.errors import DataError, Finding, counted
from shallowrules.fitting.assembling import shown_value
from shallowrules.fitting.examining import Rows, count_incomplete
from shallowrules.fitting.imputing import find_imputed
from shallowrules.fitting.survey import Survey, find_facts
from shallowrules.partitions import WholeTable
from shallowrules.tables.conversion import Number
from shallowrules.tables.values import Value

__all__ = ["Filled", "complete_rows", "fill", "filled_text", "find_filled"]

MOSTLY = 0.5
"""Share of missing values in a column above which its exclusion is proposed: imputing would invent most of it."""

MAX_DROPPED_SHARE = 0.2
"""Share of incomplete rows up to which their exclusion is proposed; beyond it, imputing is."""

MAX_SHOWN = 3
"""Maximum number of columns whose substitute for missing values is shown."""

CATEGORY = Filling(missing="category")
"""Missing categories as a category of their own."""


@dataclass(frozen=True)
class Filled:
    """The substitute for a column's missing values.

    Parameters
    ----------
    name : str
    value : int, float, str or bool
    shown : str
        The value for a reader.
    count, rows : int
        Rows without a value, and rows in all.
    """

    name: str
    value: Number | Value
    shown: str
    count: int
    rows: int


def filled_text(filled: Sequence[Filled]) -> str:
    """Return the values that replace missing ones, in words; of many columns, those with the most missing values."""
    most = sorted(filled, key=lambda each: -each.count)
    shown = [f"{each.name!r} as {each.shown} in {each.count:,} of {counted(each.rows, 'row')}" for each in most]
    more = len(shown) - MAX_SHOWN
    return ", ".join(shown[:MAX_SHOWN]) + (f" and values of {counted(more, 'more column')}" if more > 0 else "")


def complete_rows(
    rows: Rows, facts: Survey, roles: Roles, fit: FitOptions, refused: set[str], ids: Sequence[Finding]
) -> tuple[Rows, list[Note], list[Refusal]]:
    """Return the complete rows with a note, or all rows and why they are refused; imputed values are not missing.

    Rows may lack a label: the estimator counts them.

    Parameters
    ----------
    rows : WholeTable or ThreadedPartitions
    facts : Survey
    roles : Roles
    fit : FitOptions
    refused : set of str
        Columns that are refused anyway.
    ids : sequence of Finding
        Columns that look like IDs, whose values cannot be made up.
    """
    unfillable = names_of(ids)
    columns = [column for column in facts.columns if column.name not in refused]
    used = [column for column in columns if column.name in unfillable or not fit.filling.fills(column)]
    findings = find_missing([*used, *([] if facts.weight is None else [facts.weight])])
    if not findings:
        return rows, [], []
    if not fit.drop_missing:
        return rows, [], _refusals(rows, findings, facts, roles, fit, unfillable)
    lacking = names_of(findings)
    n_rows = count_incomplete(rows, lacking)
    if n_rows == facts.rows:
        mostly = [finding for finding in findings if _is_mostly_missing(finding, roles)]
        names = tuple(name for name in names_of(mostly or findings) if name != roles.weight)
        leave_out = f"; exclude columns ({exclude(names)})" if names else ": correct the file"
        message = f"every row lacks a value, in {counts_of(findings)}{leave_out}"
        return rows, [], [Refusal(tuple(findings), message, Remedy(exclude=names))]
    note = Note(f"{n_rows:,} of {counted(facts.rows, 'row')} excluded for missing values: {counts_of(findings)}")
    return rows.complete(lacking), [note], []


def find_filled(rows: Rows, facts: Survey, roles: Roles) -> list[Filled]:
    """Return the values that replace missing ones; DataError where a column has no value in the rows that count."""
    found = find_imputed(rows, facts, replace(roles, weight_exponent=facts.weight_exponent))
    return [
        Filled(each.name, value, shown_value(value, each.type), each.n_missing, facts.rows)
        for each, value in zip(facts.columns, found, strict=False)
        if value is not None
    ]


def fill(rows: Rows, filled: Sequence[Filled]) -> tuple[Rows, Mapping[str, Number | Value | None]]:
    """Return the rows, filled if they are in memory, and the substitutes for missing values that are still in them."""
    imputed = {each.name: each.value for each in filled}
    if isinstance(rows, WholeTable):
        return rows.with_table(rows.table.filled([imputed.get(name) for name in rows.table.names])), {}
    return rows, imputed


def _refusals(
    rows: Rows, findings: Sequence[Finding], facts: Survey, roles: Roles, fit: FitOptions, ids: Collection[str]
) -> list[Refusal]:
    """Return why missing values are refused, grouped by remedy."""
    unfit = [finding for finding in findings if finding.column in ids]
    texts = {column.name for column in facts.columns if CATEGORY.adds_category(column)}
    of_text = [finding for finding in findings if finding not in unfit and finding.column in texts]
    mostly = [f for f in findings if f not in (*unfit, *of_text) and _is_mostly_missing(f, roles)]
    refusals = []
    if unfit:
        names = names_of(unfit)
        looks, it_is = "look like IDs", "they are quantities"
        if len(unfit) == 1:
            looks, it_is = "looks like an ID", "it is a quantity"
        message = (
            f"values are missing in {counts_of(unfit)}, which {looks}: no other value can stand for an ID; exclude "
            f"{_columns(unfit)} ({exclude(names)}), or use --numbers {column_list(names)} if {it_is}"
        )
        refusals.append(Refusal(tuple(unfit), message, Remedy(exclude=names)))
    if of_text:
        names = names_of(of_text)
        n_rows = count_incomplete(rows, names)
        its = "its" if len(of_text) == 1 else "their"
        message = (
            f"values are missing in {counts_of(of_text)}: treat missing as a category of {its} own "
            f"(--missing category), exclude {n_rows:,} of {counted(facts.rows, 'row')} (--drop-missing), or exclude "
            f"{_columns(of_text)} ({exclude(names)})"
        )
        refusals.append(Refusal(tuple(of_text), message, Remedy(missing=CATEGORY.missing)))
    if mostly:
        names = names_of(mostly)
        shares = ", ".join(f"{f.column!r} ({f.count:,} of {counted(facts.rows, 'row')})" for f in mostly)
        message = (
            f"most values are missing in {shares}: exclude {_columns(mostly)} ({exclude(names)}), since --impute "
            "median would invent most of the values"
        )
        refusals.append(Refusal(tuple(mostly), message, Remedy(exclude=names)))
    others = [finding for finding in findings if finding not in (*unfit, *of_text, *mostly)]
    if others:
        refusals.append(_cheapest_first(rows, others, facts, roles, fit))
    return refusals


def _cheapest_first(rows: Rows, findings: Sequence[Finding], facts: Survey, roles: Roles, fit: FitOptions) -> Refusal:
    """Return why some missing values are refused, with the cost of each remedy, the cheapest first."""
    n_rows = count_incomplete(rows, names_of(findings))
    names = tuple(name for name in names_of(findings) if name != roles.weight)
    filled = _fillable(rows, names, roles) if fit.impute is None and len(names) == len(findings) else []
    instead = "" if fit.impute is None else f" instead of --impute {fit.impute}"
    drop = f"exclude these rows (--drop-missing{instead})"
    ways = [drop]
    few = n_rows <= MAX_DROPPED_SHARE * facts.rows
    if filled:
        taken = f"impute the values (--impute median: {filled_text(filled)})"
        ways = [drop, taken] if few else [taken, drop]
    if names:
        ways.append(f"exclude {len(names):,} of {counted(len(facts.columns), 'column')} ({exclude(names)})")
    message = (
        f"values are missing in {counts_of(findings)}, {n_rows:,} of {counted(facts.rows, 'row')} in all: "
        f"{either_of(ways)}"
    )
    remedy = Remedy(impute="median") if filled and not few else Remedy(drop_missing=True)
    return Refusal(tuple(findings), message, remedy)


def _fillable(rows: Rows, names: tuple[str, ...], roles: Roles) -> list[Filled]:
    """Return the substitutes for the missing values of some columns; nothing where one has no value that counts."""
    asked = replace(roles, columns=names, filling=IMPUTED)
    try:
        return find_filled(rows, find_facts(rows, asked), asked)
    except DataError:
        return []


def _columns(findings: Sequence[Finding]) -> str:
    return "the column" if len(findings) == 1 else "the columns"


def _is_mostly_missing(finding: Finding, roles: Roles) -> bool:
    return finding.column != roles.weight and (finding.count or 0) > MOSTLY * (finding.rows or 0)
