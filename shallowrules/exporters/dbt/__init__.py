"""Rules as files of a dbt project: a model with its source, contract, unit tests, tests of its rows, documentation."""

from shallowrules.exporters.dbt.exporter import DbtExporter

__all__ = ["DbtExporter"]
