"""The index on disk: built once, rebuilt when content or settings change and never for a touch, never trusted damaged."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from rag import indexing
from rag.errors import RagError, StaleIndexError
from rag.progress import Progress
from rag.scanning import scan
from rag.store import Store, explain

NOTES = {"a.md": "# One\n\nalpha text", "b.md": "# Two\n\nbeta text", "c/d.md": "gamma text"}


@pytest.fixture
def said(capsys):
    """What builds have said since the last call."""
    return lambda: capsys.readouterr().err


@pytest.fixture
def loud(pipeline, monkeypatch):
    """A fresh pipeline, as a new process would make it, that says what it builds."""

    def make(**settings):
        made = pipeline(**settings)
        made._parts.indexer._progress._quiet = False
        return made

    return make


def test_idx_01_an_unchanged_corpus_is_read_once_and_a_touch_changes_nothing(write, loud, said, encoder):
    corpus = write(NOTES)
    first = loud()
    first.search("alpha")
    assert said().splitlines() == [
        f"rag: building the {part} index: there is none yet" for part in ("chunks", "sparse", "vectors")
    ]
    os.utime(corpus / "a.md", (1, 1))
    second = loud()
    second.search("beta")
    assert said() == ""
    assert second.describe() == first.describe()
    assert encoder.counts == {"embed": 3, "question": 2}


@pytest.mark.parametrize(
    ("change", "settings", "why", "embedded"),
    [
        (lambda corpus: (corpus / "a.md").write_text("# One\n\nother text"), {}, "changed: a.md", 1),
        (lambda corpus: (corpus / "a.md").unlink(), {}, "removed: a.md", 0),
        (lambda corpus: (corpus / "new.md").write_text("delta"), {}, "added: new.md", 1),
        (lambda corpus: (corpus / "a.md").rename(corpus / "z.md"), {}, "added: z.md; removed: a.md", 1),
        (lambda _: None, {"chunking": {"max_chars": 500}}, "changed: chunking.max_chars 700 -> 500", 0),
        (lambda _: None, {"chunking": {"mode": "whole"}}, "changed: chunking.mode passages -> whole", 2),
        (lambda corpus: (corpus / "c").rename(corpus / "e"), {}, "added: e/d.md; removed: c/d.md", 0),
    ],
)
def test_idx_01_a_change_is_noticed_and_named_and_unchanged_chunks_are_not_embedded_again(
    change, settings, why, embedded, write, loud, said, encoder
):
    corpus = write(NOTES)
    before = loud()
    before.search("alpha")
    said()
    encoder.counts.clear()
    change(corpus)
    after = loud(**settings)
    after.search("alpha")
    assert f"rag: building the chunks index: {why}\n" in said()
    assert encoder.counts["embed"] == embedded
    fresh = loud(**settings)
    assert fresh.describe() == after.describe()
    if "max_chars" not in why:  # smaller chunks of short notes are the same chunks
        assert after.describe()["index"] != before.describe()["index"]


@pytest.mark.parametrize(
    ("before", "after", "said_of"),
    [
        ("unicode", "simple", "rag: building the sparse index: changed: tokenizer unicode (1, Unicode"),
        ("simple", "unicode", "rag: building the sparse index: changed: tokenizer simple (1, Unicode"),
    ],
)
def test_idx_01_another_tokenizer_rebuilds_the_sparse_part_alone(before, after, said_of, write, loud, said):
    write(NOTES)
    loud(tokenizer=before).search("alpha")
    said()
    loud(tokenizer=after).search("alpha")
    heard = said().splitlines()
    assert len(heard) == 1
    assert heard[0].startswith(said_of)


def test_idx_01_another_model_rebuilds_what_it_made_and_changes_the_fingerprint(write, loud, said, encoder, tmp_path):
    write(NOTES)
    for name, weights in (("one", b"1"), ("two", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"hidden_size": 64}')
        (tmp_path / name / "model.safetensors").write_bytes(weights)
    late = {"search": {"rerank": "late-interaction"}}
    first = loud(model=str(tmp_path / "one"), **late)
    first.search("alpha")
    said()
    second = loud(model=str(tmp_path / "two"), **late)
    second.search("alpha")
    assert said().splitlines() == [f"rag: building the {part} index: changed: model" for part in ("vectors", "tokens")]
    assert encoder.counts["embed"] == 2 * 3
    assert second.describe()["index"] != first.describe()["index"]
    (tmp_path / "two").rename(tmp_path / "elsewhere")
    moved = loud(model=str(tmp_path / "elsewhere"), **late)
    moved.search("alpha")
    assert said() == ""  # the same weights in another place are the same model
    assert moved.describe()["index"] == second.describe()["index"]


def test_a_tokenizer_whose_code_changed_is_not_served_an_old_index(write, loud, said, monkeypatch):
    write(NOTES)
    loud().search("alpha", dense=False)
    said()
    monkeypatch.setattr("rag.indexing.TOKENIZERS_VERSION", "2")
    loud().search("alpha", dense=False)
    assert "building the sparse index: changed: tokenizer" in said()


def test_a_parser_of_another_version_reads_the_corpus_again(write, loud, said, monkeypatch):
    write(NOTES)
    loud().search("alpha", dense=False)
    said()
    installed = indexing.version
    monkeypatch.setattr(indexing, "version", lambda name: "99" if name == "markdown-it-py" else installed(name))
    loud().search("alpha", dense=False)
    assert "building the chunks index: changed: readers" in said()


def test_idx_01_a_store_that_must_not_rebuild_refuses_and_says_what_changed(write, pipeline):
    corpus = write(NOTES)
    with pytest.raises(StaleIndexError, match="there is none yet"):
        pipeline(stale="refuse").search("alpha")
    pipeline().search("alpha")
    assert pipeline(stale="refuse").search("alpha").chunks
    (corpus / "b.md").write_text("edited")
    with pytest.raises(StaleIndexError, match=r"changed: b\.md"):
        pipeline(stale="refuse").search("alpha")


def test_going_back_to_an_earlier_state_needs_no_build(write, loud, said):
    corpus = write(NOTES)
    loud().search("alpha")
    (corpus / "a.md").write_text("edited")
    loud().search("alpha")
    said()
    write(NOTES)
    loud().search("alpha")
    assert said() == ""


def parts(tmp_path):
    return sorted((tmp_path / ".ragbench" / "index").glob("[a-z]*-*"))


@pytest.mark.parametrize("name", ["chunks.jsonl", "manifest.json", "vectors.npy", "weights.npz"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_idx_01_a_damaged_part_is_rebuilt_and_never_trusted(name, damage, write, loud, said, tmp_path):
    write(NOTES)
    expected = loud().search("alpha")
    said()
    for file in (tmp_path / ".ragbench" / "index").glob(f"[a-z]*/{name}"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.unlink()
        if damage != "remove":
            file.write_bytes(data if damage == "flip" else data[: len(data) // 2])
    again = loud().search("alpha")
    assert again.chunks == expected.chunks
    heard = said()
    assert "damaged" in heard or "cannot be read" in heard


def test_idx_01_a_build_that_was_killed_is_not_seen_and_is_cleared_away(write, pipeline, tmp_path):
    write(NOTES)
    killed = tmp_path / ".ragbench" / "index" / ".chunks-abc.building"
    killed.mkdir(parents=True)
    (killed / "chunks.jsonl").write_text('["x","a.md","stolen",null,[],""]\n')
    assert [chunk.file for chunk in pipeline().search("alpha", dense=False).chunks] == ["a.md"]
    assert not killed.exists()


def test_idx_01_an_interrupted_embedding_goes_on_where_it_stopped(write, pipeline, encoder, tmp_path):
    write({f"{number:02}.md": f"text number {number}" for number in range(20)})
    encoder.fail_after = 8
    with pytest.raises(KeyboardInterrupt):
        pipeline(batch_size=4).search("text")
    assert not [part for part in parts(tmp_path) if part.name.startswith("vectors")]
    encoder.fail_after = None
    pipeline(batch_size=4).search("text")
    assert encoder.counts["embed"] == 20


def test_a_vector_that_was_damaged_on_disk_is_computed_again(write, pipeline, encoder, tmp_path):
    write(NOTES)
    expected = pipeline().search("alpha")
    cache = tmp_path / ".ragbench" / "cache" / "embeddings.sqlite"
    cache.write_bytes(b"no database at all" * 100)
    for part in parts(tmp_path):
        if part.name.startswith("vectors"):
            (part / "vectors.npy").write_bytes(b"")
    assert pipeline().search("alpha").chunks == expected.chunks
    assert encoder.counts["embed"] == 2 * 3


def test_caches_that_cannot_be_written_cost_time_and_no_result(write, pipeline, tmp_path):
    write(NOTES)
    expected = pipeline(search={"rerank": "late-interaction"}, state="elsewhere").search("alpha text").chunks
    for name in ("embeddings", "tokens"):
        (tmp_path / ".ragbench" / "cache" / f"{name}.sqlite").mkdir(parents=True)
    search = pipeline(search={"rerank": "late-interaction"})
    assert search.search("alpha text").chunks == expected


def test_two_processes_build_a_part_once(tmp_path):
    built, opened = [], []

    def build(folder: Path):
        built.append(folder)
        threading.Event().wait(0.3)
        (folder / "x").write_text("1")
        return {"n": 1}

    def open_it():
        opened.append(Store(tmp_path, progress=Progress(quiet=True)).open("part", {"a": "1"}, build).facts["n"])

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert opened == [1, 1, 1, 1]


def test_a_build_that_waits_for_another_says_so(tmp_path, capsys):
    from filelock import FileLock

    held = threading.Event()

    def hold():
        with FileLock(tmp_path / ".part.lock"):
            held.set()
            threading.Event().wait(1.5)

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    Store(tmp_path).open("part", {"a": "1"}, lambda _: {})
    other.join()
    assert "waiting for another process that builds the part index" in capsys.readouterr().err


def test_a_store_keeps_the_last_four_builds_of_a_part(tmp_path):
    for number in range(7):
        Store(tmp_path, progress=Progress(quiet=True)).open("part", {"a": str(number)}, lambda _: {})
    assert len(list(tmp_path.glob("part-*"))) == 4


def test_a_build_runs_where_its_host_lets_it_speak(tmp_path):
    from contextlib import contextmanager

    events = []

    @contextmanager
    def around():
        events.append("in")
        yield
        events.append("out")

    Store(tmp_path, progress=Progress(quiet=True), around=around).open(
        "part", {}, lambda _: events.append("build") or {}
    )
    Store(tmp_path, progress=Progress(quiet=True), around=around).open(
        "part", {}, lambda _: events.append("build") or {}
    )
    assert events == ["in", "build", "out"]


def test_reasons_name_a_few_and_count_the_rest():
    old = {f"{number}.md": "0" * 64 for number in range(6)} | {"size": "1"}
    new = {f"{number}.md": "1" * 64 for number in range(6)} | {"size": "2"}
    assert explain(old, new) == "changed: 0.md, 1.md, 2.md, 3.md and 3 more"
    assert explain(old, old | {"size": "2"}) == "changed: size 1 -> 2"
    assert explain({}, {}) == "nothing that is recorded differs"


def test_the_fingerprint_follows_the_model_and_no_path(write, pipeline, tmp_path, monkeypatch):
    write(NOTES)
    mine = pipeline()
    described = mine.describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    other = pipeline()
    other._parts.__dict__["model"] = type(mine._parts.model)("other", tmp_path, "0" * 64, 384)
    assert other.describe()["index"] != described["index"]
    assert pipeline(state=str(tmp_path / "elsewhere")).describe() == described


def test_hidden_files_other_formats_and_links_out_of_the_corpus_are_passed_over(write, tmp_path):
    corpus = write({"a.md": "x", ".obsidian/b.md": "x", "sub/.hidden.md": "x", "photo.png": b"x", "in.md": "x"})
    (tmp_path / "outside.md").write_text("secret")
    (corpus / "link.md").symlink_to(tmp_path / "outside.md")
    (corpus / "alias.md").symlink_to(corpus / "a.md")
    (corpus / "gone.md").symlink_to(corpus / "nothing.md")
    files, findings = scan(corpus)
    assert sorted(files) == ["a.md", "alias.md", "in.md"]
    assert {finding.file: finding.kind for finding in findings} == {"link.md": "skipped", "gone.md": "failed"}


def test_nothing_that_is_passed_over_is_passed_over_in_silence(write, tmp_path):
    corpus = write({"a.md": "x", "locked/b.md": "x"})
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "c.md").write_text("x")
    (corpus / "linked").symlink_to(tmp_path / "shared")
    os.mkfifo(corpus / "pipe.md")
    shutil.rmtree(corpus / "locked")
    (corpus / "locked").symlink_to(corpus)  # a loop
    files, findings = scan(corpus)
    assert sorted(files) == ["a.md"]
    assert sorted((finding.file, finding.kind, finding.detail) for finding in findings) == [
        ("linked", "skipped", "a link to a folder"),
        ("locked", "skipped", "a link to a folder"),
        ("pipe.md", "skipped", "no regular file"),
    ]


def test_a_folder_that_cannot_be_entered_is_listed(write, monkeypatch):
    corpus = write(NOTES)
    scandir = os.scandir

    def locked(path):
        if str(path).endswith("/c"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", locked)
    files, findings = scan(corpus)
    assert sorted(files) == ["a.md", "b.md"]
    assert [(finding.file, finding.kind) for finding in findings] == [("c", "failed")]


def test_a_file_that_is_deleted_while_the_corpus_is_read_stops_the_build(write, pipeline, monkeypatch):
    write(NOTES)
    scanned = indexing.scan

    def vanishing(corpus):
        found = scanned(corpus)
        (corpus / "b.md").unlink()
        return found

    monkeypatch.setattr(indexing, "scan", vanishing)
    with pytest.raises(RagError, match=r"b\.md cannot be read any more"):
        pipeline().search("alpha")


def test_a_file_that_changes_while_it_is_read_stops_the_build(write, pipeline, monkeypatch):
    write(NOTES)
    scanned = indexing.scan

    def edited(corpus):
        found = scanned(corpus)
        (corpus / "b.md").write_text("edited meanwhile")
        return found

    monkeypatch.setattr(indexing, "scan", edited)
    with pytest.raises(RagError, match=r"b\.md changed while it was read"):
        pipeline().search("alpha")


def test_files_are_indexed_in_the_order_of_their_names_whatever_the_folder_says(write, pipeline, monkeypatch):
    write(NOTES)
    walk = os.walk
    monkeypatch.setattr(os, "walk", lambda top, **how: ((a, b, c[::-1]) for a, b, c in walk(top, **how)))
    search = pipeline()
    search.describe()
    assert [chunk.file for chunk in search._parts.corpus.loaded.chunks] == ["a.md", "b.md", "c/d.md"]


def test_vectors_on_disk_are_those_of_the_chunks_in_order(write, pipeline, encoder, tmp_path):
    write(NOTES)
    search = pipeline()
    search.search("alpha")
    (part,) = [path for path in parts(tmp_path) if path.name.startswith("vectors")]
    texts = [chunk.indexed_text for chunk in search._parts.corpus.loaded.chunks]
    assert np.array_equal(np.load(part / "vectors.npy"), encoder.embed(texts))
