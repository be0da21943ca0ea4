"""How much of a table this process may hold."""

from __future__ import annotations

import os
from numbers import Real
from pathlib import Path
from typing import Any

from shallowrules.errors import OptionError, OptionName
from shallowrules.tables.values import nearest_double

__all__ = ["LARGEST_MEMORY", "available_memory", "check_memory", "rows_within"]

LARGEST_MEMORY = 1 << 50
"""Bytes, more than any machine has: a higher limit acts like this one."""

AVAILABLE_SHARE = 0.5
"""Share of the machine's available memory that the work may use by default."""

GROWTH_SHARE = 0.4
"""Share of the work's memory that growing may take; the rest is for reading, for parts, and for Python."""

UNKNOWN = 2**31

CGROUP = tuple(
    (Path("/sys/fs/cgroup", limit), Path("/sys/fs/cgroup", used))
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    )
)
"""The limit of a container and what it has taken, in both versions of Linux's control groups."""

WORKING_SHARE = 4
"""Memory that collecting, sorting and growing take, as a multiple of the size of the collected numbers."""


def check_memory(given: Any) -> int | None:
    """Return the bytes that work may take, an int of at most `LARGEST_MEMORY`; OptionError for anything else."""
    if given is None:
        return None
    if not isinstance(given, Real) or isinstance(given, bool) or not nearest_double(given) >= 0:
        raise OptionError(OptionName("memory"), f" must be a number of bytes, not {given!r}")
    return int(min(nearest_double(given), LARGEST_MEMORY))


def rows_within(memory: int | None, row_bytes: int) -> int:
    """Return how many rows of a given number of bytes may be collected in this process, to grow a tree over them.

    Parameters
    ----------
    memory : int or None
        Bytes that the work may take; None for half of what the machine has available.
    row_bytes : int
    """
    if memory is None:
        memory = int(AVAILABLE_SHARE * available_memory())
    return int(GROWTH_SHARE * memory) // (WORKING_SHARE * row_bytes)


def available_memory() -> int:
    """Return the bytes that the machine has available, or the container that this process runs in.

    Where the system does not say how much is available, it is all the memory, or else 2 GiB.
    """
    found = [_meminfo() or _physical() or UNKNOWN]
    for limit, used in CGROUP:
        try:
            found.append(int(limit.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it says "max"
            continue
    return max(0, min(found))


def _meminfo() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def _physical() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
