"""Rust: a module with a struct of a row and a function."""

from __future__ import annotations

from shallowrules.exporters.languages.exporter import LanguageExporter
from shallowrules.exporters.languages.language import Kind, Language, double, quoted, truth
from shallowrules.exporters.python.inputs import snake_case

__all__ = ["RUST", "RustExporter"]

TAKEN = """
abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if
impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try
type typeof union unsafe unsized use virtual where while yield
row None Option Row Some bool f64 i32 i64 str
"""
"""Keywords, and names that the module uses."""


def _string(text: str) -> str:
    return quoted(text, lambda c: f"\\u{{{ord(c):x}}}", lambda c: c.isprintable())


MISSING = "{x}.is_none()"

RUST = Language(
    title="Rust",
    template="language_rust.rs.j2",
    kinds={
        "number": Kind("f64", "{x}.is_nan()", double, "{x} {sign} {v}"),
        "whole": Kind("Option<i64>", MISSING, str, "{x} {sign} Some({v})"),
        "text": Kind("Option<&'a str>", MISSING, _string, "", "{x} == Some({v})", "{x} != Some({v})"),
        "truth": Kind("Option<bool>", MISSING, truth, "", "{x} == Some({v})"),
    },
    labels={"int": "i32", "long": "i64", "text": "&'static str"},
    whole=lambda value, is_long: str(value),
    string=_string,
    name="assign_cluster",
    spell=snake_case,
    taken=frozenset(TAKEN.split()),
    given="return Some({label});",
    none="return None;",
    question="if {test} {{",
)


class RustExporter(LanguageExporter):
    """Writes rules as a module of Rust with a function of a row; options: `LanguageOptions`."""

    name = "rust"
    file_extension = ".rs"
    media_type = "text/x-rust"
    language = RUST
    compiled = "Compile a program with the module rules: mod rules; in main.rs, and rustc -O --edition 2021 main.rs."
