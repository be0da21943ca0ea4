"""The labels of rows of a database, by the tree, written to a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from shallowrules.errors import DataError
from shallowrules.files import scratch_folder
from shallowrules.labelling.drift import UnseenCategories
from shallowrules.labelling.row_parts import RowParts
from shallowrules.labelling.tested_columns import FoundColumns, find_tested_columns
from shallowrules.labelling.totals import find_measure, total_query
from shallowrules.labelling.writing import (
    Labelled,
    Output,
    Progress,
    bound_memory,
    check_format,
    labelled_query,
    refuse_taken,
    write,
)
from shallowrules.rules import RuleSet
from shallowrules.sources import DatabaseRows
from shallowrules.sources.database import DatabaseSource, open_rows
from shallowrules.sources.engine import absent_name, open_database, quote_name
from shallowrules.tables.column import Column
from shallowrules.tables.labels import NO_CLUSTER
from shallowrules.tables.table import Table

__all__ = ["label_rows"]

FETCHING = 0.8
"""Share of the time that the rows of a database take to arrive, before they are written: from 0.76 to 0.94."""


def label_rows(
    rules: RuleSet,
    rows: DatabaseRows,
    output: Output,
    columns: Mapping[str, str],
    progress: Progress | None = None,
    measure: str | None = None,
) -> Labelled:
    """Write rows of a database as `label_file` writes those of a file; clusters are those of the tree.

    Columns keep the type that they are read as: a NUMERIC with a fraction is a double. Rows are fetched in batches,
    which DuckDB keeps, on disk beyond its memory limit, until the types of all columns are known. They are fetched
    a second time, and held whole, only where the values of a column are of several types (only SQLite has these) or
    the rules cannot be compared with some of them.

    Parameters
    ----------
    rules : RuleSet
    rows : DatabaseRows
    output : Output
    columns : mapping from str to str
        The database's names of columns of the rules that have a different name there.
    progress : callable, optional
        Called now and then with the share of the work that is done.
    measure : str, optional
        A column of numbers to add up by cluster.

    Raises
    ------
    DataError
        If a tested column is missing or has a different type, there are no rows, the precision of a rule is wanted and
        not known, or the database refuses something.
    ExportError
        If the table has a column of the new one's name.
    ShallowRulesError
        If the result cannot be written.
    """
    check_format(output.path)
    if output.with_precision:
        rules.rule_precisions()  # refused before the work
    with scratch_folder() as scratch, open_database(scratch) as database:
        bound_memory(database)
        with open_rows(rows) as source:
            refuse_taken(output.new_columns, source.names)
            found = find_tested_columns(rules, source, columns)
            measured = None if measure is None else source.names[find_measure(source, columns.get(measure, measure))]
            parts, unseen = RowParts(database), UnseenCategories(found.columns)
            fetched = _part_of(progress, 0.0, FETCHING)
            label = partial(_labels_of, rules, found, unseen, output.with_precision)
            selection = _fetch_batches(label, source, found, parts, fetched)
            if selection is None:
                unseen.clear()
                selection = _fetch_whole(label, source, parts)
            names = source.names
        taken = [*output.new_columns, *names]
        number, precision = (absent_name(name, taken) for name in ("cluster number", "precision of the rule"))
        given = [*names, number, precision] if output.with_precision else [*names, number]
        selected = ", ".join(f"c{j} AS {quote_name(name)}" for j, name in enumerate(given))
        numbered = f"(SELECT {selected} FROM ({selection})) AS numbered"
        labelled = f"({labelled_query(rules, output, numbered, number, precision)}) AS labelled"
        totals = None
        if measured is not None and measure is not None:
            query = f"SELECT {quote_name(number)}, {quote_name(measured)} FROM {numbered}"
            totals = total_query(database, query, measure, rules)
        counts = write(database, labelled, number, output, progress=_part_of(progress, FETCHING, 1.0))
        return Labelled(counts, unseen.shifts(sum(counts.values())), totals)


def _fetch_batches(
    label: Callable[[Table], Sequence[Column]],
    source: DatabaseSource,
    found: FoundColumns,
    parts: RowParts,
    progress: Progress | None,
) -> str | None:
    """Add all rows and their clusters in batches, and return the query for them.

    None where only all rows together tell the type of a column, or whether the rules can be compared with it.
    """
    expected = source.rows.sample
    if source.rows.is_whole_table and progress is not None:
        expected = source.count_rows()
    with closing(source.tables(range(len(source.names)))) as tables:
        for table in tables:
            try:
                labels = label(table)
            except DataError:  # all rows together make a better message: one with the number of the row
                return None
            parts.add([*table.columns, *labels])
            if progress is not None and expected is not None:
                progress(min(1.0, parts.n_rows / expected))
    return parts.selection(single=found.positions)


def _fetch_whole(label: Callable[[Table], Sequence[Column]], source: DatabaseSource, parts: RowParts) -> str | None:
    """Add all rows and their clusters at once, and return the query for them."""
    parts.clear()
    table = source.table()
    parts.add([*table.columns, *label(table)])
    return parts.selection()


def _labels_of(
    rules: RuleSet, found: FoundColumns, unseen: UnseenCategories, with_precision: bool, table: Table
) -> list[Column]:
    """Return the numbers of the clusters of rows, by the tree, and the precision; new categories are counted."""
    columns = (replace(table.columns[j], name=c.name) for c, j in zip(found.columns, found.positions, strict=True))
    tested = Table(tuple(columns), table.n_rows)
    labels, precision = rules.assign_with_precision(tested) if with_precision else (rules.assign(tested), None)
    unseen.add(tested)
    without = labels == NO_CLUSTER
    clusters = Column("cluster number", "integer", labels.astype(np.int64), without)
    return [clusters] if precision is None else [clusters, Column("precision", "float", precision, without)]


def _part_of(progress: Progress | None, first: float, last: float) -> Progress | None:
    """Return the reporter of progress for a part of the work, from the share `first` of all work to `last`."""
    return None if progress is None else lambda share: progress(first + (last - first) * share)
