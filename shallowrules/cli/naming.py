"""``--names``: what a person calls the clusters, for the commands that make rules or use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shallowrules.errors import OptionError

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames, RuleSet

__all__ = ["check_numbers", "files_of_names", "names_option", "with_names"]


def _read(context: click.Context, parameter: click.Parameter, path: str | None) -> ClusterNames | None:
    """Return what the file says: a wrong one is to be known before the work."""
    if path is None:
        return None
    from shallowrules.rules import read_names

    return read_names(path)


names_option = click.option(
    "--names",
    metavar="FILE",
    callback=_read,
    help="What people call the clusters, and notes on them: CSV or JSON with number, name and note.",
)


def check_numbers(names: ClusterNames | None, n_clusters: int | None) -> None:
    """Refuse names for clusters that there will not be; of given labels the numbers are not known yet."""
    if names is None or n_clusters is None:
        return
    wrong = sorted(number for number in {*names.names, *names.notes} if not 0 <= number < n_clusters)
    if wrong:
        raise OptionError(f"--names names cluster {wrong[0]}; -k {n_clusters} makes the clusters 0 to {n_clusters - 1}")


def files_of_names(names: ClusterNames | None) -> list[str]:
    """Return the file of --names, which is not to be written on, if it was given."""
    return [] if names is None else [names.path]


def with_names(rules: RuleSet, names: ClusterNames | None) -> RuleSet:
    """Return rules with the names of --names, if it was given."""
    return rules if names is None else rules.with_names(names.names, names.notes)
