"""Rules as a function in C, Go, Java, JavaScript, R and Rust: a file of facts for each language, and one exporter."""

from shallowrules.exporters.languages.c import CExporter
from shallowrules.exporters.languages.exporter import LanguageExporter, LanguageOptions
from shallowrules.exporters.languages.go import GoExporter
from shallowrules.exporters.languages.java import JavaExporter
from shallowrules.exporters.languages.javascript import JavaScriptExporter
from shallowrules.exporters.languages.r import RExporter
from shallowrules.exporters.languages.rust import RustExporter

__all__ = [
    "CExporter",
    "GoExporter",
    "JavaExporter",
    "JavaScriptExporter",
    "LanguageExporter",
    "LanguageOptions",
    "RExporter",
    "RustExporter",
]
