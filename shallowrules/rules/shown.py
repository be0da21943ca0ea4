"""Cards of rules for a notebook, and pictures: the folder `displays`, which is above this one, makes both.

No module imports from a folder above its own. Only this one loads modules by their names, those of `displays`, when
something has to be shown: rules have the methods that a notebook and a person look for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Shown", "load_displays"]


def load_displays(name: str) -> Any:
    """Return the module of `displays` of that name."""
    return import_module(f"shallowrules.displays.{name}")


class Shown:
    """An object that is a table in a notebook."""

    def _repr_html_(self) -> str:
        return str(load_displays("objects").show(self))
