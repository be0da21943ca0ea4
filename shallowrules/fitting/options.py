"""The options of a fit, each declared once.

The estimator's checks come from here, and the options of the command line with their help; a test checks the
estimator's signature and documentation against them. A new option goes here, into that signature, and to where it is
used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from shallowrules.errors import OptionError, OptionName, check_choice

__all__ = [
    "FIT_OPTIONS",
    "GAIN",
    "MIN_GAIN",
    "Choice",
    "FitOption",
    "Number",
    "applied_options",
    "refuse_idle_options",
    "refuse_in_parts",
]


@dataclass(frozen=True)
class Choice:
    """One of several words; with `or_none`, None is a choice too, written ``none``."""

    values: tuple[str, ...]
    or_none: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise OptionError for any other value."""
        if not (self.or_none and value is None):
            check_choice(name, value, self.values)


@dataclass(frozen=True)
class Number:
    """A number in a range, which `words` describe; its ends belong to it unless they are open. Or else `word`."""

    low: float
    high: float
    words: str
    low_open: bool = False
    high_open: bool = False
    whole: bool = False
    or_none: bool = False
    word: str | None = None

    def check(self, name: str, value: Any) -> None:
        """Raise OptionError for anything else; a truth value is not a number."""
        kind = Integral if self.whole else Real
        if (self.or_none and value is None) or (isinstance(value, str) and value == self.word):
            return
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        above = is_number and (value > self.low if self.low_open else value >= self.low)
        if not (above and (value < self.high if self.high_open else value <= self.high)):
            raise OptionError(OptionName(name), f" must be {self.words}, not {value!r}")


@dataclass(frozen=True)
class FitOption:
    """An option of a fit.

    Parameters
    ----------
    name : str
        The estimator's parameter.
    default : object
        The estimator's.
    kind : Choice, Number or None
        Its allowed values; None where another module checks them.
    help : str
        On the command line.
    needs : (str, str, ...), optional
        Another option, and the values of it that this one is for. The command line refuses this one beside others; the
        estimator treats it as not given, since a search over parameters crosses them.
    idle : tuple
        Values besides the default that ask for nothing, and so go with every other option.
    """

    name: str
    default: Any
    kind: Choice | Number | None
    help: str = ""
    needs: tuple[str, ...] = ()
    idle: tuple[Any, ...] = ()

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Return whether the option that it needs has one of the values that it goes with, or is not given."""
        return not self.needs or values.get(self.needs[0], self.needs[1]) in self.needs[1:]


_DECLARED = (
    FitOption("n_clusters", 8, Number(1, math.inf, "a whole number of at least 1", whole=True)),
    FitOption("method", "exshallow", Choice(("exshallow", "exgreedy", "imm", "exkmc")), "How to grow the tree."),
    FitOption(
        "tradeoff",
        0.03,
        Number(0, 1e6, "a number from 0 up to 1e6", high_open=True),
        "With --method exshallow: share of the k-means cost given up per condition saved; higher values give shorter "
        "rules.",
        needs=("method", "exshallow"),
    ),
    FitOption(
        "max_leaves",
        None,
        Number(1, math.inf, "a whole number of at least n_clusters", whole=True, or_none=True),
        "With --method exshallow or exkmc: number of rules, at least K; a cluster may have several.",
        needs=("method", "exshallow", "exkmc"),
    ),
    FitOption(
        "base",
        "none",
        Choice(("none", "imm")),
        "With --method exkmc: start from IMM's tree.",
        needs=("method", "exkmc"),
    ),
    FitOption(
        "refine",
        "full",
        Choice(("full", "thorough", "none")),
        "With --method exshallow: improve the greedy tree (full), keep searching within --budget (thorough), or keep "
        "the greedy tree (none).",
        needs=("method", "exshallow"),
        idle=("none",),
    ),
    FitOption(
        "budget",
        100,
        None,
        "With --refine thorough: time limit of the search, as a multiple of growing the tree, or in seconds, such as "
        "30s. Ctrl-C ends it with the best tree so far.",
        needs=("refine", "thorough"),
    ),
    FitOption(
        "round_within",
        None,
        Number(0, 1, "a share from 0 up to 1, such as 0.002 for 0.2%", high_open=True, or_none=True),
        "Use rounder thresholds as long as the objective (cost and length of rules) rises by no more than this in "
        "total, such as 0.2%; 0: round only as far as no row changes cluster.",
    ),
    FitOption(
        "keep",
        (),
        None,
        "A cut with which the tree has to start, such as 'proline <= 750'. May be repeated; the first is the root.",
    ),
    FitOption(
        "scale",
        None,
        Choice(("minmax", "standard", "robust"), or_none=True),
        "Scale the columns for clustering; rules stay in the units of the table.",
    ),
    FitOption(
        "category_weight",
        math.sqrt(0.5),
        Number(0, 1e6, "a number above 0 and up to 1e6, or 'auto',", low_open=True, high_open=True, word="auto"),
        "Weight of the columns of 0 and 1 that stand for categories; auto: the weight by which a column of categories "
        "varies as much as one of numbers, on average.",
    ),
    FitOption(
        "two_values",
        "number",
        Choice(("number", "category")),
        "Scale a column of two numbers, such as 0 and 1, as other numbers, or weigh it as a column of two categories; "
        "--category-weight auto always does the latter.",
    ),
    FitOption(
        "impute",
        None,
        Choice(("median",), or_none=True),
        "Replace missing values, in the rules too, by a column's median or most frequent category.",
    ),
    FitOption(
        "missing",
        None,
        Choice(("category",), or_none=True),
        "Treat missing values in columns of text as a category of their own, in the rules too; numbers have none.",
    ),
    FitOption(
        "noise",
        "drop",
        Choice(("drop", "cluster")),
        "With --labels: treat the label -1 as noise (cluster), which has rules of its own, several with --max-leaves, "
        "and stays -1, or as a label like any other (drop).",
    ),
)

FIT_OPTIONS: Mapping[str, FitOption] = {option.name: option for option in _DECLARED}
"""By name."""


MIN_GAIN = 0.02
"""Share of J by which other rules have to be better than earlier ones to be taken; measured in docs/editing.md."""

GAIN = Number(0, 1, "a share from 0 up to 1, such as 0.02 for 2%", high_open=True)
"""The values of `min_gain`."""


def refuse_idle_options(values: Mapping[str, Any]) -> None:
    """Raise OptionError for an option that is given with others to which it does not apply.

    Parameters
    ----------
    values : mapping
        Options by name; None where one is not given.
    """
    for option in FIT_OPTIONS.values():
        value = values.get(option.name)
        if value is None or value in (option.default, *option.idle) or option.applies(values):
            continue
        other, first, *more = option.needs
        wanted: list[str | OptionName] = [OptionName(other, first)]
        for value in more:
            wanted += [" and ", OptionName(other, value)]
        raise OptionError(
            OptionName(option.name), " applies to ", *wanted, " only, not to ", OptionName(other, values[other])
        )


_METHODS_IN_PARTS = ("exshallow", "exgreedy")

_NOT_IN_PARTS: Mapping[str, tuple[str | OptionName, ...]] = {
    "method": ("take ", OptionName("method", "exshallow"), " or ", OptionName("method", "exgreedy")),
    "keep": ("omit it, or fit a sample",),
    "transformer": ("use scale, or write a transformed table first",),
    "categories": ("write these codes as text in the files",),
    "max_cost": ("give ", OptionName("tradeoff")),
    "max_conditions": ("give ", OptionName("tradeoff")),
}
"""Parameters that a table in parts cannot be fitted with, and the remedies."""


def refuse_in_parts(values: Mapping[str, Any]) -> None:
    """Raise OptionError for an option that does not work on a table in parts.

    Parameters
    ----------
    values : mapping
        Options by name, those of the command line too; None or empty where one is not given.
    """
    for name, remedy in _NOT_IN_PARTS.items():
        value = values.get(name)
        if (
            value is None
            or (isinstance(value, tuple | list) and not value)
            or (name == "method" and value in _METHODS_IN_PARTS)
        ):
            continue
        option = OptionName(name, value if name == "method" else None)
        raise OptionError(option, " does not work on a table in parts: ", *remedy)


def applied_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by name, checked; one that does not apply has its default."""
    for option in FIT_OPTIONS.values():
        if option.kind is not None:
            option.kind.check(option.name, values[option.name])
    return {name: values[name] if option.applies(values) else option.default for name, option in FIT_OPTIONS.items()}
