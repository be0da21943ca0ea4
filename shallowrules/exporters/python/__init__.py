"""Rules as a Python module: the exporter, what it reads of a row, and how it lays out its tests."""

from shallowrules.exporters.python.branches import Style
from shallowrules.exporters.python.exporter import PythonExporter, PythonOptions

__all__ = ["PythonExporter", "PythonOptions", "Style"]
