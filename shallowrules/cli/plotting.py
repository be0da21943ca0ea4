"""``--plot``: what a command shows, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import click

from shallowrules.cli.output import write_result
from shallowrules.errors import OptionError

__all__ = ["plot_option", "write_plot"]

PICTURES = (".png", ".svg", ".pdf")

Command = TypeVar("Command", bound=Callable[..., Any])


def _checked(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in PICTURES:
        raise OptionError(f"--plot {path}: the name must end in {', '.join(PICTURES)}")
    return path


def plot_option(what: str) -> Callable[[Command], Command]:
    """Return the option of a command that draws something."""
    return click.option(
        "--plot",
        type=click.Path(path_type=Path),
        metavar="FILE",
        callback=_checked,
        help=f"Draw {what} to this file: .png, .svg or .pdf.",
    )


def write_plot(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib, whole or not at all."""
    content = BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower())
    write_result(content.getvalue(), path)
