"""Progress of long work: told as a share, also where several searches run side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["Progress", "part_of", "side_by_side"]

T = TypeVar("T")

Progress = Callable[[float], None]
"""Takes the share of the work that is done. An exception that it raises ends the work, as an interrupt does."""


def side_by_side(
    tasks: Sequence[Callable[[Progress | None], list[T]]], n_threads: int, progress: Progress | None
) -> list[T]:
    """Return the results of several searches, in their order; they run at the same time where there are threads.

    In that case the first one reports progress, from the calling thread, in which an interrupt is raised. An interrupt
    there ends the others: they check as often as they would report progress. Searches that still wait for a thread at
    that point are run by the calling one.
    """
    if n_threads == 1 or len(tasks) == 1:
        return [found for i, task in enumerate(tasks) for found in task(part_of(progress, i, len(tasks)))]
    ended = False

    def look(share: float) -> None:
        if ended:
            raise InterruptedError

    with ThreadPoolExecutor(n_threads - 1) as threads:
        others = [threads.submit(task, look) for task in tasks[1:]]
        try:
            found = tasks[0](progress)
            left = {other: task(look) for task, other in zip(tasks[1:], others, strict=True) if other.cancel()}
            return found + [one for other in others for one in (left[other] if other in left else other.result())]
        except BaseException:
            ended = True
            raise


def part_of(progress: Progress | None, part: int, n_parts: int) -> Progress | None:
    """Return the function that takes the completed share of one of several equal parts of the work."""
    if progress is None or n_parts == 1:
        return progress
    return lambda share: progress((part + share) / n_parts)
