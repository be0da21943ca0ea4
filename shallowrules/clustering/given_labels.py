"""Given labels as numbers, which a tree explains in place of a clustering of the package."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shallowrules.errors import DataError, ShallowRulesWarning
from shallowrules.tables.labels import NO_CLUSTER, NOISE, is_label, next_free, whole_numbers

__all__ = ["UNLABELLED", "Labelling", "classes_of_labels", "label_notes"]

UNLABELLED = -1
"""The label of a row in no cluster: noise, or a row without a given label."""


@dataclass(frozen=True, eq=False)
class Labelling:
    """Given labels as numbers.

    Parameters
    ----------
    labels : ndarray of int32, shape (n_rows,)
        From 0 on, in the order of the given labels; `UNLABELLED` where a row has no label.
    names : tuple of str
        The given label of each number.
    numbers : tuple of int, or None
        The same where the given labels are whole numbers.
    noise : bool
        Whether the last label marks noise.
    """

    labels: NDArray[np.int32]
    names: tuple[str, ...]
    numbers: tuple[int, ...] | None = None
    noise: bool = False

    @classmethod
    def of(cls, values: NDArray[Any], absent: NDArray[np.bool_]) -> Labelling:
        """Return labels as numbers: numbers in their own order, others in that of their texts.

        Parameters
        ----------
        values : ndarray, shape (n_rows,)
            Numbers, or objects.
        absent : ndarray of bool, shape (n_rows,)
            Whether a row has no label.

        Raises
        ------
        DataError
            If no row has a label, or two different labels have the same text, such as 1 and "1".
        """
        if absent.all():
            raise DataError("no row has a label, so there is no clustering to explain")
        present = values[~absent]
        labels = np.full(len(values), UNLABELLED, dtype=np.int32)
        if present.dtype.kind == "O" and whole_numbers(present) is None:
            names, labels[~absent] = _by_text(present)
            return cls(labels, names)
        known, labels[~absent] = np.unique(present, return_inverse=True)
        # They may be floats, as beside missing values in a pandas column.
        numbers = whole_numbers(known.tolist())
        return cls(labels, tuple(map(str, known if numbers is None else numbers)), numbers)

    def with_noise(self) -> Labelling:
        """Return the labels with -1 as noise: the last one, of the next free number; as they are if none is -1."""
        if self.numbers is None or UNLABELLED not in self.numbers:
            return self
        at = self.numbers.index(UNLABELLED)
        order = [i for i in range(len(self.names)) if i != at]
        place = np.full(len(self.names) + 1, UNLABELLED, dtype=np.int32)  # the last entry, index -1, stays so
        place[[*order, at]] = np.arange(len(self.names))
        names, numbers = (self.names[i] for i in order), [self.numbers[i] for i in order]
        return Labelling(place[self.labels], (*names, NOISE), (*numbers, next_free(numbers)), noise=True)


def _by_text(values: NDArray[Any]) -> tuple[tuple[str, ...], list[int]]:
    """Return the texts of values, ascending, and the position among them of each value's."""
    texts = [str(value) for value in values]  # in a list: NumPy's own texts lose a NUL at their end
    first: dict[str, Any] = {}
    for text, value in zip(texts, values, strict=True):
        other = first.setdefault(text, value)
        if other is not value and other != value:
            kinds = sorted(type(label).__name__ for label in (other, value))
            raise DataError(
                f"two different labels are both called {text!r} (types {' and '.join(kinds)}): give labels of one type"
            )
    names = tuple(sorted(first))
    place = {name: i for i, name in enumerate(names)}
    return names, [place[text] for text in texts]


def label_notes(names: Sequence[str], absent: int, n_rows: int) -> tuple[str, ...]:
    """Return the notes on given labels, which `absent` of the rows lack."""
    notes = []
    if absent:
        notes.append(f"excluded from fitting: {absent:,} of {n_rows:,} rows, without a given label")
    others = [name for name in names if name != str(UNLABELLED)]  # of a labelling with noise, no name is -1
    if len(others) == len(names) - 1 and others == [str(i) for i in range(len(others))]:
        notes.append(
            "the label -1 is explained as a cluster like any other; if it marks noise, leave it empty, or have it "
            "explained as noise"
        )
    return tuple(notes)


def classes_of_labels(numbers: Sequence[int] | None, k: int) -> tuple[int, ...]:
    """Return a number for each given label: its own in `numbers` if these are whole."""
    if numbers is None:
        return tuple(range(k))
    if all(map(is_label, numbers)):
        return tuple(numbers)
    why = f"contain {NO_CLUSTER}, which marks rows without a cluster" if NO_CLUSTER in numbers else "go beyond 64 bits"
    warnings.warn(
        f"the given labels {why}: the clusters are numbered from 0 to {k - 1} instead, in the order of the labels, "
        "which are kept as their names",
        ShallowRulesWarning,
        stacklevel=2,
    )
    return tuple(range(k))
