"""Look-up of exporters by entry point: listing imports no exporter, using one imports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal, overload

from shallowrules.errors import OptionError, PluginError, check_choice
from shallowrules.exporters.base import Exporter, check_option_names, contract_faults
from shallowrules.exporters.exported import Exported, exported_faults

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet

__all__ = ["GROUP", "InstalledExporter", "export", "export_by", "exporter_names", "get_exporter", "installed_exporters"]

GROUP = "shallowrules.exporters"


@dataclass(frozen=True, order=True)
class InstalledExporter:
    """An exporter as its distribution announces it; `value` is its ``module:class``."""

    name: str
    distribution: str
    version: str
    value: str


def installed_exporters() -> tuple[InstalledExporter, ...]:
    """Return every installed exporter by name, without importing any.

    Two distributions that claim one name both appear; using that name is then an error.
    """
    # A distribution may be found in two places on the path, for example because of an editable install.
    return tuple(sorted({described for described, _ in _announced()}))


def exporter_names() -> list[str]:
    """Return the names that `export` knows, sorted."""
    return sorted({exporter.name for exporter in installed_exporters()})


def get_exporter(name: str) -> type[Exporter]:
    """Import and return the exporter class of that name.

    Raises
    ------
    OptionError
        If no exporter has that name; the message lists the known ones.
    PluginError
        If two distributions claim the name, if the class cannot be imported, or if it does
        not meet the contract. The message names the distributions.
    """
    announced = _announced()
    check_choice("exporter", name, sorted({described.name for described, _ in announced}))
    candidates = {described: entry for described, entry in announced if described.name == name}
    if len(candidates) > 1:
        claims = " and ".join(f"{c.distribution} {c.version} ({c.value})" for c in sorted(candidates))
        raise PluginError(f"more than one exporter is named {name!r}: {claims}; uninstall all but one")
    [(described, entry)] = candidates.items()
    origin = f"exporter {name!r} of distribution {described.distribution} {described.version}"
    try:
        exporter: Any = entry.load()
    except (Exception, SystemExit) as error:
        raise PluginError(f"{origin} could not be imported: {type(error).__name__}: {error}") from error
    faults = contract_faults(exporter)
    if not faults and exporter.name != name:
        faults = [f"its `name` is {exporter.name!r}, not that of its entry point"]
    if faults:
        raise PluginError(f"{origin} does not meet the contract: {'; '.join(faults)}")
    found: type[Exporter] = exporter
    return found


BuiltInText = Literal[
    "c", "go", "html", "java", "markdown", "mermaid", "pandas", "pmml", "polars", "python", "r", "rust", "sql", "svg"
]
"""The built-in exporters that give text."""


@overload
def export(rules: RuleSet, name: BuiltInText, /, **options: Any) -> str: ...
@overload
def export(rules: RuleSet, name: Literal["onnx", "xlsx"], /, **options: Any) -> bytes: ...
@overload
def export(rules: RuleSet, name: str, /, **options: Any) -> Exported: ...


def export(rules: RuleSet, name: str, /, **options: Any) -> Exported:
    """Return the rules in an output format for people or programs.

    Parameters
    ----------
    rules : RuleSet
    name : str
        An exporter: one of `exporter_names`.
        It is given by position, since an exporter may have an option of that name.
    **options
        The exporter's own options, for example ``dialect="postgres"`` for ``"sql"``.

    Returns
    -------
    str, bytes or dict
        Text; bytes; or several files, from a relative name, with ``/`` between its parts, to the text or bytes of each.

    Raises
    ------
    OptionError
        If the exporter or an option is not known (the known ones are listed), or a value
        is not allowed.
    ExportError
        If the rules cannot be expressed in this form.
    PluginError
        If the exporter is a plugin that clashes with another, does not load, or gives none of these.
    """
    from shallowrules.rules import RuleSet

    if not isinstance(rules, RuleSet):
        raise OptionError(f"export takes a RuleSet, not {type(rules).__name__}; a fitted model has it as `rules_`")
    return export_by(get_exporter(name), rules, options)


def export_by(exporter: type[Exporter], rules: RuleSet, options: Mapping[str, Any]) -> Exported:
    """Return the rules in the form of an exporter that `get_exporter` has found; otherwise as `export`."""
    check_option_names(exporter, options)
    exported = exporter().export(rules, **options)
    faults = exported_faults(exported)
    if faults:
        raise PluginError(f"exporter {exporter.name!r} {'; '.join(faults)}")
    return dict(exported) if isinstance(exported, Mapping) else exported


def _announced() -> tuple[tuple[InstalledExporter, EntryPoint], ...]:
    """Return the announced exporters, read again only after a folder of the path has changed.

    Reading the entry points of all distributions takes longer than most exports.
    """
    return _announced_by(tuple((place, _state(place or os.curdir)) for place in sys.path))


def _state(place: str) -> tuple[int, int, int] | None:
    """Return a fingerprint of a folder of packages (device, inode, time of change)."""
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


@lru_cache(maxsize=1)
def _announced_by(path: object) -> tuple[tuple[InstalledExporter, EntryPoint], ...]:
    described = {}
    announced = []
    for entry in entry_points(group=GROUP):
        if id(entry.dist) not in described:  # each look-up of its name or version reads all its metadata
            described[id(entry.dist)] = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "unknown")
        announced.append((InstalledExporter(entry.name, *described[id(entry.dist)], entry.value), entry))
    return tuple(announced)
