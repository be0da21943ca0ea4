"""The options of the commands that fit: the input of the clustering, and the growth of the tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from shallowrules.cli.options.shared import NumberRange, listed_names, measure_option, seed_option, together
from shallowrules.errors import OptionError
from shallowrules.fitting.options import FIT_OPTIONS, Choice, Number, refuse_idle_options

if TYPE_CHECKING:
    from shallowrules.encoding.imputing import Filling

__all__ = ["FitOptions", "MethodOptions", "Percentage", "fit_options", "method_options", "refine_options", "refinement"]

AUTO = "auto"
BOTH = frozenset({"number", "category"})


@dataclass(frozen=True)
class FitOptions:
    """The input of a clustering and its parameters: the estimator's parameters, and the choice of rows and columns.

    Raises
    ------
    OptionError
        If neither or both of `clusters` and `labels` are given.
    """

    clusters: int | None
    scale: str | None
    category_weight: float | str
    two_values: str
    seed: int
    columns: tuple[str, ...] | None
    explain: tuple[str, ...] | None
    exclude: tuple[str, ...]
    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    labels: str | None
    noise: str
    weight: str | None
    measure: str | None
    drop_missing: bool
    impute: str | None
    missing: str | None
    histograms: bool

    def __post_init__(self) -> None:
        if self.clusters is None and self.labels is None:
            raise OptionError(
                "Missing option '-k' (the number of clusters; `shallowrules clusters` recommends one) or '--labels' "
                "(the column with a clustering to explain)"
            )
        if self.labels is None and self.noise != FIT_OPTIONS["noise"].default:
            raise OptionError("--noise applies to --labels only: k-means calls no row noise")
        if self.clusters is not None and self.labels is not None:
            raise OptionError("-k and --labels exclude each other: the labels determine the clusters")

    @property
    def filling(self) -> Filling:
        """The missing values to impute, and how."""
        from shallowrules.encoding.imputing import Filling

        return Filling(self.impute, self.missing)

    def scale_of(self, kinds: Set[str | None]) -> str | None:
        """Return the scale of a table whose columns count as numbers, as categories, or as neither."""
        if self.scale != AUTO:
            return self.scale
        return "standard" if kinds >= BOTH else "minmax"

    def balances(self, kinds: Set[str | None]) -> bool:
        """Return whether the weight of the categories of a table with these columns depends on its numbers."""
        return self.category_weight == AUTO and kinds >= BOTH

    def as_fitted(self, scale: str | None, weight: float) -> FitOptions:
        """Return the options that lead to the same fit, with the scale and the weight that were used for "auto"."""
        if self.category_weight != AUTO:
            return replace(self, scale=scale)
        return replace(self, scale=scale, category_weight=weight, two_values="category")


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
            raise OptionError("--max-cost and --max-conditions search the trade-off; omit --tradeoff")
        refuse_idle_options(vars(self))

    @property
    def has_goal(self) -> bool:
        """Whether to search the trade-off."""
        return self.max_cost is not None or self.max_conditions is not None

    def as_fitted(self) -> MethodOptions:
        """Return the options that lead to the same fit if a later version has other defaults."""
        tradeoff, budget = (FIT_OPTIONS[name] for name in ("tradeoff", "budget"))
        used = self
        if self.tradeoff is None and not self.has_goal and tradeoff.applies(vars(self)):
            used = replace(used, tradeoff=tradeoff.default)
        if self.budget is None and budget.applies(vars(self)):
            used = replace(used, budget=str(budget.default))
        return used

    def parameters(self) -> dict[str, Any]:
        """Return the estimator's parameters that were given."""
        return {name: value for name, value in vars(self).items() if name in FIT_OPTIONS and value is not None}


def refinement(**options: Any) -> dict[str, Any]:
    """Return the estimator's parameters for the options of refinement that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    refuse_idle_options(given)
    return given


class Percentage(NumberRange):
    """A share, as a number or in percent."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share; a text such as 2% is one."""
        if isinstance(value, str) and value.endswith("%"):
            try:
                value = float(value[:-1]) / 100
            except ValueError:
                self.fail(f"{value!r} is not a percentage, such as 0.2%.", param, ctx)
        return super().convert(value, param, ctx)


class _NumberOr(NumberRange):
    """A number in a range, or a word."""

    def __init__(self, word: str, low: float, high: float, **ends: bool) -> None:
        super().__init__(low, high, **ends)
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == self.word else super().convert(value, param, ctx)


class _Bound(NumberRange):
    """A goal for the cost or the length of rules."""

    def __init__(self) -> None:
        super().__init__(min=0, max=math.inf, min_open=True, max_open=True)


def _none(context: click.Context, parameter: click.Parameter, name: str) -> str | None:
    return None if name == "none" else name


def _names_if_any(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    return listed_names(context, parameter, values) or None


def _declared(
    name: str,
    *,
    note: str = "",
    typed: Any = None,
    words: tuple[str, ...] = (),
    metavar: str | None = None,
    repeated: bool = False,
) -> Callable[[Any], Any]:
    """Return the command-line option for an option of a fit.

    Parameters
    ----------
    name : str
    note : str
        More for the help, such as the default.
    typed : object
        The default on the command line. Without it a choice keeps its own default, and a number has none, so that the
        command knows whether one was given.
    words : tuple of str
        Choices that only the command line has.
    metavar : str, optional
    repeated : bool
    """
    option = FIT_OPTIONS[name]
    kind, text = option.kind, f"{option.help}{note}"
    flag = f"--{name.replace('_', '-')}"
    if isinstance(kind, Choice):
        choices = click.Choice((*words, *(("none",) if kind.or_none else ()), *kind.values))
        default = typed or option.default or "none"
        return click.option(
            flag, type=choices, default=default, show_default=True, callback=_none if kind.or_none else None, help=text
        )
    number: click.ParamType[Any] | None = None
    if isinstance(kind, Number):
        if kind.whole:
            number = click.IntRange(int(kind.low), None if math.isinf(kind.high) else int(kind.high))
        else:
            of = Percentage if kind.high == 1 else NumberRange if kind.word is None else partial(_NumberOr, kind.word)
            number = of(kind.low, kind.high, min_open=kind.low_open, max_open=kind.high_open)
    return click.option(flag, type=number, default=typed, metavar=metavar, multiple=repeated, help=text)


fit_options = together(
    click.option(
        "-k",
        "--clusters",
        type=click.IntRange(min=2),
        metavar="K",
        help="Number of clusters, 2 or more. Needed unless --labels is given.",
    ),
    click.option(
        "--labels", metavar="COLUMN", help="Explain the clustering in this column; rows without a label are excluded."
    ),
    _declared("noise"),
    _declared(
        "scale",
        typed=AUTO,
        words=(AUTO,),
        note=" auto: standard for a table of numbers and categories, minmax for numbers alone.",
    ),
    _declared(
        "category_weight",
        typed=AUTO,
        metavar="WEIGHT|auto",
        note=" 0.707 puts two categories as far apart as the ends of a column scaled to the range 0 to 1.  "
        "[default: auto]",
    ),
    _declared("two_values"),
    seed_option,
    click.option(
        "--columns", multiple=True, metavar="A,B,…", callback=_names_if_any, help="Use these columns. May be repeated."
    ),
    click.option(
        "--explain",
        multiple=True,
        metavar="A,B,…",
        callback=_names_if_any,
        help="Let rules test these columns instead of the clustered ones. May be repeated.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="A,B,…",
        callback=listed_names,
        help="Exclude these columns; 'flag_*' excludes every column whose name starts with flag_. May be repeated.",
    ),
    click.option(
        "--categories",
        multiple=True,
        metavar="A,B,…",
        callback=listed_names,
        help="Treat these integer columns as categorical codes. May be repeated.",
    ),
    click.option(
        "--numbers",
        multiple=True,
        metavar="A,B,…",
        callback=listed_names,
        help="Treat these integer columns as quantities, even if the name sounds like a code. May be repeated.",
    ),
    click.option("--weight", metavar="COLUMN", help="Column with the weight of each row: how many times it counts."),
    measure_option("Column of numbers to add up in each cluster; it is neither clustered nor tested by rules."),
    click.option("--drop-missing", is_flag=True, help="Exclude rows with a missing value in a used column."),
    _declared("impute"),
    _declared("missing"),
    click.option(
        "--histograms/--no-histograms",
        default=True,
        help="Store with the rules, for the pictures of the page, the distributions in each cluster of the tested "
        "columns and of the 30 that separate the clusters most, and the clusters "
        "that the rows have without rules.  [default: --histograms]",
    ),
)
"""The options of `FitOptions`."""

refine_options = together(_declared("refine"), _declared("budget", metavar="NUMBER", note="  [default: 100]"))

max_leaves_option = _declared("max_leaves", metavar="N", note="  [default: K]")

method_options = together(
    _declared("method"),
    _declared("tradeoff", metavar="SHARE", note="  [default: 0.03]"),
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
    max_leaves_option,
    _declared("base"),
    refine_options,
    _declared("round_within", metavar="SHARE", note="  [default: 0.05% for refined trees, 0 for others]"),
    _declared("keep", metavar="CONDITION", repeated=True),
)
"""The options of `MethodOptions`."""
