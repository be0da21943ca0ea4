"""``shallowrules label``: every row of a table with its cluster."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.applying import ApplyOptions, apply_labels, apply_options
from shallowrules.cli.naming import NamedRules, files_of_names, names_option, with_names
from shallowrules.cli.options.reading import (
    Tables,
    reading_options,
    refuse_reading,
    rows_of,
    show_tables,
    table_or_database,
)
from shallowrules.cli.options.shared import (
    GroupedCommand,
    answer_options,
    columns_option,
    gather,
    measure_option,
    output_option,
    seed_option,
)
from shallowrules.cli.output import check_target, progress, show_message, warnings_shown
from shallowrules.cli.results import json_option, report
from shallowrules.errors import OptionError, counted
from shallowrules.files import Reading

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames, RuleSet
    from shallowrules.sources import DatabaseRows

__all__ = ["command"]

APPLYING = [*(field.name for field in fields(ApplyOptions)), "cluster_as", "otherwise"]
TEXT_FILES = [field.name for field in fields(Reading)]


@click.command(
    "label",
    cls=GroupedCommand,
    groups={"Options of labels in a database": APPLYING, "Options of text files": TEXT_FILES},
    short_help="Label every row of a table with its cluster.",
)
@click.argument("rules_file", metavar="RULES")
@table_or_database
@seed_option
@output_option(
    "Write the rows to this file; its ending decides the format: .csv, .tsv, .parquet, .json, .jsonl or .xlsx.", "OUT"
)
@apply_options
@click.option(
    "--cluster-column",
    metavar="NAME",
    default="cluster",
    show_default=True,
    help="Name of the column that is added.",
)
@click.option(
    "--with-precision",
    is_flag=True,
    help="Add the precision of each row's rule, from 0 to 1, in a column named like that of the cluster with "
    "_precision: the share of the rule's training rows that are in the cluster without rules too. It goes with a file, "
    "a view or a table.",
)
@click.option(
    "--csv-safe",
    is_flag=True,
    help="Put an apostrophe before texts and names in a CSV file that a spreadsheet may run as a formula: those that "
    "begin with =, +, -, @, a tab or a line break, and are not numbers.  [default: texts are written as they are]",
)
@measure_option("Column of numbers to add up in each cluster, one that the rules do not have: the sums are shown.")
@columns_option
@answer_options("number", "name", "both")
@names_option
@json_option
@reading_options
def command(
    rules_file: str,
    tables: Tables,
    output: Path | None,
    force: bool,
    cluster_column: str,
    names: ClusterNames | NamedRules | None,
    **options: Any,
) -> None:
    """Write TABLE with an additional column: the cluster of each row.

    It is empty where no rule matches, since a column that a rule tests has no value. Values of tested columns that did
    not occur in training are reported, with their rows. RULES know how the text of each column is read; --null and
    --decimal add to it. A file gets the number of each row's cluster. If clusters were named, by --names or by labels
    given to --labels, it gets the name, as from `export --cluster-as name`. Text is written unchanged, even if a
    spreadsheet would run it as a formula (see --csv-safe).

    With --apply the labels stay in the database: the statements and the size of each cluster are shown, and the
    statements are run. Only objects that --apply created are ever changed: --replace recreates them, --undo drops them.

    \b
    Examples:
      shallowrules label wine_rules/rules.json new_wine.csv -o labelled.parquet
      shallowrules label rules.json new.csv --column Gender=gender -o labelled.csv
      shallowrules label rules.json --database @shop --table sales.visits --apply view
      shallowrules label rules.json --database @shop --table sales.visits --apply update
      shallowrules label rules.json --database @shop --table sales.visits --apply labels --key id
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.sources import DatabaseRows

    if not cluster_column.strip():
        raise OptionError("--cluster-column must not be blank")
    rows, applying = rows_of(tables, options), gather(ApplyOptions, options)
    if isinstance(rows, DatabaseRows):
        refuse_reading(options)
    if applying.apply is None:
        _refuse_options_of_apply(applying, options)
        if output is None:
            raise click.UsageError(
                "no output is given; use -o OUT to write a file, or --apply view to put labels into a --database"
            )
        _write_file(rules_file, names, rows, output, force, cluster_column, options)
        return
    if options["csv_safe"]:
        raise click.UsageError("--csv-safe is for a CSV file, which -o writes; omit it with --apply")
    if output is not None:
        raise click.UsageError("-o and --apply exclude each other: a file is written, or the database")
    if not isinstance(rows, DatabaseRows):
        raise click.UsageError("--apply puts labels into a database; name it with --database URL and --table NAME")
    rules = _read_rules(rules_file, names, options["measure"])
    others = {name: options[name] for name in ("measure", "columns", "cluster_as", "otherwise", "with_precision")}
    apply_labels(rules, rows, applying, cluster_column=cluster_column, **others)


def _read_rules(path: str, names: ClusterNames | NamedRules | None, measure: str | None) -> RuleSet:
    """Return the rules with the names of --names; OptionError if the measure is one of their columns."""
    from shallowrules.exporters.sql import refuse_measure
    from shallowrules.rules import RuleSet

    with warnings_shown():
        rules = with_names(RuleSet.from_json(path), names)
    if measure is not None:
        refuse_measure(rules, measure)
    return rules


def _refuse_options_of_apply(applying: ApplyOptions, options: dict[str, Any]) -> None:
    """Raise UsageError for an option of labels in a database without --apply."""
    given = list(applying.given)
    given += ["--else"] if options["otherwise"] is not None else []
    given += ["--cluster-as"] if options["cluster_as"] != "number" else []
    if given:
        raise click.UsageError(f"{given[0]} goes with --apply")


def _write_file(
    rules_file: str,
    names: ClusterNames | NamedRules | None,
    rows: Tables | DatabaseRows,
    output: Path,
    force: bool,
    cluster_column: str,
    options: dict[str, Any],
) -> None:
    """Write rows with their clusters."""
    from shallowrules.cli.advice import worded
    from shallowrules.cli.figures import clusters_of_rows, new_categories, total_of
    from shallowrules.cli.summary import show_labels, show_new_values
    from shallowrules.labelling.files import label_file
    from shallowrules.labelling.rows import label_rows
    from shallowrules.labelling.writing import Output, check_format
    from shallowrules.sources import DatabaseRows, files_of

    _, kind, _ = check_format(output)
    if options["csv_safe"] and kind != "csv":
        raise click.UsageError(f"--csv-safe is for a CSV file, and -o {output} is not one; omit it")
    # The result of an earlier run may stand in the folder that is read.
    files = [] if isinstance(rows, DatabaseRows) else files_of(rows, besides=output)
    check_target(output, rules_file, *files, *files_of_names(names), force=force)
    columns, measure = options["columns"], options["measure"]
    rules = _read_rules(rules_file, names, measure)
    written = Output(output, cluster_column, options["csv_safe"], options["with_precision"])
    with progress(f"labelling {show_tables(rows)}") as show:
        if isinstance(rows, DatabaseRows):
            labelled = label_rows(rules, rows, written, columns, show, measure)
        else:
            with worded():
                labelled = label_file(rules, files, written, gather(Reading, options), columns, show, measure)
    clusters = clusters_of_rows(rules, labelled.counts, labelled.totals)
    report(
        {
            "rows": sum(labelled.counts.values()),
            "clusters": clusters,
            "total": total_of(labelled.totals),
            "columns": new_categories(labelled.unseen),
            "applied": None,
            "files": [str(output)],
        }
    )
    show_labels(rules, clusters, labelled.totals, str(output))
    if unlabelled := labelled.counts.get(None):
        show_message(
            "note",
            f"{counted(unlabelled, 'row')} without a cluster: no value in a column that a rule tests; "
            "`shallowrules drift` counts these for each column",
        )
    show_new_values(labelled.unseen)
