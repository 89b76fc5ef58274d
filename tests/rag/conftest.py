"""A pipeline over files written in the test, with an encoder of arithmetic; and the real encoder, loaded once."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rag.options import Settings
from rag.pipeline import RagPipeline
from rag.text import unicode_tokens

os.environ.setdefault("OMP_NUM_THREADS", "1")

OWN = ("pair_model", "lanes", "rerankers", "llm", "oracle")
"""Arguments of `RagPipeline` that are no settings."""


class HashEncoder:
    """Each word is a fixed unit vector, a text the normalised sum: texts that share words are near each other."""

    limit = 16

    def __init__(self, dimension=64):
        self.dimension = dimension
        self.counts = Counter()
        self.fail_after = None

    def word(self, token):
        seed = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def lengths(self, texts):
        return [len(unicode_tokens(text)) + 2 for text in texts]

    def question(self, query):
        self.counts["question"] += 1
        pieces = np.stack([self.word(token) for token in self._tokens(query)])
        whole = pieces.sum(axis=0)
        return (whole / np.linalg.norm(whole)).astype(np.float32), pieces

    def embed(self, texts):
        if self.fail_after is not None and self.counts["embed"] >= self.fail_after:
            raise KeyboardInterrupt
        self.counts["embed"] += len(texts)
        sums = np.stack([sum(self.word(token) for token in self._tokens(text)) for text in texts])
        return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)

    def token_vectors(self, texts):
        self.counts["tokens"] += len(texts)
        return [np.stack([self.word(token) for token in self._tokens(text)]) for text in texts]

    def embed_with_tokens(self, texts):
        return self.embed(texts), self.token_vectors(texts)

    @staticmethod
    def _tokens(text):
        return unicode_tokens(text) or ["(nothing)"]


class ScriptedLlm:
    """Answers the prompts that hold a key of its table; of any other it says that it has no answer."""

    def __init__(self, answers, model="scripted", source="table"):
        self.answers = answers
        self.model = model
        self.source = source
        self.asked = []

    def complete(self, system, user):
        self.asked.append((system, user))
        for part, answer in self.answers.items():
            if part in user:
                if isinstance(answer, BaseException):
                    raise answer
                return answer
        raise LookupError(f"no answer to {user!r}")


@pytest.fixture
def scripted():
    return ScriptedLlm


@pytest.fixture
def encoder():
    return HashEncoder()


@pytest.fixture
def write(tmp_path):
    """Write files below the corpus: `write({"a.md": "text", "b.pdf": b"..."})`."""

    def put(files):
        for name, content in files.items():
            path = tmp_path / "corpus" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "corpus"

    return put


@pytest.fixture
def pipeline(tmp_path, encoder):
    """Make a pipeline over the corpus; keywords are settings, `search` holds options."""

    def make(**settings):
        arguments = {"search": {"rerank": "none"}} | settings
        own = {key: arguments.pop(key) for key in OWN if key in arguments}
        return RagPipeline(Settings.model_validate(arguments), tmp_path, quiet=True, encoder=lambda _: encoder, **own)

    return make


@pytest.fixture(scope="session")
def sentence_encoder():
    """The bundled MiniLM, on one thread."""
    pytest.importorskip("sentence_transformers")
    from rag.encoder import SentenceEncoder
    from rag.models import find

    return SentenceEncoder(find("all-MiniLM-L6-v2", "model"), threads=1)


def files_of(result):
    return [chunk.file for chunk in result.chunks]


@pytest.fixture(scope="session")
def scifact(collections_dir) -> Path:
    return collections_dir / "scifact"
