"""Document ids as files of locators: safe, reversible, never two for one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_ragbench.execution.document_ids import check_id, document_file, document_id
from pytest_ragbench.questions.locators import check_file

ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.text("./\\:% ab\x00\n", min_size=1)


@pytest.mark.parametrize(
    "plain", ["4983", "00-00", "2hop__1_2", "FBIS3-1", "<dbpedia:Animalia_(book)>", "a/b.md", "a b"]
)
def test_an_ordinary_id_is_its_own_file(plain):
    assert document_file(plain) == plain


@pytest.mark.parametrize(
    ("unsafe", "file"),
    [
        ("../secret", "%2E%2E%2Fsecret"),
        ("/etc/passwd", "%2Fetc%2Fpasswd"),
        ("C:\\x.md", "C%3A%5Cx%2Emd"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("a\x00b", "a%00b"),
        ("\x85", "%C2%85"),
        ("\u2003", "%E2%80%83"),
        ("100%", "100%25"),
        ("%2E%2E", "%252E%252E"),
    ],
)
def test_loc_08_an_id_that_is_no_path_below_a_root_is_percent_encoded(unsafe, file):
    assert document_file(unsafe) == file


@given(ids)
@example("\x85")
def test_every_id_has_a_safe_file_and_comes_back(name):
    assert check_file(document_file(name)) is None
    assert document_id(document_file(name)) == name


@given(ids, ids)
def test_two_ids_never_share_a_file(one, other):
    assert (document_file(one) == document_file(other)) == (one == other)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        (7, 'write "7"'),
        (True, "must be text"),
        (None, "must be text"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_is_no_id_is_refused_with_the_remedy(value, complaint):
    assert complaint in (check_id(value) or "")
