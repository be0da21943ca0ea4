"""Rules in other forms: a registry of exporters, the built-in ones registered like any other.

An exporter is a class that fits `Exporter`, named by an entry point of the group
``shallowrules.exporters``. `check_exporter` checks a class against that contract.
"""

from shallowrules.exporters.base import Exporter, check_exporter
from shallowrules.exporters.exported import Exported
from shallowrules.exporters.registry import (
    InstalledExporter,
    export,
    export_by,
    exporter_names,
    get_exporter,
    installed_exporters,
)

__all__ = [
    "Exported",
    "Exporter",
    "InstalledExporter",
    "check_exporter",
    "export",
    "export_by",
    "exporter_names",
    "get_exporter",
    "installed_exporters",
]
