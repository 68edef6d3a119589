"""A real Chromium for pages: skipped with a reason where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@contextmanager
def started() -> Iterator[Any]:
    """Return a browser."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine: `make browser` installs Debian's, or says what is missing")
    playwright = pytest.importorskip("playwright.sync_api", reason="pages are driven with playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_browser() -> Iterator[Any]:
    """Return a browser that cannot reach the network."""
    with started() as browser:
        yield browser.new_context(offline=True, viewport={"width": 1100, "height": 900})
