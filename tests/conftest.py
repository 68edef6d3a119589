"""What all tests share: hypothesis profiles, compiled loops, and the published data, where it is there."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evenhand import compiled

settings.register_profile("default", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of published data, which lies beside the repository and is not part of it."""
    if not (SHARED_DATA / "case_study_2_scores.csv").is_file():
        pytest.skip(f"the published data of the paper is not at {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use compiled loops on panels of any size."""
    if not compiled.is_compiled():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(compiled, "LARGE", 1)
