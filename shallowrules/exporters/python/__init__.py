"""Rules as Python modules: the exporters, the reading of a row or column, and the layout of tests."""

from shallowrules.exporters.python.branches import Style
from shallowrules.exporters.python.exporter import PythonExporter
from shallowrules.exporters.python.frames import PandasExporter, PolarsExporter

__all__ = ["PandasExporter", "PolarsExporter", "PythonExporter", "Style"]
