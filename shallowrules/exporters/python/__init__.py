"""Rules as Python modules: the exporters, what they read of a row or column, and how tests are laid out."""

from shallowrules.exporters.python.branches import Style
from shallowrules.exporters.python.exporter import PythonExporter, PythonOptions
from shallowrules.exporters.python.frames import FrameOptions, PandasExporter, PolarsExporter

__all__ = ["FrameOptions", "PandasExporter", "PolarsExporter", "PythonExporter", "PythonOptions", "Style"]
