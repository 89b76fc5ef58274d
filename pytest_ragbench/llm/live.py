"""A live, OpenAI-compatible endpoint behind the seam; its answers may be kept in a store and replayed later."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from pytest_ragbench import canonical
from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm.seam import NoCompletionError
from pytest_ragbench.llm.store import Record, Store, append, locked, prompt_key, read_store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODEL_VARIABLE = "RAGBENCH_LLM_MODEL"
SEED = 20260901
RETRIES = 3
"""How often a prompt is asked again where the endpoint is busy or out of reach, after longer and longer pauses."""

TIMEOUT = 120.0
"""Seconds that one answer may take."""


class Live:
    """Asks the model that the environment names; what a store already knows is not asked again.

    Args:
        model: The model, which is also the label of its answers.
        keep: Store to which answers are appended, or None.
        timeout: Seconds that one answer may take.
        retries: How often a prompt is asked again where the endpoint is busy or out of reach.

    Raises:
        UsageError: The client is not installed, or the store holds another model's answers.
    """

    def __init__(
        self, model: str, keep: Path | None = None, *, timeout: float = TIMEOUT, retries: int = RETRIES
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise UsageError("a live model needs the package openai: pip install 'pytest-ragbench[llm]'")
        from openai import OpenAI, OpenAIError

        self.model = model
        self._keep = keep
        kept = None if keep is None else _kept(keep, model)
        self._known: dict[str, Record] = {} if kept is None else dict(kept.records)
        try:
            self._client = OpenAI(max_retries=retries, timeout=timeout)
        except OpenAIError as error:
            raise UsageError(f"the live model cannot be asked: {error}") from None
        # A pipeline's own cache must not answer for another endpoint, nor keep an answer from a store that lacks it.
        self.source = f"live:{canonical.digest([str(self._client.base_url), kept and [str(kept.path), kept.digest]])}"

    def complete(self, system: str, user: str) -> str:
        """Ask once, at temperature 0; the answer is on disk before it is used."""
        key = prompt_key(system, user)
        known = self._known.get(key)
        if known is not None and known.completion is not None:
            return known.completion
        completion = self._ask(system, user)
        if self._keep is not None:
            record = Record(key=key, model=self.model, completion=completion, system=system, user=user)
            with locked(self._keep):
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
            content = answer.choices[0].message.content
        except OpenAIError as error:
            raise NoCompletionError(f"the model {self.model!r} gave no answer: {error}") from error
        except (AttributeError, IndexError, TypeError, ValueError) as error:  # the client checks no answer's shape
            raise NoCompletionError(f"the model {self.model!r} gave an answer without text: {error}") from error
        if not isinstance(content, str):
            raise NoCompletionError(f"the model {self.model!r} gave an answer without text")
        return content.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # half a pair cannot be kept


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
