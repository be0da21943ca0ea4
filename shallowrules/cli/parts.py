"""Tables larger than memory on the command line: which are, and their fit in passes over parts."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.doubts import show_doubts
from shallowrules.cli.modules import loading_modules
from shallowrules.cli.naming import NamedRules, with_names
from shallowrules.cli.options.fitting import FitOptions, MethodOptions
from shallowrules.cli.options.reading import Tables, show_tables
from shallowrules.cli.options.settings import settings_of
from shallowrules.cli.options.shared import together
from shallowrules.cli.output import progress, show_message
from shallowrules.errors import OptionError
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.partitions import Part, Partitions
    from shallowrules.rules import ClusterNames, RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["fit_rules_in_parts", "memory_for_parts", "memory_option"]

UNITS = {"": 1} | {f"{letter}b": 1000**i for i, letter in enumerate("kmgt", start=1)}
UNITS |= {f"{letter}ib": 1024**i for i, letter in enumerate("kmgt", start=1)}

LEAST_MEMORY = 64_000_000

MOST_MEMORY = 1e18
"""More than that is not a size that anybody means."""

WORKING_SHARE = 8
"""Memory that a fit of a table in memory takes, in sizes of its numbers as float64. Measured at 1,000,000 x 10, k = 10:
6.0 from CSV and 7.2 from Parquet, above what Python and its packages take."""

TEXT_SHARE = 1.0
"""Size of the numbers of a text file as float64, in sizes of the file: a number takes 8 characters or so."""

PACKED_SHARE = 5.0
"""The same for a text file that is packed."""


class _Memory(click.ParamType[int]):
    """A number of bytes: 2GB, 500MB, 1.5GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", str(value).strip().lower())
        if found is None or found[2] not in UNITS:
            self.fail(f"{value!r} is not a size: write a number of bytes, or one like 500MB or 2GB.", param, ctx)
        size = float(found[1]) * UNITS[found[2]]  # inf for hundreds of digits
        if size > MOST_MEMORY:
            self.fail("no machine has that much memory. Give less than 1,000,000TB.", param, ctx)
        n_bytes = int(size)
        if n_bytes < LEAST_MEMORY:
            self.fail(f"{value} is too little: Python itself takes more. Give 64MB or more.", param, ctx)
        return n_bytes


memory_option = together(
    click.option(
        "--memory",
        type=_Memory(),
        metavar="SIZE",
        help="Read the table in parts and take about so much memory, such as 2GB.  [default: in parts where the table "
        "would not fit in the memory there is]",
    )
)
"""How much memory a fit may take."""


def memory_for_parts(rows: Tables | DatabaseRows, memory: int | None) -> int | None:
    """Return the memory for a fit in parts; None to fit the table whole.

    Parameters
    ----------
    rows : str, tuple of str or DatabaseRows
        How large rows of a database are is not known: they are read in parts only where `memory` is given.
    memory : int or None
        What the user allows.
    """
    if memory is not None:
        return memory
    from shallowrules.partitions.memory import available_memory
    from shallowrules.sources import input_files

    available = available_memory()
    needed = WORKING_SHARE * sum(map(_numbers_size, input_files(rows)))
    if needed <= available:
        return None
    show_message(
        "note",
        f"{show_tables(rows)} would take about {needed / 1e9:.1f} GB of memory, and there are {available / 1e9:.1f} "
        "GB: it is read in parts (--memory SIZE says how much they may take)",
    )
    return available // 2


def _numbers_size(file: str) -> float:
    """Return about how many bytes the numbers of a file take as float64; 0 for what is no file."""
    if not os.path.isfile(file):
        return 0.0
    size = os.path.getsize(file)
    if file.lower().endswith((".parquet", ".pq")) and size > LEAST_MEMORY // 100:
        import duckdb

        counts = "SELECT sum(num_values) FROM parquet_metadata(?)"
        try:
            found = duckdb.execute(counts, [file]).fetchone()
        except duckdb.Error:
            return float(size)  # reading it says what is wrong
        return 8.0 * float((found and found[0]) or 0)
    return size * (PACKED_SHARE if file.lower().endswith(".gz") else TEXT_SHARE)


def fit_rules_in_parts(
    rows: Tables | DatabaseRows,
    chosen: FitOptions,
    growing: MethodOptions,
    reading: Reading,
    memory: int,
    check: Callable[[Sequence[str]], None] | None = None,
    names: ClusterNames | NamedRules | None = None,
) -> RuleSet:
    """Fit a table in parts, and name the clusters."""
    with loading_modules():
        from shallowrules.cli.preparation import (
            columns_to_read,
            named_roles,
            refuse_excluded,
            refuse_ids,
            refuse_no_clustering,
            refuse_no_numbers,
            scale_notes,
        )
        from shallowrules.models.estimator import ExplainableKMeans, thread_count
        from shallowrules.partitions import open_partitions

    _refuse_options(chosen, growing)
    named, counts = named_roles(chosen), None
    given: dict[str, Any] = {} if chosen.clusters is None else {"n_clusters": chosen.clusters}
    model = ExplainableKMeans(
        **given,
        cluster_columns=None if chosen.columns is None else list(dict.fromkeys(chosen.columns)),
        explain_columns=None if chosen.explain is None else list(dict.fromkeys(chosen.explain)),
        scale=chosen.scale,
        category_weight=chosen.category_weight,
        impute=chosen.impute,
        random_state=chosen.seed,
        **growing.parameters(),
    )
    with open_partitions(
        list(rows) if isinstance(rows, tuple) else rows,
        columns=columns_to_read(chosen, named),
        exclude=chosen.exclude,
        as_words=[] if chosen.labels is None else [chosen.labels],
        reading=reading,
        memory=memory,
        n_threads=thread_count(),
    ) as parts:
        refuse_excluded(chosen, named, parts.names, parts.all_names)
        used = [name for name in parts.names if name not in named]
        refuse_no_numbers(chosen, named, {name: parts.types[name] for name in used})
        other_columns = tuple(name for name in parts.all_names if name not in used)
        if check is not None:
            check([*used, *other_columns])
        if isinstance(names, NamedRules):
            names.check_columns(used, other_columns)
        refuse_ids(_first_rows(parts, used), (*(chosen.columns or ()), *(chosen.explain or ())))
        work = "taking labels of" if chosen.clusters is None else "clustering"
        with progress(f"{work} {show_tables(rows)} in parts and growing the tree") as show:
            model.on_progress, model.on_best = show, show.tell_best
            model.fit_partitions(parts, labels=chosen.labels, sample_weight=chosen.weight, memory=memory)
        if chosen.labels is not None:
            refuse_no_clustering(chosen.labels, len(model.classes_), model.rules_.statistics.rows)
        if isinstance(names, NamedRules):
            counts = parts.map_reduce(_count_pairs, (names.rules, model.rules_)).values
        has_numbers = any(parts.types[name] in ("integer", "float") for name in used)
    rules = model.rules_ if chosen.histograms else model.rules_.without_histograms()
    statistics = rules.statistics
    for note in statistics.notes:
        show_message("note", note)
    show_doubts(rules, chosen.category_weight)
    notes = scale_notes(chosen.scale, has_numbers=has_numbers, clustering=chosen.labels is None)
    if chosen.weight is not None:
        notes.append(f"rows count by the weights in column {chosen.weight!r}")
    for note in notes:
        show_message("note", note)
    statistics = replace(statistics, notes=(*statistics.notes, *notes), other_columns=other_columns)
    rules = replace(rules, statistics=statistics, settings=settings_of(rows, chosen, growing, reading))
    return with_names(rules, names, counts)


def _count_pairs(part: Part, rules: tuple[RuleSet, RuleSet]) -> PairCounts:
    """Return the rows of a part by their clusters in two sets of rules."""
    from shallowrules.rules.words.changes import count_pairs

    old, new = (each.assign(part) for each in rules)
    return PairCounts(count_pairs(old, new))


@dataclass(frozen=True)
class PairCounts:
    """Rows by pairs of clusters, which add up over parts."""

    values: Counter[tuple[int, int]]

    def merged(self, other: PairCounts) -> PairCounts:
        """Return the rows of both parts."""
        return PairCounts(self.values + other.values)


def _first_rows(parts: Partitions, names: Sequence[str]) -> Any:
    """Return the first part as a table of some columns."""
    from shallowrules.partitions.base import ThreadedPartitions

    assert isinstance(parts, ThreadedPartitions)  # files and rows of a database are
    return next(iter(parts.parts())).select(names)


def _refuse_options(chosen: FitOptions, growing: MethodOptions) -> None:
    for is_given, option, way in (
        (chosen.drop_missing, "--drop-missing", "leave these rows out of the files, or --exclude the columns"),
        (bool(chosen.categories), "--categories", "write these codes as text in the files"),
        (growing.has_goal, "--max-cost and --max-conditions", "say --tradeoff"),
    ):
        if is_given:
            raise OptionError(f"{option}: not for a table that is read in parts (--memory); {way}")
