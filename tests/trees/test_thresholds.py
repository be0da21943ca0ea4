"""Thresholds: in the gap, round, and no rounder one passed over."""

from __future__ import annotations

import itertools
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shallowrules.trees.thresholds import readable_threshold

TINY = 5e-324


@st.composite
def gaps(draw: st.DrawFn) -> tuple[float, float]:
    """Any two floats, two that are a few steps apart, or two decimals as tables have them."""
    kind = draw(st.sampled_from(["any", "near", "decimals"]))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    if kind == "decimals":
        places = draw(st.integers(0, 6))
        a, b = (draw(st.integers(-(10**6), 10**6)) / 10**places for _ in range(2))
    else:
        a = draw(finite)
        b = draw(finite)
        if kind == "near":
            b = a
            for _ in range(draw(st.integers(1, 9))):
                b = math.nextafter(b, math.inf)
    assume(a != b and math.isfinite(b))
    return min(a, b), max(a, b)


def digits_of(value: float) -> int:
    """Return the significant digits that the shortest form of a number shows."""
    return len(Decimal(repr(value)).normalize().as_tuple().digits) if value else 0


def middle_half(lower: float, upper: float) -> tuple[Fraction, Fraction]:
    quarter = (Fraction(upper) - Fraction(lower)) / 4
    return Fraction(lower) + quarter, Fraction(upper) - quarter


def has_decimal(low: Fraction, high: Fraction, digits: int) -> bool:
    """Whether a decimal of at most `digits` significant digits lies in the closed interval."""
    if low <= 0 <= high:
        return True
    for exponent in range(-345, 310):
        step = Fraction(10) ** exponent
        multiple = math.ceil(low / step) if low > 0 else math.floor(high / step)
        if low <= multiple * step <= high and abs(multiple) < 10**digits:
            return True
    return False


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (3, 4, 3.5),
        (12.7, 12.9, 12.8),
        (0, 10, 5.0),
        (0.04, 0.06, 0.05),
        (0.0466, 0.0532, 0.05),
        (93.4, 106.2, 100.0),
        (1e-7, 2e-7, 1.5e-7),
        (0.1, 0.30000000000000004, 0.2),
        (2.0, 2.1, 2.05),
        (-4, -3, -3.5),
        (-12.9, -12.7, -12.8),
        (-1, 1.5, 0.0),
        (-1, 3, 0.0),  # 0 on the border of the middle half
        (-1, 3.0001, 1.0),
        (4, 20, 10.0),  # nearer to the middle, but two digits: 12
        (7, 12, 10.0),  # as near as 9, but rounder
        (0, 3, 1.0),  # as near as 2
        (1e-300, 1e300, 5e299),
        (-1e308, 1e308, 0.0),
        (-1e308, 1.7e308, 0.0),
        (1e308, 1.7e308, 1.3e308),
        (-sys.float_info.max, sys.float_info.max, 0.0),
        (1e-310, 9e-310, 5e-310),
    ],
)
def test_the_roundest_decimal_of_the_middle_half(lower, upper, expected):
    threshold = readable_threshold(lower, upper)
    assert threshold == expected
    assert isinstance(threshold, float)
    assert repr(threshold) != "-0.0"


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (3, 4, 3),
        (3, 5, 4),
        (3, 6, 4),
        (-1, 0, -1),
        (0, 1, 0),
        (-3, -1, -2),
        (-5, 5, 0),
        (93, 106, 100),
        (0, 1000, 500),
        (1899, 2010, 1950),
        (2**53, 2**53 + 2, 2**53 + 1),
        (2**53 + 2, 2**53 + 4, 2**53 + 3),
        (10**18, 10**18 + 2**20, 10**18 + 500_000),
    ],
)
def test_whole_numbers_for_integer_columns(lower, upper, expected):
    for kind in (int, float):
        threshold = readable_threshold(kind(lower), kind(upper), integer=True)
        assert threshold == expected
        assert isinstance(threshold, int)


@pytest.mark.parametrize("lower", [1.0, 0.1, -0.1, 0.0, -0.0, -TINY, 1e300, -1e-300])
def test_between_two_neighbouring_floats_there_is_only_the_lower(lower):
    threshold = readable_threshold(lower, math.nextafter(lower, math.inf))
    assert repr(threshold) == repr(lower + 0.0)


def test_the_one_float_between_two_others_is_found():
    for middle in (1.0, 2.0, 0.1, -1 / 3, 1e23, TINY, -TINY, 2.0**-1022):
        below, above = math.nextafter(middle, -math.inf), math.nextafter(middle, math.inf)
        assert readable_threshold(below, above) == middle


@given(gaps())
@example((-TINY, TINY))
@example((0.0, 3 * TINY))
@example((1 - 2**-53, 1 + 2**-52))
@example((2.0**54, 2.0**54 + 8))  # 2**54 + 6 ends in a zero, and rounds to the upper end
def test_a_threshold_parts_the_gap_and_lies_strictly_inside_if_any_float_does(gap):
    lower, upper = gap
    threshold = readable_threshold(lower, upper)
    assert isinstance(threshold, float)
    assert lower <= threshold < upper
    assert (threshold == lower) == (math.nextafter(lower, math.inf) == upper)
    assert not (threshold == 0 and math.copysign(1, threshold) < 0)


@given(gaps())
def test_a_threshold_is_in_the_middle_half_but_for_a_rounding(gap):
    lower, upper = gap
    assume(math.nextafter(lower, math.inf) < upper)
    threshold = readable_threshold(lower, upper)
    low, high = middle_half(lower, upper)
    assert math.nextafter(threshold, math.inf) >= low
    assert math.nextafter(threshold, -math.inf) <= high


@given(gaps())
def test_no_decimal_of_the_middle_half_has_fewer_digits(gap):
    lower, upper = gap
    assume(math.nextafter(lower, math.inf) < upper)
    threshold = readable_threshold(lower, upper)
    digits = digits_of(threshold)
    low, high = middle_half(lower, upper)
    # Unless rounding it to a float would leave the gap: then no float shows so few digits there.
    wide = upper - lower > 4 * math.ulp(max(abs(lower), abs(upper)))
    assert has_decimal(low, high, digits) or not wide
    if digits > 1:
        assert not has_decimal(low, high, digits - 1) or not wide
    if digits == 1:
        assert not low <= 0 <= high


@given(st.integers(-400, 400), st.integers(1, 60), st.integers(0, 3))
def test_it_is_the_best_of_all_decimals_written_out(start, width, places):
    lower, upper = start / 10**places, (start + width) / 10**places
    low, high = middle_half(lower, upper)
    middle = (low + high) / 2
    step = 10 ** (places + 2)
    candidates = [Fraction(i, step) for i in range(math.ceil(low * step), math.floor(high * step) + 1)]

    def rank(value: Fraction) -> tuple[object, ...]:
        shown = Decimal(value.numerator) / Decimal(value.denominator)
        exponent = shown.normalize().as_tuple().exponent
        return len(shown.normalize().as_tuple().digits) if value else 0, abs(value - middle), -exponent, value

    assert readable_threshold(lower, upper) == float(min(candidates, key=rank))


@given(st.integers(), st.integers(1, 10**6) | st.integers(1))
def test_integer_thresholds_part_whole_numbers_and_their_floats_alike(lower, width):
    lower, upper = float(lower), float(lower + width)
    assume(lower < upper)
    threshold = readable_threshold(lower, upper, integer=True)
    assert isinstance(threshold, int)
    assert lower <= threshold < upper
    assert lower <= float(threshold) < upper


@given(st.integers(-(2**70), 2**70), st.integers(1, 300) | st.integers(1, 2**70))
@example(2**53 + 1, 1)
@example(2**53 + 1, 2)
@example(2**63 - 2, 1)
def test_whole_numbers_beyond_the_floats_keep_their_neighbours(lower, width):
    threshold = readable_threshold(lower, lower + width, integer=True)
    assert lower <= threshold < lower + width


@given(st.integers(-(10**6), 10**6), st.integers(2, 10**5))
def test_no_whole_number_of_the_middle_half_is_rounder(lower, width):
    low, high = middle_half(lower, lower + width)
    candidates = range(math.ceil(low), math.floor(high) + 1)
    trailing = {len(str(abs(value)).rstrip("0")) for value in candidates}
    threshold = readable_threshold(lower, lower + width, integer=True)
    assert threshold in candidates
    assert len(str(abs(threshold)).rstrip("0")) == min(trailing)


@given(gaps())
def test_a_mirrored_gap_has_a_threshold_with_as_many_digits(gap):
    lower, upper = gap
    assume(math.nextafter(lower, math.inf) < upper)
    assert digits_of(readable_threshold(lower, upper)) == digits_of(readable_threshold(-upper, -lower))


def test_numpy_numbers_are_taken():
    assert readable_threshold(np.float64(3), np.float64(4)) == 3.5
    assert type(readable_threshold(np.float64(3), np.nextafter(3.0, 4))) is float
    assert type(readable_threshold(np.float32(3), np.float32(4))) is float
    assert type(readable_threshold(np.int64(3), np.int64(9), integer=True)) is int


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1, 1), (2, 1), *itertools.permutations((math.nan, 1.0)), (-math.inf, 1), (1, math.inf)],
)
def test_what_is_no_gap_is_refused(lower, upper):
    with pytest.raises(ValueError, match="not a gap between two finite"):
        readable_threshold(lower, upper)


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 2), (0, 1.5)])
def test_fractions_in_an_integer_column_are_refused(lower, upper):
    with pytest.raises(ValueError, match="whole numbers"):
        readable_threshold(lower, upper, integer=True)
