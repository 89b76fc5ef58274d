"""Rerank and gate by Laya: a decision model that says with which probability a passage is relevant to a question.

How a question and a passage are put to it stands here alone, so that what it is trained on is what it is asked.
docs/laya.md tells how to make a checkpoint and how to judge one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.cache import Lazy, in_batches
from rag.errors import ModelMissingError
from rag.models import prepare_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.cache import Meter, PairScores
    from rag.options import Settings

VERSION = "1"
"""Raised when the form of the question or the arithmetic changes, so that no stored score outlives it."""

ASKED = "relevant"
INSTRUCTIONS = "Does the passage help to answer the question?"
_PARTS = ("rl_agent_config.json", "model.safetensors", "encoder", "tokenizer")
_REWRITTEN = ("backend", "extra_special_tokens", "is_local", "tokenizer_class")
_BATCH = 16


def state(query: str, text: str) -> dict[str, str]:
    """What is judged. The question stands first: where the model reads no further, it is the passage that is cut."""
    return {"question": query, "passage": text}


def questions() -> dict[str, dict[str, str]]:
    """What Laya is asked of every state: one statement that holds or does not (`noul`)."""
    return {ASKED: {"type": "noul", "instructions": INSTRUCTIONS}}


def training_row(query: str, text: str, *, relevant: bool) -> dict[str, Any]:
    """One line of the JSONL file that `laya-train --data` reads."""
    return {"state": state(query, text), "questions": questions(), "expected": {ASKED: relevant}}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on this machine.

    Attributes:
        path: Its folder.
        digest: sha256 over what decides its answers.
    """

    path: Path
    digest: str


def checkpoint(path: str | None) -> Checkpoint:
    """Find a checkpoint. Neither torch nor the package is loaded, and nothing is downloaded.

    Raises:
        ModelMissingError: The package is not installed, no checkpoint is set, or the folder is none.
    """
    if importlib.util.find_spec("laya") is None:
        raise ModelMissingError(
            "laya needs the package laya, which is not installed, and a checkpoint (docs/laya.md): pip install laya"
        )
    if path is None:
        raise ModelMissingError(
            "laya needs a checkpoint, and none is set: point the setting laya at the folder of one (docs/laya.md)"
        )
    folder = Path(path).expanduser().absolute()  # a bare name would mean a model of the hub
    for name in _PARTS:
        if not (folder / name).exists():
            raise ModelMissingError(
                f"the setting laya points at {folder}, which is no checkpoint of Laya: it has no {name}; train one, or "
                "download one with `hf download --local-dir`, and name its folder (docs/laya.md)"
            )
    return Checkpoint(folder, _digest(folder))


def _digest(folder: Path) -> str:
    """Over names and contents of its parts; what a training run leaves beside them decides nothing."""
    total = hashlib.sha256()
    files = [path for name in _PARTS for path in (folder / name, *(folder / name).rglob("*")) if path.is_file()]
    for path in sorted(files):
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        if path.name == "tokenizer_config.json":
            content = hashlib.sha256(_settled(path.read_bytes())).hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def _settled(tokenizer: bytes) -> bytes:
    """A tokenizer's settings without those that Laya rewrites in the folder itself when it first loads it."""
    try:
        data = json.loads(tokenizer)
    except ValueError:
        return tokenizer
    if not isinstance(data, dict):
        return tokenizer
    return json.dumps({key: data[key] for key in sorted(data) if key not in _REWRITTEN}).encode()


class Laya:
    """A loaded checkpoint.

    Attributes:
        counts: How many `pairs` went through the model.

    Raises:
        ModelMissingError: The checkpoint is damaged, or of another kind.
    """

    def __init__(self, found: Checkpoint, *, device: str = "cpu", threads: int | None = None) -> None:
        prepare_torch(threads)
        import laya
        from laya.train import to_internal

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # odd temperatures are clamped, as in every use of it
                self._agent = laya.load(str(found.path), device=device, backend="eager")
        except Exception as error:  # safetensors, torch, json and the package each raise their own
            raise ModelMissingError(
                f"the checkpoint {found.path} cannot be loaded, train or fetch it anew: {type(error).__name__}: {error}"
            ) from error
        self._question = to_internal(ASKED, questions()[ASKED])
        self.counts: Counter[str] = Counter()

    def predict(self, query: str, texts: Sequence[str]) -> list[float]:
        """P(relevant) of each text, all in one batch.

        The probability that `laya.load(...).predict` rounds to four decimals, unrounded: rounded, many of a good
        pool's passages would tie at 1.
        """
        from laya.common import QTYPES, temp_bucket
        from laya.train import calibration_records, encode_state, make_item

        agent, kind = self._agent, QTYPES["noul"]
        reads, head = agent.cfg.get("max_len", 512), agent.cfg.get("head_max_len", 192)
        pairs = []
        for text in texts:
            ids = encode_state(agent.tok, state(query, text), reads)
            item, problem = make_item(agent.tok, self._question, (0.5, 0.5), ids, head, reads)
            if item is None:
                raise ModelMissingError(f"the checkpoint reads too little to be asked about passages: {problem}")
            pairs.append(item)
        self.counts["pairs"] += len(texts)
        records = calibration_records(
            agent.model, agent.tok, pairs, agent.device, reads, head, len(pairs), parallel=agent.parallel_options
        )
        temperature = agent.temperature_by_options.get(temp_bucket(kind, 2), agent.temperature[kind])
        return [_sigmoid((float(yes) - float(no)) / temperature) for _, (no, yes), _, _ in records]


def _sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), of a NaN NaN, without overflow."""
    if logit < 0:
        return math.exp(logit) / (1.0 + math.exp(logit))
    return 1.0 / (1.0 + math.exp(-logit))


class LayaRerank:
    """P(relevant) of each pair, kept for each pair.

    Args:
        found: The checkpoint, loaded when a pair is first scored.
        settings: What it computes on.
        pairs: Keeps the scores.
    """

    fuses = False

    def __init__(self, found: Checkpoint, settings: Settings, pairs: PairScores) -> None:
        self.model = Lazy(lambda: Laya(found, device=settings.device, threads=settings.threads))
        self._implementation = ("laya", VERSION, found.digest)
        self._pairs = pairs

    def scores(self, query: str, texts: Sequence[str], meter: Meter) -> list[float]:
        """One probability a text, in [0, 1]."""
        if not texts:
            return []

        def compute(missing: Sequence[str]) -> list[tuple[float, float]]:
            model = self.model.get(meter)
            return in_batches(lambda batch: model.predict(query, batch), missing, _BATCH)

        return self._pairs.scores(self._implementation, query, texts, compute, meter)
