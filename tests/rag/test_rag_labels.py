"""Labels: what a document says of itself, what its path says, and that a changed rule is noticed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cache import Memo, Meter
from rag.errors import SettingsError, StaleIndexError
from rag.labels import label
from rag.loaders import read
from rag.loaders.markdown import front_matter
from rag.options import LabelRule, load_settings
from rag.records import NO_LABELS, Document, Labels


def labels_of(search):
    """File -> labels, of every chunk of a pipeline."""
    return {chunk.file: chunk.labels for chunk in search._parts.corpus.get(Meter(Memo(1))).chunks}


def rules(*given):
    return [LabelRule(**rule) for rule in given]


COURSES = {"path": r"Courses/(?P<course>[^/]+)/", "kind": "note"}


def test_a_document_says_its_labels_in_its_front_matter(write, pipeline):
    write({"a.md": "---\ncourse: Optics\narea: lenses\nkind: lab\ngenerated: true\n---\n# A\n\ntext"})
    assert labels_of(pipeline()) == {"a.md": Labels("Optics", "lenses", "lab", generated=True)}


def test_a_document_that_says_nothing_has_no_labels(write, pipeline):
    write({"a.md": "text"})
    assert labels_of(pipeline()) == {"a.md": NO_LABELS}
    assert label(Document("a.md"), ()) is NO_LABELS


def test_its_path_says_what_it_does_not_say_itself_field_by_field(write, pipeline):
    write({"Courses/Optics/a.md": "---\nkind: lab\n---\ntext", "Courses/Optics/b.md": "text", "Daily/c.md": "text"})
    assert labels_of(pipeline(labels=[COURSES])) == {
        "Courses/Optics/a.md": Labels("Optics", "", "lab"),
        "Courses/Optics/b.md": Labels("Optics", "", "note"),
        "Daily/c.md": NO_LABELS,
    }


def test_the_first_rule_that_matches_counts_and_no_other_fills_its_gaps():
    found = label(
        Document("Courses/Optics/code/a.py"),
        rules({"path": r"Courses/(?P<course>[^/]+)/code/", "kind": "code"}, {"path": "Courses/", "area": "all"}),
    )
    assert found == Labels("Optics", "", "code")


def test_a_named_group_counts_before_the_fixed_value_and_an_unmatched_one_does_not():
    rule = rules({"path": r"(?:Courses/(?P<course>[^/]+)/)?", "course": "none", "area": "any"})
    assert label(Document("Courses/Optics/a.md"), rule) == Labels("Optics", "any")
    assert label(Document("a.md"), rule) == Labels("none", "any")


def test_a_rule_is_matched_from_the_start_of_the_path():
    assert label(Document("Old/Courses/Optics/a.md"), rules(COURSES)) is NO_LABELS


@pytest.mark.parametrize("value", ["true", "yes", "'true'", "2026-11-23", "by-a-model", "1"])
def test_whatever_is_not_a_no_marks_a_generated_document(value):
    (document,) = read("a.md", f"---\ngenerated: {value}\n---\ntext".encode())
    assert label(document, ()).generated


@pytest.mark.parametrize("value", ["false", "no", "'False'", "0", "", "null", "none"])
def test_a_no_marks_none(value):
    (document,) = read("a.md", f"---\ngenerated: {value}\n---\ntext".encode())
    assert not label(document, ()).generated


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), ("true", False), (1, False)])
def test_a_canvas_is_generated_by_its_own_key(value, expected):
    board = {"generated": value, "nodes": [{"id": "n", "type": "text", "text": "a node"}], "edges": []}
    (document,) = read("a.canvas", json.dumps(board).encode())
    assert document.passages[0].blocks == ("a node",)
    assert label(document, ()).generated is expected


def test_a_chunk_keeps_its_id_whatever_its_labels(write, pipeline):
    write({"Courses/Optics/a.md": "lenses bend light"})
    plain, labelled = pipeline(), pipeline(labels=[COURSES])
    ids = [search.search("lenses", dense=False).chunks[0].id for search in (plain, labelled)]
    assert ids[0] == ids[1]


def test_a_changed_rule_rebuilds_the_index_and_says_so(write, pipeline, encoder):
    write({"Courses/Optics/a.md": "text", "b.md": "other text"})
    first, changed = pipeline(labels=[COURSES]), pipeline(labels=[{**COURSES, "kind": "script"}])
    first.search("text")
    encoded = encoder.counts["embed"]
    assert labels_of(changed)["Courses/Optics/a.md"].kind == "script"
    assert first.describe()["index"] != changed.describe()["index"]
    changed.search("text")
    assert encoder.counts["embed"] == encoded  # the texts are the same: their vectors are in the cache
    with pytest.raises(StaleIndexError, match="labels"):
        pipeline(labels=[{**COURSES, "kind": "third"}], stale="refuse").search("text")
    assert labels_of(pipeline(labels=[COURSES], stale="refuse"))["Courses/Optics/a.md"].kind == "note"


def settings_with(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{path: '(unclosed'}", "no regular expression"),
        ("{path: '(?P<topic>x)'}", "'topic'; its groups may be named course and area"),
        ("{path: '(?P<kind>x)'}", "'kind'"),
        ("{kind: note}", "labels.0.path"),
        ("{path: x, courses: y}", "did you mean 'course'"),
    ],
)
def test_a_malformed_rule_is_an_error_of_the_settings(tmp_path, rule, said):
    path = settings_with(tmp_path, f"labels:\n  - {rule}\n")
    with pytest.raises(SettingsError, match=r"config\.yaml") as caught:
        load_settings(path)
    assert said in str(caught.value)


def test_an_unnamed_group_is_no_label(tmp_path):
    (rule,) = load_settings(settings_with(tmp_path, "labels:\n  - {path: '(a|b)/', kind: note}\n")).labels
    assert label(Document("b/x.md"), [rule]) == Labels(kind="note")


@given(st.text(), st.text(), st.text())
def test_labels_of_any_document_are_texts_without_blank_ends(course, area, kind):
    found = label(Document("x", metadata={"course": course, "area": area, "kind": kind}), ())
    assert [found.course, found.area, found.kind] == [course.strip(), area.strip(), kind.strip()]


@given(st.binary(max_size=200))
def test_the_front_matter_of_any_bytes_is_a_mapping(data):
    assert isinstance(front_matter(b"---\n" + data + b"\n---\ntext"), dict)
