"""Loading modules, which takes most of the time of a command on a small table."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loading_modules", "without_pandas"]


@contextmanager
def loading_modules() -> Iterator[None]:
    """Disable garbage collection in a block that loads modules.

    They leave no garbage, and collecting takes a tenth of the time. Objects created in the block then count
    as old, as if they had been examined.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # to the oldest generation, wherever it was
        gc.enable()


@contextmanager
def without_pandas() -> Iterator[None]:
    """Keep scikit-learn, which is loaded in the block, from loading pandas, as it does if pandas is installed.

    No command needs pandas at that point, and loading it takes a seventh of the time of `fit` on a small table.
    """
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]  # this makes an import fail
    try:
        yield
    finally:
        del sys.modules["pandas"]
