"""``shallowrules drift``: the share of each cluster, now and in training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.fitting import describe_work, prepare_model
from shallowrules.cli.options.reading import (
    Tables,
    read_tested,
    reading_options,
    rows_of,
    show_tables,
    table_or_database,
)
from shallowrules.cli.options.settings import options_of, refuse_without_settings
from shallowrules.cli.options.shared import columns_option, gather, measure_option, seed_option
from shallowrules.cli.output import FindingsReported, progress, show_message, warnings_shown
from shallowrules.cli.results import json_option, report
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.labelling.drift import ColumnShift, Counts, Shift
    from shallowrules.measures.totals import Totals
    from shallowrules.models.pricing import RefitGain
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["command"]


def _share(context: click.Context, parameter: click.Parameter, text: str) -> float:
    """Read 5% or 0.05 as a share."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{text!r} is not a share; use for example 5% or 0.05", context, parameter)
    return share


@click.command("drift", short_help="Show how the shares of the clusters have moved.")
@click.argument("rules_file", metavar="RULES")
@table_or_database
@seed_option
@click.option(
    "--max-shift",
    metavar="SHARE",
    default="5%",
    show_default=True,
    callback=_share,
    help="Largest accepted change of a cluster's share since training, and largest accepted share of rows without a "
    "cluster.",
)
@click.option(
    "--refit",
    is_flag=True,
    help="Also cluster the rows again, with the settings in RULES, and say whether refitting would be worthwhile.",
)
@measure_option("Column of numbers to add up in each cluster, one that the rules do not have.")
@columns_option
@json_option
@reading_options
def command(
    rules_file: str,
    tables: Tables,
    max_shift: float,
    refit: bool,
    measure: str | None,
    columns: dict[str, str],
    **options: Any,
) -> None:
    """Compare the share of each cluster in TABLE with that in training, and the share of rows without a cluster.

    For rows that are read, it also reports how many have values in the tested columns that did not occur in training.
    The exit status is 1 if a share has moved by more than --max-shift. A table of a database is counted there, by the
    SQL that `export sql --style drift` writes; the rows of a --query or a --sample are read.
    With --measure, the sum of a column and its share are shown too, beside those of training if RULES were made with
    the same --measure.

    \b
    Examples:
      shallowrules drift rules.json new_wine.csv
      shallowrules drift rules.json new_wine.csv --refit
      shallowrules drift rules.json new_customers.csv --measure revenue
      shallowrules drift rules.json --database @shop --table sales.visits --max-shift 2%
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.advice import worded
    from shallowrules.cli.figures import column_shifts, gain_of, shifts_of, total_of
    from shallowrules.cli.summary import show_new_values, show_shifts
    from shallowrules.exporters.sql import refuse_measure
    from shallowrules.labelling.drift import measure_shifts
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows

    rows = rows_of(tables, options)
    table = rows if isinstance(rows, DatabaseRows) and rows.is_whole_table else None
    if columns and table is None:
        raise click.UsageError("--column is for a table of a database; name it with --database URL and --table")
    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
    if refit:
        refuse_without_settings(rules, rules_file)
    if measure is not None:
        refuse_measure(rules, measure)
    with progress(f"counting {show_tables(rows)}"), worded():
        if table is not None:
            now = _count_there(rules, table, measure, columns)
        else:
            now = _count_rows(rules, rows, gather(Reading, options), measure)
    shifts = measure_shifts(now.rules, now.counts, now.totals)
    result: dict[str, Any] = {
        "rows": sum(now.counts.values()),
        "max_shift": max_shift,
        "clusters": shifts_of(now.rules, shifts, max_shift),
        "total": total_of(now.totals),
        "columns": column_shifts(now.columns),
        "refit": None,
    }
    report(result)
    show_shifts(shifts, now.totals)
    show_new_values(now.columns)
    if refit:
        gain = _gain(now.rules, rules_file, rows)
        result["refit"] = gain_of(gain)
        show_message("note", str(gain))
    moved = [shift for shift in shifts if shift.exceeds(max_shift)]
    limit = f"more than {100 * max_shift:.4g} percentage points"
    if moved:
        raise FindingsReported(f"shifted by {limit}: {'; '.join(map(_described, moved))}")
    click.echo(f"no share shifted by {limit}")


@dataclass(frozen=True)
class _Counted:
    """The rows of each cluster now, and what they were counted by: rules that read the table as it is written."""

    rules: RuleSet
    counts: Counts
    totals: Totals | None
    columns: Sequence[ColumnShift] = ()


def _count_there(rules: RuleSet, table: DatabaseRows, measure: str | None, columns: Mapping[str, str]) -> _Counted:
    """Count the rows of a table in its database."""
    from shallowrules.labelling.drift import count_labels, open_counted
    from shallowrules.labelling.totals import total_labels

    with open_counted(table) as source:
        if measure is None:
            return _Counted(rules, count_labels(rules, source, columns), None)
        return _Counted(rules, *total_labels(rules, source, measure, columns))


def _count_rows(rules: RuleSet, rows: Tables | DatabaseRows, reading: Reading, measure: str | None) -> _Counted:
    """Read rows, and count them; note the values that training did not have."""
    from shallowrules.labelling.drift import count_clusters, measure_columns
    from shallowrules.labelling.totals import total_rows

    rules, table = read_tested(rules, rows, reading, measure)
    labels = rules.assign(table)
    totals = None if measure is None else total_rows(table[measure], labels)
    columns = measure_columns(rules, table) if table.n_rows else []
    return _Counted(rules, count_clusters(labels), totals, columns)


def _described(shift: Shift) -> str:
    title = "rows without a cluster" if shift.cluster is None else f"cluster {shift.title}"
    return f"{title}, {shift.share:.1%} of rows ({shift.trained:.1%} in training)"


def _gain(rules: RuleSet, rules_file: str, rows: Tables | DatabaseRows) -> RefitGain:
    """Fit rows with the settings of rules, and show the gain."""
    from shallowrules.models.pricing import measure_refit

    chosen, growing, reading = options_of(rules, rules_file)
    loaded, model = prepare_model(rows, chosen, reading, growing.parameters())
    with progress(f"{describe_work(loaded, chosen)} and growing the tree") as show:
        model.on_progress, model.on_best = show, show.tell_best
        return measure_refit(rules, model, loaded.table, loaded.weight)
