"""JavaScript: an ES module and its types for TypeScript."""

from __future__ import annotations

import json
from typing import Any

from shallowrules.exporters.languages.exporter import LanguageExporter, LanguageOptions
from shallowrules.exporters.languages.language import Kind, Language, camel_case, double, quoted, truth
from shallowrules.exporters.rendering import render, shipped
from shallowrules.rules import DOUBLE_EXACT, RuleColumn, RuleSet

__all__ = ["JAVASCRIPT", "JavaScriptExporter"]

TAKEN = """
arguments async await break case catch class const continue debugger default delete do else enum eval export
extends false finally for from function get if implements import in instanceof interface let new null of package
private protected public return set static super switch this throw true try typeof undefined var void while with
yield
clock clusters columns fromWritten isNull isTime isWhole number parse parseTime readText readValue row shown
stripped unpointed unwritten valueOf
CLUSTERS CODE COLUMNS DAY DECIMAL FALSE_TEXTS INFINITE LONGEST MISSING MOMENT MONTHS NAN SPAN TIMES TRUE_TEXTS WANTED
WHOLE
BigInt Cluster Date Infinity JSON Map NaN Number ReadonlyMap RegExp Row String Symbol TypeError
"""
"""Keywords, names that the module declares, and globals that it uses."""


def _string(text: str) -> str:
    """Return a text literal that a page may have between its tags."""
    literal = quoted(
        text, lambda c: f"\\u{{{ord(c):x}}}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}", lambda c: c.isprintable()
    )
    return literal.replace("</", "\\u003c/").replace("<!", "\\u003c!")


def _number(value: float) -> str:
    return double(value).removesuffix(".0")


def _whole(value: int, is_long: bool) -> str:
    return f"{value}n" if is_long and abs(value) >= DOUBLE_EXACT else str(value)


MISSING = "{x} === MISSING"

JAVASCRIPT = Language(
    title="JavaScript",
    template="language_javascript.mjs.j2",
    kinds={
        "number": Kind("number | bigint", MISSING, _number, "{x} {sign} {v}", "{x} === {v}", "{x} !== {v}"),
        "whole": Kind("number | bigint", MISSING, lambda value: f"{value}n", "{x} {sign} {v}"),
        "text": Kind("string", MISSING, _string, "", "{x} === {v}", "{x} !== {v}"),
        "truth": Kind("boolean", MISSING, truth, "", "{x} === {v}"),
    },
    labels={"int": "number", "long": "number | bigint", "text": "string"},
    whole=_whole,
    string=_string,
    name="assignCluster",
    spell=camel_case,
    taken=frozenset(TAKEN.split()),
    none="return null;",
    indent="  ",
    by_name=True,
    refused="(?!)",
    reads_text=True,
)


class JavaScriptExporter(LanguageExporter):
    """Writes rules as an ES module of JavaScript with types for TypeScript; options: `LanguageOptions`."""

    name = "javascript"
    file_extension = ""
    media_type = "text/javascript"
    language = JAVASCRIPT
    compiled = 'Nothing to compile: import {{ {name} }} from "./rules.mjs"; TypeScript finds the types in rules.d.mts.'

    def export(self, rules: RuleSet, **options: Any) -> dict[str, str]:
        """Return the module and its types.

        Raises
        ------
        OptionError
            If the name is not allowed.
        """
        settings = LanguageOptions(**options)
        context = self.context(rules, settings)
        context["values"] = shipped("values.js")
        for each, feature in zip(context["inputs"], rules.tested_columns, strict=True):
            column = rules.columns[feature]
            each["accepted"] = _accepted(column)
            each["reading"] = _as_json(each["reading"])
        language = self.language
        return {
            "rules.mjs": render(language, language.template, context, settings.template),
            "rules.d.mts": render(language, "language_javascript.d.mts.j2", context),
        }

    def vectors_test(self, rules: RuleSet, module: str, vectors: str, **options: Any) -> dict[str, str]:
        """Return a file for node's test runner, which runs the module on the vectors beside it."""
        context = {**self.context(rules, LanguageOptions(**options)), "module": module, "vectors": vectors}
        return {f"{module.removesuffix('.mjs')}.test.mjs": render(self.language, "test_javascript.mjs.j2", context)}


def _as_json(data: object) -> str:
    return json.dumps(data).replace("</", "\\u003c/").replace("<!", "\\u003c!")


def _accepted(column: RuleColumn) -> str:
    """Return the types of the values that are read in a column."""
    if column.is_time:
        types = ["string", *(["Date"] if column.type == "timestamptz" else [])]
    elif column.type == "boolean":
        types = ["boolean", "number", "bigint", "string"]
    elif column.codes or column.holds_numbers:
        types = ["number", "bigint", "string"]
    elif column.is_numeric:
        types = ["number", "bigint", *(["string"] if column.from_text or column.nulls else [])]
    else:
        types = ["string"]
    return " | ".join([*types, "null", "undefined"])
