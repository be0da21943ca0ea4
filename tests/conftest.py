"""What all tests share: hypothesis's profiles and the larger tables that lie outside the repository."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No profile judges how long an example takes: a busy machine is no error.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the larger tables (letter, avila, …), or skip."""
    folder = Path(os.environ.get("SHALLOWRULES_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no tables at {folder}: set SHALLOWRULES_DATA to the folder that has them")
    return folder
