"""Rules as a page: one file that a browser shows without a network."""

from shallowrules.exporters.html.exporter import HtmlExporter

__all__ = ["HtmlExporter"]
