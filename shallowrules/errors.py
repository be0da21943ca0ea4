"""Every error and warning of the package.

::

    ShallowRulesError (Exception)
    ├── DataError (ValueError)            the table, its columns, rows or weights
    ├── OptionError (ValueError)          an option, parameter or name that is not known or not allowed
    ├── RulesFormatError (ValueError)     a rules.json that cannot be trusted
    ├── ExportError (ValueError)          rules that a format or dialect cannot express
    │   └── PluginError                   an exporter plugin that clashes or does not load
    └── MissingExtraError (ImportError)   a feature that needs an optional dependency

    ShallowRulesWarning (UserWarning)     something worth knowing that stops nothing

Messages say what was wrong, where (column, row count, option) and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "DataError",
    "ExportError",
    "MissingExtraError",
    "OptionError",
    "PluginError",
    "RulesFormatError",
    "ShallowRulesError",
    "ShallowRulesWarning",
    "check_choice",
]


class ShallowRulesError(Exception):
    """Base of every error that the package raises on purpose."""


class DataError(ShallowRulesError, ValueError):
    """The table, a column, its rows or its weights cannot be used as they are."""


class OptionError(ShallowRulesError, ValueError):
    """An option has a value that is not known or not allowed."""


class RulesFormatError(ShallowRulesError, ValueError):
    """A rules document is damaged, of another version, or not a tree."""


class ExportError(ShallowRulesError, ValueError):
    """The rules cannot be written in the wanted form."""


class PluginError(ExportError):
    """An exporter plugin clashes with another or does not load."""


class MissingExtraError(ShallowRulesError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'shallowrules[{extra}]'")


class ShallowRulesWarning(UserWarning):
    """Something worth knowing that does not stop the work."""


def check_choice(option: str, value: object, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`, else raise OptionError listing them."""
    choices = tuple(known)
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"unknown {option} {value!r}; known are: {', '.join(choices)}")
    return value
