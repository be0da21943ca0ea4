"""matplotlib, which comes with the extra ``plot``."""

from __future__ import annotations

from typing import Any

from shallowrules.errors import MissingExtraError

__all__ = ["import_pyplot"]


def import_pyplot() -> Any:
    """Return matplotlib's pyplot; MissingExtraError if it is not installed."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("plotting", "matplotlib", "plot") from None
    return pyplot
