"""The comment before the first SQL statement: its origin, its figures, and notes on the engine."""

from __future__ import annotations

from collections.abc import Sequence

from shallowrules.errors import counted
from shallowrules.exporters.context import package_version
from shallowrules.exporters.sql.declared import TYPES
from shallowrules.exporters.sql.dialect import Dialect
from shallowrules.exporters.sql.executed import EXECUTED
from shallowrules.exporters.sql.functions import FUNCTIONS
from shallowrules.exporters.sql.options import IN_STATEMENTS, SqlOptions
from shallowrules.exporters.sql.predicates import Predicates
from shallowrules.rules import Cut, Number, RuleColumn, RuleSet, Value
from shallowrules.rules.figures import percent, show_figure
from shallowrules.tables.dates import format_words
from shallowrules.tables.times import NATURES

__all__ = ["header_lines"]


def header_lines(rules: RuleSet, predicates: Predicates, settings: SqlOptions, without_cluster: str) -> list[str]:
    """Return the lines of the comment that SQL text begins with.

    Parameters
    ----------
    rules : RuleSet
    predicates : Predicates
        The predicates of the text.
    settings : SqlOptions
    without_cluster : str
        A sentence on rows that no rule matches.
    """
    is_parsed = settings.style in IN_STATEMENTS and predicates.dialect.name not in EXECUTED
    return [
        f"Written by shallowrules {package_version()} from the rules with SHA-256 {rules.sha256}.",
        _worth(rules),
        *_missing(rules, predicates.names, predicates.dialect),
        without_cluster,
        *_precision(rules, predicates.dialect, settings),
        *_written_dates(rules, predicates),
        *_unconverted(rules, predicates),
        *_unsuited(rules, predicates, settings),
        *_cautions(rules, predicates),
        *(["Parsed, not executed: try it on a copy first."] if is_parsed else []),
    ]


def _precision(rules: RuleSet, dialect: Dialect, settings: SqlOptions) -> list[str]:
    """Return a sentence on the column of the precision, if there is one."""
    if settings.precision_column is None:
        return []
    agree = "have this given label" if rules.statistics.labelled else "are in this cluster without rules too"
    name = dialect.identifier(settings.precision_column)
    return [f"{name} is the precision of the row's rule: the share of its training rows that {agree}."]


def _written_dates(rules: RuleSet, predicates: Predicates) -> list[str]:
    """Return the columns of dates that SQL cannot read in the format of their files."""
    identifier = predicates.dialect.identifier
    return [
        f"{identifier(predicates.names[i])} must hold {NATURES[column.type]}, or text such as 2024-03-31 where the "
        f"engine has no such type: text as in the file, {format_words(column.dates)}, has no cluster."
        for i in rules.tested_columns
        if (column := rules.columns[i]).dates
    ]


def _unsuited(rules: RuleSet, predicates: Predicates, settings: SqlOptions) -> list[str]:
    """Return the cases that the text does not handle, and how to find them."""
    dialect, tested = predicates.dialect, rules.tested_columns
    if settings.is_typed:
        doubles = any((held := predicates.held[feature]) is not None and held.nan for feature in tested)
        own = doubles and dialect.nan.finite is not None
        kept = ", and for a table, not for a view of files" if own else ""
        return [f"Written for the types that the table's columns have{kept}: export again if one of them changes."]
    types = TYPES[dialect.name]
    kinds = {held.kind for feature in tested if (held := predicates.held[feature]) is not None}
    if settings.style == "function" and FUNCTIONS[dialect.name][1]:
        kinds -= {"numbers"}  # numbers take the types of the arguments
    others = [types.others[kind] for kind in ("numbers", "texts") if kind in kinds and kind in types.others]
    if not others:
        return []
    said = " or ".join(text for text, _ in others)
    these = " OR ".join(condition for _, condition in others if condition)
    query = types.query.format(name=dialect.string(settings.table_parts[-1]), these=these)
    return [f"May differ from the tree on {said}; this query finds these columns:", query]


def _worth(rules: RuleSet) -> str:
    """Return the origin of the rules, their cost, and their agreement with the clusters that they explain."""
    s = rules.statistics
    before = "given clusters" if s.labelled else "clusters without rules"
    return (
        f"{counted(s.rows, 'row')}, {counted(len(rules.clusters), 'cluster')}; k-means cost "
        f"{show_figure(s.normalized_cost, '.3f')} times that of the {before}; "
        f"{percent(s.agreement)} of rows in the same cluster."
    )


def _missing(rules: RuleSet, names: Sequence[str], dialect: Dialect) -> list[str]:
    """Return a sentence on the treatment of missing values."""
    tested = [(names[i], rules.columns[i]) for i in rules.tested_columns]
    lines = [
        f"A missing value of {dialect.identifier(name)} counts as {_shown(column, column.imputed)}."
        for name, column in tested
        if column.imputed is not None
    ]
    if any(column.imputed is None for _, column in tested):
        others = "another column" if lines else "a column"
        lines.append(f"A rule that tests {others} does not match a row without a value in it.")
    return lines


def _unconverted(rules: RuleSet, predicates: Predicates) -> list[str]:
    """Return which columns are written in a format that SQL does not convert."""
    tested = [(i, rules.columns[i]) for i in rules.tested_columns]
    return [
        f"{predicates.dialect.identifier(predicates.names[i])} is read as a number only; a text in it, such as "
        f"{column.format}, has no cluster."
        for i, column in tested
        if column.from_text
        and column.format
        and not (column.conversion.is_for_sql and predicates.dialect.numbers.is_number is not None)
        and ((held := predicates.held[i]) is None or held.kind != "numbers")
    ]


def _shown(column: RuleColumn, value: Number | Value) -> str:
    return f'"{value}"' if isinstance(value, str) else column.show(value)


def _cautions(rules: RuleSet, predicates: Predicates) -> list[str]:
    """Return the mistakes that the engine may make with these rules and columns."""
    numbers: dict[int, list[Number]] = {i: list(rules.columns[i].conversion.null_numbers) for i in rules.tested_columns}
    for node in rules.nodes:
        if isinstance(node, Cut):
            numbers[node.column].append(node.threshold)
    return [
        caution.text
        for caution in predicates.dialect.cautions
        if any(
            caution.concerns(rules.columns[i], found)
            for i, found in numbers.items()
            if caution.always or predicates.held[i] is None
        )
    ]
