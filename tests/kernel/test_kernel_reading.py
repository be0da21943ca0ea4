"""The kernel's reading of the bytes of a CSV file and of Python's numbers, against plain code that does the same."""

import itertools
import math
import re
from decimal import Decimal

import numpy as np
import pytest
from draws import few
from hypothesis import given
from hypothesis import strategies as st

from shallowrules._kernel import ByteScan, numbers_of

FACTS = ("regular", "quoted", "delimiters", "lines", "blank_lines", "odd_numbers", "whole_numbers")
PIECES = [b"a", *(bytes([byte]) for byte in b'1,;"_+- \n\r\0'), b"\r\n", b"\xc3\xa9", b"\x80", b"\xff"]


def plain_facts(content: bytes, delimiter: bytes, single: bool) -> dict[str, object]:
    """Return the results that the compiled scan should have, found by patterns and a walk along the quotes."""
    inside, outside, regular = False, bytearray(), True
    for i, byte in enumerate(content):
        before = content[i - 1 : i] or b"\n"
        after = content[i + 1 : i + 2] or b"\n"
        if byte == ord('"'):
            regular &= (after in (delimiter, b"\n", b"\r", b'"')) if inside else (before in (delimiter, b"\n", b'"'))
            inside = not inside
        elif not inside:
            outside.append(byte)
    returns, newlines, pairs = (content.count(end) for end in (b"\r", b"\n", b"\r\n"))
    body = content.partition(b"\n")[2]
    return {
        "regular": regular and not inside and (not returns or returns == newlines == pairs),
        "quoted": b'"' in content,
        "delimiters": outside.count(delimiter),
        "lines": outside.count(b"\n") + (content[-1:] not in (b"", b"\n")),
        "blank_lines": single and re.search(rb"\n\r?\n", b"\n" + content) is not None,
        "odd_numbers": re.search(rb"_[0-9]|\+-", content) is not None,
        "whole_numbers": not body.translate(None, b'0123456789+- "\r\n' + delimiter),
    }


def scanned(pieces: list[bytes], delimiter: bytes, single: bool) -> dict[str, object]:
    scan = ByteScan(ord(delimiter), single)
    for piece in pieces:
        scan.feed(piece)
    return {fact: getattr(scan, fact) for fact in FACTS}


def test_every_short_file() -> None:
    for length in range(6):
        for pieces in itertools.product((b"a", b"1", b",", b'"', b" ", b"\n", b"\r"), repeat=length):
            content = b"".join(pieces)
            assert scanned([content], b",", True) == plain_facts(content, b",", True), content


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([1, 1, 1, 2, 15, 16, 17, 40, 300])), max_size=12),
    st.sampled_from([b",", b";", b"_", b" ", b"+"]),
    st.booleans(),
    st.lists(st.integers(0, 600), max_size=6),
)
def test_files_in_any_pieces(runs: list[tuple[bytes, int]], delimiter: bytes, single: bool, cuts: list[int]) -> None:
    content = b"".join(piece * count for piece, count in runs)
    places = [0, *sorted(cuts), len(content)]
    pieces = [content[start:end] for start, end in itertools.pairwise(places)]
    assert scanned(pieces, delimiter, single) == plain_facts(content, delimiter, single)


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([1, 1, 1, 2, 15, 16, 17, 40, 300])), max_size=12),
    st.sampled_from([b",", b";", b"_", b" ", b"+"]),
    st.booleans(),
    st.lists(st.integers(2, 600), max_size=3, unique=True),
)
def test_parts_that_are_scanned_apart(
    runs: list[tuple[bytes, int]], delimiter: bytes, single: bool, cuts: list[int]
) -> None:
    content = b"c1\n" + b"".join(piece * count for piece, count in runs)
    edges = [0, *sorted(cut for cut in cuts if cut < len(content)), len(content)]
    parts = [content[start:end] for start, end in itertools.pairwise(edges)]
    scan = ByteScan(ord(delimiter), single)
    scan.feed(parts[0])
    for start, part in zip(edges[1:], parts[1:], strict=False):
        following = ByteScan(ord(delimiter), single)
        following.begin_behind(content[start - 2 : start])
        following.feed(part)
        taken = scan.add(following)
        assert taken == (b'"' not in content[:start] and b"\n" in content[:start])
        if not taken:
            scan.feed(part)
    assert {fact: getattr(scan, fact) for fact in FACTS} == plain_facts(content, delimiter, single)


@pytest.mark.parametrize("odd", [b'"', b"_1", b"+-", b"\r", b"x", b"\0", b"\xe9", b",", b"\n"])
@pytest.mark.parametrize("place", few([0, 1, 4079, 4080, 4081, 16383, 16384, 16385, 70_000], 3))
def test_one_odd_byte_in_a_long_file(odd: bytes, place: int) -> None:
    content = b"c1,c2\n" + b"1,23\n" * 20_000
    content = content[:place] + odd + content[place:]
    assert scanned([content], b",", False) == plain_facts(content, b",", False)


FLOATS = [0.5, -0.0, math.nan, math.inf, -5e-324, None]
INTS = [5, -(2**63), 2**63 - 1, -1, None]
OTHERS = [2**63, 10**400, True, "1", Decimal(1), np.float64(1), np.int64(1)]


@given(st.sampled_from([FLOATS, INTS, FLOATS + INTS + OTHERS]).flatmap(lambda few: st.lists(st.sampled_from(few))))
def test_numbers_are_read_from_values_of_one_type(values):
    types = {type(value) for value in values} - {type(None)}
    found = numbers_of(values)
    assert repr(numbers_of(tuple(values))) == repr(found)
    fits = types == {float} or (types == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values))
    assert (found is not None) == fits
    if found is not None:
        read, missing = found
        assert read.dtype == (np.float64 if types == {float} else np.int64)
        assert (missing is None) == (None not in values)
        absent = [value is None for value in values]
        assert missing is None or missing.tolist() == absent
        expected = [(math.nan if types == {float} else 0) if value is None else value for value in values]
        assert repr(read.tolist()) == repr(expected)
