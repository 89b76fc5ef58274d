"""Documents that a machine wrote from others: how they are kept out of a search, and how their hits lead to sources.

What each of them cites stands in a sidecar, which `python -m rag.pointers` writes: a search reads no document.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.errors import OptionError, StaleIndexError
from rag.fusion import fuse
from rag.records import Chunk, Ranking, Scored
from rag.stages import Scope
from rag.text import digest, digest_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COMMAND = "python -m rag.pointers"
SCHEMA_VERSION: Literal[1] = 1

DEPTH = 10
"""Among how many first chunks of a lane a generated one is a hit: where it would have been an answer itself. Deeper,
every question has some, whatever it asks."""
PER_TARGET = 10
"""How many chunks of one cited place join: a whole book that is cited without a page must not crowd out the rest."""
LIMIT = 50
"""How many chunks join in all."""


class Target(BaseModel):
    """A place that a generated document cites.

    Attributes:
        file: Path below the corpus root; as it was written where no file of that name was found.
        pages: Inclusive range of physical pages from 1, or None for any.
        heading: Where a chunk's heading path must begin.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    file: Annotated[str, Field(min_length=1)]
    pages: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    heading: tuple[str, ...] = ()

    def holds(self, chunk: Chunk) -> bool:
        """Whether a chunk of the file lies in the place."""
        if chunk.heading[: len(self.heading)] != self.heading:
            return False
        if self.pages is None:
            return True
        return chunk.pages is not None and chunk.pages[0] <= self.pages[1] and self.pages[0] <= chunk.pages[1]


class Sidecar(BaseModel):
    """The file of pointers.

    Attributes:
        schema_version: Of this shape.
        fingerprint: What `fingerprint` said of the generated documents when it was written.
        pointers: Each generated document, by path, to what it cites, in its order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    schema_version: Literal[1]
    fingerprint: str
    pointers: dict[str, tuple[Target, ...]]


@dataclass(frozen=True, slots=True)
class Routed:
    """What generated hits led to.

    Attributes:
        ranking: Primary chunks of the cited places: those of the best hit first, each hit's in the order of the index.
        router_hits: Generated chunks among the first that a lane found.
        routed: Those of them that led to a primary chunk.
        unrouted: Those that led to none: their document cites nothing, or nothing that is there.
        targets: Distinct places that the hits' documents cite.
        targets_missing: Those of them where no primary chunk lies: a file, page or heading that is gone.
    """

    ranking: Ranking = ()
    router_hits: int = 0
    routed: int = 0
    unrouted: int = 0
    targets: int = 0
    targets_missing: int = 0

    def told(self, new: int) -> dict[str, int]:
        """The six counts for the row; `new` is how many chunks of the ranking no other lane has found."""
        counts = {name: count for name, count in asdict(self).items() if name != "ranking"}
        return {**counts, "new": new}


def primary(chunks: Sequence[Chunk]) -> Scope | None:
    """All chunks but the generated ones; None where there is none to keep out."""
    positions = [position for position, chunk in enumerate(chunks) if not chunk.labels.generated]
    return None if len(positions) == len(chunks) else Scope("primary", np.array(positions, dtype=np.intp))


def fingerprint(folder: Path, chunks: Sequence[Chunk]) -> str:
    """Of the generated documents as they are in the folder: front matter, which is no chunk's text, counts too."""
    return digest({file: _digest(folder / file) for file in generated_files(chunks)})


def generated_files(chunks: Sequence[Chunk]) -> list[str]:
    """The generated documents, by path."""
    return sorted({chunk.file for chunk in chunks if chunk.labels.generated})


class Pointers:
    """Follows generated chunks to the primary chunks of what their documents cite.

    Args:
        chunks: The corpus.
        cited: Each generated document to what it cites.

    """

    def __init__(self, chunks: Sequence[Chunk], cited: Mapping[str, Sequence[Target]]) -> None:
        self._files = {position: chunk.file for position, chunk in enumerate(chunks) if chunk.labels.generated}
        self._cited = {file: tuple(dict.fromkeys(targets)) for file, targets in cited.items()}
        self._places = _places(chunks, self._cited)

    @classmethod
    def load(cls, path: Path | None, folder: Path, chunks: Sequence[Chunk]) -> Pointers:
        """Read the sidecar; it is not needed where no document is generated.

        Args:
            path: The sidecar, or None where the settings name none.
            folder: The corpus.
            chunks: What was read of it.

        Raises:
            OptionError: There is none, or it cannot be read; the text says which command writes it.
            StaleIndexError: Generated documents have changed since it was written.
        """
        files = generated_files(chunks)
        if not files:
            return cls(chunks, {})
        needed = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more generated documents"
        if path is None:
            raise OptionError(
                f"generated_mode 'route' must know what {needed} cite: set `pointers` in the settings to a file, "
                f"and write it with `{COMMAND}`"
            )
        try:
            sidecar = Sidecar.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise OptionError(
                f"generated_mode 'route' must know what {needed} cite, and {path} is not there: "
                f"write it with `{COMMAND}`"
            ) from None
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
            raise OptionError(f"{path} cannot be read as pointers ({reason}): write it anew with `{COMMAND}`") from None
        if sidecar.fingerprint != fingerprint(folder, chunks):
            raise StaleIndexError(
                f"{path} is out of date: generated documents have come, gone or changed since it was written; "
                f"write it anew with `{COMMAND}`"
            )
        if sorted(sidecar.pointers) != sorted(files):
            raise StaleIndexError(
                f"{path} does not name the corpus's {len(files)} generated documents: write it anew with `{COMMAND}`"
            )
        return cls(chunks, sidecar.pointers)

    def follow(self, found: Sequence[Ranking], rrf_k: int) -> Routed:
        """From the generated chunks that the lanes found to the primary chunks that they lead to.

        Args:
            found: A ranking a lane, of all chunks.
            rrf_k: The constant with which the lanes are fused.
        """
        fused = fuse([ranking[:DEPTH] for ranking in found], rrf_k)
        hits = [scored for scored in fused if scored.position in self._files]
        ranking: dict[int, float] = {}
        targets: dict[Target, None] = {}
        routed = 0
        for position, score in hits:
            cited = self._cited.get(self._files[position], ())
            targets |= dict.fromkeys(cited)
            reached = sorted({place for target in cited for place in self._places[target]})
            routed += bool(reached)
            for place in reached:
                ranking.setdefault(place, score)
        return Routed(
            ranking=tuple(Scored(position, score) for position, score in ranking.items())[:LIMIT],
            router_hits=len(hits),
            routed=routed,
            unrouted=len(hits) - routed,
            targets=len(targets),
            targets_missing=sum(not self._places[target] for target in targets),
        )


def _places(chunks: Sequence[Chunk], cited: Mapping[str, Sequence[Target]]) -> dict[Target, tuple[int, ...]]:
    """Each cited place to the positions of its first primary chunks."""
    targets = dict.fromkeys(target for file in sorted(cited) for target in cited[file])
    wanted = {target.file for target in targets}
    in_file: dict[str, list[int]] = {}
    for position, chunk in enumerate(chunks):
        if chunk.file in wanted and not chunk.labels.generated:
            in_file.setdefault(chunk.file, []).append(position)
    return {
        target: tuple(at for at in in_file.get(target.file, ()) if target.holds(chunks[at]))[:PER_TARGET]
        for target in targets
    }


def _digest(path: Path) -> str:
    """Of a file's content, whatever its line ends; empty for a file that is gone."""
    try:
        return digest_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    except OSError:
        return ""
