"""How Ctrl-C and a termination end a bisect: by unwinding the stack, and never in the midst of putting things away."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TERMINATING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def terminable() -> Iterator[None]:
    """Let a termination unwind the stack as Ctrl-C does, so that everything is put away.

    A signal that is ignored, as the hang-up of a terminal under `nohup`, stays ignored.

    Raises:
        SystemExit: SIGTERM or SIGHUP came; its status is the shell's, 128 and the signal's number.
    """

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    with _handled([number for number in _TERMINATING if signal.getsignal(number) is not signal.SIG_IGN], leave):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back signals from what must not be cut off; the first that came is delivered at its end."""
    came: list[int] = []
    with _handled([signal.SIGINT, *_TERMINATING], lambda number, _: came.append(number)):
        yield
    if came:
        signal.raise_signal(came[0])


@contextmanager
def _handled(numbers: list[signal.Signals], handler: Callable[[int, object], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there may a signal be handled
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
