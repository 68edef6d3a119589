"""What all tests share: hypothesis profiles, compiled loops, and the published data, where it is there."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evenhand import compiled

settings.register_profile("default", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")

if os.environ.get("LC_ALL") in ("C", "POSIX"):  # which asks for plain characters
    del os.environ["LC_ALL"]

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PUBLISHED = (
    "case_study_1_published.csv",
    "case_study_2_cwc_biases.csv",
    "case_study_2_cwc_values.csv",
    "case_study_2_scores.csv",
    "case_study_2_workbook.xlsx",
)
REQUIRE_PUBLISHED = "EVENHAND_REQUIRE_PUBLISHED"
"""With this variable set to 1, as in ``.ci/run``, tests without the published data are errors."""
NOT_PUBLISHED = "the published data of the paper is not at"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of published data, which lies beside the repository and is not part of it."""
    missing = [name for name in PUBLISHED if not (SHARED_DATA / name).is_file()]
    if missing:
        reason = f"{NOT_PUBLISHED} {SHARED_DATA}: there is no {', '.join(missing)}"
        if os.environ.get(REQUIRE_PUBLISHED) == "1":
            pytest.fail(f"{reason}, and {REQUIRE_PUBLISHED} is 1", pytrace=False)
        pytest.skip(reason)
    return SHARED_DATA


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line, after the counts, how many tests were skipped because the published data is missing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    skipped = [report for report in reporter.stats.get("skipped", ()) if NOT_PUBLISHED in str(report.longrepr)]
    if skipped:
        tests = "1 test was" if len(skipped) == 1 else f"{len(skipped)} tests were"
        reporter.ensure_newline()
        reporter.write_line(f"{tests} skipped because {NOT_PUBLISHED} {SHARED_DATA}.", yellow=True)


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use compiled loops on panels of any size."""
    if not compiled.is_compiled():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(compiled, "LARGE", 1)
