"""Loads OpenMP so that a thread that waits for others sleeps.

By default it keeps a core busy for a while, which other programs then lack, and the thread that it waits for. OpenMP
reads the variable when it is loaded, so it is set only meanwhile; a value that the user gave stays.
"""

import os

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        import shallowrules._kernel.shared.nearest_rows  # noqa: F401
    finally:
        del os.environ["OMP_WAIT_POLICY"]
