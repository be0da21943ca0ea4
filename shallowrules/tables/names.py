"""Names of columns that differ in case, are misspelt, or stand for two columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from shallowrules.errors import nearest

__all__ = ["find_name", "named_alike", "show_absent"]


def find_name(name: str, names: Iterable[str], *folds: Callable[[str], str]) -> str | None:
    """Return the one of some names that a name means; None if it means none of them, or several.

    Parameters
    ----------
    name : str
    names : iterable of str
    *folds : callable
        Functions that give two names of one column the same text, the strictest first. A name that is among them means
        itself; otherwise the first function by which any name is equal decides.
    """
    names = list(names)
    if name in names:
        return name
    for fold in folds:
        alike = [other for other in names if fold(other) == fold(name)]
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None


def show_absent(name: str, names: Iterable[str]) -> str:
    """Return a name that is not among some, for a message, with the one that it is most like."""
    near = nearest(name, names)
    return repr(name) if near is None else f"{name!r} (the nearest is {near!r})"


def named_alike(names: Iterable[str], among: Container[str] | None = None) -> tuple[int, int] | None:
    """Return the places of two names that are one in SQL; None where all differ, or all that are `among` some."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if among is not None and name not in among:
            continue
        earlier = seen.setdefault(name.lower(), place)
        if earlier != place:
            return earlier, place
    return None
