"""``shallowrules path``: the cost of shorter rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shallowrules.cli.fitting import describe_work, prepare_model, with_table
from shallowrules.cli.options.fitting import FitOptions, fit_options, max_leaves_option, refine_options, refinement
from shallowrules.cli.options.reading import Tables, reading_options, rows_of, table_or_database
from shallowrules.cli.options.shared import gather, output_option
from shallowrules.cli.output import check_target, progress, show_message, write_result
from shallowrules.cli.plotting import plot_option, write_plot
from shallowrules.cli.results import json_option, report
from shallowrules.files import Reading

__all__ = ["command"]


@click.command("path", short_help="Show the cost of shorter rules.")
@table_or_database
@refine_options
@max_leaves_option
@fit_options
@output_option(
    "Write the rules of all these trees here, as JSON: `export RULES html --path FILE` makes a slider of them."
)
@plot_option("cost against length, a point for each tree,")
@json_option
@reading_options
def command(
    tables: Tables,
    refine: str,
    budget: str | None,
    max_leaves: int | None,
    output: Path | None,
    plot: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Cluster TABLE and show the trees between the cheapest and the shortest, one per line.

    No tree that was tried is both cheaper and shorter than another. `run` with --max-cost, --max-conditions or both
    takes one of them. Notes and warnings are about the best tree at the trade-off of `run`.

    \b
    Examples:
      shallowrules path wine.csv -k 3 --scale minmax
      shallowrules path wine.csv -k 3 -o path.json --plot path.svg
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.advice import show_doubts
    from shallowrules.cli.figures import path_of
    from shallowrules.cli.summary import show_path
    from shallowrules.models.tradeoff import tradeoff_path
    from shallowrules.rules import RulePath
    from shallowrules.sources import input_files

    chosen = gather(FitOptions, options)
    rows = rows_of(tables, options)
    check_target(output, *input_files(rows), force=force)
    check_target(plot, *input_files(rows), force=force, option="--plot")
    parameters = refinement(refine=refine, budget=budget, max_leaves=max_leaves)
    loaded, model = prepare_model(rows, chosen, gather(Reading, options), parameters)
    with progress(f"{describe_work(loaded, chosen)} and growing the trees") as show:
        model.on_progress, model.on_best, model.prices_more_rules = show, show.tell_best, True
        found = tradeoff_path(model, loaded.table, sample_weight=loaded.weight, measure=loaded.measure)
        if output is not None:
            trees = [(tree.refine, with_table(tree.rules, loaded, chosen)) for tree in found.rule_sets()]
            write_result(RulePath.of(trees).to_json(), output)
        if plot is not None:
            write_plot(found.plot().figure, plot)
        model = found.at_own_tradeoff()
    report(path_of(found, [str(path) for path in (output, plot) if path is not None]))
    show_path(found, stderr=output is not None)
    for note in model.rules_.statistics.notes:
        show_message("note", note)
    show_doubts(model.rules_, model.category_weight_)
