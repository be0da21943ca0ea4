"""Rules as a workbook: the exporter, the cells that formulas refer to, and the formulas."""

from shallowrules.exporters.xlsx.exporter import XlsxExporter

__all__ = ["XlsxExporter"]
