"""Output for people: all of it goes through this module."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from shallowrules.cli.escaping import printable

__all__ = ["Terminal"]


class Terminal(Console):
    """A console on which text cannot command the terminal: rich lets most control characters pass.

    With ``NO_COLOR`` it prints no control sequences, `is_plain`: rich would leave out colors alone.
    """

    def __init__(self, *, stderr: bool, **settings: Any) -> None:
        self.is_plain = bool(os.environ.get("NO_COLOR"))
        super().__init__(stderr=stderr, color_system=None if self.is_plain else "auto", **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the text to print, in pieces: control characters of the text escaped, those of styles unchanged."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
