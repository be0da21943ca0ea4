"""Loading modules, which is most of what a command on a small table takes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loading_modules", "without_pandas"]


@contextmanager
def loading_modules() -> Iterator[None]:
    """Look for no garbage in a block that loads modules: they leave none, and it takes a tenth of the time.

    What was made in the block is then among the old objects, as if it had been looked at.
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
    sys.modules["pandas"] = None  # type: ignore[assignment]  # that is how an import is told to fail
    try:
        yield
    finally:
        del sys.modules["pandas"]
