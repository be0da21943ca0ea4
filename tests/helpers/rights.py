"""A context without root's rights to every file, for tests of forbidden access."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shallowrules.verification.engines.programs import is_root

VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: two sets, of 32 capabilities each
OVERRIDES = 0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class Header(ctypes.Structure):
    """The header of capget and capset: pid 0 is this thread."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Capabilities(ctypes.Structure):
    """The sets that capget fills and capset sets."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def without_rights() -> Iterator[None]:
    """Make file modes apply to root too, in this thread; skip where a system has no way to do so.

    The user stays the same: another one might not be able to import what lies below a closed folder.
    """
    if not is_root():
        yield
        return
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "capset"):
        pytest.skip("root may do everything here")
    header, sets = Header(VERSION, 0), (Capabilities * 2)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    before = sets[0].effective
    sets[0].effective = before & ~OVERRIDES
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0].effective = before
        assert libc.capset(ctypes.byref(header), sets) == 0
