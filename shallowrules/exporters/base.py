"""The contract between the package and every exporter, built-in or a plugin's."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, get_args

from shallowrules.errors import OptionError, OptionName, PluginError, check_choice
from shallowrules.exporters.exported import Exported, exported_faults
from shallowrules.exporters.options import describe_options

if TYPE_CHECKING:
    from shallowrules.rules import RuleSet

__all__ = [
    "ClusterAs",
    "Exporter",
    "check_cluster_as",
    "check_exporter",
    "check_names",
    "check_option_names",
    "check_path",
    "check_text",
    "contract_faults",
    "precision_column_of",
]

ClusterAs = Literal["number", "name"]
"""A cluster's identity in a text: its number, or the name that was given to it as a label."""


class Exporter(Protocol):
    """The contract of an exporter's class. It is created without arguments.

    Attributes
    ----------
    name : str
        Its name for `export`; equal to the name of its entry point.
    file_extension : str
        With its dot, for example ``".sql"``; empty for an exporter that gives several files, which have their names.
    media_type : str
        For example ``"text/markdown"``.
    options : type
        A dataclass with one field per option, each with a default. Its types, docstring and
        defaults are what a user is shown: `shallowrules.exporters.options` says which types there are.

    Three more are optional:

    file_stem : str
        What ``run`` calls the file, before `file_extension`; by default ``"rules"``.
    check_columns : callable
        ``check_columns(names, **options)``, a method. ``run`` calls it before the work, with the names of the table's
        columns; it raises what `export` would raise whatever the rules are.
    vectors_test : callable
        ``vectors_test(rules, exported, vectors, **options)``, a method. ``export --vectors`` calls it with the names of
        two files in one folder, of what `export` returned (the first, if these are several) and of the test vectors,
        and writes the files of the mapping that it returns beside them: a test that runs the one on the other.
    """

    name: ClassVar[str]
    file_extension: ClassVar[str]
    media_type: ClassVar[str]
    options: ClassVar[type]

    def export(self, rules: RuleSet, **options: Any) -> Exported:
        """Return the rules in this form, the same for the same rules and options.

        Returns
        -------
        str, bytes or mapping
            Text; bytes, as for a workbook; or several files, from a name to the text or bytes of each. A name is
            relative, with ``/`` between folder and file. They are written together or not at all.

        Raises
        ------
        OptionError
            If an option has a value that is not allowed.
        ExportError
            If the rules cannot be expressed in this form.
        """
        ...


def check_option_names(exporter: type[Exporter], given: Iterable[str]) -> None:
    """Raise OptionError if the exporter does not know an option, listing those it knows."""
    known = [option.name for option in fields(exporter.options)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise OptionError(
            f"exporter {exporter.name!r} has no option {', '.join(map(repr, unknown))}; "
            f"its options are: {', '.join(known) or 'none'}"
        )


def check_text(option: str, value: object) -> str:
    """Return the value of an option if it is a str that is not blank, else raise OptionError."""
    if not isinstance(value, str) or not value.strip():
        raise OptionError(OptionName(option), f" must be text that is not blank, not {value!r}")
    return value


def check_path(option: str, value: object) -> None:
    """Raise OptionError if the value of an option is given, but is not the path of a file."""
    if value is not None and (not isinstance(value, str | os.PathLike) or not str(value)):
        raise OptionError(OptionName(option), f" must be the path of a file, not {value!r}")


def check_names(option: str, value: object) -> None:
    """Raise OptionError if the value of an option is not a collection of names."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(name, str) for name in value):
        raise OptionError(OptionName(option), f" must be names of columns, not {value!r}")


def precision_column_of(cluster_column: str) -> str:
    """Return the name of the column with the precision of a row's rule, beside that of its cluster."""
    return f"{cluster_column}_precision"


def check_cluster_as(value: object) -> None:
    """Raise OptionError unless the value of an option ``cluster_as`` is one of `ClusterAs`."""
    check_choice("cluster_as", value, get_args(ClusterAs), option="cluster_as")


def contract_faults(exporter: Any) -> list[str]:
    """Return the points in which a class breaks the contract, as far as they can be checked without running it."""
    if not inspect.isclass(exporter):
        return ["it is not a class"]
    faults = []
    name, extension, media_type = (getattr(exporter, key, None) for key in ("name", "file_extension", "media_type"))
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        faults.append("`name` must be a printable str")
    if not isinstance(extension, str) or (extension and not re.fullmatch(r"\.[^\s/\\:]+", extension)):
        faults.append("`file_extension` must be a str that starts with a dot, for example '.txt', or empty")
    if not isinstance(media_type, str) or media_type.count("/") != 1:
        faults.append("`media_type` must be a str such as 'text/plain'")
    options = getattr(exporter, "options", None)
    if not inspect.isclass(options) or not is_dataclass(options):
        faults.append("`options` must be a dataclass")
    else:
        needed = [field.name for field in fields(options) if field.default is MISSING is field.default_factory]
        if needed:
            faults.append(f"every option needs a default; these have none: {', '.join(needed)}")
        try:
            describe_options(options)
        except ValueError as error:
            faults += str(error).splitlines()
    stem = getattr(exporter, "file_stem", "rules")
    if not isinstance(stem, str) or not stem.isprintable() or not stem.strip() or set(stem) & set("/\\:"):
        faults.append("`file_stem` must be a file's name without its extension, for example 'report'")
    if not callable(getattr(exporter, "export", None)):
        faults.append("it has no method `export(rules, **options)`")
    return faults


def check_exporter(exporter: Any, **options: Any) -> None:
    """Check an exporter class against the contract; for the tests of a plugin's author.

    It checks the attributes, then exports a small tree with awkward names and a tree that is a single leaf, twice each,
    whether as text, bytes or files.

    Parameters
    ----------
    exporter : type
        The class that the entry point names.
    **options
        Options for the export, where the samples are refused without them: their columns are named ``a "quoted" `name`
        | <b>`` and ``order``, their clusters ``0`` and ``it's */ -- {{ two }}``.

    Raises
    ------
    PluginError
        Naming everything that is wrong. What `export` itself raises comes through unchanged.
    """
    faults = contract_faults(exporter)
    if not faults:
        for rules in _samples():
            exported = exporter().export(rules, **options)
            faults += [f"`export` {fault}" for fault in exported_faults(exported)]
            if not faults and exported != exporter().export(rules, **options):
                faults.append("`export` gave two results for the same rules")
            if faults:
                break
    if faults:
        raise PluginError(f"{getattr(exporter, '__name__', exporter)!r} is not an exporter: {'; '.join(faults)}")


def _samples() -> tuple[RuleSet, RuleSet]:
    """Return two small rule sets: three rules over awkward names, and one rule without conditions."""
    from shallowrules.rules import Cluster, Cut, Leaf, RuleColumn, RuleSet, Statistics

    columns = (
        RuleColumn('a "quoted" `name` | <b>', "float", 0.65, -1.5, 1e22),
        RuleColumn("order", "integer", 2.0, -3, 2**53 + 1),
    )
    statistics = Statistics(
        rows=10,
        weight=10.0,
        weighted=False,
        method="exshallow",
        tradeoff=0.03,
        cost=1.05,
        reference_cost=1.0,
        normalized_cost=1.05,
        agreement=0.9,
        wad=1.5,
        waes=1.5,
    )
    clusters = (
        Cluster(0, "0", 5, 5.0, 0.5, 1.0, 0.9, (0.1, 3.0)),
        Cluster(2, "it's */ -- {{ two }}", 5, 5.0, 0.5, 0.8, 1.0, (1.2, 1.0)),
    )
    nodes = (Cut(0, 0.1, 1, 2), Leaf(0, 5, 5.0), Cut(1, 2, 3, 4), Leaf(2, 3, 3.0), Leaf(2, 2, 2.0))
    whole = (Cluster(0, "0", 10, 10.0, 1.0, 1.0, 1.0, (0.65, 2.0)),)
    return (
        RuleSet(columns, nodes, clusters, statistics),
        RuleSet(columns, (Leaf(0, 10, 10.0),), whole, replace(statistics, agreement=1.0, wad=0.0, waes=0.0)),
    )
