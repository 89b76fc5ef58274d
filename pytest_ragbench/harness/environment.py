"""What a record says of the process that made it: how many workers, and the versions its numbers depend on."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from pytest_ragbench.harness import options

if TYPE_CHECKING:
    import pytest


def workers(config: pytest.Config) -> int:
    """How many workers the session begins with; 0 without xdist."""
    if not options.is_controller(config):
        return 0
    from xdist.workermanage import parse_tx_spec_config  # `2*popen` is two workers

    return len(parse_tx_spec_config(config))


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    found = {"python": platform.python_version(), "platform": sys.platform}
    for package in ("pytest-ragbench", "pytest", "pytest-xdist", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
