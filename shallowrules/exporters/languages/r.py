"""R: a function of a data.frame, which tests whole columns, a rule at a time."""

from __future__ import annotations

from shallowrules.exporters.languages.exporter import LanguageExporter
from shallowrules.exporters.languages.language import Kind, Language, quoted
from shallowrules.exporters.python.inputs import snake_case
from shallowrules.rules import Number

__all__ = ["R", "RExporter"]

TAKEN = """
if else repeat while function for next break in TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ NA_character_
T F c cluster data which is rep nrow
all column dQuote gsub length name names number refuse return stop text truth values wanted paste0
"""
"""Keywords, and names that the function uses."""


LONGEST = 1000
"""Maximum number of characters of a text literal: R refuses more than 10,000 where its locale is not Unicode."""


def _string(text: str) -> str:
    if len(text) > LONGEST:
        return f"paste0({', '.join(_string(text[i : i + LONGEST]) for i in range(0, len(text), LONGEST))})"
    return quoted(
        text, lambda c: f"\\U{ord(c):08x}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}", lambda c: " " <= c <= "~"
    )


def _number(value: Number) -> str:
    """Return a literal in hexadecimal, unless it is a whole number: R rounds decimals twice."""
    number = float(value) + 0.0
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return number.hex()


R = Language(
    title="R",
    template="language_r.R.j2",
    kinds={
        "number": Kind("number", "is.na({x})", _number, "{x} {sign} {v}"),
        "text": Kind("text", "is.na({x})", _string),
        "truth": Kind("truth", "is.na({x})", lambda value: "TRUE" if value else "FALSE"),
    },
    labels={"int": "NA_integer_", "text": "NA_character_"},
    whole=lambda value, is_long: f"{value}L",
    string=_string,
    name="assign_cluster",
    spell=snake_case,
    taken=frozenset(TAKEN.split()),
    none="",
    mark="#",
    ascii=True,
    by_name=True,
    refused="[\0\ud800-\udfff]",
    both=" & ",
    either=" | ",
    never="FALSE",
)


class RExporter(LanguageExporter):
    """Writes rules as a function of R; options: `LanguageOptions`."""

    name = "r"
    file_extension = ".R"
    media_type = "text/x-r"
    language = R
    compiled = 'Nothing to compile: source("rules.R"), then {name}(data).'
