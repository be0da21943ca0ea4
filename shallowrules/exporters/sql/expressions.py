"""SQL expressions that several dialects have in common."""

from __future__ import annotations

__all__ = ["INFINITY", "TRY_DOUBLE", "TRY_EXACT", "by_wildcards", "grouped_by_wildcards", "infinities", "to_the_end"]

INFINITY = "CAST('Infinity' AS DOUBLE PRECISION)"
TRY_DOUBLE = "TRY_CAST({text} AS DOUBLE)"
# Of 37 digits, so that no difference is beyond 38. Beyond a DECIMAL, only the sign of the difference is left.
TRY_EXACT = "COALESCE(TRY_CAST({text} AS DECIMAL(37, {scale})) - {bound}, TRY_CAST({text} AS DOUBLE) - {bound})"


def by_wildcards(matches: str, several: str) -> str:
    """Return a test for numbers, for engines whose patterns know sets of characters, but no repetition.

    The characters of a number alone, with a digit; a sign only in front or after the exponent's e; one decimal
    separator at most, and none after the e; digits before the e, and one to three after it.
    """
    wrong = (
        *("*[^0-9{point}eE+-]*", "*[^eE][+-]*", "*[{point}eE]*{point}*", "*[eE]*[eE]*", "[eE]*", "[+{point}-][eE]*"),
        *("[+-]{point}[eE]*", "*[eE+-]", "*[eE]*[0-9][0-9][0-9][0-9]*"),
    )
    has_digit = _like("*[0-9]*", matches, several)
    return f"{has_digit} AND NOT ({' OR '.join(_like(pattern, matches, several) for pattern in wrong)})"


def grouped_by_wildcards(matches: str, several: str) -> str:
    """Return a test, for the same engines, for numbers without blanks or with blanks between groups of three digits.

    The first group has one to three digits and begins with no 0; no group is after the decimal separator.
    """
    digit = "[0-9]"
    wrong = (
        *(f"* {digit * few}{end}" for few in range(3) for end in ("", "[ {point}]*")),
        *(f"* {digit * 4}*", "*{point}* *", "*[eE]*"),
        *(f"{sign}{first}" for sign in ("", "[+-]") for first in (" *", "0* *", f"{digit * 4}* *")),
    )
    return f"NOT ({' OR '.join(_like(pattern, matches, several) for pattern in wrong)})"


def _like(pattern: str, matches: str, several: str) -> str:
    return f"{{text}} {matches} '{pattern.replace('*', several)}'"


def to_the_end(pattern: str) -> str:
    """Return a pattern for engines where ``$`` also matches before a line break at the end, without a backslash."""
    return f"(?s)^({pattern})(?!.)"


def infinities(infinity: str) -> str:
    """Return the branches for the names of infinity, for engines whose cast does not know them all."""
    names, negative = "('inf', '+inf', 'infinity', '+infinity')", "('-inf', '-infinity')"
    return f"WHEN LOWER({{text}}) IN {names} THEN {infinity} WHEN LOWER({{text}}) IN {negative} THEN -{infinity}"
