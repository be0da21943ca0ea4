"""Look-up of exporters by entry point: listing imports no exporter, using one imports it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    # A distribution may be found in two places on the path, by an editable install for one.
    return tuple(sorted({_describe(entry) for entry in entry_points(group=GROUP)}))


def exporter_names() -> list[str]:
    """Return the names that `export` knows, sorted."""
    return sorted({exporter.name for exporter in installed_exporters()})


def get_exporter(name: str) -> type[Exporter]:
    """Import and return the exporter class of that name.

    Raises
    ------
    OptionError
        If no exporter has that name; the message lists those there are.
    PluginError
        If two distributions claim the name, if the class cannot be imported, or if it does
        not meet the contract. The message names the distributions.
    """
    entries = entry_points(group=GROUP)
    check_choice("exporter", name, sorted({entry.name for entry in entries}))
    candidates = {_describe(entry): entry for entry in entries if entry.name == name}
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


BuiltInText = Literal["html", "markdown", "mermaid", "pandas", "pmml", "polars", "python", "sql", "svg"]
"""The built-in exporters that give text."""


@overload
def export(rules: RuleSet, name: BuiltInText, **options: Any) -> str: ...
@overload
def export(rules: RuleSet, name: Literal["xlsx"], **options: Any) -> bytes: ...
@overload
def export(rules: RuleSet, name: str, **options: Any) -> Exported: ...


def export(rules: RuleSet, name: str, **options: Any) -> Exported:
    """Return the rules in a form that people or programs read.

    Parameters
    ----------
    rules : RuleSet
    name : str
        An exporter: one of `exporter_names`.
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


def _describe(entry: EntryPoint) -> InstalledExporter:
    distribution = entry.dist.name if entry.dist else "unknown"
    version = entry.dist.version if entry.dist else "unknown"
    return InstalledExporter(entry.name, distribution, version, entry.value)
