"""``shallowrules verify``: every form of the rules against the tree, row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.options.reading import (
    Tables,
    read_tested,
    reading_options,
    rows_of,
    show_tables,
    table_or_database,
)
from shallowrules.cli.options.shared import answer_options, columns_option, gather, output_option, seed_option
from shallowrules.cli.output import FindingsReported, check_target, progress, warnings_shown, write_result
from shallowrules.cli.results import json_option, report
from shallowrules.errors import DataError, OptionError
from shallowrules.files import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shallowrules.exporters.base import ClusterAs
    from shallowrules.labelling.answers import Answers
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows
    from shallowrules.tables.table import Table
    from shallowrules.verification import Comparison, Failed, NotRun

__all__ = ["command"]


@click.command("verify", short_help="Run every format of the rules against the tree.")
@click.argument("rules_file", metavar="RULES")
@table_or_database
@seed_option
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    metavar="NAME",
    help="SQL to run: duckdb, sqlite, postgres, mysql, clickhouse, spark; any that is installed. May be repeated. A "
    "--database runs its own. [default: duckdb and sqlite]",
)
@click.option(
    "--exporter",
    "exporters",
    multiple=True,
    metavar="NAME",
    help="Run only the output of this exporter. May be repeated. [default: all that are installed and can be run here]",
)
@answer_options("number", "name")
@columns_option
@output_option("Write the certificate of a --database here; the ending decides the format: .json or .txt.")
@json_option
@reading_options
def command(
    rules_file: str,
    tables: Tables,
    dialects: tuple[str, ...],
    exporters: tuple[str, ...],
    columns: dict[str, str],
    output: Path | None,
    force: bool,
    cluster_as: ClusterAs,
    otherwise: str | None,
    **options: Any,
) -> None:
    """Run every format of the rules over TABLE and compare it with the tree, row by row.

    Rows on every threshold, next to it, and with missing values are compared too, and a CSV file is loaded in the
    usual ways: by pandas.read_csv, DuckDB's read_csv and SQLite's .import, each with its defaults. If a loader changes
    a value so that a row gets a different label, that is reported with a remedy. Python and SQL are run, the model of
    dbt as SQL, PMML where pypmml and Java are installed, ONNX where onnxruntime is, the page where playwright and
    chromium are, the workbook where LibreOffice is, programming languages where their compilers are; the end lists the
    installed exporters that were not run, and why. The exit status is 1 if any row differs; otherwise it is 3 if a form
    fails, for example because it does not compile. The other forms are still compared. RULES know how the text of a
    column becomes numbers, so the options for it need not be repeated. With --cluster-as and --else the SQL is that of
    `export` with these options; a row that gets VALUE counts as a row without a cluster.

    With --database the SQL runs where the rows are, in the database's own dialect; the boundary rows go to a
    temporary table with the types of the table's columns. The comparison is shown as a certificate.

    \b
    Examples:
      shallowrules verify rules.json wine.csv --dialect postgres
      shallowrules verify rules.json --database @shop --table sales.visits -o certificate.json
    """  # noqa: D301 (click wants a backspace)
    from shallowrules.labelling.answers import Answers
    from shallowrules.rules import RuleSet
    from shallowrules.sources import DatabaseRows, input_files

    rows = rows_of(tables, options)
    if isinstance(rows, DatabaseRows):
        if dialects:
            raise click.UsageError(
                "--dialect and --database exclude each other: a database runs SQL of its own dialect"
            )
        if exporters:
            raise click.UsageError("--exporter is for rows of a file; a database runs SQL")
        if output is not None and output.suffix.lower() not in (".json", ".txt"):
            raise OptionError(f"-o {output}: the ending decides the format; use one of: .json, .txt")
    elif output is not None or columns:
        raise click.UsageError(
            f"{'-o' if output else '--column'} is for rows of a database; name it with --database URL"
        )
    check_target(output, rules_file, *input_files(rows), force=force)
    with warnings_shown():
        rules = RuleSet.from_json(rules_file)
    answers = Answers(rules, cluster_as, otherwise)
    if isinstance(rows, DatabaseRows):
        wrong = _verify_database(rules, rows, columns, output, answers)
    else:
        wrong = _verify_files(rules, rows, dialects, exporters, gather(Reading, options), answers)
    if wrong:
        raise FindingsReported(f"not all formats agree with the tree: {'; '.join(wrong)}")


def _verify_database(
    rules: RuleSet, rows: DatabaseRows, columns: Mapping[str, str], output: Path | None, answers: Answers
) -> Sequence[str]:
    """Show and write a certificate, and return the styles that disagree."""
    from shallowrules.cli.escaping import printable
    from shallowrules.cli.figures import comparisons_of
    from shallowrules.verification.database import verify_database

    with progress(f"comparing {show_tables(rows)}"):
        certificate = verify_database(rules, rows, columns, answers)
    files: list[str] = []
    found = comparisons_of(certificate.comparisons, certificate.not_run)
    report(found | {"certificate": certificate.to_dict(), "files": files})
    text = certificate.to_text()
    click.echo(printable(text), nl=False)
    if output is not None:
        write_result(certificate.to_json() if output.suffix.lower() == ".json" else text, output)
        files.append(str(output))
    return certificate.disagreeing


def _verify_files(
    rules: RuleSet,
    tables: Tables,
    dialects: tuple[str, ...],
    exporters: tuple[str, ...],
    reading: Reading,
    answers: Answers,
) -> Sequence[str]:
    """Show how every form did on the rows of files, and return those that disagree."""
    from shallowrules.cli.advice import worded
    from shallowrules.cli.figures import comparisons_of
    from shallowrules.cli.summary import show_comparisons
    from shallowrules.exporters import exporter_names
    from shallowrules.sources import delimiter_of, file_relation
    from shallowrules.verification import DEFAULT_DIALECTS, CsvFile, LoadingReport, verify_loading
    from shallowrules.verification import verify as verify_forms

    with progress(f"reading {show_tables(tables)}"), worded():
        told, table = read_tested(rules, tables, reading)  # text as it stands, which every form has to convert
    _refuse_own_reading(rules, told, table)
    same = replace(reading, delimiter=None, keep_text=()) == Reading()
    file = tables if isinstance(tables, str) and same else None
    delimiter = None if file is None else delimiter_of(file, reading.delimiter)
    relation = file_relation(file, reading.delimiter) if file is not None and delimiter is None else None
    comparisons: list[Comparison] = []
    not_run: list[NotRun] = []
    failed: list[Failed] = []
    loading = LoadingReport()
    try:
        with progress("comparing"):
            comparisons.extend(
                verify_forms(
                    rules,
                    table,
                    dialects or None,
                    relation,
                    answers,
                    exporters=exporters or None,
                    on_not_run=not_run.append,
                    on_failed=failed.append,
                )
            )
            if file is not None and delimiter is not None:
                loaded = CsvFile(file, delimiter, told=reading.delimiter is not None)
                asked = exporters or exporter_names(), dialects or DEFAULT_DIALECTS
                loading = verify_loading(rules, table, loaded, answers, *asked)
                failed += loading.failed
    finally:  # earlier comparisons are worth knowing even if a later one is interrupted
        if comparisons:
            shown, skipped = [*comparisons, *loading.comparisons], [*not_run, *loading.not_run]
            found = comparisons_of(shown, skipped, loading.remarks, failed)
            report(found | {"certificate": None, "files": []})
            show_comparisons(shown, skipped)
    return _judge([*comparisons, *loading.comparisons], failed, loading.remarks)


def _judge(comparisons: Sequence[Comparison], failed: Sequence[Failed], remarks: Sequence[str]) -> Sequence[str]:
    """Show the remarks, and return the forms that disagree; DataError if some end in an error, and all others agree."""
    from shallowrules.cli.summary import show_lines
    from shallowrules.verification.comparing import grouped_by_reason

    wrong = [comparison.form for comparison in comparisons if comparison.disagreements]
    ended = [
        f"{'; '.join(forms)}: ends in an error: {' '.join(reason.split())}"
        for forms, reason in grouped_by_reason(failed)
    ]
    show_lines([*remarks, *(ended if wrong else ())])
    if failed and not wrong:
        raise DataError("; ".join(ended)) from failed[0].error
    if not wrong:
        show_lines(["every format that was run gives each row the cluster of the tree"])
    return wrong


def _refuse_own_reading(rules: RuleSet, told: RuleSet, table: Table) -> None:
    """Raise OptionError for a null marker or a decimal comma that only `told` has: no exported format knows it."""
    for feature in rules.tested_columns:
        known, column = rules.columns[feature], told.columns[feature]
        if column == known:
            continue
        if column.decimal != known.decimal and not known.is_whole:
            raise OptionError(f"the rules read column {column.name!r} with a decimal point; omit --decimal")
        words = {value.strip(" ") for value in table[column.name].values.tolist() if isinstance(value, str)}
        if new := sorted(words & (set(column.nulls) - set(known.nulls))):
            raise OptionError(
                f"column {column.name!r} has {new[0]!r}, which the rules and all their exports treat as a value; "
                "omit --null, or refit the rules with it"
            )
