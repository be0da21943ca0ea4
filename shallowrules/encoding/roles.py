"""The columns of a table in parts that a fit uses, and their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding.imputing import COMPLETE, Filling
from shallowrules.errors import DataError, OptionError
from shallowrules.measures.summation import exact_weights
from shallowrules.partitions import Partitions
from shallowrules.tables.column import Column
from shallowrules.tables.given import column_of_labels
from shallowrules.tables.table import Table

__all__ = ["Roles"]


@dataclass(frozen=True)
class Roles:
    """The columns that a fit uses, and their roles.

    Parameters
    ----------
    columns : tuple of str
        The columns to cluster by or to test.
    labels, weight : str or None
        The columns of given labels and of weights.
    filling : Filling
        The missing values that are filled in.
    weight_exponent : int or None
        Of the power of two above the sum of all weights, once it is known; None where they need no rounding.
    measure : str or None
        The column that is added up by cluster.
    """

    columns: tuple[str, ...]
    labels: str | None
    weight: str | None
    filling: Filling = COMPLETE
    weight_exponent: int | None = None
    measure: str | None = None

    @classmethod
    def of(
        cls,
        parts: Partitions,
        labels: str | None,
        weight: str | None,
        *,
        filling: Filling,
        measure: str | None,
    ) -> Roles:
        """Return the roles.

        Raises
        ------
        OptionError
            If a column is not there, or is to be both the measure and the labels or weights.
        DataError
            If the weights or the measure are not numbers.
        """
        for name, wanted in (("labels", labels), ("sample_weight", weight), ("measure", measure)):
            if wanted is not None and wanted not in parts.names:
                raise OptionError(
                    f"{name} names a column {wanted!r}, which the table does not have; its columns are: "
                    f"{', '.join(map(repr, parts.names))}"
                )
        if weight is not None and parts.types[weight] not in ("integer", "float"):
            raise DataError(f"weights must be numbers; column {weight!r} was read as {parts.types[weight]}")
        if measure is not None and parts.types[measure] not in ("integer", "float"):
            raise DataError(f"the measure {measure!r} cannot be added up: it was read as {parts.types[measure]}")
        if measure is not None and measure in (labels, weight):
            raise OptionError(f"column {measure!r} cannot be both the measure and the labels or weights")
        columns = tuple(name for name in parts.names if name not in (labels, weight, measure))
        return cls(columns, labels, weight, filling, measure=measure)

    def given_labels(self, part: Table) -> Column | None:
        """Return the given labels, times as their text; None where there are none."""
        return None if self.labels is None else column_of_labels(self.labels, part[self.labels])

    def weights(self, part: Table) -> NDArray[np.float64] | None:
        """Return the weight of each row, None for no weights; rounded to sum exactly, once their sum is known."""
        if self.weight is None:
            return None
        given = part[self.weight]
        weight = given.values.astype(np.float64)
        if not given.is_finite:  # the survey refuses these weights
            weight[given.absent | np.isinf(weight)] = 0.0
        return weight if self.weight_exponent is None else exact_weights(weight, self.weight_exponent)

    def given_weights(self, part: Table) -> NDArray[np.float64] | None:
        """Return the weight of each row as it was given, None for no weights."""
        return replace(self, weight_exponent=None).weights(part)

    def counted(self, part: Table) -> NDArray[np.bool_] | None:
        """Return which rows count: those of positive weight that have a label; None for all."""
        weight = self.weights(part)
        found = None if weight is None or (weight > 0).all() else weight > 0
        if self.labels is not None and (absent := part[self.labels].absent).any():
            found = ~absent if found is None else found & ~absent
        return found
