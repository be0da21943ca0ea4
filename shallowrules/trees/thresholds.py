"""A value that a person can read for each gap that the tree cuts through.

Every value of the gap ``[lower, upper)`` splits the training rows alike, so the choice is free and favors the reader:
the fewest significant digits (100 rather than 97, 0.05 rather than 0.047), but from the middle half of the gap, so that
new rows close to either side keep their distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

__all__ = ["readable_threshold", "rounder_thresholds", "significant_digits"]

MAX_WHOLE = 2.0**53
"""Beyond this number, not every whole number is a float."""


def readable_threshold(lower: float, upper: float, *, integer: bool = False) -> int | float:
    """Return the roundest threshold t with ``lower <= t < upper``.

    The candidates are the decimals in the middle half of the gap, both its ends included. Zero wins if it is among
    them; otherwise the decimal with the fewest significant digits; among those the one nearest to the middle, then the
    one with more trailing zeros or fewer decimal places, then the lower.

    Parameters
    ----------
    lower, upper : float
        The largest value that goes left and the smallest that goes right. Finite; whole numbers,
        of any size, for an integer column.
    integer : bool
        Whether the column holds whole numbers, so that its threshold must be one too.

    Returns
    -------
    int or float
        An int for an integer column, `lower` itself where the gap is one wide (of 3 and 4, 3).
        Otherwise a float strictly inside the gap whose ``repr`` shows the few digits; `lower`
        where no float lies there. Never the negative zero.

    Raises
    ------
    ValueError
        If the gap is empty or not finite, or not between whole numbers in an integer column.

    Examples
    --------
    >>> readable_threshold(12.7, 12.9)
    12.8
    >>> readable_threshold(93, 106, integer=True)
    100
    """
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ValueError(f"[{lower}, {upper}) is not a gap between two finite values")
    if integer:
        if lower != int(lower) or upper != int(upper):
            raise ValueError(f"[{lower}, {upper}) is not a gap between whole numbers")
        lower, upper = int(lower), int(upper)
    else:
        lower, upper = float(lower), float(upper)

    if upper - lower == 1 if integer else math.nextafter(lower, math.inf) >= upper:
        return lower + 0  # turns -0.0 into 0.0
    # Whole numbers over one denominator, because the middle of two floats need not be a float, nor its sum finite.
    half = _MiddleHalf.between(lower, upper)
    if half.low <= 0 <= half.high:
        return 0 if integer else 0.0

    # The search ends: rounded to a float, the middle is strictly inside the gap, and so is a decimal of 17 digits next
    # to it.
    digits = 0
    while True:
        digits += 1
        found = []
        for decimal in half.decimals(digits):
            if integer and decimal.exponent < 0:
                continue
            value = decimal.value(integer=integer)
            # A decimal inside the gap may round to a float on its border.
            if lower <= value < upper and (integer or value != lower):
                found.append((half.distance(decimal), -decimal.exponent, value))
        if found:
            return min(found)[-1]


def significant_digits(value: int | float) -> int:
    """Return the significant digits of a number as Python prints it, without trailing zeros; 1 for zero.

    Examples
    --------
    >>> [significant_digits(value) for value in (750, 0.05, 13.2, 0)]
    [2, 1, 3, 1]
    """
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def rounder_thresholds(lower: float, upper: float, *, integer: bool = False) -> list[int | float]:
    """Return values near a gap that have fewer significant digits than its readable threshold.

    For each number of digits, the two nearest to the middle of the gap, one on either side of it. They may lie outside
    the gap, and then they separate the rows in another way.

    Parameters
    ----------
    lower, upper, integer
        As for `readable_threshold`.

    Returns
    -------
    list of int or float
        Ascending; ints for an integer column.

    Examples
    --------
    >>> rounder_thresholds(754, 757, integer=True)
    [0, 700, 750, 760, 800, 1000]
    """
    most = significant_digits(readable_threshold(lower, upper, integer=integer))
    if most == 1:
        return []
    middle = (Fraction(lower) + Fraction(upper)) / 2
    magnitude = _magnitude(abs(middle.numerator), middle.denominator)
    found = set()
    for exponent in range(magnitude - most + 2, magnitude + 2):
        step = Fraction(10) ** exponent
        below = math.floor(middle / step)
        for decimal in (below * step, (below + 1) * step):
            if integer and exponent < 0:
                continue
            try:
                value = int(decimal) if integer else float(decimal) + 0.0
            except OverflowError:
                continue
            if significant_digits(value) < most and not (integer and abs(value) > MAX_WHOLE):
                found.add(value)
    return sorted(found)


@dataclass(frozen=True)
class _Decimal:
    """A whole multiple of a power of ten."""

    multiple: int
    exponent: int

    def value(self, *, integer: bool) -> int | float:
        """Return the number, an int or the nearest float."""
        if self.exponent >= 0:
            whole: int = self.multiple * 10**self.exponent
            return whole if integer else float(whole)
        return self.multiple / int(10**-self.exponent)  # Python divides integers with one rounding


@dataclass(frozen=True)
class _MiddleHalf:
    """The middle half of a gap, its middle and its ends as whole numbers over one denominator."""

    low: int
    middle: int
    high: int
    denominator: int

    @classmethod
    def between(cls, lower: float, upper: float) -> _MiddleHalf:
        """Return the middle half of the gap between two numbers."""
        (a, below), (b, above) = lower.as_integer_ratio(), upper.as_integer_ratio()
        denominator = max(below, above)  # both are powers of two
        a, b = a * (denominator // below), b * (denominator // above)
        return cls(3 * a + b, 2 * (a + b), a + 3 * b, 4 * denominator)

    @cached_property
    def magnitudes(self) -> tuple[int, int]:
        """The exponents e with ``10**e <= value < 10**(e + 1)`` of its smallest and its largest absolute value."""
        smallest, largest = sorted((abs(self.low), abs(self.high)))
        return _magnitude(smallest, self.denominator), _magnitude(largest, self.denominator)

    def decimals(self, digits: int) -> Iterator[_Decimal]:
        """Yield the decimals with this many significant digits, all used, that can be nearest to the middle.

        The range does not hold 0.
        """
        sign = 1 if self.low > 0 else -1
        smallest, largest = sorted((abs(self.low), abs(self.high)))
        for exponent in range(self.magnitudes[0] - digits + 1, self.magnitudes[1] - digits + 2):
            up, down = 10 ** max(-exponent, 0), self.denominator * 10 ** max(exponent, 0)
            first = max(-(-smallest * up // down), 10 ** (digits - 1))
            last = min(largest * up // down, 10**digits - 1)
            below = abs(self.middle) * up // down
            for multiple in {max(below, first), min(below + 1, last)}:
                if first <= multiple <= last:
                    yield _Decimal(sign * multiple, exponent)

    def distance(self, decimal: _Decimal) -> Fraction:
        """Return how far a decimal is from the middle."""
        up, down = 10 ** max(-decimal.exponent, 0), 10 ** max(decimal.exponent, 0)
        return Fraction(abs(decimal.multiple * down * self.denominator - self.middle * up), self.denominator * up)


def _magnitude(numerator: int, denominator: int) -> int:
    """Return the e with ``10**e <= numerator / denominator < 10**(e + 1)``."""
    e = len(str(numerator)) - len(str(denominator))
    return e if numerator * 10 ** max(-e, 0) >= denominator * 10 ** max(e, 0) else e - 1
