"""Columns as a dataframe of pandas, Polars or Arrow, whichever the user has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw

from shallowrules.errors import MissingExtraError, OptionError

__all__ = ["BACKENDS", "UTC_TIME", "make_frame"]

BACKENDS = ("pandas", "polars", "pyarrow")
"""The libraries whose frames are made, as narwhals names them."""

UTC_TIME = nw.Datetime("us", "UTC")
"""The type of points in time with a zone, whose values are given as those without one, in UTC."""


def make_frame(data: Mapping[str, Any], backend: Any, schema: Mapping[str, nw.dtypes.DType] | None = None) -> Any:
    """Return columns as a frame.

    Parameters
    ----------
    data : mapping from str to list or ndarray
        The values of each column, None where one is missing.
    backend : {"pandas", "polars", "pyarrow"}, or one of these modules
    schema : mapping from str to a type of narwhals, optional
        The type of each column; by default it is that of its values.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        In pandas a column of lists holds objects, one of dates is datetime64, and one of integers is Int64 where a
        value is missing.

    Raises
    ------
    OptionError
        If it is none of these backends.
    MissingExtraError
        If it is not installed.
    """
    library: Any = nw.Implementation.from_backend(backend)
    name = library.value
    if name not in BACKENDS:
        raise OptionError(f"unknown backend {backend!r}; use one of: {', '.join(BACKENDS)}")
    try:
        module = library.to_native_namespace()
    except ImportError:
        raise MissingExtraError(f"a frame of {name}", name) from None
    values, types = dict(data), dict[str, nw.dtypes.DType | None](schema or {})
    for column, dtype in (schema or {}).items():
        if dtype == UTC_TIME:
            types[column] = nw.Datetime("us")
        if name != "pandas":
            continue
        if dtype == nw.Date:
            types[column] = nw.Datetime("us")
        elif dtype in (nw.List, nw.String):  # only Arrow has lists, and pandas 2 casts None to "None"
            types[column] = None
        elif dtype == nw.Int64 and None in values[column]:
            values[column], types[column] = module.array(values[column], dtype="Int64"), None
    frame = nw.from_dict(values, types or None, backend=library)
    zoned = [nw.col(name).dt.replace_time_zone("UTC") for name, dtype in (schema or {}).items() if dtype == UTC_TIME]
    return frame.with_columns(*zoned).to_native()
