"""Which language model a session asks, and what its record says of it. Opened when a pipeline first needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm import opening

if TYPE_CHECKING:
    from pytest_ragbench.harness.settings import LlmSetting, Settings
    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.llm.store import Store


def open_seam(setting: LlmSetting) -> Seam:
    """The seam that a setting names.

    Raises:
        UsageError: Its store is missing or unsound, or the live model cannot be asked.
    """
    return opening.open_seam(setting.mode, setting.store)


def described(settings: Settings) -> dict[str, Any] | None:
    """What `run.json` says: mode, store as the user would type it, model label, digest of the store's answers.

    Raises:
        UsageError: As `open_seam`.
    """
    setting = settings.llm
    if setting is None:
        return None
    shown = settings.shown(setting.store) if setting.store is not None else None
    if setting.mode == "live":
        from pytest_ragbench.llm.live import model_of

        return {"mode": "live", "store": shown, "model": model_of(), "digest": None}
    store = _store(setting)
    return {"mode": setting.mode, "store": shown, "model": store.model, "digest": store.digest}


def notes(settings: Settings) -> list[str]:
    """What is odd about the store and does no harm, as sentences for the report.

    Raises:
        UsageError: As `open_seam`.
    """
    setting = settings.llm
    if setting is None or setting.store is None or setting.mode == "live":
        return []
    repeated = _store(setting).warnings
    if not repeated:
        return []
    count = "1 repeated record" if len(repeated) == 1 else f"{len(repeated)} repeated records"
    shown = settings.shown(setting.store)
    return [f"the store {shown} holds {count}, first at line {repeated[0].line}: {repeated[0].message}"]


def _store(setting: LlmSetting) -> Store:
    if setting.store is None:
        raise UsageError(f"--rag-llm={setting.mode}: it needs a store, as {setting.mode}:golden/llm/drafts.jsonl")
    return opening.store_of(setting.mode, setting.store)
