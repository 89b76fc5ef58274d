"""Generated documents: kept out, or followed to what they cite; the sidecar that says so, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import pointers
from rag.errors import OptionError, StaleIndexError
from rag.generated import DEPTH, LIMIT, PER_TARGET, Pointers, Routed, Sidecar, Target, primary
from rag.records import Chunk, Labels, Scored

ROOT = Path(__file__).resolve().parents[2]


def chunk(file, *, pages=None, heading=(), generated=False):
    return Chunk(file, file, "text", pages, heading, labels=Labels(generated=generated))


CHUNKS = (
    chunk("a.md", heading=("A", "B")),  # 0
    chunk("a.md", heading=("A", "C")),  # 1
    chunk("b.pdf", pages=(1, 1)),  # 2
    chunk("b.pdf", pages=(2, 2)),  # 3
    chunk("c.md"),  # 4
    chunk("g.md", generated=True),  # 5
    chunk("g.md", generated=True),  # 6
    chunk("h.md", generated=True),  # 7
    chunk("i.md", generated=True),  # 8
)
CITED = {
    "g.md": [Target(file="b.pdf", pages=(2, 3)), Target(file="a.md", heading=("A",))],
    "h.md": [Target(file="gone.md"), Target(file="c.md"), Target(file="a.md", heading=("A", "C"))],
    "i.md": [],
}


def hits(*rankings):
    return [tuple(Scored(position, 1.0) for position in ranking) for ranking in rankings]


def positions(ranking):
    return [position for position, _ in ranking]


# -- keeping out -------------------------------------------------------------------------------------------------------


def test_the_primary_chunks_are_all_but_the_generated_ones():
    assert primary(CHUNKS).positions.tolist() == [0, 1, 2, 3, 4]


def test_without_a_generated_chunk_there_is_nothing_to_keep_out():
    assert primary(CHUNKS[:5]) is None
    assert primary(()) is None


# -- following ---------------------------------------------------------------------------------------------------------


def test_a_hit_leads_to_the_chunks_of_the_cited_pages_and_sections_in_their_own_order():
    found = Pointers(CHUNKS, CITED).follow(hits([5]), 60)
    assert positions(found.ranking) == [0, 1, 3]


def test_what_the_better_hit_cites_comes_first_and_each_chunk_once():
    found = Pointers(CHUNKS, CITED).follow(hits([7, 5]), 60)
    assert positions(found.ranking) == [1, 4, 0, 3]  # h.md: 1 and 4; g.md: 0, 1 and 3
    scores = [score for _, score in found.ranking]
    assert scores == pytest.approx([1 / 61, 1 / 61, 1 / 62, 1 / 62])


def test_hits_of_several_lanes_are_fused():
    found = Pointers(CHUNKS, CITED).follow(hits([5, 7], [7, 8]), 60)  # 7: 1/62 + 1/61, 5: 1/61, 8: 1/62
    assert positions(found.ranking) == [1, 4, 0, 3]


def test_the_counts_say_what_was_found_followed_and_missing():
    found = Pointers(CHUNKS, CITED).follow(hits([7, 5, 6, 8]), 60)
    # Four hits; i.md cites nothing. Five places, of which gone.md is missing.
    assert found.told(new=2) == {
        "router_hits": 4,
        "routed": 3,
        "unrouted": 1,
        "targets": 5,
        "targets_missing": 1,
        "new": 2,
    }


def test_a_page_or_heading_that_is_gone_is_missing():
    cited = {"g.md": [Target(file="b.pdf", pages=(9, 9)), Target(file="a.md", heading=("Z",))]}
    found = Pointers(CHUNKS, cited).follow(hits([5]), 60)
    assert found == Routed((), router_hits=1, routed=0, unrouted=1, targets=2, targets_missing=2)


def test_a_chunk_without_pages_never_lies_on_a_cited_page():
    assert not Target(file="a.md", pages=(1, 9)).holds(CHUNKS[0])


def test_no_hit_and_no_generated_document_lead_nowhere():
    assert Pointers(CHUNKS, CITED).follow(hits([], []), 60) == Routed()
    assert Pointers(CHUNKS[:5], {}).follow([], 60) == Routed()


def test_a_generated_chunk_is_a_hit_only_where_it_would_have_been_an_answer():
    found = Pointers(CHUNKS, CITED).follow(hits([0, 5, 1]), 60)
    assert found.router_hits == 1
    assert found.ranking[0].score == pytest.approx(1 / 62)
    chunks = [*(chunk(f"{number}.md") for number in range(DEPTH)), *CHUNKS]
    assert Pointers(chunks, CITED).follow(hits([*range(DEPTH), DEPTH + 5]), 60) == Routed()


def test_what_joins_is_bounded_by_hits_by_place_and_in_all():
    book = [chunk("book.pdf", pages=(page, page)) for page in range(1, 201)]
    notes = [chunk(f"{number:02}.md") for number in range(100)]
    summaries = [chunk(f"g{number}.md", generated=True) for number in range(20)]
    cited = {f"g{number}.md": [Target(file="book.pdf")] for number in range(20)}
    chunks = [*book, *notes, *summaries]
    whole = Pointers(chunks, cited)
    assert positions(whole.follow(hits([300]), 60).ranking) == list(range(PER_TARGET))
    assert whole.follow(hits(range(300, 320)), 60).router_hits == DEPTH
    many = Pointers(chunks, {"g0.md": [Target(file=f"{number:02}.md") for number in range(100)]})
    assert len(many.follow(hits([300]), 60).ranking) == LIMIT


@given(
    st.lists(st.lists(st.integers(5, 8), unique=True), max_size=3),
    st.dictionaries(
        st.sampled_from(["g.md", "h.md", "i.md"]),
        st.lists(
            st.builds(
                Target,
                file=st.sampled_from(["a.md", "b.pdf", "c.md", "g.md", "gone.md"]),
                pages=st.none() | st.tuples(st.integers(1, 3), st.integers(1, 3)),
            )
        ),
    ),
)
def test_following_gives_each_primary_chunk_at_most_once_and_its_counts_add_up(rankings, cited):
    found = Pointers(CHUNKS, cited).follow(hits(*rankings), 60)
    assert len(set(positions(found.ranking))) == len(found.ranking)
    assert all(not CHUNKS[position].labels.generated for position in positions(found.ranking))
    assert found.routed + found.unrouted == found.router_hits == len({at for ranking in rankings for at in ranking})
    assert 0 <= found.targets_missing <= found.targets
    assert (found.routed == 0) == (not found.ranking)


# -- the sidecar -------------------------------------------------------------------------------------------------------

VAULT = {
    "Notes/bisection.md": "# Bisection\n\n## Idea\n\nhalve the bracket\n\n## Cost\n\none bit a step",
    "Notes/newton.md": "# Newton\n\nfollow the tangent",
    "Notes/locks.md": "# Locks\n\na mutex guards the data",
    "Generated/roots.md": (
        "---\ngenerated: true\ngenerated_from:\n  - Notes/newton.md\n  - 'Notes/bisection.md#Cost'\n---\n"
        "# Roots\n\ntangent and bracket compared, see [[newton]] and `[[locks]]`"
    ),
}
BOARD = {
    "generated": True,
    "nodes": [
        {"id": "t", "type": "text", "text": "mutex overview, see [[locks]]", "x": 0, "y": 0, "width": 9, "height": 9},
        {"id": "f", "type": "file", "file": "Notes/bisection.md", "subpath": "#Idea"},
        {"id": "g", "type": "file", "file": "Generated/roots.md"},
        {"id": "i", "type": "file", "file": "Pictures/lock.png"},
    ],
    "edges": [],
}


@pytest.fixture
def vault(write, tmp_path):
    """Write the vault and its settings; returns a function that runs the command."""
    write(VAULT | {"Generated/board.canvas": json.dumps(BOARD)})
    config = tmp_path / "config.yaml"
    config.write_text("corpus: corpus\npointers: pointers.json\n")

    def command(*arguments):
        return pointers.main(["--config", str(config), "--root", str(tmp_path), *arguments])

    return command


def sidecar(tmp_path):
    return json.loads((tmp_path / "pointers.json").read_text(encoding="utf-8"))


ROUTE = {"generated_mode": "route", "routed": True}


def test_the_command_writes_what_generated_documents_cite(vault, tmp_path, capsys):
    assert vault() == 0
    written = sidecar(tmp_path)
    assert written["schema_version"] == 1
    bisection = {"file": "Notes/bisection.md", "heading": ["Bisection", "Cost"]}
    assert written["pointers"] == {
        "Generated/roots.md": [{"file": "Notes/newton.md"}, bisection],
        "Generated/board.canvas": [
            {"file": "Notes/locks.md"},
            {"file": "Notes/bisection.md", "heading": ["Bisection", "Idea"]},
            {"file": "Notes/newton.md"},  # what roots.md cites, in its place
            bisection,
        ],
    }
    assert "2 generated documents cite 4 places" in capsys.readouterr().out
    assert list(tmp_path.glob(".pointers*")) == []


def test_the_same_vault_gives_the_same_bytes_and_passes_the_check(vault, tmp_path):
    assert vault() == 0
    first = (tmp_path / "pointers.json").read_bytes()
    assert vault("--check") == 0
    assert vault() == 0
    assert (tmp_path / "pointers.json").read_bytes() == first
    (tmp_path / "pointers.json").write_bytes(first.replace(b"\n", b"\r\n"))  # as git may check it out
    assert vault("--check") == 0


def test_the_check_fails_where_the_sidecar_is_missing_or_old_and_writes_nothing(vault, tmp_path, write, capsys):
    assert vault("--check") == 1
    assert not (tmp_path / "pointers.json").exists()
    vault()
    before = (tmp_path / "pointers.json").read_bytes()
    write({"Generated/roots.md": VAULT["Generated/roots.md"].replace("Notes/newton.md", "Notes/locks.md")})
    capsys.readouterr()
    assert vault("--check") == 1
    assert "run `python -m rag.pointers`" in capsys.readouterr().err
    assert (tmp_path / "pointers.json").read_bytes() == before


def test_a_citation_that_leads_nowhere_is_said_and_kept_as_missing(vault, tmp_path, write, pipeline, capsys):
    text = "---\ngenerated: true\ngenerated_from: ['Notes/lost.md', 'Notes/newton.md#No such part']\n---\nlost tangent"
    write({"Generated/roots.md": text})
    assert vault() == 0
    said = capsys.readouterr().err
    assert "'Notes/lost.md', of which there is no file" in said
    assert "Notes/newton.md has no such part" in said
    assert sidecar(tmp_path)["pointers"]["Generated/roots.md"] == [
        {"file": "Notes/lost.md"},
        {"file": "Notes/newton.md"},
    ]
    route = pipeline(pointers="pointers.json").search("lost tangent", dense=False, **ROUTE).route
    assert (route["targets"], route["targets_missing"]) == (2, 1)


def test_pages_of_a_book_are_cited_by_number(write, tmp_path, vault):
    from fpdf import FPDF

    book = FPDF()
    book.set_font("helvetica")
    for text in ("first page", "second page"):
        book.add_page()
        book.cell(text=text)
    write({"Books/b.pdf": bytes(book.output()), "Generated/roots.md": "---\ngenerated: true\n---\n[[b.pdf#page=2]]"})
    assert vault() == 0
    assert sidecar(tmp_path)["pointers"]["Generated/roots.md"] == [{"file": "Books/b.pdf", "pages": [2, 2]}]


def test_generated_documents_that_cite_each_other_end(write, tmp_path, vault):
    head = "---\ngenerated: true\n---\n"
    write({"Generated/roots.md": f"{head}see [[more]] and [[newton]]", "Generated/more.md": f"{head}see [[roots]]"})
    assert vault() == 0
    assert sidecar(tmp_path)["pointers"]["Generated/more.md"] == [{"file": "Notes/newton.md"}]
    assert sidecar(tmp_path)["pointers"]["Generated/roots.md"] == [{"file": "Notes/newton.md"}]


def test_a_web_of_generated_documents_is_followed_once_however_many_ways_lead_through_it():
    layers = 60  # of two documents, each of which cites both of the next: 2^60 ways
    cited = {
        f"{layer}-{side}.md": [Target(file=f"{layer + 1}-{other}.md") for other in "ab"]
        for layer in range(layers)
        for side in "ab"
    } | {f"{layers}-{side}.md": [Target(file=f"{side}.pdf")] for side in "ab"}
    assert [target.file for target in pointers._primary("0-a.md", cited)] == ["a.pdf", "b.pdf"]


def test_a_chain_of_generated_documents_may_be_long():
    cited = {f"{place}.md": [Target(file=f"{place + 1}.md")] for place in range(3_000)}
    assert [target.file for target in pointers._primary("0.md", cited)] == ["3000.md"]


def test_a_place_that_cannot_be_written_is_said_without_a_traceback(vault, tmp_path, capsys):
    (tmp_path / "pointers.json").mkdir()
    assert vault() == 1
    said = capsys.readouterr().err
    assert "pointers.json cannot be written: Is a directory" in said
    assert list(tmp_path.glob(".pointers*")) == []


def test_without_generated_documents_no_sidecar_is_written_or_needed(write, tmp_path, pipeline, capsys):
    write({"a.md": "alpha"})
    config = tmp_path / "config.yaml"
    config.write_text("corpus: corpus\n")
    assert pointers.main(["--config", str(config), "--root", str(tmp_path)]) == 0
    assert "no pointers are needed" in capsys.readouterr().out
    search = pipeline()
    search.check_overrides(**ROUTE)
    routed, plain = search.search("alpha", **ROUTE), search.search("alpha")
    assert [chunk.file for chunk in routed.chunks] == [chunk.file for chunk in plain.chunks]
    assert set(routed.route.values()) == {0}


def test_the_command_says_what_is_wrong_without_a_traceback(write, tmp_path, capsys):
    config = tmp_path / "config.yaml"
    config.write_text("corpus: corpus\n")
    write({"g.md": "---\ngenerated: true\n---\ntext"})
    assert pointers.main(["--config", str(config), "--root", str(tmp_path)]) == 1
    assert "set `pointers`" in capsys.readouterr().err
    assert pointers.main(["--config", str(tmp_path / "none.yaml"), "--root", str(tmp_path)]) == 1
    assert "none.yaml" in capsys.readouterr().err


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_route_without_a_sidecar_is_refused_before_any_search_with_the_command_that_builds_it(vault, pipeline):
    for settings in ({}, {"pointers": "pointers.json"}):
        search = pipeline(**settings)
        with pytest.raises(OptionError, match=r"`python -m rag\.pointers`"):
            search.check_overrides(**ROUTE)
        with pytest.raises(OptionError, match=r"`python -m rag\.pointers`"):
            search.search("tangent", **ROUTE)
        search.check_overrides(generated_mode="drop")
        assert search.search("tangent", generated_mode="drop").chunks
    vault()
    search.check_overrides(**ROUTE)  # once it is there, the same pipeline goes on


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"schema_version": 2, "fingerprint": "", "pointers": {}}',
        '{"schema_version": 1, "fingerprint": "", "pointers": {"g.md": [{"file": "a.md", "pages": [0, 1]}]}}',
        '{"schema_version": 1, "fingerprint": "", "pointers": {"g.md": ["a.md"]}}',
        "\xff",
    ],
)
def test_a_sidecar_that_cannot_be_read_is_refused(vault, tmp_path, pipeline, content):
    (tmp_path / "pointers.json").write_text(content, encoding="latin-1")
    with pytest.raises(OptionError, match=r"cannot be read as pointers.*`python -m rag\.pointers`"):
        pipeline(pointers="pointers.json").check_overrides(**ROUTE)


@pytest.mark.parametrize("change", ["front matter", "new", "gone"])
def test_a_sidecar_that_is_older_than_the_generated_documents_is_refused(vault, tmp_path, write, pipeline, change):
    vault()
    if change == "front matter":  # no chunk's text changes
        write({"Generated/roots.md": VAULT["Generated/roots.md"].replace("Notes/newton.md", "Notes/locks.md")})
    elif change == "new":
        write({"Generated/new.md": "---\ngenerated: true\n---\ntext"})
    else:
        (tmp_path / "corpus" / "Generated" / "roots.md").unlink()
    with pytest.raises(StaleIndexError, match=r"`python -m rag\.pointers`"):
        pipeline(pointers="pointers.json").check_overrides(**ROUTE)


def test_a_sidecar_that_leaves_a_generated_document_out_is_refused(vault, tmp_path, pipeline):
    vault()
    sidecar = tmp_path / "pointers.json"
    held = json.loads(sidecar.read_text(encoding="utf-8"))
    sidecar.write_text(json.dumps({**held, "pointers": {}}), encoding="utf-8")
    with pytest.raises(StaleIndexError, match=r"does not name .* `python -m rag\.pointers`"):
        pipeline(pointers="pointers.json").check_overrides(**ROUTE)


def test_a_changed_primary_document_leaves_the_sidecar_as_it_is(vault, write, pipeline):
    vault()
    write({"Notes/newton.md": "# Newton\n\nanother tangent", "Notes/new.md": "new"})
    pipeline(pointers="pointers.json").check_overrides(**ROUTE)


# -- through the pipeline ----------------------------------------------------------------------------------------------


def files(chunks):
    return [chunk.file for chunk in chunks]


def test_off_lets_generated_chunks_compete_and_drop_keeps_them_out_of_every_lane(vault, pipeline):
    search = pipeline()
    off, drop = (search.search("tangent and bracket", generated_mode=mode) for mode in ("off", "drop"))
    assert "Generated/roots.md" in files(off.chunks)
    for stage in ("sparse", "dense", "fusion"):
        assert not [file for file in files(drop.stages[stage]) if file.startswith("Generated/")]
    assert drop.route is None


def test_route_adds_a_lane_of_what_generated_hits_cite(vault, pipeline):
    vault()
    search = pipeline(pointers="pointers.json")
    drop = search.search("mutex overview", dense=False, generated_mode="drop")
    result = search.search("mutex overview", dense=False, **ROUTE)
    assert result.lanes_run == ("sparse", "routed")
    assert result.stages["sparse"] == drop.stages["sparse"]
    # One hit, the board's text node; it cites four places with a chunk each, of which BM25 has found locks.md.
    assert result.route == {
        "router_hits": 1,
        "routed": 1,
        "unrouted": 0,
        "targets": 4,
        "targets_missing": 0,
        "new": 3,
    }
    assert files(result.stages["routed"]) == [
        "Notes/bisection.md",
        "Notes/bisection.md",
        "Notes/locks.md",
        "Notes/newton.md",
    ]
    assert not [file for file in files(result.chunks) if file.startswith("Generated/")]
    assert json.loads(json.dumps(result.route)) == result.route
    assert "routed" in result.timings


def test_routing_and_following_report_together(vault, pipeline):
    vault()
    result = pipeline(pointers="pointers.json").search("mutex", dense=False, scope_lanes=True, **ROUTE)
    assert set(result.route) == {
        *("course", "area", "kind", "scope"),
        *("router_hits", "routed", "unrouted", "targets", "targets_missing", "new"),
    }


def test_the_shipped_sidecar_fits_the_shipped_vault(tmp_path):
    shipped = (ROOT / "rag" / "config.yaml").read_text(encoding="utf-8")
    config = tmp_path / "config.yaml"
    config.write_text(shipped.replace("state: .ragbench", f"state: {tmp_path / 'state'}"), encoding="utf-8")
    assert pointers.main(["--config", str(config), "--root", str(ROOT), "--check"]) == 0
    sidecar = Sidecar.model_validate_json((ROOT / "golden" / "pointers.json").read_bytes())
    assert all(targets for targets in sidecar.pointers.values())
