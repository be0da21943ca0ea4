"""How a public name, parameter or option goes: for two minor versions it still works, and warns."""

from __future__ import annotations

import warnings

from shallowrules.errors import ShallowRulesDeprecation

__all__ = ["warn_deprecated"]

WARNING_VERSIONS = 2
"""So many minor versions warn; the next one is without the name."""


def warn_deprecated(old: str, since: str, instead: str, stacklevel: int = 3) -> None:
    """Warn that something still works but will be removed.

    Parameters
    ----------
    old : str
        What will be removed, as a user writes it: ``the parameter `n` of fit()``.
    since : str
        The first version that warns, such as ``0.3``; ``0.5`` is then without it.
    instead : str
        What to use in its place.
    stacklevel : int
        That of `warnings.warn`; 3 is the caller of the function that warns.
    """
    major, minor = map(int, since.split("."))
    gone = f"{major}.{minor + WARNING_VERSIONS}"
    message = f"{old} is deprecated since version {since} and will be removed in version {gone}; use {instead}"
    warnings.warn(ShallowRulesDeprecation(message), stacklevel=stacklevel)
