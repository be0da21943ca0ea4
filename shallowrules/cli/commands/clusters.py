"""``shallowrules clusters``: which number of clusters to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.escaping import spell_plainly
from shallowrules.cli.fitting import prepare_model
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.settings import settings_option
from shallowrules.cli.options.shared import force_option, gather
from shallowrules.cli.output import check_target, progress, show_message
from shallowrules.cli.plotting import plot_option, write_plot
from shallowrules.cli.results import json_option, report
from shallowrules.errors import DataError, OptionName
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.models.choosing import ClusterCounts

__all__ = ["command"]

DECIDED = ("clusters", "labels", "histograms", "max_leaves", "max_cost", "max_conditions")
"""The options of a fit that cannot be chosen here."""


@click.command("clusters", short_help="Compare numbers of clusters.")
@table_or_database
@click.option("--from", "first", type=click.IntRange(min=2), default=2, show_default=True, metavar="K", help="Least k.")
@click.option("--to", "last", type=click.IntRange(min=2), default=12, show_default=True, metavar="K", help="Largest k.")
@fit_options
@method_options
@settings_option
@plot_option("the figures against k")
@force_option
@json_option
@reading_options
def command(tables: Tables, first: int, last: int, plot: Path | None, force: bool, **options: Any) -> None:
    """Cluster TABLE into several numbers of clusters, show the results of each, and recommend one, with the reason.

    Explained is the share of the squared deviations that lies between the clusters. Silhouette measures how clear the
    clusters are, stability how far clusterings from several seeds agree (1: entirely), and price the cost of rules,
    relative to the clustering without rules. Each is fitted as by `run` with this -k and these options. If no number
    is convincing, the first line says so. Doubts about the recommended clusters are shown as by `run`.

    \b
    Examples:
      shallowrules clusters wine.csv
      shallowrules clusters customers.csv --from 3 --to 8 --exclude customer_id --plot counts.png
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.advice import show_doubts
    from shallowrules.cli.figures import cluster_counts
    from shallowrules.cli.summary import show_cluster_counts
    from shallowrules.models.choosing import compare_cluster_counts
    from shallowrules.sources import input_files

    if first > last:
        raise click.UsageError(f"--from {first} is above --to {last}")
    options |= dict.fromkeys(DECIDED) | {"clusters": last}
    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    rows = rows_of(tables, options)
    check_target(plot, *input_files(rows), force=force, option="--plot")
    try:
        loaded, model = prepare_model(rows, chosen, gather(Reading, options), growing.parameters())
    except DataError as error:
        raise DataError(error.worded(_spell)) from error
    model.prices_more_rules = True
    with progress(f"clustering from k = {first} to {last}") as show:
        found = compare_cluster_counts(
            model,
            loaded.table,
            range(first, last + 1),
            sample_weight=loaded.weight,
            on_count=lambda k: show((k - first) / (last + 1 - first)),
        )
        if plot is not None:
            write_plot(found.plot()[0].figure, plot)
    way_beyond = _range_beyond(found, loaded.table.n_rows)
    report(cluster_counts(found, way_beyond, None if plot is None else str(plot)))
    show_cluster_counts(found, way_beyond)
    for note in found.model.rules_.statistics.notes:
        show_message("note", note)
    show_doubts(found.model.rules_, found.model.category_weight_)


command.params = [parameter for parameter in command.params if parameter.name not in DECIDED]


def _spell(option: OptionName) -> str:
    """Return a parameter as this command spells it: the rows have to allow the largest number of clusters."""
    return "--to" if option.name == "clusters" else spell_plainly(option)


def _range_beyond(found: ClusterCounts, n_rows: int) -> str:
    """Return the option that tries numbers beyond the recommended one; empty where that is between two others."""
    from shallowrules.models.choosing import MAX_COUNTS

    k = found.recommended.k
    most = min(2 * k, n_rows, found[0].k + MAX_COUNTS - 1)
    ways = {"largest": f" (--to {most})" if most > k else "", "smallest": " (--from 2)"}
    return ways.get(found.end, "")
