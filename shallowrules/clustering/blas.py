"""BLAS with one thread while k-means runs.

KMeans shares its rows among OpenMP's threads. BLAS uses threads of its own only where KMeans chooses starting centers,
for products too small for them; afterwards they keep the cores busy, waiting for more. With one thread of BLAS, fits of
7,000 to 200,000 rows took 0.4 to 0.8 of the time on two cores (letter 0.4, anuran 0.45, avila 0.5), and as long with
fewer rows or more: no size separates the two cases. OpenMP's threads are worthwhile: with these limited too, the same
fits took 1.3 to 1.7 times as long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["forget_limit", "single_threaded_blas"]


class _SharedLimit:
    """One limit for all threads that need it: the first sets it, the last removes it.

    The limit applies to the whole process. Separate threads would restore each other's limits, and so do
    scikit-learn's own limits inside KMeans; within this one they find 1 and restore 1.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._libraries: ThreadpoolController | None = None  # finding them takes as long as a small fit
        self._limiter: Any = None

    def acquire(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._libraries = self._libraries or ThreadpoolController()
                self._limiter = self._libraries.limit(limits=1, user_api="blas") if self._n_threads() > 1 else None
                if self._n_threads() > 1:  # a limit of the user's in another thread, which threadpoolctl leaves alone
                    self._limiter = None
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._limiter is not None:
                self._clear_control()  # of the thread that set the limit, which may be another
                self._limiter.restore_original_limits()
                self._clear_control()
                self._limiter = None

    def _n_threads(self) -> int:
        """Return the most threads that a BLAS may use."""
        assert self._libraries is not None
        return max((library["num_threads"] for library in self._libraries.select(user_api="blas").info()), default=1)

    def _clear_control(self) -> None:
        """Let any thread set limits: threadpoolctl 3.8 and later allows this only to the first thread that did so."""
        assert self._libraries is not None
        for library in self._libraries.lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_limit = _SharedLimit()


def forget_limit() -> None:
    """Start a forked child without a limit: it lacks the threads that hold the parent's limit or its lock."""
    global _limit
    _limit = _SharedLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread in a block; afterwards it has as many as before."""
    limit = _limit
    limit.acquire()
    try:
        yield
    finally:
        limit.release()
