"""Java: a class with a class of a row and a static method."""

from __future__ import annotations

from dataclasses import dataclass, field

from shallowrules.exporters.languages.exporter import LanguageExporter, LanguageOptions
from shallowrules.exporters.languages.language import Kind, Language, camel_case, double, escaped, quoted, truth
from shallowrules.exporters.options import on_command_line

__all__ = ["JAVA", "JavaExporter", "JavaOptions"]

TAKEN = """
abstract assert boolean break byte case catch char class const continue default do double else enum extends false
final finally float for goto if implements import instanceof int interface long native new null package private
protected public return short static strictfp super switch synchronized this throw throws transient true try var
void volatile while yield record sealed permits when
row assignCluster isMarker Row Object String Integer Long Boolean Double Override
"""
"""Keywords, and names that the class uses."""

LINES = {"\n": "\\n", "\r": "\\r"}


def _string(text: str) -> str:
    """Return a text literal: a Unicode escape is read before all else, so that one of a line break would end it."""
    return quoted(
        text,
        lambda c: LINES.get(c) or escaped(c),
        lambda c: " " <= c <= "~",
    )


JAVA = Language(
    title="Java",
    template="language_java.java.j2",
    kinds={
        "number": Kind("double", "{x} != {x}", double, "{x} {sign} {v}"),
        "whole": Kind("Long", "{x} == null", lambda value: f"{value}L", "{x} {sign} {v}"),
        "text": Kind("String", "{x} == null", _string, "", "{x}.equals({v})", "!{x}.equals({v})"),
        "truth": Kind("Boolean", "{x} == null", truth),
    },
    labels={"int": "Integer", "long": "Long", "text": "String"},
    whole=lambda value, is_long: f"{value}L" if is_long else str(value),
    string=_string,
    name="Rules",
    spell=camel_case,
    taken=frozenset(TAKEN.split()),
    none="return null;",
    longest=10_000,  # a class file holds a text of 65,535 bytes, up to 6 for a character
    ascii=True,
    most_tests=2000,  # a method has at most 65,535 bytes of code
)


@dataclass(frozen=True)
class JavaOptions(LanguageOptions):
    """Options of the exporter of Java.

    Parameters
    ----------
    name : str
        Name of the class, by default Rules; the file has to have it too: Rules.java.
    """

    name: str = field(default="", metadata=on_command_line(default_from="stem"))


class JavaExporter(LanguageExporter):
    """Writes rules as a class of Java with a method of a row; options: `JavaOptions`."""

    name = "java"
    file_extension = ".java"
    file_stem = "Rules"
    media_type = "text/x-java"
    options = JavaOptions
    language = JAVA
    compiled = "Compile: javac {name}.java; call {name}.assignCluster(row)."
