"""The fixture that the plugin's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from plugin_support import Project


@pytest.fixture(scope="session", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sessions share their byte code, as those of an installed package do, and leave none in the checkout."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("compiled")))
        yield


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project; git sees no repository around it."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(pytester.path.parent))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return Project(pytester)
