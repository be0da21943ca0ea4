"""The options that several commands share, and what their values become."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from shallowrules.errors import OptionError

__all__ = [
    "ExportOptions",
    "FitOptions",
    "MethodOptions",
    "ReadingOptions",
    "export_options",
    "fit_options",
    "force_option",
    "gather",
    "method_options",
    "reading_options",
    "refine_option",
]

METHODS = ("exshallow", "exgreedy", "imm", "exkmc")
BASES = ("none", "imm")
REFINEMENTS = ("full", "none")
SCALES = ("none", "minmax", "standard", "robust")

Command = TypeVar("Command", bound=Callable[..., Any])
Options = TypeVar("Options")


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a file: what `shallowrules.reading.read_table` takes, but for the columns."""

    delimiter: str | None
    decimal: str
    null: tuple[str, ...]
    encoding: str


@dataclass(frozen=True)
class FitOptions:
    """What to cluster, and how: the estimator's parameters and the choice of rows and columns.

    Raises
    ------
    OptionError
        Unless either clusters are to be made, or those of a column to be explained.
    """

    clusters: int | None
    scale: str | None
    category_weight: float
    seed: int
    columns: tuple[str, ...] | None
    explain: tuple[str, ...] | None
    exclude: tuple[str, ...]
    labels: str | None
    weight: str | None
    drop_missing: bool
    impute: str | None

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
        """Return the estimator's parameters; a trade-off that is not given leaves it its own default."""
        given = {} if self.tradeoff is None else {"tradeoff": self.tradeoff}
        return {"method": self.method, "max_leaves": self.max_leaves, "base": self.base, "refine": self.refine, **given}


@dataclass(frozen=True)
class ExportOptions:
    """Options for an exporter; None and nothing renamed leave the exporter its own default."""

    dialect: str | None
    table: str | None
    style: str | None
    renamed: dict[str, str]
    cluster_column: str | None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, as `shallowrules.export` takes them."""
        named = {
            "dialect": self.dialect,
            "table": self.table,
            "style": self.style,
            "columns": self.renamed or None,
            "cluster_column": self.cluster_column,
        }
        return {name: value for name, value in named.items() if value is not None}


class _Number(click.FloatRange):
    """A number in a range, which alone would let NaN pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class _Share(_Number):
    """What the estimator takes for a trade-off."""

    def __init__(self) -> None:
        super().__init__(min=0, max=1e6, max_open=True)


class _Bound(_Number):
    """A goal for the cost or the length of rules."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)


def gather(kind: type[Options], values: Mapping[str, Any]) -> Options:
    """Return a command's option values as one of the dataclasses above."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: values[name] for name in names})


def _delimiter(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    return "\t" if text in ("tab", "\\t") else text


def _none(context: click.Context, parameter: click.Parameter, name: str) -> str | None:
    return None if name == "none" else name


def _names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of names at commas; a name with a comma in it goes in double quotes."""
    return tuple(name for row in csv.reader(values) for name in row if name)


def _names_if_any(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    return _names(context, parameter, values) or None


def _renamed(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    renamed = {}
    for pair in pairs:
        old, _, new = pair.rpartition("=")
        if not (old and new):
            raise click.BadParameter(f"{pair!r} is not OLD=NEW", context, parameter)
        renamed[old] = new
    return renamed


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# The options of `ReadingOptions`.
reading_options = _together(
    click.option(
        "--delimiter", metavar="CHAR", callback=_delimiter, help="What separates the fields of a CSV file; else found."
    ),
    click.option("--decimal", metavar="CHAR", default=".", show_default=True, help="Decimal separator: . or ,"),
    click.option(
        "--null",
        multiple=True,
        metavar="TEXT",
        help="A text that means \"no value\"; '' is a field of blanks. May be repeated.",
    ),
    click.option("--encoding", metavar="NAME", default="utf-8", show_default=True, help="Encoding of a text file."),
)

# The options of `FitOptions`.
fit_options = _together(
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
        type=click.FloatRange(0, 1e6, min_open=True, max_open=True),
        default=math.sqrt(0.5),
        metavar="WEIGHT",
        help="What the columns of 0 and 1 count that stand for categories. [default: 0.707, by which two categories "
        "are as far apart as the ends of a column of numbers]",
    ),
    click.option(
        "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, metavar="N", help="Random seed."
    ),
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
        "--exclude", multiple=True, metavar="A,B,…", callback=_names, help="Leave these columns out. May be repeated."
    ),
    click.option("--weight", metavar="COLUMN", help="Column that says how many times each row counts."),
    click.option("--drop-missing", is_flag=True, help="Leave out the rows that lack a value in a used column."),
    click.option(
        "--impute",
        type=click.Choice(("none", "median")),
        default="none",
        show_default=True,
        callback=_none,
        help="What missing values are taken as, in the rules too: a column's median or most frequent category.",
    ),
)

refine_option = click.option(
    "--refine",
    type=click.Choice(REFINEMENTS),
    default=REFINEMENTS[0],
    show_default=True,
    help="With --method exshallow: search on for a cheaper, shorter tree, or take the greedy one.",
)

# The options of `MethodOptions`.
method_options = _together(
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
        help="Search the trade-off: cost at most this many times that of the clustering without rules.",
    ),
    click.option(
        "--max-conditions",
        type=_Bound(),
        metavar="NUMBER",
        help="Search the trade-off: at most so many conditions per row, on average.",
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
    refine_option,
)

# The options of `ExportOptions`.
export_options = _together(
    click.option("--dialect", metavar="NAME", help="SQL: duckdb, sqlite, postgres, mysql, …  [default: ansi]"),
    click.option("--table", metavar="NAME", help="SQL: name of the table in the database."),
    click.option(
        "--style", metavar="NAME", help="SQL: where (a predicate per cluster), case (an expression), select (a query)."
    ),
    click.option(
        "--column",
        "renamed",
        multiple=True,
        metavar="OLD=NEW",
        callback=_renamed,
        help="SQL: name of a column in the database. May be repeated.",
    ),
    click.option(
        "--cluster-column", metavar="NAME", help="SQL: name of the column that select adds.  [default: cluster]"
    ),
)

force_option = click.option("--force", is_flag=True, help="Replace files without asking.")
