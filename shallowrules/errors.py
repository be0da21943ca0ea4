"""Every error and warning of the package.

::

    ShallowRulesError (Exception)
    ├── DataError (ValueError)            the table, its columns, rows or weights
    │   └── SettingsError                 a fault in shallowrules.toml
    ├── OptionError (ValueError)          an option, parameter or name that is not known or not allowed
    ├── RulesFormatError (ValueError)     a rules.json that cannot be trusted
    ├── EngineError                       a database engine did not start, or refused a statement
    ├── ExportError (ValueError)          rules that a format or dialect cannot express
    │   └── PluginError                   an exporter plugin that clashes or does not load
    └── MissingExtraError (ImportError)   a feature that needs an optional dependency

    ShallowRulesWarning (UserWarning)     something worth knowing that stops nothing
    ├── ShallowRulesNote                  what was found in a file, and what was done about it
    └── ShallowRulesDeprecation           what a later version will no longer have (a FutureWarning)

Messages say what was wrong, where (column, row count, option) and what to do about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = [
    "DataError",
    "EngineError",
    "ExportError",
    "Finding",
    "MissingExtraError",
    "OptionError",
    "OptionName",
    "PluginError",
    "RulesFormatError",
    "SettingsError",
    "ShallowRulesDeprecation",
    "ShallowRulesError",
    "ShallowRulesNote",
    "ShallowRulesWarning",
    "all_at_once",
    "check_choice",
    "counted",
    "nearest",
    "refuse_unknown",
    "suggestion",
]

T = TypeVar("T")


@dataclass(frozen=True)
class OptionName:
    """An option in a message, with or without a value: ``method='exkmc'``; the command line spells it its own way."""

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class _InPieces(Exception):
    """A message in pieces, for an error or a warning.

    Parameters
    ----------
    *parts : str or OptionName
        The message, in pieces where it names options.
    """

    def __init__(self, *parts: str | OptionName) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def worded(self, spell: Callable[[OptionName], str]) -> str:
        """Return the message with its options as `spell` writes them."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)


class ShallowRulesError(_InPieces):
    """Base of every error that the package raises on purpose; the parameters are the pieces of its message."""


@dataclass(frozen=True)
class Finding:
    """One fault of a table, as data; remedies are worded by the code that knows the options.

    Parameters
    ----------
    kind : str
        Such as "nearly numeric", "missing values" or "encoding".
    message : str
        What is wrong and where, for a reader.
    column : str, optional
    count : int, optional
        Rows (or, for "too many values", distinct values) concerned.
    rows : int, optional
        Rows that `count` is out of.
    place : int, optional
        The row, or the line of a text file, that shows it first, from 1 on.
    example : str, optional
    values : tuple of str
        The distinct texts concerned, at most four; or what to choose among.
    file : str, optional
    distinct : int, optional
        Distinct values of the column, where these may be categories.
    """

    kind: str
    message: str
    column: str | None = None
    count: int | None = None
    rows: int | None = None
    place: int | None = None
    example: str | None = None
    values: tuple[str, ...] = ()
    file: str | None = None
    distinct: int | None = None


class DataError(ShallowRulesError, ValueError):
    """The table, a column, its rows or its weights cannot be used as they are.

    `findings` has the faults as data if the table was read or examined; otherwise it is empty.
    """

    def __init__(self, *parts: str | OptionName, findings: Iterable[Finding] = ()) -> None:
        super().__init__(*parts)
        self.findings = tuple(findings)


class SettingsError(DataError):
    """A fault in ``shallowrules.toml``, or in ``[tool.shallowrules]`` of ``pyproject.toml``."""


def all_at_once(checks: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results of checks of one table, or raise what all that failed said as one DataError."""
    found, errors = [], []
    for check in checks:
        try:
            found.append(check())
        except DataError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        parts = [part for error in errors for part in ("\n- ", *error.parts)]
        raise DataError(
            f"there are {len(errors)} things wrong with the table:",
            *parts,
            findings=[finding for error in errors for finding in error.findings],
        )
    return found


class OptionError(ShallowRulesError, ValueError):
    """An option has a value that is not known or not allowed.

    Parameters
    ----------
    *parts : str or OptionName
        The message.
    option : str, optional
        The option at fault; by default the first that the message names, if it names one.
    """

    def __init__(self, *parts: str | OptionName, option: str | None = None) -> None:
        super().__init__(*parts)
        named = (part.name for part in parts if isinstance(part, OptionName))
        self.option = next(named, None) if option is None else option


class RulesFormatError(ShallowRulesError, ValueError):
    """A rules document is damaged, of a different version, or not a tree."""


class EngineError(ShallowRulesError):
    """A database engine did not start, or refused a statement.

    Parameters
    ----------
    engine, statement, answer : str
        The engine, the statement and its answer; kept as attributes.
    """

    def __init__(self, engine: str, statement: str, answer: str) -> None:
        super().__init__(f"{engine}: {answer}")
        self.engine, self.statement, self.answer = engine, statement, answer


class ExportError(ShallowRulesError, ValueError):
    """The rules cannot be written in the requested format."""


class PluginError(ExportError):
    """An exporter plugin clashes with another or does not load."""


class MissingExtraError(ShallowRulesError, ImportError):
    """A feature needs an optional dependency that is not installed.

    Parameters
    ----------
    feature, package : str
        The feature, and the package that it needs.
    extra : str, optional
        The extra of this package that installs it; by default none does.
    command : str, optional
        The command that installs it, if pip does not.
    """

    def __init__(self, feature: str, package: str, extra: str | None = None, *, command: str | None = None) -> None:
        wanted = package if extra is None else f"'shallowrules[{extra}]'"
        super().__init__(f"{feature} needs {package}, which is not installed: {command or f'pip install {wanted}'}")


class ShallowRulesWarning(_InPieces, UserWarning):
    """Something worth knowing that does not stop the work.

    Parameters
    ----------
    *parts : str
        The fact, in pieces.
    remedy : sequence of str or OptionName
        The end of the message, about what to do; `fact` is the message without it.
    """

    def __init__(self, *parts: str, remedy: Iterable[str | OptionName] = ()) -> None:
        super().__init__(*parts, *remedy)
        self.fact = "".join(parts)


class ShallowRulesNote(ShallowRulesWarning):
    """A finding in a file, such as lines above its table, and how it was handled."""


class ShallowRulesDeprecation(ShallowRulesWarning, FutureWarning):
    """A name, parameter or option that a later version will no longer have."""


def check_choice(what: str, value: object, known: Iterable[str], option: str | None = None) -> str:
    """Return `value` if it is one of `known`, else raise OptionError listing them; `what` names its kind."""
    choices = tuple(known)
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"unknown {what} {value!r}; use one of: {', '.join(choices)}", option=option)
    return value


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a word, ignoring case; None if none is similar."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in reversed(list(known))}
    found = get_close_matches(word.lower(), names, 1, 0.5)
    return names[found[0]] if found else None


def suggestion(word: str, known: Iterable[str], mark: str = "") -> str:
    """Return "; did you mean 'x'?" with the known name most similar to a word, "" if none is similar.

    Parameters
    ----------
    word : str
    known : iterable of str
    mark : str
        The mark before a name where it is used, instead of quotes.
    """
    alike = nearest(word, known)
    if alike is None:
        return ""
    return f"; did you mean {mark + alike if mark else repr(alike)}?"


def refuse_unknown(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise SettingsError for a name that is not among the known ones, with the most similar one."""
    for name in names:
        if name not in known:
            hint = suggestion(name, known) or f"; use one of: {', '.join(known)}"
            raise SettingsError(f"{what} {name!r} is not known{hint}")


def counted(number: int, one: str, more: str | None = None) -> str:
    """Return for example "1,234 rows" or "1 row"; `more` is a plural that takes more than an s."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"
