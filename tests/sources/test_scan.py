"""The scan of the bytes of a CSV file, against plain code that does the same."""

import io
import itertools
import re

import pytest
from draws import few
from hypothesis import given
from hypothesis import strategies as st

from shallowrules.sources import text
from shallowrules.sources.text import scan

PIECES = [b"a", *(bytes([byte]) for byte in b'1,;"_+- \n\r\0'), b"\r\n", b"\xc3\xa9", b"\x80", b"\xff"]


def plain_facts(content: bytes, delimiter: bytes, single: bool) -> dict[str, object]:
    """Return the results that the scan should have, found by patterns and a walk along the quotes."""
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


def scanned(content: bytes, delimiter: str, single: bool) -> dict[str, object]:
    return vars(scan(io.BytesIO(content), delimiter, single=single))


def test_every_short_file() -> None:
    for length in range(6):
        for pieces in itertools.product((b"a", b"1", b",", b'"', b" ", b"\n", b"\r"), repeat=length):
            content = b"".join(pieces)
            assert scanned(content, ",", True) == plain_facts(content, b",", True), content


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([1, 1, 1, 2, 15, 16, 17, 40, 300])), max_size=12),
    st.sampled_from([",", ";", "_", " ", "+"]),
    st.booleans(),
    st.sampled_from([1, 2, 3, 7, 64, 300, 1 << 18]),
)
def test_files_in_any_pieces(runs: list[tuple[bytes, int]], delimiter: str, single: bool, n_bytes: int) -> None:
    content = b"".join(piece * count for piece, count in runs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "SCAN_BYTES", n_bytes)
        assert scanned(content, delimiter, single) == plain_facts(content, delimiter.encode(), single)


@pytest.mark.parametrize("odd", [b'"', b"_1", b"+-", b"\r", b"x", b"\0", b"\xe9", b",", b"\n"])
@pytest.mark.parametrize("place", few([0, 1, 262_141, 262_142, 262_143, 262_144, 262_149, 262_150, 270_000], 3))
def test_one_odd_byte_in_a_long_file(odd: bytes, place: int) -> None:
    content = b"c1,c2\n" + b"1,23\n" * 60_000
    content = content[:place] + odd + content[place:]
    assert scanned(content, ",", False) == plain_facts(content, b",", False)


@pytest.mark.parametrize(
    "content", [b"a,b\r1,2\r3,4\r", b"a,b\n" + b"1,2\r3,4\r" * 5, b"a,b\n1,2\n" + b"3" * 40 + b",4\n"]
)
def test_a_file_with_a_very_long_line_is_not_regular(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "SCAN_BYTES", 4)
    monkeypatch.setattr(text, "MAX_LINE", 10)
    assert scan(io.BytesIO(content), ",") == text.Scan(regular=False)
