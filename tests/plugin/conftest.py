"""The fixture that the plugin's tests share."""

from __future__ import annotations

import pytest

from plugin_support import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project; git sees no repository around it."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return Project(pytester)
