"""Compiled loops: where their machine code is kept."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from evenhand import compiled

caching = pytest.importorskip("numba.core.caching")


def doubled(numbers: np.ndarray) -> None:
    for at in range(numbers.size):
        numbers[at] *= 2


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let neither the package's directory nor the user's cache be writable, and put temporary files elsewhere."""

    def refuse(_self: object) -> None:
        raise OSError("read-only")

    for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
        monkeypatch.setattr(getattr(caching, name), "ensure_cache_path", refuse)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    compiled.compiled.cache_clear()
    return tmp_path


def test_without_a_place_beside_the_package_code_is_kept_in_a_directory_of_ones_own(nowhere: Path) -> None:
    numbers = np.ones(3)
    compiled.compiled(doubled)(numbers)
    assert numbers.tolist() == [2.0, 2.0, 2.0]
    if not hasattr(os, "getuid"):
        return
    own = nowhere / f"evenhand-{os.getuid()}"
    assert own.stat().st_mode & 0o077 == 0
    assert list(own.rglob("*.nbi"))


def test_a_directory_that_others_could_write_to_is_not_used(nowhere: Path) -> None:
    if not hasattr(os, "getuid"):
        pytest.skip("no owners of files here")
    own = nowhere / f"evenhand-{os.getuid()}"
    own.mkdir()
    own.chmod(0o777)
    numbers = np.ones(3)
    compiled.compiled(doubled)(numbers)
    assert numbers.tolist() == [2.0, 2.0, 2.0]
    assert not list(own.rglob("*.nbi"))
