"""The commands: each reads, lets the package work, and writes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.options import (
    ExportOptions,
    FitOptions,
    MethodOptions,
    ReadingOptions,
    export_options,
    fit_options,
    force_option,
    gather,
    method_options,
    reading_options,
    refine_option,
)
from shallowrules.cli.output import (
    check_folder,
    check_replacing,
    check_target,
    progress,
    say,
    write_files,
    write_result,
)
from shallowrules.errors import ExportError, OptionError, ShallowRulesError
from shallowrules.exporters import export as export_rules
from shallowrules.exporters import get_exporter, installed_exporters
from shallowrules.rules import RuleSet

if TYPE_CHECKING:
    from shallowrules.cli.preparation import Prepared
    from shallowrules.estimator import ExplainableKMeans

__all__ = ["shallowrules"]

SAMPLES = ("breast_cancer", "digits", "iris", "wine")


class Commands(click.Group):
    """Turns what the package raises into a message and an exit status."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; 2 for a wrong option, 1 for anything else that is wrong."""
        try:
            return super().invoke(ctx)
        except OptionError as error:
            raise click.UsageError(_as_typed(str(error))) from error
        except ShallowRulesError as error:
            raise click.ClickException(
                _as_typed(str(error)) if isinstance(error, ExportError) else str(error)
            ) from error
        except UnicodeEncodeError as error:
            raise click.ClickException(f"the text cannot be written as UTF-8: {error.reason}") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{where}{error.strerror or error}") from error


def _as_typed(message: str) -> str:
    """Return a message of the estimator or an exporter with its options as the command line spells them."""
    message = re.sub(r"(?<!['\w])max_(cost|conditions|leaves)\b", r"--max-\1", message)
    message = re.sub(r"\bmethod='(\w+)'", r"--method \1", message)
    message = re.sub(r"^base\b", "--base", message)
    message = re.sub(r"`columns`|option 'columns'", "--column", message)
    return re.sub(r"`cluster_column`|option 'cluster_column'", "--cluster-column", message)


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        try:
            click.echo(f"shallowrules {version('shallowrules')}")
        except PackageNotFoundError:
            raise click.ClickException("shallowrules is not installed, so that its version is not known") from None
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version."
)
def shallowrules() -> None:
    """Explain a k-means clustering by a few short rules, as SQL, Python and Markdown.

    \b
    Examples:
      shallowrules sample wine -o wine.csv
      shallowrules run wine.csv -k 3
      shallowrules verify wine_rules/rules.json wine.csv
      shallowrules export wine_rules/rules.json sql --dialect postgres --table wines

    TABLE is a CSV, Parquet or JSON file (also .gz). Results go to stdout or the named file, everything
    else to stderr. The exit status is 0, 1 for an error or 2 for a wrong option.
    """  # noqa: D301 (click wants a backspace)


@shallowrules.command(short_help="Cluster a table and write its rules in every form.")
@click.argument("table_file", metavar="TABLE")
@fit_options
@method_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to. [default: STEM_rules]"
)
@force_option
@export_options
@reading_options
def run(table_file: str, output: Path | None, force: bool, **options: Any) -> None:
    """Cluster TABLE and write rules.json, rules.sql, rules.py and report.md.

    \b
    Examples:
      shallowrules run wine.csv -k 3
      shallowrules run customers.csv -k 6 --exclude customer_id,city --scale standard
      shallowrules run customers.csv --labels segment --exclude customer_id,city
      shallowrules run 'daten.csv' -k 4 --delimiter ';' --decimal , --drop-missing
    """  # noqa: D301 (click wants a backspace)
    stem = _stem(table_file)
    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    exporting = gather(ExportOptions, options).given()
    folder = output if output is not None else Path(f"{stem}_rules")
    files = ("rules.json", "rules.sql", "rules.py", "report.md")
    settings = get_exporter("sql").options(**exporting)  # a wrong value is to be known before the work
    check_folder(folder, files, force)
    reading = gather(ReadingOptions, options)
    rules = _fit(table_file, chosen, growing, reading, lambda names: _check_names(names, settings))
    with progress("writing the rules"):
        texts = (
            rules.to_json(),
            export_rules(rules, "sql", **{"table": [stem], **exporting}),
            export_rules(rules, "python"),
            export_rules(rules, "markdown"),
        )
        write_files(folder, dict(zip(files, texts, strict=True)))
    _show(rules, [str(folder / name) for name in files])


@shallowrules.command(short_help="Cluster a table and write its rules as JSON.")
@click.argument("table_file", metavar="TABLE")
@fit_options
@method_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the rules here, not to stdout."
)
@reading_options
def fit(table_file: str, output: Path | None, **options: Any) -> None:
    """Cluster TABLE and write the rules as JSON.

    \b
    Example:
      shallowrules fit wine.csv -k 3 -o rules.json
    """  # noqa: D301 (click wants a backspace)
    chosen, growing = gather(FitOptions, options), gather(MethodOptions, options)
    check_target(output, table_file)
    rules = _fit(table_file, chosen, growing, gather(ReadingOptions, options))
    write_result(rules.to_json(), output)
    _show(rules, [] if output is None else [str(output)], stderr=True)


@shallowrules.command(short_help="Show what shorter rules cost.")
@click.argument("table_file", metavar="TABLE")
@refine_option
@fit_options
@reading_options
def path(table_file: str, refine: str, **options: Any) -> None:
    """Cluster TABLE and show the trees between the cheapest and the shortest, a line for each.

    No tree that was tried is both cheaper and shorter than another. `run --max-cost` and `run --max-conditions`
    choose among them, and `run` with the --tradeoff and --refine of a line grows its tree.

    \b
    Example:
      shallowrules path wine.csv -k 3 --scale minmax
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.summary import show_path
    from shallowrules.tradeoff import tradeoff_path

    chosen = gather(FitOptions, options)
    prepared, model = _prepare(table_file, chosen, gather(ReadingOptions, options), {"refine": refine})
    with progress(f"{_doing(prepared, chosen)} and growing the trees") as show:
        model.on_progress = show
        found = tradeoff_path(model, prepared.table, sample_weight=prepared.weight)
    show_path(found)


@shallowrules.command(short_help="Write rules as SQL, Python, Markdown, …")
@click.argument("rules_file", metavar="RULES")
@click.argument("format_name", metavar="FORMAT")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the text here, not to stdout."
)
@export_options
@click.option("--template", metavar="FILE", help="Your own jinja2 template; trusted like a program.")
def export(rules_file: str, format_name: str, output: Path | None, template: str | None, **options: Any) -> None:
    """Write the rules of a rules.json in another FORMAT; `shallowrules exporters` lists them.

    \b
    Examples:
      shallowrules export rules.json sql --dialect postgres --table sales.customers --style select
      shallowrules export rules.json sql --column 'alcohol=ALC' -o rules.sql
      shallowrules export rules.json python -o rules.py
    """  # noqa: D301 (click wants a backspace)
    check_target(output, rules_file, *([] if template is None else [template]))
    rules = RuleSet.from_json(rules_file)
    given = gather(ExportOptions, options).given()
    if template is not None:
        given["template"] = template
    write_result(export_rules(rules, format_name, **given), output)


@shallowrules.command(short_help="Run every form of the rules against the tree.")
@click.argument("rules_file", metavar="RULES")
@click.argument("table_file", metavar="TABLE")
@click.option(
    "--dialect", "dialects", multiple=True, metavar="NAME", help="SQL to run: duckdb, sqlite. [default: both]"
)
@reading_options
def verify(rules_file: str, table_file: str, dialects: tuple[str, ...], **options: Any) -> None:
    """Run every form of the rules over TABLE and compare it with the tree, row by row.

    Rows on every threshold, next to it, and with missing values are compared too, and for a CSV or Parquet file
    what DuckDB makes of it by itself. The exit status is 1 if any row differs. How the text of a column
    becomes numbers is known from RULES and need not be said again.
    """
    from shallowrules.cli.summary import show_comparisons
    from shallowrules.reading import file_relation, read_table
    from shallowrules.verification import DIALECTS
    from shallowrules.verification import verify as verify_forms

    rules = RuleSet.from_json(rules_file)
    reading = gather(ReadingOptions, options)
    tested = [rules.columns[feature] for feature in rules.tested_columns]
    # As they stand, those columns show whether every form of the rules knows how to convert them.
    as_text = [column.name for column in tested if column.converts_text]
    with progress(f"reading {table_file}"):
        names = [column.name for column in tested] or None
        table = read_table(table_file, columns=names, as_text=as_text, **vars(reading))
    same = reading.encoding.lower() in ("utf-8", "utf8") and reading.decimal == "." and not reading.null
    relation = file_relation(table_file, reading.delimiter) if same else None
    with progress("comparing"):
        comparisons = list(verify_forms(rules, table, dialects or DIALECTS, relation))
    show_comparisons(comparisons)
    wrong = [comparison.form for comparison in comparisons if comparison.disagreements]
    if wrong:
        raise ShallowRulesError(f"not all forms agree with the tree: {'; '.join(wrong)}")


@shallowrules.command(short_help="Give every row of a table its cluster.")
@click.argument("rules_file", metavar="RULES")
@click.argument("table_file", metavar="TABLE")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT",
    help="Write to this file: .csv, .tsv, .parquet, .json or .jsonl, as its ending says.",
)
@force_option
@click.option(
    "--cluster-column",
    metavar="NAME",
    default="cluster",
    show_default=True,
    help="Name of the column that is added.",
)
@reading_options
def label(rules_file: str, table_file: str, output: Path, force: bool, cluster_column: str, **options: Any) -> None:
    """Write TABLE with one more column: the cluster of each row, empty where no rule matches.

    A cluster goes by its given label where the rules were made with --labels, else by its number.

    \b
    Example:
      shallowrules label wine_rules/rules.json new_wine.csv -o labelled.parquet
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.cli.labelling import check_format, label_file
    from shallowrules.cli.summary import show_labels

    if not cluster_column.strip():
        raise OptionError("--cluster-column must not be blank")
    check_format(output)
    check_target(output, rules_file, table_file)
    rules = RuleSet.from_json(rules_file)
    check_replacing(output, force)
    with progress(f"labelling {table_file}"):
        counts = label_file(rules, table_file, output, gather(ReadingOptions, options), cluster_column)
    show_labels(rules, counts, str(output))


@shallowrules.command(short_help="List the installed exporters.")
def exporters() -> None:
    """List the installed exporters and where each comes from."""
    from shallowrules.cli.summary import show_exporters

    show_exporters(installed_exporters())


@shallowrules.command(short_help="Write a table to try things on.")
@click.argument("name", type=click.Choice(SAMPLES), metavar="NAME")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the table here, not to stdout."
)
def sample(name: str, output: Path | None) -> None:
    """Write a table that scikit-learn ships as CSV, without its classes.

    NAME is breast_cancer, digits, iris or wine.

    \b
    Example:
      shallowrules sample wine -o wine.csv
    """  # noqa: D301 (click wants a backspace)
    check_target(output)
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    # Whole numbers are stored as floats there; 13 reads better than 13.0.
    columns = [
        column.astype(int).tolist() if (column == column.astype(int)).all() else column.tolist()
        for column in bunch.data.T
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(bunch.feature_names)
    writer.writerows(zip(*columns, strict=True))
    write_result(text.getvalue(), output)


def _check_names(names: Sequence[str], settings: Any) -> None:
    """Refuse, before the work, what SQL would refuse after it whatever the rules are."""
    unknown = [old for old in settings.columns if old not in names]
    if unknown:
        raise OptionError(
            f"--column renames {', '.join(map(repr, unknown))}, which the rules do not have; "
            f"their columns are: {', '.join(map(repr, names))}"
        )
    if settings.style != "select":
        return
    for name in (settings.columns.get(old, old) for old in names):
        if name.casefold() == settings.cluster_column.casefold():
            raise ExportError(
                f"the table already has a column {name!r}: name the new one otherwise by --cluster-column"
            )


def _fit(
    table_file: str,
    chosen: FitOptions,
    growing: MethodOptions,
    reading: ReadingOptions,
    check: Callable[[Sequence[str]], None] | None = None,
) -> RuleSet:
    """Read a table, check its column names, cluster it and grow the tree."""
    prepared, model = _prepare(table_file, chosen, reading, growing.parameters(), check)
    from shallowrules.tradeoff import fit_to_goal

    with progress(f"{_doing(prepared, chosen)} and growing the tree") as show:
        model.on_progress = show
        if growing.has_goal:
            model = fit_to_goal(
                model,
                prepared.table,
                max_cost=growing.max_cost,
                max_conditions=growing.max_conditions,
                sample_weight=prepared.weight,
            )
        else:
            model.fit(prepared.table, sample_weight=prepared.weight)
    rules: RuleSet = model.rules_
    statistics = rules.statistics
    for note in statistics.notes:
        say("note", note)
    notes = (*statistics.notes, *prepared.notes, *prepared.warnings)
    return replace(rules, statistics=replace(statistics, notes=notes))


def _prepare(
    table_file: str,
    chosen: FitOptions,
    reading: ReadingOptions,
    parameters: dict[str, Any],
    check: Callable[[Sequence[str]], None] | None = None,
) -> tuple[Prepared, ExplainableKMeans]:
    """Read a table, check its column names, say what is to be known of it; with it, the model to fit."""
    from shallowrules.cli.preparation import prepare
    from shallowrules.estimator import ExplainableKMeans

    with progress(f"reading {table_file}"):
        prepared = prepare(table_file, chosen, reading)
    if check is not None:
        check(prepared.table.names)
    for message in prepared.notes:
        say("note", message)
    for message in prepared.warnings:
        say("warning", message)
    given = {"clusterer": prepared.labels} if chosen.clusters is None else {"n_clusters": chosen.clusters}
    model = ExplainableKMeans(
        **given,
        cluster_columns=prepared.clustered,
        explain_columns=prepared.explained,
        scale=chosen.scale,
        category_weight=chosen.category_weight,
        impute=chosen.impute,
        random_state=chosen.seed,
        n_jobs=-1,
        **parameters,
    )
    return prepared, model


def _doing(prepared: Prepared, chosen: FitOptions) -> str:
    """Return what is being done with the rows, for the progress line."""
    return f"{'taking labels of' if chosen.clusters is None else 'clustering'} {prepared.table.n_rows:,} rows"


def _show(rules: RuleSet, written: list[str], *, stderr: bool = False) -> None:
    from shallowrules.cli.summary import show_rules

    show_rules(rules, written, stderr=stderr)


def _stem(path: str) -> str:
    """Return a file's name without folder and endings."""
    name = Path(path).name.removesuffix(".gz")
    return Path(name).stem or name
