"""What to cluster and how the tree grows: the options of the commands that fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import click

from shallowrules.cli.options.shared import NumberRange, seed_option, split_list, together
from shallowrules.errors import OptionError

__all__ = ["FitOptions", "MethodOptions", "fit_options", "method_options", "refine_options", "refinement"]

METHODS = ("exshallow", "exgreedy", "imm", "exkmc")
BASES = ("none", "imm")
REFINEMENTS = ("full", "thorough", "none")
SCALES = ("none", "minmax", "standard", "robust")


@dataclass(frozen=True)
class FitOptions:
    """What to cluster and how: the estimator's parameters, and the choice of rows and columns.

    Raises
    ------
    OptionError
        If neither or both of `clusters` and `labels` are given.
    """

    clusters: int | None
    scale: str | None
    category_weight: float
    seed: int
    columns: tuple[str, ...] | None
    explain: tuple[str, ...] | None
    exclude: tuple[str, ...]
    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    labels: str | None
    weight: str | None
    drop_missing: bool
    impute: str | None
    histograms: bool

    def __post_init__(self) -> None:
        if self.clusters is None and self.labels is None:
            raise OptionError(
                "Missing option '-k', how many clusters to make, or '--labels', the column with a clustering to explain"
            )
        if self.clusters is not None and self.labels is not None:
            raise OptionError("-k does not go with --labels: the clusters are those of the labels")


@dataclass(frozen=True)
class MethodOptions:
    """How the tree grows, or the goal that its trade-off is searched for."""

    method: str
    tradeoff: float | None
    max_leaves: int | None
    base: str
    refine: str
    budget: str | None
    round_within: float | None
    keep: tuple[str, ...]
    max_cost: float | None
    max_conditions: float | None

    def __post_init__(self) -> None:
        if self.has_goal and self.tradeoff is not None:
            raise OptionError("--max-cost and --max-conditions search the trade-off: leave out --tradeoff")

    @property
    def has_goal(self) -> bool:
        """Whether the trade-off is to be searched."""
        return self.max_cost is not None or self.max_conditions is not None

    def parameters(self) -> dict[str, Any]:
        """Return the estimator's parameters, without the trade-off where none was given."""
        given: dict[str, Any] = {} if self.tradeoff is None else {"tradeoff": self.tradeoff}
        given |= refinement(self.refine, self.budget)
        given |= {} if self.round_within is None else {"round_within": self.round_within}
        return {"method": self.method, "max_leaves": self.max_leaves, "base": self.base, "keep": self.keep, **given}


def refinement(refine: str, budget: str | None) -> dict[str, Any]:
    """Return the estimator's parameters for the options of refinement, without a budget where none was given."""
    return {"refine": refine} | ({} if budget is None else {"budget": budget})


class _Share(NumberRange):
    """What the estimator takes for a trade-off."""

    def __init__(self) -> None:
        super().__init__(min=0, max=1e6, max_open=True)


class _Percentage(NumberRange):
    """A share below 1, as a number or in percent."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(min=0, max=1, max_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, str) and value.endswith("%"):
            try:
                value = float(value[:-1]) / 100
            except ValueError:
                self.fail(f"{value!r} is no percentage, such as 0.2%.", param, ctx)
        return super().convert(value, param, ctx)


class _Bound(NumberRange):
    """A goal for the cost or the length of rules."""

    def __init__(self) -> None:
        super().__init__(min=0, max=math.inf, min_open=True, max_open=True)


def _none(context: click.Context, parameter: click.Parameter, name: str) -> str | None:
    return None if name == "none" else name


def _names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of names at commas; a name with a comma in it goes in double quotes."""
    return tuple(filter(None, split_list(values)))


def _names_if_any(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    return _names(context, parameter, values) or None


fit_options = together(
    click.option(
        "-k",
        "--clusters",
        type=click.IntRange(min=2),
        metavar="K",
        help="Number of clusters, 2 or more. Needed unless --labels is given.",
    ),
    click.option(
        "--labels", metavar="COLUMN", help="Explain the clustering in this column; rows with no label are left out."
    ),
    click.option(
        "--scale",
        type=click.Choice(SCALES),
        default="minmax",
        show_default=True,
        callback=_none,
        help="Cluster in columns brought to a common scale; rules stay in the units of the table.",
    ),
    click.option(
        "--category-weight",
        type=NumberRange(0, 1e6, min_open=True, max_open=True),
        default=math.sqrt(0.5),
        metavar="WEIGHT",
        help="Weight of the columns of 0 and 1 that stand for categories. [default: 0.707, by which two categories "
        "are as far apart as the ends of a column of numbers]",
    ),
    seed_option,
    click.option(
        "--columns", multiple=True, metavar="A,B,…", callback=_names_if_any, help="Use these columns. May be repeated."
    ),
    click.option(
        "--explain",
        multiple=True,
        metavar="A,B,…",
        callback=_names_if_any,
        help="Let rules test these columns, not those that are clustered. May be repeated.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="A,B,…",
        callback=_names,
        help="Leave these columns out; 'flag_*' is all that begin so. May be repeated.",
    ),
    click.option(
        "--categories",
        multiple=True,
        metavar="A,B,…",
        callback=_names,
        help="Take the whole numbers of these columns as categories, for codes. May be repeated.",
    ),
    click.option(
        "--numbers",
        multiple=True,
        metavar="A,B,…",
        callback=_names,
        help="The whole numbers of these columns are quantities, though the name sounds like a code. May be repeated.",
    ),
    click.option("--weight", metavar="COLUMN", help="Column that says how many times each row counts."),
    click.option("--drop-missing", is_flag=True, help="Leave out the rows that lack a value in a used column."),
    click.option(
        "--impute",
        type=click.Choice(("none", "median")),
        default="none",
        show_default=True,
        callback=_none,
        help="Replace missing values, in the rules too, by a column's median or most frequent category.",
    ),
    click.option(
        "--histograms/--no-histograms",
        default=True,
        help="Keep with the rules how each tested column is distributed in each cluster, and where its rows are "
        "without rules: the pictures of the page.  [default: --histograms]",
    ),
)
"""The options of `FitOptions`."""

refine_options = together(
    click.option(
        "--refine",
        type=click.Choice(REFINEMENTS),
        default=REFINEMENTS[0],
        show_default=True,
        help="With --method exshallow: search on for a cheaper, shorter tree, or thoroughly, or take the greedy one.",
    ),
    click.option(
        "--budget",
        metavar="NUMBER",
        help="With --refine thorough: what the search may take, as a multiple of growing the tree, or in seconds, as "
        "30s. Ctrl-C ends it with the best tree so far.  [default: 100]",
    ),
)

method_options = together(
    click.option(
        "--method", type=click.Choice(METHODS), default=METHODS[0], show_default=True, help="How the tree grows."
    ),
    click.option(
        "--tradeoff",
        type=_Share(),
        metavar="SHARE",
        help="Share of the k-means cost given up per condition saved: more gives shorter rules.  [default: 0.03]",
    ),
    click.option(
        "--max-cost",
        type=_Bound(),
        metavar="RATIO",
        help="Search the trade-off: cost at most RATIO times that of the clustering without rules.",
    ),
    click.option(
        "--max-conditions",
        type=_Bound(),
        metavar="NUMBER",
        help="Search the trade-off: at most NUMBER conditions per row, on average.",
    ),
    click.option(
        "--max-leaves",
        type=click.IntRange(min=2),
        metavar="N",
        help="With --method exkmc: number of rules, K or more.  [default: K]",
    ),
    click.option(
        "--base",
        type=click.Choice(BASES),
        default=BASES[0],
        show_default=True,
        help="With --method exkmc: grow on from IMM's tree.",
    ),
    refine_options,
    click.option(
        "--round-within",
        type=_Percentage(),
        metavar="SHARE",
        help="Take rounder thresholds where the objective, cost and length of rules, rises by no more than this in "
        "all, as 0.2%; 0 keeps each between the rows that it parts.  [default: 0.05% for refined trees, 0 for others]",
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="CONDITION",
        help="A cut that the tree has to start with, as 'proline <= 750'. May be repeated: the first is asked first.",
    ),
)
"""The options of `MethodOptions`."""
