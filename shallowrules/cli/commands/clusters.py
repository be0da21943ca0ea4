"""``shallowrules clusters``: which number of clusters to take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shallowrules.cli.escaping import spell_plainly
from shallowrules.cli.fitting import prepare_model
from shallowrules.cli.options.fitting import FitOptions, MethodOptions, fit_options, method_options
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.settings import settings_option
from shallowrules.cli.options.shared import force_option, gather
from shallowrules.cli.output import check_target, progress, show_message
from shallowrules.errors import DataError, OptionError, OptionName
from shallowrules.files import Reading

__all__ = ["command"]

DECIDED = ("clusters", "labels", "histograms", "max_leaves", "max_cost", "max_conditions")
"""The options of a fit that are not to choose here."""

PICTURES = (".png", ".svg", ".pdf")


@click.command("clusters", short_help="Show which number of clusters to take.")
@table_or_database
@click.option("--from", "first", type=click.IntRange(min=2), default=2, show_default=True, metavar="K", help="Least k.")
@click.option("--to", "last", type=click.IntRange(min=2), default=12, show_default=True, metavar="K", help="Largest k.")
@fit_options
@method_options
@settings_option
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the figures over k here: .png, .svg or .pdf."
)
@force_option
@reading_options
def command(tables: Tables, first: int, last: int, plot: Path | None, force: bool, **options: Any) -> None:
    """Cluster TABLE into several numbers of clusters, show what each leads to, and say which to take and why.

    Explained is the share of the squared deviations that lies between the clusters. The silhouette says how clear they
    are, stability how far clusterings from several seeds agree (1: entirely), price what rules cost, the clustering
    without rules being 1. Each is fitted as `run` with this -k and these options fits it. What speaks against the
    clusters of the one to take is said as `run` says it.

    \b
    Examples:
      shallowrules clusters wine.csv
      shallowrules clusters customers.csv --from 3 --to 8 --exclude customer_id --plot counts.png
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.advice import show_doubts
    from shallowrules.cli.summary import show_cluster_counts
    from shallowrules.models.choosing import compare_cluster_counts
    from shallowrules.sources import input_files

    if first > last:
        raise click.UsageError(f"--from {first} is above --to {last}")
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise OptionError(f"--plot {plot}: the name must end in {', '.join(PICTURES)}")
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
            _draw(found, plot)
    show_cluster_counts(found)
    for note in found.model.rules_.statistics.notes:
        show_message("note", note)
    show_doubts(found.model.rules_, found.model.category_weight_)


command.params = [parameter for parameter in command.params if parameter.name not in DECIDED]


def _spell(option: OptionName) -> str:
    """Return a parameter as this command spells it: the largest number of clusters is what the rows have to allow."""
    return "--to" if option.name == "clusters" else spell_plainly(option)


def _draw(found: Any, path: Path) -> None:
    """Write the picture, whole or not at all."""
    from io import BytesIO

    from shallowrules.cli.output import write_result

    axes = found.plot()
    content = BytesIO()
    axes[0].figure.savefig(content, format=path.suffix[1:].lower())
    write_result(content.getvalue(), path)
