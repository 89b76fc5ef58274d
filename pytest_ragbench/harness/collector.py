"""Spares the garbage collector a session's items, which live to its end.

It would walk over thousands of them at every full collection, and twice more when pytest ends. Where somebody else has
frozen objects, it is left alone.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_frozen = pytest.StashKey[bool]()
"""Whether this session has frozen objects; there from the moment that they are sure to be given back."""


def give_back_last(config: pytest.Config) -> None:
    """Have what will be frozen given back when the session is over.

    To be called before pytest configures itself: cleanups run in reverse, and pytest's own, registered then, collect.
    """
    config.stash[_frozen] = False
    config.add_cleanup(lambda: _unfreeze(config))


@contextmanager
def paused() -> Generator[None]:
    """Make many objects, none of them garbage, without the collector looking through them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def freeze(config: pytest.Config) -> None:
    """Keep all that is there out of later collections, where it is sure to be given back.

    Called with the collector paused, it also spares the one that would come with the first object after the pause.
    """
    ours = config.stash.get(_frozen, None)
    if ours or (ours is False and gc.get_freeze_count() == 0):
        gc.freeze()
        config.stash[_frozen] = True


def _unfreeze(config: pytest.Config) -> None:
    if config.stash[_frozen]:
        config.stash[_frozen] = False
        gc.unfreeze()
