"""What real processes do to each other's index: built once, killed at any point, on disks that are full or locked."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rag.errors import IndexNotWrittenError
from rag.hnsw import Hnsw
from rag.sparse import Bm25
from rag.store import Store

ROOT = Path(__file__).resolve().parents[2]
NOTES = {f"{number:02}.md": f"# Note {number}\n\nword{number} and word{number + 1} and text" for number in range(24)}
QUERY = "word7 text"

# A pipeline over the corpus whose encoder is slow, and, where told so, dies at the given moment.
PROCESS = """
import json, os, signal, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1] + "/tests/rag", sys.argv[1]]
from conftest import HashEncoder
from rag.options import Settings
from rag.pipeline import RagPipeline

root, when = Path(sys.argv[2]), sys.argv[3]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Encoder(HashEncoder):
    def embed(self, texts):
        time.sleep(0.05)
        if when == "vectors" and self.counts["embed"] >= 8:
            die()
        return super().embed(texts)


def dying_after(owner, name, part):
    method = getattr(owner, name)

    def wrapped(self, *args, **kwargs):
        done = method(self, *args, **kwargs)
        if when == part:
            die()
        return done

    setattr(owner, name, wrapped)


import rag.hnsw, rag.sparse, rag.store, rag.indexing, rag.embedding
dying_after(rag.indexing.Indexer, "_read", "chunks")
dying_after(rag.sparse.Bm25, "save", "sparse")
dying_after(rag.hnsw.Hnsw, "save", "hnsw")
dying_after(rag.embedding.TokenCache, "put", "tokens")
if when == "manifest":
    write = rag.store._write_through
    rag.store._write_through = lambda path, text: (write(path, text[: len(text) // 2]), die())
if when == "rename":
    Path.replace = lambda self, target: die()
encoder = Encoder()
settings = Settings(batch_size=4, search={"rerank": "late-interaction", "dense_search": "hnsw"})
search = RagPipeline(settings, root, encoder=lambda _: encoder)
found = search.search("word7 text")
print(json.dumps({"chunks": [[c.id, c.score] for c in found.chunks], "embedded": encoder.counts["embed"]}))
"""


def start(tmp_path, when="never"):
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(ROOT), str(tmp_path), when],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out), err


def test_two_processes_that_start_at_once_build_each_part_once_and_answer_alike(write, tmp_path):
    write(NOTES)
    answers = [answer(process) for process in [start(tmp_path), start(tmp_path)]]
    said = "".join(err for _, err in answers)
    for part in ("chunks", "sparse", "vectors", "tokens", "hnsw"):
        assert said.count(f"building the {part} index") == 1
    assert sorted(found["embedded"] for found, _ in answers) == [0, len(NOTES)]
    assert answers[0][0]["chunks"] == answers[1][0]["chunks"]


@pytest.mark.parametrize("when", ["chunks", "sparse", "vectors", "tokens", "hnsw", "manifest", "rename"])
def test_a_process_killed_in_any_part_of_a_build_leaves_nothing_that_is_trusted(when, write, tmp_path, pipeline):
    write(NOTES)
    process = start(tmp_path, when)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    again = pipeline(batch_size=4, search={"rerank": "late-interaction", "dense_search": "hnsw"})
    fresh = pipeline(batch_size=4, state="fresh", search={"rerank": "late-interaction", "dense_search": "hnsw"})
    assert again.search(QUERY).chunks == fresh.search(QUERY).chunks
    assert not list((tmp_path / ".ragbench" / "index").glob(".*.building"))


def test_who_waits_for_a_killed_builder_takes_over(write, tmp_path):
    write(NOTES)
    builder = start(tmp_path)
    index = tmp_path / ".ragbench" / "index"
    deadline = time.monotonic() + 60
    while not list(index.glob(".vectors-*.building")):
        assert builder.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    waiting = start(tmp_path)
    builder.send_signal(signal.SIGKILL)
    builder.communicate()
    found, _ = answer(waiting)
    assert found["chunks"]


def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("owner", "name", "part"),
    [
        (Path, "write_text", "chunks"),
        (Bm25, "save", "sparse"),
        (np, "save", "vectors"),
        (Hnsw, "save", "hnsw"),
        (os, "fsync", "chunks"),
        (Path, "mkdir", "chunks"),
    ],
)
def test_a_full_disk_is_said_by_name_and_leaves_no_half_part(owner, name, part, write, pipeline, tmp_path, monkeypatch):
    write(NOTES)
    options = {"search": {"rerank": "none", "dense_search": "hnsw"}}
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, full)
        with pytest.raises(IndexNotWrittenError, match=f"the {part} index could not be built in .*No space left"):
            pipeline(**options).search(QUERY)
    assert not list((tmp_path / ".ragbench").glob("index/.*.building"))
    assert pipeline(**options).search(QUERY).chunks


def test_what_numpy_says_of_a_full_disk_has_no_number(write, pipeline, monkeypatch):
    def short(*_args, **_kwargs):
        raise OSError("1000 requested and 12 written")

    write(NOTES)
    monkeypatch.setattr(np, "save", short)
    with pytest.raises(IndexNotWrittenError, match="1000 requested and 12 written"):
        pipeline().search(QUERY)


def test_a_graph_that_was_cut_short_on_disk_is_never_kept(write, pipeline, monkeypatch, tmp_path):
    save = Hnsw.save

    def cut(self, path):
        save(self, path)
        path.write_bytes(path.read_bytes()[:100])

    write(NOTES)
    with monkeypatch.context() as patch:
        patch.setattr(Hnsw, "save", cut)
        with pytest.raises(RuntimeError, match="corrupt"):
            pipeline().search(QUERY, dense_search="hnsw")
    assert not list((tmp_path / ".ragbench" / "index").glob("hnsw-*"))


def test_a_fault_of_something_else_is_not_blamed_on_the_folder(tmp_path):
    def build(_folder):
        raise ConnectionError(errno.ECONNREFUSED, "refused")

    with pytest.raises(ConnectionError, match="refused"):
        Store(tmp_path).open("part", {}, build)


def test_a_state_folder_that_cannot_be_made_is_named(write, pipeline, tmp_path):
    write(NOTES)
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexNotWrittenError, match=r"file/state/index.*set `state` to another"):
        pipeline(state="file/state").search(QUERY)


def test_a_finished_index_on_a_disk_that_cannot_be_written_is_read(write, pipeline, monkeypatch):
    write(NOTES)
    options = {"search": {"rerank": "late-interaction"}}
    expected = pipeline(**options).search(QUERY).chunks

    def locked(*_args, **_kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for owner, name in ((Path, "mkdir"), (Path, "replace"), (os, "fsync"), (os, "mkdir"), (os, "rename")):
        monkeypatch.setattr(owner, name, locked)
    assert pipeline(**options).search(QUERY).chunks == expected


@pytest.mark.parametrize("loss", ["removed", "emptied", "one damaged"])
def test_token_vectors_that_are_lost_are_made_again_and_no_search_pays_for_them(
    loss, write, pipeline, encoder, tmp_path
):
    import sqlite3

    write(NOTES)
    options = {"caches": False, "search": {"rerank": "late-interaction"}}
    expected = pipeline(**options).search(QUERY)
    cache = tmp_path / ".ragbench" / "cache" / "tokens.sqlite"
    if loss == "removed":
        cache.unlink()
    else:
        with sqlite3.connect(cache) as connection:
            one = "" if loss == "emptied" else " WHERE key = (SELECT min(key) FROM cache)"
            connection.execute(f"DELETE FROM cache{one}")
        connection.close()
    again = pipeline(**options)
    again.warm()
    encoder.counts.clear()
    assert again.search(QUERY).chunks == expected.chunks
    assert encoder.counts == {"question": 1}


def test_vectors_are_mapped_and_shared_not_copied(write, pipeline):
    write(NOTES)
    search = pipeline()
    search.search(QUERY)
    vectors = search._stage("dense", None)._vectors.loaded
    assert isinstance(vectors.base, np.memmap)
    assert not vectors.flags.writeable
