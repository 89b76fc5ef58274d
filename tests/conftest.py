"""What the tests share: where the real collections lie, and pytest's own test driver."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

with contextlib.suppress(ModuleNotFoundError):  # environments that run only a few of the tests have no hypothesis
    from hypothesis import settings

    settings.register_profile("bench", deadline=None)  # a busy machine is no counterexample
    settings.load_profile("bench")

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ["pytester"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let what the test starts be interrupted: a job in the background of a shell ignores Ctrl-C, and so would that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def collections_dir() -> Path:
    """The folder of real collections (`RAGBENCH_DATA`, else `shared/data` beside the checkout)."""
    typed = os.environ.get("RAGBENCH_DATA")
    folder = Path(typed) if typed else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no collections: {folder} is no folder; set RAGBENCH_DATA to where they lie")
    return folder
