"""Importing again: the same bytes for the same source, kept ids for a grown one, and nothing of the user's touched."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.authoring.importing.beir import import_beir
from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.questions.loading import load_questions

# An id that begins with a byte order mark is refused: where a file begins with it, it could not be told from the file's.
names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=4).filter(
    lambda name: not name.startswith("\ufeff")
)


def write_source(folder, judged, documents, shuffle=None):
    """A BEIR folder and a run file; `judged` maps query ids to lists of document ids."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    lines = {
        "corpus.jsonl": [json.dumps({"_id": name, "text": f"text of {name}"}) for name in documents],
        "queries.jsonl": [json.dumps({"_id": name, "text": f"what is {name}?"}) for name in judged],
        "qrels/test.tsv": [f"{query}\t{document}\t1" for query, found in judged.items() for document in found],
        "x.trec": [f"{query} Q0 {d} 1 {i}.5 t" for query, found in judged.items() for i, d in enumerate(found)],
    }
    for name, found in lines.items():
        if shuffle is not None:
            shuffle.shuffle(found)
        (folder / name).write_text("".join(line + "\n" for line in found), encoding="utf-8")


def tree(folder):
    """Every file but those of the lock that a second import takes, which git ignores."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and ".ragbench" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def ids_of(folder):
    return {q.source_id: q.id for q in load_questions(folder / "golden" / "sets").questions}


def unambiguous(documents):
    """Ids that no two of which fold to one file, and none of which is no file at all."""
    return {name.casefold().replace("/", "").replace("\\", "") + "!": None for name in documents}.keys()


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(names, st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=6), st.integers(0, 10**6))
def test_the_same_source_in_any_order_of_lines_gives_the_same_bytes(queries, seed):
    documents = [f"d{i}" for i in range(6)]
    judged = {query: [documents[i] for i in sorted(found)] for query, found in queries.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = []
        for version, shuffle in (("a", None), ("b", None), ("c", random.Random(seed))):
            source = folder / version / "source"
            write_source(source, judged, documents, shuffle)
            import_beir(source, folder / version / "out", runs={"x": str(source / "x.trec")})
            trees.append(tree(folder / version / "out"))
        assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("seed", range(3))
def test_a_query_id_that_begins_with_a_byte_order_mark_is_refused_in_any_order_of_lines(tmp_path, seed):
    source = tmp_path / "source"
    write_source(source, {"\ufeffq": ["d0"], "q2": ["d0"], "q3": ["d0"]}, ["d0"], random.Random(seed))
    with pytest.raises(InputError, match="`_id` begins with a byte order mark"):
        import_beir(source, tmp_path / "out", runs={"x": str(source / "x.trec")})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["qrels/test.tsv", "x.trec", "queries.jsonl", "corpus.jsonl"])
def test_a_byte_order_mark_is_dropped_where_a_file_begins_and_refused_where_two_were_joined(tmp_path, name):
    source = tmp_path / "source"
    write_source(source, {"1": ["a"], "2": ["a"]}, ["a", "b"])
    lines = (source / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (source / name).write_text("\ufeff" + "".join(lines), encoding="utf-8")
    run = {"x": str(source / "x.trec")}
    assert import_beir(source, tmp_path / "out", runs=run).added == 2
    (source / name).write_text(lines[0] + "\ufeff" + "".join(lines[1:]), encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name}:2: the line begins with a byte order mark.*two files were joined"):
        import_beir(source, tmp_path / "new", runs=run)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sets(names, min_size=1, max_size=4), min_size=2, max_size=4))
def test_queries_added_later_never_move_an_id(batches):
    with tempfile.TemporaryDirectory() as name:
        source, out = Path(name, "source"), Path(name, "out")
        judged, before, lines = {}, {}, b""
        for batch in batches:
            judged |= {query: ["d0"] for query in batch}
            write_source(source, judged, ["d0"])
            import_beir(source, out)
            after = ids_of(out)
            assert before.items() <= after.items()
            assert after.keys() == judged.keys()
            assert len(set(after.values())) == len(after)
            text = (out / "golden" / "sets" / "source.jsonl").read_bytes()
            assert text.startswith(lines)
            before, lines = after, text


@given(st.sets(names, min_size=1))
def test_ids_of_documents_may_be_any_text(documents):
    with tempfile.TemporaryDirectory() as name:
        source, out = Path(name, "source"), Path(name, "out")
        judged = {"q": list(unambiguous(documents))}
        write_source(source, judged, judged["q"])
        import_beir(source, out)
        (question,) = load_questions(out / "golden" / "sets").questions
        corpus = (out / "corpus" / "corpus.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        assert [gold.locator.file for gold in question.gold] == [json.loads(line)["_id"] for line in corpus]


@pytest.fixture
def project(tmp_path):
    write_source(tmp_path / "source", {"1": ["a"], "3": ["b"]}, ["a", "b"])
    import_beir(tmp_path / "source", tmp_path / "out", runs={"x": str(tmp_path / "source" / "x.trec")})
    return tmp_path


def test_importing_the_same_again_changes_nothing(project):
    before = tree(project / "out")
    imported = import_beir(project / "source", project / "out")
    assert (imported.added, imported.kept, imported.runs, imported.notes) == (0, 2, ("x",), ())
    assert tree(project / "out") == before


def test_what_was_edited_is_kept_and_said(project):
    out = project / "out"
    path = out / "golden" / "sets" / "source.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("what is 1?", "what, then, is 1?"), encoding="utf-8")
    (out / "conftest.py").write_text("# mine\n", encoding="utf-8")
    (out / "golden" / "test_golden.py").write_text("# mine\n", encoding="utf-8")
    before = tree(out)
    imported = import_beir(project / "source", out)
    assert tree(out) == before
    assert [note.split("\n")[0] for note in imported.notes] == [
        "1 questions differ from the source by now and were kept as they stand: source-0001",
        "golden/test_golden.py is yours and was kept; the import would have written:",
        "conftest.py is yours and was kept; the import would have written:",
    ]


def test_a_query_that_left_the_source_stays_and_is_said(project):
    write_source(project / "source", {"2": ["a"], "3": ["b"]}, ["a", "b"])
    imported = import_beir(project / "source", project / "out")
    assert ids_of(project / "out") == {"1": "source-0001", "3": "source-0002", "2": "source-0003"}
    assert "1 questions are no longer in the source and were kept as they stand: source-0001" in imported.notes
    assert "the run 'x' does not answer 1 of 3 questions; they score 0 in it" in imported.notes


def test_a_corpus_that_lacks_a_document_of_a_kept_question_is_refused_and_nothing_changes(project):
    before = tree(project / "out")
    write_source(project / "source", {"3": ["b"]}, ["b"])
    with pytest.raises(InputError, match="question source-0001: 1: the relevant document 'a' is not in"):
        import_beir(project / "source", project / "out")
    assert tree(project / "out") == before
    assert not list((project / "out").glob(".importing-*"))


def test_a_further_run_joins_the_configurations_and_an_edited_file_is_kept(project):
    source, out = project / "source", project / "out"
    imported = import_beir(source, out, runs={"y": str(source / "x.trec")})
    assert (imported.runs, imported.notes) == (("x", "y"), ())
    configs = out / "golden" / "configs.yaml"
    assert configs.read_text(encoding="utf-8").count("overrides") == 2
    configs.write_text(configs.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    imported = import_beir(source, out, runs={"z": str(source / "x.trec")})
    assert [note.split(";")[0] for note in imported.notes] == ["golden/configs.yaml is yours and was kept"]
    assert configs.read_text(encoding="utf-8").endswith("# mine\n")
    assert sorted(path.name for path in (out / "runs").iterdir()) == ["x.trec", "y.trec", "z.trec"]


def test_a_run_never_stands_beside_another_file_of_its_name(project):
    source, out = project / "source", project / "out"
    (out / "runs" / "x.trec").rename(out / "runs" / "x.run")
    with pytest.raises(UsageError, match=r"x\.run has that name already"):
        import_beir(source, out, runs={"x": str(source / "x.trec")})
    assert import_beir(source, out).runs == ("x",)


def test_runs_may_come_later_than_the_set(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    write_source(source, {"1": ["a"]}, ["a"])
    assert import_beir(source, out).runs == ()
    assert not (out / "conftest.py").exists()
    (out / "runs").mkdir()
    imported = import_beir(source, out, runs={"x": str(source / "x.trec")})
    assert (imported.runs, imported.notes) == (("x",), ())
    assert (out / "pytest.ini").read_text(encoding="utf-8").endswith("rag_configs = runs\n")


def test_a_second_suite_takes_its_own_numbers_and_no_used_one(project):
    sets = project / "out" / "golden" / "sets"
    by_hand = {"id": "other-0007", "question": "?", "suite": "by-hand", "tier": "T1", "gold": [{"file": "a"}]}
    (sets / "mine.jsonl").write_text(json.dumps(by_hand) + "\n", encoding="utf-8")
    import_beir(project / "source", project / "out", suite="other")
    found = [q.id for q in load_questions(sets).questions]
    assert found == ["other-0007", "other-0008", "other-0009", "source-0001", "source-0002"]


def test_an_ini_file_of_the_users_own_is_never_shadowed(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    write_source(source, {"1": ["a"]}, ["a"])
    out.mkdir()
    (out / "pyproject.toml").write_text("[project]\nname = 'mine'\n", encoding="utf-8")
    imported = import_beir(source, out)
    assert not (out / "pytest.ini").exists()
    wanted = (
        "pyproject.toml is yours and was kept; add to its pytest settings: rag_sets = golden/sets, rag_corpus = corpus"
    )
    assert imported.notes == (wanted,)
    settings_there = "[tool.pytest.ini_options]\nrag_sets = 'golden/sets'\nrag_corpus = 'corpus'\n"
    (out / "pyproject.toml").write_text(settings_there, encoding="utf-8")
    assert import_beir(source, out).notes == ()


@pytest.mark.parametrize(
    ("name", "section"), [("pytest.toml", "pytest"), ("pyproject.toml", "tool.pytest.ini_options")]
)
def test_an_ini_file_of_any_name_that_pytest_reads_is_never_shadowed(tmp_path, name, section):
    source, out = tmp_path / "source", tmp_path / "out"
    write_source(source, {"1": ["a"]}, ["a"])
    out.mkdir()
    (out / name).write_text(f"[{section}]\nrag_sets = 'golden/sets'\nrag_configs_file = 'c.yaml'\n", encoding="utf-8")
    imported = import_beir(source, out, runs={"x": str(source / "x.trec")})
    assert not (out / "pytest.ini").exists()
    # `rag_configs_file` is another key than `rag_configs`.
    assert f"{name} is yours and was kept; add to its pytest settings: rag_corpus = corpus, rag_configs = runs" in (
        imported.notes
    )


@pytest.mark.parametrize("moment", [1, 3, 6])
def test_ctrl_c_in_the_middle_of_an_import_leaves_nothing_behind(tmp_path, monkeypatch, moment):
    source, out = tmp_path / "source", tmp_path / "out"
    write_source(source, {"1": ["a"], "2": ["b"]}, ["a", "b"])
    calls, write = [], Path.open

    def interrupted(self, *args, **kwargs):
        calls.append(self)
        if ".importing-" in str(self) and len([call for call in calls if ".importing-" in str(call)]) == moment:
            raise KeyboardInterrupt
        return write(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_beir(source, out, runs={"x": str(source / "x.trec")})
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["source"]
    assert import_beir(source, out).added == 2


def test_a_project_that_is_extended_is_whole_after_ctrl_c_and_a_second_import_completes_it(project, monkeypatch):
    write_source(project / "source", {"1": ["a"], "3": ["b"], "5": ["c"]}, ["a", "b", "c"])
    swap = Path.replace

    def interrupted(self, target):
        if Path(target).name == "source.jsonl":
            raise KeyboardInterrupt
        return swap(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_beir(project / "source", project / "out")
    monkeypatch.undo()
    assert not list((project / "out").glob(".importing-*"))
    assert ids_of(project / "out") == {"1": "source-0001", "3": "source-0002"}
    assert import_beir(project / "source", project / "out").added == 1
