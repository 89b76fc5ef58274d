"""A live, OpenAI-compatible endpoint behind the seam; its answers may be kept in a store and replayed later."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from filelock import FileLock

from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm.seam import NoCompletionError
from pytest_ragbench.llm.store import Record, Store, append, prompt_key, read_store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODEL_VARIABLE = "RAGBENCH_LLM_MODEL"
SEED = 20260901


class Live:
    """Asks the model that the environment names; what a store already knows is not asked again.

    Args:
        model: The model, which is also the label of its answers.
        keep: Store to which answers are appended, or None.

    Raises:
        UsageError: The client is not installed, or the store holds another model's answers.
    """

    def __init__(self, model: str, keep: Path | None = None) -> None:
        if importlib.util.find_spec("openai") is None:
            raise UsageError("a live model needs the package openai: pip install 'pytest-ragbench[llm]'")
        from openai import OpenAI, OpenAIError

        self.model = model
        self.source = "live"
        self._keep = keep
        self._known: dict[str, Record] = dict(_kept(keep, model).records) if keep is not None else {}
        try:
            self._client = OpenAI(max_retries=3, timeout=120.0)
        except OpenAIError as error:
            raise UsageError(f"the live model cannot be asked: {error}") from None

    def complete(self, system: str, user: str) -> str:
        """Ask once, at temperature 0; the answer is on disk before it is used."""
        key = prompt_key(system, user)
        known = self._known.get(key)
        if known is not None and known.completion is not None:
            return known.completion
        completion = self._ask(system, user)
        if self._keep is not None:
            record = Record(key=key, model=self.model, completion=completion, system=system, user=user)
            self._keep.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._keep}.lock"):
                others = _kept(self._keep, self.model).records
                if key in others:  # another process asked the same meanwhile: one answer counts
                    record = others[key]
                else:
                    append(self._keep, record)
            self._known[key] = record
            completion = str(record.completion)
        return completion

    def _ask(self, system: str, user: str) -> str:
        from openai import OpenAIError

        try:
            answer = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                temperature=0.0,
                seed=SEED,
            )
        except OpenAIError as error:
            raise NoCompletionError(f"the model {self.model!r} gave no answer: {error}") from error
        if not answer.choices or answer.choices[0].message.content is None:
            raise NoCompletionError(f"the model {self.model!r} gave an answer without text")
        return answer.choices[0].message.content


def model_of(environment: Mapping[str, str] = os.environ) -> str:
    """The model that the environment names.

    Raises:
        UsageError: It names none.
    """
    model = environment.get(MODEL_VARIABLE, "")
    if not model:
        raise UsageError(
            f"--rag-llm=live asks the model that {MODEL_VARIABLE} names (and OPENAI_BASE_URL, OPENAI_API_KEY where "
            "and how); it is not set"
        )
    return model


def _kept(path: Path, model: str) -> Store:
    if not path.exists():
        return Store(path)
    store = read_store(path)
    if store.model not in (None, model):
        raise UsageError(f"{path} keeps the answers of {store.model!r}, not of {model!r}; name another store")
    return store
