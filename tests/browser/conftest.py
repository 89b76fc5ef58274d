"""Tests in a real browser run only where they are asked for by `-m browser`, as `tox -e browser` does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(config, items):
    if "browser" not in (config.getoption("markexpr", default="") or ""):
        skip = pytest.mark.skip(reason="it takes a browser: tox run -e browser")
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, or the one that `RAGBENCH_CHROMIUM` names."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("RAGBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "there is no Chromium: apt-get install chromium, or set RAGBENCH_CHROMIUM to its path"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()
