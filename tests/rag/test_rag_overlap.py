"""The overlap lanes: shares counted by hand, ties in the order of the files, nothing for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.overlap import FeatureSets, jaccard, overlap_coefficient, trigrams, words
from rag.text import FUNCTION_WORDS, content_words, unicode_tokens

NO_MODEL = {"sparse": False, "dense": False, "rerank": "none"}


def test_words_are_distinct_content_words():
    assert words("The bucket of the token, and the token's rate", unicode_tokens) == {"bucket", "token", "rate"}


def test_function_words_are_no_terms_of_the_field():
    assert not {"lock", "key", "window", "token", "rate", "first", "last", "new", "two"} & FUNCTION_WORDS
    assert content_words("When was it that they would have been there?", unicode_tokens) == []


def test_pieces_of_a_word_count_its_ends_too():
    assert trigrams("ttl", unicode_tokens) == {" tt", "ttl", "tl "}
    assert trigrams("x", unicode_tokens) == {" x "}
    assert trigrams("of the", unicode_tokens) == frozenset()


def test_retries_and_retried_share_five_of_seven_pieces():
    # " re", "ret", "etr", "tri", "rie" are common; "ies", "es " and "ied", "ed " are not.
    one, other = trigrams("retries", unicode_tokens), trigrams("retried", unicode_tokens)
    assert (len(one), len(other), len(one & other)) == (7, 7, 5)


SETS = [{"a", "b", "c", "d"}, {"a", "b"}, {"e"}, {"b", "c", "d", "e", "f", "g"}]


def test_jaccard_by_hand():
    # Asked {a, b, e}: 2 of 5, 2 of 3, 1 of 3, 2 of 7.
    found = FeatureSets(SETS).search({"a", "b", "e"}, 10, jaccard)
    assert found == ((1, 2 / 3), (0, 2 / 5), (2, 1 / 3), (3, 2 / 7))


def test_the_overlap_coefficient_by_hand():
    # Asked {a, b, e}: 2 of 3, 2 of 2, 1 of 1, 2 of 3; equal shares keep the order of the files.
    found = FeatureSets(SETS).search({"a", "b", "e"}, 10, overlap_coefficient)
    assert found == ((1, 1.0), (2, 1.0), (0, 2 / 3), (3, 2 / 3))


def test_a_scope_and_a_pool_are_kept():
    index = FeatureSets(SETS)
    assert [position for position, _ in index.search({"b"}, 10, jaccard, np.array([0, 2, 3]))] == [0, 3]
    assert [position for position, _ in index.search({"b"}, 2, jaccard)] == [1, 0]


def test_nothing_is_found_where_nothing_is_common():
    index = FeatureSets(SETS)
    assert index.search(set(), 10, jaccard) == index.search({"z"}, 10, jaccard) == ()
    assert index.search({"a"}, 10, jaccard, np.array([2])) == ()
    assert FeatureSets([]).search({"a"}, 10, jaccard) == ()


features = st.frozensets(st.sampled_from("abcdefgh"), max_size=8)


@given(st.lists(features, min_size=1, max_size=8), features, st.sampled_from(["jaccard", "overlap"]))
def test_scores_are_those_of_sets(texts, asked, measure):
    def score(held):
        return len(asked & held) / (len(asked | held) if measure == "jaccard" else min(len(asked), len(held)))

    found = FeatureSets(texts).search(asked, 10, jaccard if measure == "jaccard" else overlap_coefficient)
    expected = [(position, score(held)) for position, held in enumerate(texts) if asked & held]
    assert list(found) == sorted(expected, key=lambda item: (-item[1], item[0]))


@pytest.mark.parametrize(("lane", "found"), [("overlap", ["b.md"]), ("trigrams", ["b.md", "a.md"])])
def test_each_lane_searches_alone_and_pieces_find_what_whole_words_miss(lane, found, write, pipeline):
    write({"a.md": "retries with growing pauses", "b.md": "a pause after each failure", "c.md": "buckets"})
    result = pipeline().search("What is the pause for?", **NO_MODEL, **{lane: True})
    assert result.lanes_run == (lane,)
    assert [chunk.file for chunk in result.chunks] == found
