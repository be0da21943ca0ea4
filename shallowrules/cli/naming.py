"""``--names``: names of clusters, for the commands that make rules or use them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from shallowrules.cli.options.shared import FILE_NAME
from shallowrules.cli.output import show_message
from shallowrules.errors import DataError, OptionError, counted
from shallowrules.files import read_whole

if TYPE_CHECKING:
    from shallowrules.rules import ClusterNames, RuleSet

__all__ = ["EarlierRules", "NamedRules", "check_numbers", "files_of_names", "names_option", "with_names"]


@dataclass(frozen=True)
class NamedRules:
    """Rules of an earlier fit, whose names are carried over, and their file."""

    rules: RuleSet
    path: str

    def check_columns(self, used: Collection[str], unused: Collection[str]) -> None:
        """Raise an error unless a fit uses the columns of a table that the rules test.

        Parameters
        ----------
        used, unused : collection of str
            The columns of the table that the fit uses, and the others.
        """
        tested = [self.rules.columns[feature].name for feature in self.rules.tested_columns]
        lacking = [name for name in tested if name not in used]
        absent = [name for name in lacking if name not in unused]
        goes_on = isinstance(self, EarlierRules)
        if absent and goes_on:
            raise DataError(f"the table lacks columns that {self.path} tests: {', '.join(map(repr, absent))}")
        if lacking:
            option, way = ("", "") if goes_on else ("--names: ", "; give a file of number, name and note")
            raise OptionError(
                f"{option}{self.path} tests {', '.join(map(repr, lacking))}, which this fit does not use, so the rows "
                f"cannot show which cluster is which{way}"
            )


@dataclass(frozen=True)
class EarlierRules(NamedRules):
    """Rules that a fit continues from; `rescale` and `min_gain` are the estimator's."""

    rescale: bool
    min_gain: float


def _read(context: click.Context, parameter: click.Parameter, path: str | None) -> ClusterNames | NamedRules | None:
    """Return the content of the file; a file with an error is refused before the work begins."""
    if path is None:
        return None
    from shallowrules.rules import RuleSet, read_names

    if _holds_rules(path):
        return NamedRules(RuleSet.from_json(path), path)
    return read_names(path)


def _holds_rules(path: str) -> bool:
    """Return whether a file holds rules as JSON, and not a list of names; its reader reports any faults."""
    try:
        return path.lower().endswith(".json") and isinstance(json.loads(read_whole(path)), dict)
    except (ValueError, RecursionError):
        return False


names_option = click.option(
    "--names",
    type=FILE_NAME,
    metavar="FILE",
    callback=_read,
    help="Names of the clusters, and notes on them: CSV or JSON with number, name and note; or for run and fit the "
    "rules.json of an earlier fit, whose names go to the clusters that share the most rows.",
)


def check_numbers(names: ClusterNames | NamedRules | None, n_clusters: int | None) -> None:
    """Refuse names for clusters that will not exist; the numbers of given labels are not known yet."""
    if names is None or isinstance(names, NamedRules) or n_clusters is None:
        return
    wrong = sorted(number for number in {*names.names, *names.notes} if not 0 <= number < n_clusters)
    if wrong:
        raise OptionError(f"--names names cluster {wrong[0]}; -k {n_clusters} makes the clusters 0 to {n_clusters - 1}")


def files_of_names(names: ClusterNames | NamedRules | None) -> list[str]:
    """Return the file of --names, which must not be overwritten, if it was given."""
    return [] if names is None or names.path is None else [names.path]


def with_names(
    rules: RuleSet, names: ClusterNames | NamedRules | None, counts: Mapping[tuple[int, int], int] | None = None
) -> RuleSet:
    """Return rules with the names of --names, if it was given.

    `counts` are the rows by their clusters in the rules of --names and in these, where there is a table to count.
    """
    if names is None:
        return rules
    if not isinstance(names, NamedRules):
        try:
            return rules.with_names(names.names, names.notes)
        except DataError as error:
            raise OptionError(f"--names: {error}") from error
    if counts is None:
        raise OptionError(
            f"--names: {names.path} holds rules, whose names are matched by the rows of a table: give it to `run` or "
            "`fit`, or give a file of number, name and note here"
        )
    from shallowrules.rules import match_clusters

    pairs = match_clusters(counts)
    named = [each for each in names.rules.clusters if each.is_named or each.note]
    kept = [each for each in named if each.index in pairs]
    lost = [each.title for each in named if each.index not in pairs]
    text = f"{counted(len(kept), 'cluster')} named as in {names.path}, by the rows that they share"
    if named:
        show_message("note", text + (f"; no cluster shares rows with {', '.join(lost)}" if lost else ""))
    if isinstance(names, EarlierRules):  # the fit has named them
        return rules
    from shallowrules.fitting.refitting import named_as

    return named_as(rules, names.rules, pairs)
