"""The hashing lane: buckets as BLAKE2b gives them, cosines by hand, and one ranking on every machine."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest

from rag.hashing import BUCKETS, HashedTexts, features, place
from rag.options import Options, with_overrides
from rag.text import simple_tokens, unicode_tokens

NO_MODEL = {"sparse": False, "dense": False, "rerank": "none"}
NOTES = {
    "backoff.md": "a client that retries waits twice as long after each attempt",
    "bucket.md": "a token bucket fills at a fixed rate and bounds the burst",
    "cache.md": "a resolver caches an answer for the time to live of its record",
    "lease.md": "a lease lends an address for a limited time",
    "quorum.md": "two of three replicas confirm a write",
    "window.md": "the congestion window doubles in every round trip",
}
QUESTIONS = (
    "How long does a client wait that retried?",
    "What bounds a burst?",
    "time of a lease",
    "round trips, doubled",
)


def test_a_feature_lies_where_b2sum_puts_it():
    # `printf retry | b2sum -l 64` prints 1bd9172e90a8c548; read from the low end it is 0x48c5a8902e17d91b: bucket 0x91b
    # of 0x1000, and the highest bit is not set.
    assert BUCKETS == 0x1000
    assert place("retry") == (0x91B, 1)


def test_features_are_content_words_and_their_neighbours():
    assert features("What is the rate of a token bucket?", unicode_tokens) == [
        *("rate", "token", "bucket"),
        *("rate token", "token bucket"),
    ]
    assert features("what is it?", unicode_tokens) == []


def made(*texts):
    return HashedTexts(features(text, simple_tokens) for text in texts)


def found(index, text, k=10, among=None):
    return index.search(features(text, simple_tokens), k, among)


def test_a_cosine_by_hand():
    # (alpha 1, beta 1, "alpha beta" 1) against (alpha 1): 1 / sqrt(3 * 1); against (alpha 2, "alpha alpha" 1): 2 / sqrt 5.
    seen = {place(feature)[0] for feature in ("alpha", "beta", "alpha beta", "alpha alpha")}
    assert len(seen) == 4
    assert found(made("alpha beta", "alpha alpha", "gamma"), "alpha") == (
        (1, pytest.approx(2 / math.sqrt(5), abs=1e-15)),
        (0, pytest.approx(1 / math.sqrt(3), abs=1e-15)),
    )


def test_a_text_is_nearest_to_itself_with_a_cosine_of_one():
    index = made(*NOTES.values())
    for position, text in enumerate(NOTES.values()):
        assert found(index, text, 1) == ((position, pytest.approx(1.0, abs=1e-15)),)


def test_two_features_of_one_bucket_and_opposite_signs_cancel():
    by_bucket: dict[int, tuple[str, int]] = {}
    for word in (f"w{number}" for number in range(2_000)):
        bucket, sign = place(word)
        other, other_sign = by_bucket.setdefault(bucket, (word, sign))
        if other_sign != sign:
            break
    else:
        pytest.fail("no two of 2,000 words share a bucket with opposite signs")
    index = HashedTexts([[word, other], ["plain"]])
    assert index.search([word], 10) == ()
    assert index.search(["plain"], 10) == ((1, 1.0),)


def test_texts_without_a_common_word_have_a_dot_product_of_zero_in_the_mean():
    # Collisions add noise of no direction: the mean over 400 pairs lies within four of its standard errors.
    def vector(pair, side):
        held = np.zeros(BUCKETS)
        for number in range(200):
            bucket, sign = place(f"{pair} {side} {number}")
            held[bucket] += sign
        return held

    dots = np.array([vector(pair, "left") @ vector(pair, "right") for pair in range(400)])
    assert dots.any()
    assert abs(dots.mean()) < 4 * dots.std(ddof=1) / math.sqrt(len(dots))


def test_nothing_is_found_for_nothing_or_for_function_words_alone():
    index = made(*NOTES.values())
    assert found(index, "") == found(index, "what is it that they are?") == found(index, "unheard") == ()
    assert found(made("", "!?"), "alpha") == ()


def test_equal_cosines_keep_the_order_of_the_files_and_a_scope_is_kept():
    index = made("alpha beta", "gamma", "alpha beta", "alpha beta")
    assert [position for position, _ in found(index, "alpha beta")] == [0, 2, 3]
    assert [position for position, _ in found(index, "alpha beta", among=np.array([1, 2, 3]))] == [2, 3]
    assert [position for position, _ in found(index, "alpha beta", k=2)] == [0, 2]


def test_the_lane_searches_alone_and_beside_the_others(write, pipeline):
    write(NOTES)
    search = pipeline()
    alone = search.search("what bounds a burst", **NO_MODEL, hashing=True)
    assert alone.lanes_run == ("hashing",)
    assert alone.chunks[0].file == "bucket.md"
    both = search.search("what bounds a burst", hashing=True, rerank="none")
    assert both.lanes_run == ("sparse", "dense", "hashing")


def test_it_searches_inside_the_course_that_a_question_names(write, pipeline):
    write({f"Courses/{course}/{name}": text for course in ("Networks", "Storage") for name, text in NOTES.items()})
    search = pipeline(labels=[{"path": "Courses/(?P<course>[^/]+)/"}])
    result = search.search("Networks: the time of a lease", **NO_MODEL, hashing=True, scope_lanes=True)
    assert result.lanes_run == ("hashing", "scope-hashing")
    assert {chunk.file.split("/")[1] for chunk in result.stages["scope-hashing"]} == {"Networks"}


def test_every_lane_switched_on_counts_as_one_that_searches():
    for lane in ("hashing", "overlap", "trigrams"):
        assert getattr(with_overrides(Options(), NO_MODEL | {lane: True}), lane)


def test_rankings_and_the_last_bit_of_their_scores_are_the_same_everywhere(write, pipeline):
    # Own values, pinned: they say that nothing has changed, not that they are right.
    write(NOTES)
    search = pipeline()
    lanes = ("hashing", "overlap", "trigrams")
    choices = [dict.fromkeys(chosen, True) for count in (1, 3) for chosen in itertools.combinations(lanes, count)]
    ranked = [
        [(chunk.file, chunk.score.hex()) for chunk in search.search(question, **NO_MODEL, **chosen).chunks]
        for question in QUESTIONS
        for chosen in choices
    ]
    assert all(ranked)
    digest = hashlib.sha256(repr(ranked).encode()).hexdigest()
    assert digest == "87ef083383d0368f0f4f4aad51d6ea2bb72dcdcf2fa8eee8f604ae5ef99b11cb"
