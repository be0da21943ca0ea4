"""Parts as the fit sees them: encoded rows that count, with their weights and given labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules._kernel import column_ranges
from shallowrules.encoding import Encoder
from shallowrules.encoding.roles import Roles
from shallowrules.partitions import Part
from shallowrules.tables.table import Table

__all__ = ["Encode", "EncodedRows", "RawColumns", "RowEncoder", "Rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the form from which a tree is grown.

    Parameters
    ----------
    X_explain, X_cluster : ndarray of float32 or float64, shapes (n_rows, d) and (n_rows, m)
        Finite; the same object where there is one space.
    weight : ndarray of float64, shape (n_rows,), or None
        Positive.
    """

    X_explain: NDArray[Any]
    X_cluster: NDArray[Any]
    weight: NDArray[np.float64] | None = None

    def only_rows(self) -> Rows:
        """Return the rows without anything else that is known about them."""
        return Rows(self.X_explain, self.X_cluster, self.weight)


Encode = Callable[[Any], Rows]
"""Takes a part, and returns its rows that count, with the dtypes of all parts. It is pickled."""


@dataclass(frozen=True, eq=False)
class EncodedRows(Rows):
    """The rows of a part that count.

    Parameters
    ----------
    table : Table
        The columns that are used.
    matrix : ndarray of float32 or float64, shape (n_rows, n_model_columns)
    labels : ndarray of int32, shape (n_rows,), or None
        Numbers of the given labels.
    """

    _: KW_ONLY
    table: Table
    matrix: NDArray[Any]
    labels: NDArray[np.int32] | None

    @property
    def n_rows(self) -> int:
        """Number of rows, which may be 0."""
        return self.table.n_rows

    @property
    def leaves(self) -> None:
        """None: the rows of a part are encoded again in each pass."""


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """Encodes parts, once the survey has determined how.

    Parameters
    ----------
    roles : Roles
    encoder : Encoder
    numbers : mapping or None
        The number of each given label.
    """

    roles: Roles
    encoder: Encoder
    numbers: Mapping[Any, int] | None = None

    def __call__(self, part: Part) -> EncodedRows:
        """Return the rows of a part that count, encoded."""
        rows, weight = self.roles.counted(part), self.roles.weights(part)
        table = part.select(self.roles.columns)
        column = self.roles.given_labels(part)
        given = None if column is None else column.values
        if rows is not None:
            table = table.take(rows)
            weight = None if weight is None else weight[rows]
            given = None if given is None else given[rows]
        labels = None
        if given is not None and self.numbers is not None:
            labels = np.fromiter((self.numbers[label] for label in given.tolist()), np.int32, len(given))
        table = self.encoder.impute(table)
        matrix = self.encoder.encode_imputed(table, table.matrix)
        return EncodedRows(*self.encoder.spaces(matrix), weight, table=table, matrix=matrix, labels=labels)


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Reads the clustered columns, as they are, of the rows of a part that count.

    Parameters
    ----------
    encode : RowEncoder
        Of an encoder that is `unscaled`.
    """

    encode: RowEncoder

    @classmethod
    def of(cls, roles: Roles, encoder: Encoder) -> RawColumns:
        """Return the reader of the clustered columns of an encoder."""
        return cls(RowEncoder(roles, encoder.unscaled))

    def __call__(self, part: Part) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Return the columns and the weights of the rows."""
        rows = self.encode(part)
        return rows.X_cluster, rows.weight

    def ends(self, head: Table) -> NDArray[Any]:
        """Return the smallest and the largest number of each column, if the table has them."""
        encoder = self.encode.encoder
        X = encoder.spaces(encoder.encode_imputed(head))[1]
        return np.array(column_ranges(X), dtype=X.dtype)
