"""The distinct whole numbers of columns that doubles round, for the codes of a table in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.encoding import Encoder
from shallowrules.encoding.roles import Roles
from shallowrules.encoding.rows import RowEncoder
from shallowrules.errors import DataError
from shallowrules.partitions import Part, Partitions

__all__ = ["MAX_DISTINCT", "with_all_codes"]

MAX_DISTINCT = 1 << 24
"""Maximum number of distinct numbers of a column of codes: all of them are held in memory, 128 MiB."""


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct numbers of some columns, ascending, by the name of the column."""

    values: Mapping[str, NDArray[Any]]

    def __post_init__(self) -> None:
        for name, values in self.values.items():
            if len(values) > MAX_DISTINCT:
                raise DataError(
                    f"column {name!r} holds more than {MAX_DISTINCT:,} distinct whole numbers of 2**53 and more, which "
                    "are too many for a table in parts; exclude it, or divide it by a constant"
                )

    def merged(self, other: _Distinct) -> _Distinct:
        """Return the numbers of both parts."""
        return _Distinct({name: np.union1d(some, other.values[name]) for name, some in self.values.items()})


def with_all_codes(parts: Partitions, roles: Roles, encoder: Encoder) -> Encoder:
    """Return an encoder whose columns of codes know the numbers of all rows that count.

    Raises
    ------
    DataError
        If a column has more than `MAX_DISTINCT` of them.
    """
    coded = [column.source for column in encoder.columns if column.kind == "code"]
    if not coded:
        return encoder
    names = {source: roles.columns[source] for source in coded}
    found = parts.map_reduce(_distinct_part, (RowEncoder(roles, encoder), tuple(names.values()))).values
    columns = (replace(c, bounds=found[names[c.source]]) if c.kind == "code" else c for c in encoder.columns)
    return replace(encoder, columns=tuple(columns))


def _distinct_part(part: Part, state: tuple[RowEncoder, Sequence[str]]) -> _Distinct:
    encode, names = state
    table = encode(part).table
    return _Distinct({name: np.unique(table[name].values) for name in names})
