"""``shallowrules sample``: a table to try things on."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from shallowrules.cli.options.shared import output_option
from shallowrules.cli.output import check_target, write_result

__all__ = ["command"]

SAMPLES = ("breast_cancer", "digits", "iris", "wine")


@click.command("sample", short_help="Write a sample table to experiment with.")
@click.argument("name", type=click.Choice(SAMPLES), metavar="NAME")
@output_option("Write the table here, not to stdout.")
def command(name: str, output: Path | None, force: bool) -> None:
    """Write a table that scikit-learn ships as CSV, without its classes.

    NAME is breast_cancer, digits, iris or wine.

    \b
    Example:
      shallowrules sample wine -o wine.csv
    """  # noqa: D301 (click wants a backspace)
    check_target(output, force=force)
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
