"""``shallowrules exporters``: the installed exporters, and their distributions."""

from __future__ import annotations

import click

__all__ = ["command"]


@click.command("exporters", short_help="List the installed exporters.")
def command() -> None:
    """List the installed exporters and where each comes from."""
    from shallowrules.cli.summary import show_exporters
    from shallowrules.exporters import installed_exporters

    show_exporters(installed_exporters())
