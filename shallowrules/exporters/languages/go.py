"""Go: a package with a struct of a row and a function."""

from __future__ import annotations

from collections.abc import Sequence

from shallowrules.exporters.languages.exporter import LanguageExporter
from shallowrules.exporters.languages.language import Kind, Language, camel_case, double, quoted, truth

__all__ = ["GO", "GoExporter"]

TAKEN = """
break case chan const continue default defer else fallthrough for func go goto if import interface map package
range return select struct switch type var
any bool byte comparable complex64 complex128 error false float32 float64 int int8 int16 int32 int64 iota nil
rune string true uint uint8 uint16 uint32 uint64 uintptr append cap clear close complex copy delete imag len make
max min new panic print println real recover
init main math row strings isMarker value imputed Row AssignCluster
"""
"""Keywords, predeclared names, and those that the package uses."""


def _string(text: str) -> str:
    return quoted(text, lambda c: f"\\U{ord(c):08x}", lambda c: c.isprintable())


def _field(words: Sequence[str]) -> str:
    """Return the name of a field that other packages see: MonthlyCharges."""
    name = camel_case(words)
    return name[:1].upper() + name[1:]


GO = Language(
    title="Go",
    template="language_go.go.j2",
    kinds={
        "number": Kind("float64", "{x} != {x}", double, "{x} {sign} {v}"),
        "whole": Kind("*int64", "{x} == nil", str, "*{x} {sign} {v}"),
        "text": Kind("*string", "{x} == nil", _string, "", "*{x} == {v}", "*{x} != {v}"),
        "truth": Kind("*bool", "{x} == nil", truth, "", "*{x} == {v}"),
    },
    labels={"int": "int", "long": "int64", "text": "string"},
    whole=lambda value, is_long: str(value),
    string=_string,
    name="rules",
    spell=_field,
    variable=lambda field: field[:1].lower() + field[1:],
    taken=frozenset(TAKEN.split()),
    given="return {label}, true",
    none="return {zero}, false",
    question="if {test} {{",
    indent="\t",
)


class GoExporter(LanguageExporter):
    """Writes rules as a package of Go with a function of a row; options: `LanguageOptions`."""

    name = "go"
    file_extension = ".go"
    media_type = "text/x-go"
    language = GO
    compiled = "Compile: go build, in a folder {name} of a module; call {name}.AssignCluster(row)."
