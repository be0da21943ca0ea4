"""What a fit reports while it runs: lines to the logger or to the terminal, and how far a tree has grown."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

__all__ = ["log_of", "progress_of"]

LOGGER = logging.getLogger("shallowrules")
"""Gets the stages and notes of every fit, at level INFO."""


class Reporting(Protocol):
    """A model that reports: `ExplainableKMeans` documents its attributes."""

    verbose: int
    on_progress: Callable[[float], None] | None


def log_of(model: Reporting, *, is_note: bool = False) -> Callable[[str], None]:
    """Return the function that logs a line, or prints it if the model is verbose and no logging would show it.

    `is_note` is an attribute of the record: whoever shows the notes of rules in another way can leave these out.
    """

    def log(message: str) -> None:
        if model.verbose and not (LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()):
            print(f"[{type(model).__name__}] {message}")
        else:
            LOGGER.info("%s", message, extra={"is_note": is_note})

    return log


def progress_of(model: Reporting) -> Callable[[float], None] | None:
    """Return the function to call with the completed share of growing."""
    if model.on_progress is not None or not model.verbose:
        return model.on_progress
    bar = _notebook_bar()
    if bar is not None or model.verbose < 2:
        return bar
    log = log_of(model)
    started = last = time.monotonic()

    def progress(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 1.0:
            last = now
            log(f"growing: {share:.0%} after {now - started:.0f} s")

    return progress


def _notebook_bar() -> Callable[[float], None] | None:
    """Return the function that shows a share as a bar, in a notebook where tqdm is installed; elsewhere None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None or find_spec("tqdm") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets tqdm says that it draws its bar as text
        from tqdm.auto import tqdm

    bar = tqdm(total=1.0, desc="growing", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")

    def progress(share: float) -> None:
        bar.update(share - bar.n)
        if share >= 1.0:
            bar.close()

    return progress
