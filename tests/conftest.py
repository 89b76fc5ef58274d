"""What the tests share: where the real collections lie, and pytest's own test driver."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

with contextlib.suppress(ModuleNotFoundError):  # environments that run only a few of the tests have no hypothesis
    from hypothesis import settings

    settings.register_profile("bench", deadline=None)  # a busy machine is no counterexample
    settings.load_profile("bench")

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def collections_dir() -> Path:
    """The folder of real collections (`RAGBENCH_DATA`, else `shared/data` beside the checkout)."""
    typed = os.environ.get("RAGBENCH_DATA")
    folder = Path(typed) if typed else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no collections: {folder} is no folder; set RAGBENCH_DATA to where they lie")
    return folder
