"""A threshold keeps to its gap, is as short as one in the middle half can be, and is what its repr says."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shallowrules.thresholds import readable_threshold

finite = st.floats(allow_nan=False, allow_infinity=False)
# What tables hold: few decimals, so that gaps are wide compared to the floats in them.
decimals = st.builds(lambda whole, places: whole / 10**places, st.integers(-(10**6), 10**6), st.integers(0, 6))
whole = st.integers(-50, 50) | st.integers(-(10**6), 10**6) | st.integers(-(2**53), 2**53)
huge = st.integers(-(2**63), 2**63 - 1)


@st.composite
def gaps(draw, values):
    """A gap between two of the values, or between one and a float that is near."""
    lower = draw(values)
    if draw(st.booleans()):
        upper = draw(values)
    else:
        upper = lower
        for _ in range(draw(st.integers(1, 5))):
            upper = math.nextafter(upper, math.inf)
    assume(lower != upper and math.isfinite(upper))
    return min(lower, upper), max(lower, upper)


def significant_digits(value):
    """Return the digits that a person has to read, without the zeros on either side."""
    digits = f"{value:d}" if isinstance(value, int) else repr(value).split("e")[0]
    return len(digits.lstrip("-").replace(".", "").strip("0"))


def middle_half(lower, upper):
    a, b = Fraction(lower), Fraction(upper)
    return a + (b - a) / 4, b - (b - a) / 4


def has_decimal(low, high, digits, lower, upper):
    """Say whether some decimal of at most so many digits is in [low, high] and a float inside (lower, upper)."""
    if low <= 0 <= high:
        return True
    if high < 0:
        low, high, lower, upper = -high, -low, -upper, -lower
    # From one unit per digit up: a decimal in the range is a multiple of one of these steps.
    for exponent in range(math.floor(math.log10(low)) - digits - 1, math.ceil(math.log10(high)) + 2):
        step = Fraction(10) ** exponent
        first = math.ceil(low / step)
        for multiple in range(first, first + 3):
            if multiple * step <= high and multiple < 10**digits and lower < float(multiple * step) < upper:
                return True
    return False


@given(gaps(finite) | gaps(decimals))
@example((-5e-324, 5e-324))
@example((0.0, 5e-324))
@example((5e-324, 1.5e-323))
@example((-sys.float_info.max, sys.float_info.max))
@example((math.nextafter(sys.float_info.max, 0), sys.float_info.max))
@example((-0.0, 1e-300))
@example((-1.0, -0.0))
def test_strictly_inside_the_gap(gap):
    lower, upper = gap
    value = readable_threshold(lower, upper)
    assert type(value) is float
    assert lower <= value < upper
    assert (value == lower) == (math.nextafter(lower, math.inf) >= upper)
    assert value != 0 or math.copysign(1, value) == 1


@given(gaps(finite) | gaps(decimals))
def test_in_the_middle_half_but_for_a_rounding(gap):
    lower, upper = gap
    value = readable_threshold(lower, upper)
    if value == lower:
        return
    low, high = middle_half(lower, upper)
    # The decimal meant is in the middle half; the float may be its neighbour outside.
    assert math.nextafter(value, math.inf) >= low
    assert math.nextafter(value, -math.inf) <= high


# Logarithms of subnormals and of sums beyond the largest float are not for the plain search below.
@given(gaps(decimals) | gaps(st.floats(-1e15, 1e15, allow_subnormal=False)))
def test_no_shorter_decimal_in_the_middle_half(gap):
    lower, upper = gap
    value = readable_threshold(lower, upper)
    if value == lower:
        return
    low, high = middle_half(lower, upper)
    if value == 0:
        assert low <= 0 <= high
        return
    assert low > 0 or high < 0, "zero is the shortest of all"
    assume(min(abs(low), abs(high)) > Fraction(1, 10**300))
    digits = significant_digits(value)
    assert digits <= 17
    assert digits == 1 or not has_decimal(low, high, digits - 1, lower, upper)


@given(gaps(decimals))
def test_few_decimals_give_a_short_repr(gap):
    # Gaps of values with six decimals: no threshold needs more than two digits more than they.
    lower, upper = gap
    assume(upper - lower > 1e-7)
    assert significant_digits(readable_threshold(lower, upper)) <= 14


@given(gaps(decimals))
def test_mirrored_gaps_have_thresholds_as_short(gap):
    lower, upper = gap
    here, there = readable_threshold(lower, upper), readable_threshold(-upper, -lower)
    if here != lower and there != -upper:
        assert significant_digits(here) == significant_digits(there)


@given(whole, whole)
@example(3, 4)
@example(-1, 1)
@example(-1, 0)
@example(0, 1)
@example(-(2**53), 2**53)
@example(-100, -93)
def test_integers_get_the_roundest_integer(lower, upper):
    assume(lower != upper)
    lower, upper = min(lower, upper), max(lower, upper)
    value = readable_threshold(lower, upper, integer=True)
    assert type(value) is int
    assert lower <= value < upper
    if upper - lower > 1:
        assert lower < value
    low, high = middle_half(lower, upper)
    if upper - lower <= 2000 and upper - lower > 2:
        candidates = range(math.ceil(low), math.floor(high) + 1)
        assert value in candidates
        assert significant_digits(value) == min(map(significant_digits, candidates))


@given(whole, whole)
def test_integers_as_floats_are_the_same(lower, upper):
    assume(lower != upper)
    lower, upper = min(lower, upper), max(lower, upper)
    value = readable_threshold(float(lower), float(upper), integer=True)
    assert type(value) is int
    assert value == readable_threshold(lower, upper, integer=True)


@given(huge, huge)
@example(2**53 + 1, 2**53 + 2)
@example(2**53 + 1, 2**53 + 3)
@example(2**63 - 2, 2**63 - 1)
@example(-(2**63), 2**63 - 1)
def test_integers_that_no_float_holds(lower, upper):
    assume(lower != upper)
    lower, upper = min(lower, upper), max(lower, upper)
    value = readable_threshold(lower, upper, integer=True)
    assert type(value) is int
    assert lower <= value < upper


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (12.7, 12.9, 12.8),
        (93.0, 106.0, 100.0),
        (0.046, 0.053, 0.05),
        (-0.053, -0.046, -0.05),
        (-3.0, 5.0, 0.0),
        (-0.0, 1.0, 0.5),
        (1.0, 2.0, 1.5),
        (0.1, 0.2, 0.15),
        (1e22, 3e22, 2e22),
        (1e-310, 3e-310, 2e-310),
        (1.0, math.nextafter(1.0, 2), 1.0),
        (-0.0, 5e-324, 0.0),
        (-5e-324, 0.0, -5e-324),
        (-1e308, 1.7e308, 0.0),
        (1e307, 1.7e308, 9e307),
        (25.0, 65.0, 40.0),  # 40 and 50 are as near to the middle: the lower
        (8.5, 10.5, 10.0),  # 9 and 10 are as near to the middle: the rounder
    ],
)
def test_examples(lower, upper, expected):
    value = readable_threshold(lower, upper)
    assert repr(value) == repr(expected)


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [(93, 106, 100), (3, 4, 3), (3, 5, 4), (-1, 1, 0), (-1, 0, -1), (-2, 0, -1), (1890, 1911, 1900), (0, 10, 5)],
)
def test_examples_of_integers(lower, upper, expected):
    value = readable_threshold(lower, upper, integer=True)
    assert type(value) is int
    assert value == expected


def test_a_decimal_on_the_border_of_the_gap_is_not_inside():
    # Of a gap with one float inside, that float is the only threshold that is neither side's value.
    lower = 0.1
    middle = math.nextafter(lower, 1)
    assert readable_threshold(lower, math.nextafter(middle, 1)) == middle


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1.0, 1.0), (2.0, 1.0), (0.0, -0.0), (math.nan, 1.0), (0.0, math.nan), (-math.inf, 0.0), (0.0, math.inf)],
)
def test_what_is_no_gap(lower, upper):
    with pytest.raises(ValueError, match="is not a gap between two finite values"):
        readable_threshold(lower, upper)


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 1), (0, 1.5)])
def test_an_integer_column_has_whole_numbers(lower, upper):
    with pytest.raises(ValueError, match="is not a gap between whole numbers"):
        readable_threshold(lower, upper, integer=True)


def test_numpy_scalars_give_plain_numbers():
    assert type(readable_threshold(np.float64(1), np.float64(2))) is float
    assert type(readable_threshold(np.float32(1), np.float32(2))) is float
    assert type(readable_threshold(np.int64(1), np.int64(5), integer=True)) is int
