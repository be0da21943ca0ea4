"""What the modules of options share, and the options of several commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import click

__all__ = ["force_option", "gather", "together"]

Command = TypeVar("Command", bound=Callable[..., Any])
Options = TypeVar("Options")


def gather(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Return a command's option values as a dataclass of options."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command several options, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


force_option = click.option("--force", is_flag=True, help="Replace files without asking.")
