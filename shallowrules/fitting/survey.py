"""The first pass: facts about the columns, to judge whether they can be used, before any row is encoded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.clustering.given_labels import Labelling
from shallowrules.encoding import refuse_extreme_weights
from shallowrules.encoding.checks import refuse_other_types, refuse_too_many_values
from shallowrules.encoding.facts import ColumnFacts
from shallowrules.encoding.imputing import COMPLETE
from shallowrules.encoding.roles import Roles
from shallowrules.errors import DataError, Finding, all_at_once, counted
from shallowrules.measures.summation import ExactSums, WeightFacts, exact_weights
from shallowrules.partitions import Part, Partitions
from shallowrules.tables.column import Column
from shallowrules.tables.conversion import Number
from shallowrules.tables.table import Table
from shallowrules.tables.values import Value

__all__ = ["Survey", "find_facts", "survey"]

MAX_LABELS = 65_535
"""Distinct given labels: the kernel numbers clusters in 16 bits."""


@dataclass(frozen=True, eq=False)
class WeightSurvey:
    """Facts from one pass about the weights of the rows that count.

    Parameters
    ----------
    sums : ExactSums
        Their sum, as that of one group.
    largest, smallest : float
    fraction : float
        How far one of them is from a whole number, at most.
    """

    sums: ExactSums = field(default_factory=lambda: ExactSums((0,)))
    largest: float = 0.0
    smallest: float = math.inf
    fraction: float = 0.0

    @classmethod
    def of(cls, weight: NDArray[np.float64]) -> WeightSurvey:
        """Return the facts about some positive weights."""
        if not len(weight):
            return cls()
        fraction = np.abs(weight - np.rint(weight)).max()
        sums = ExactSums.of(weight, np.zeros(len(weight), np.intp), 1)
        return cls(sums, float(weight.max()), float(weight.min()), float(fraction))

    def merged(self, other: WeightSurvey) -> WeightSurvey:
        """Return the facts about the weights of both parts."""
        return WeightSurvey(
            self.sums.merged(other.sums),
            max(self.largest, other.largest),
            min(self.smallest, other.smallest),
            max(self.fraction, other.fraction),
        )

    @property
    def total(self) -> float:
        """Their sum, rounded once."""
        return float(self.sums.rounded()[0])

    @property
    def exponent(self) -> int:
        """The exponent of the power of two above their sum."""
        return math.frexp(self.total)[1]

    def facts(self, n_rows: int) -> WeightFacts:
        """Return the facts of these weights as `exact_weights` rounds them, for a given number of rows."""
        largest, smallest, half, with_fraction = exact_weights(
            np.array([self.largest, self.smallest, 0.5, 2.0 + self.fraction]), self.exponent
        )
        are_whole = smallest >= half and with_fraction == math.floor(with_fraction)
        return WeightFacts(n_rows, self.total, float(largest), float(smallest), bool(are_whole))


@dataclass(frozen=True, eq=False)
class Survey:
    """Facts about a table from one pass.

    Parameters
    ----------
    columns : tuple of ColumnFacts
        Of the columns that are used.
    rows, counted : int
        Rows, and those that count.
    unlabelled, absent_labels : int
        Rows without a label: those of positive weight, and all.
    weight : ColumnFacts or None
        Of the column of weights; None where there are none.
    weighed : WeightSurvey or None
        Of the rows that count.
    wrong : Counter
        Rows by what is wrong with a column ("missing", "infinite", "negative"), the column and the file or partition.
    labels : Counter
        Rows that count, by given label.
    all_labels : frozenset
    """

    columns: tuple[ColumnFacts, ...]
    rows: int
    counted: int
    unlabelled: int
    absent_labels: int
    weight: ColumnFacts | None = None
    weighed: WeightSurvey | None = None
    wrong: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    labels: Counter[Any] = field(default_factory=Counter)
    all_labels: frozenset[Any] = frozenset()

    def merged(self, other: Survey) -> Survey:
        """Return the survey of both parts."""
        return Survey(
            tuple(one.merged(another) for one, another in zip(self.columns, other.columns, strict=True)),
            self.rows + other.rows,
            self.counted + other.counted,
            self.unlabelled + other.unlabelled,
            self.absent_labels + other.absent_labels,
            self.weight and other.weight and self.weight.merged(other.weight),
            self.weighed and other.weighed and self.weighed.merged(other.weighed),
            self.wrong + other.wrong,
            self.labels + other.labels,
            self.all_labels | other.all_labels,
        )

    @property
    def weights(self) -> WeightFacts:
        """The facts of the weights that the fit counts with."""
        if self.weighed is None:
            return WeightFacts.of(None, self.counted)
        return self.weighed.facts(self.counted)

    @property
    def weight_exponent(self) -> int | None:
        """The field of that name in `Roles`."""
        return None if self.weighed is None or self.weights.multiply_exactly else self.weighed.exponent

    def labelling(self, *, explains_noise: bool = False) -> tuple[Labelling, dict[Any, int], NDArray[np.bool_]]:
        """Return the given labels in order, the number of each, and which have rows that count."""
        if not self.all_labels:
            raise DataError("no row has a label, so there is no clustering to explain")
        if len(self.all_labels) > MAX_LABELS:
            raise DataError(f"there are more than {MAX_LABELS:,} distinct labels, too many for clusters")
        distinct = list(self.all_labels)
        values = np.empty(len(distinct), dtype=object)
        values[:] = distinct
        if all(isinstance(label, int | float) and not isinstance(label, bool) for label in distinct):
            values = np.array(distinct)
        known = Labelling.of(values, np.zeros(len(distinct), bool))
        known = known.with_noise() if explains_noise else known
        numbers = dict(zip(distinct, known.labels.tolist(), strict=True))
        used = np.zeros(len(distinct), bool)
        used[[numbers[label] for label in self.labels]] = True
        return known, numbers, used

    def head(
        self, parts: Partitions, roles: Roles, imputed: Sequence[Number | Value | None], *, counted_only: bool
    ) -> Table:
        """Return a small table with the ends of all numbers and every category, and a missing value that is imputed.

        Anything that depends only on ranges and categories is the same as for the whole table.
        """
        facts = [
            (each.counted_ends, each.counted_values) if counted_only else (each.ends, each.values)
            for each in self.columns
        ]
        n_rows = 2 * max(1, *(len(values) for _, values in facts), 1) + bool(imputed)
        columns = []
        values_of = zip(roles.columns, facts, imputed or (None,) * len(facts), strict=True)
        for name, (ends, values), value in values_of:
            kind = parts.kinds[name]
            missing = None if value is None else np.arange(n_rows) == n_rows - 1
            if ends is not None:
                column = np.array([ends[i % 2] for i in range(n_rows)], dtype=kind.dtype)
            else:
                column = np.empty(n_rows, dtype=object)
                ordered = sorted(values)
                column[:] = [ordered[i % len(ordered)] if ordered else None for i in range(n_rows)]
            columns.append(Column(name, kind.type, column, missing, kind.conversion).filled(value))
        return Table(tuple(columns), n_rows)


def survey(parts: Partitions, roles: Roles) -> Survey:
    """Return the survey of a table that can be fitted, in one pass.

    Raises
    ------
    DataError
        Naming the column, the file or partition, and how many rows lack a value or are infinite; if weights are
        negative or too large; if a column has too many categories.
    """
    found = find_facts(parts, roles)
    _refuse_wrong(found)
    if not found.counted:
        what = "a label and a positive weight" if roles.labels else "a positive weight"
        raise DataError(f"no row has {what}: there is nothing to fit")
    if found.weighed is not None:
        refuse_extreme_weights(np.array([found.weighed.largest]))
    return found


def find_facts(parts: Partitions, roles: Roles) -> Survey:
    """Return the survey of a table in one pass, whether it can be fitted or not."""
    key = ("facts", replace(roles, weight_exponent=None, filling=COMPLETE))
    if key not in parts.kept:
        parts.kept[key] = parts.map_reduce(_survey_part, roles)
    found: Survey = parts.kept[key]
    filled = {each.name for each in found.columns if roles.filling.fills(each)}
    if filled:
        missing = {place for place in found.wrong if place[0] == "missing" and place[1] in filled}
        found = replace(found, wrong=Counter({at: n for at, n in found.wrong.items() if at not in missing}))
    return found


def _survey_part(part: Part, roles: Roles) -> Survey:
    rows, weights = roles.counted(part), roles.weights(part)
    facts = tuple(ColumnFacts.of(part[name], rows) for name in roles.columns)
    weight = None if roles.weight is None else ColumnFacts.of(part[roles.weight], None)
    wrong: Counter[tuple[str, str, str]] = Counter()
    for each in (*facts, *([] if weight is None else [weight])):
        wrong["missing", each.name, part.origin] += each.n_missing
        wrong["infinite", each.name, part.origin] += each.n_infinite
    if weight is not None and weights is not None:
        wrong["negative", weight.name, part.origin] += int(np.count_nonzero(weights < 0))
    if roles.measure is not None:
        wrong["infinite", roles.measure, part.origin] += part[roles.measure].n_infinite
    among = slice(None) if rows is None else rows
    n_counted = part.n_rows if rows is None else int(np.count_nonzero(rows))
    labels: Counter[Any] = Counter()
    all_labels: frozenset[Any] = frozenset()
    unlabelled = absent_labels = 0
    if (labelled := roles.given_labels(part)) is not None:
        labels = Counter(labelled.values[among].tolist())
        all_labels = frozenset(labelled.values[~labelled.absent].tolist())
        unlabelled = int(np.count_nonzero(labelled.absent if weights is None else labelled.absent & (weights > 0)))
        absent_labels = int(np.count_nonzero(labelled.absent))
        if len(all_labels) > MAX_LABELS:
            raise DataError(
                f"column {labelled.name!r} has more than {MAX_LABELS:,} distinct labels, too many for clusters"
            )
    return Survey(
        facts,
        part.n_rows,
        n_counted,
        unlabelled,
        absent_labels,
        weight,
        None if weights is None else WeightSurvey.of(weights[among]),
        +wrong,
        labels,
        all_labels,
    )


def _refuse_wrong(found: Survey) -> None:
    """Raise DataError for values that cannot be used, with their columns and files, and in how many rows."""
    said = {
        "missing": (
            "missing values (NaN, None or NULL)",
            "exclude these rows, impute the values, or exclude the columns",
        ),
        "infinite": ("infinity", "k-means needs finite numbers; correct or exclude the rows"),
        "negative": ("negative weights", "give a row that should not count the weight 0"),
    }

    def refuse(kind: str, what: str, remedy: str) -> None:
        places = sorted((place, n) for place, n in found.wrong.items() if place[0] == kind)
        if places:
            listed = [f"column {name!r} of {origin} ({counted(n, 'row')})" for (_, name, origin), n in places]
            more = "" if len(listed) <= 5 else f" and {counted(len(listed) - 5, 'more place')}"
            findings = [
                Finding(f"{kind} values", text, name, n, file=origin)
                for text, ((_, name, origin), n) in zip(listed, places, strict=True)
            ]
            raise DataError(f"{what} in {', '.join(listed[:5])}{more}: {remedy}", findings=findings)

    checks: list[Callable[[], None]] = [partial(refuse, kind, *words) for kind, words in said.items()]
    checks += [partial(refuse_other_types, found.columns), partial(refuse_too_many_values, found.columns)]
    all_at_once(checks)
