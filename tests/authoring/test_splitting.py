"""Which side a question falls on: stable, balanced, and blind to order, files and hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.authoring.passages import groups_by_gold
from pytest_ragbench.authoring.splitting import assign, assign_by_gold, stratum_of
from pytest_ragbench.questions.model import GoldSource, Locator, Provenance, Question

SHARE = Fraction(2, 5)


def question(number: int, suite: str = "lexical", tier: str = "T1", **fields: object) -> Question:
    return Question(f"q-{number:04d}", "text", suite, tier, **fields)  # type: ignore[arg-type]


def apply(questions: list[Question], share: Fraction = SHARE) -> list[Question]:
    splits = assign(questions, share).splits
    return [replace(one, split=splits.get(one.id, one.split)) for one in questions]


def off_balance(questions: list[Question], share: Fraction = SHARE) -> Fraction:
    """How far the worst stratum is from its share of test questions, in questions."""
    size, tests = (
        Counter(map(stratum_of, questions)),
        Counter(stratum_of(one) for one in questions if one.split == "test"),
    )
    return max((abs(tests[key] - share * count) for key, count in size.items()), default=Fraction(0))


NUMBERS = st.lists(st.integers(0, 9_999), unique=True, max_size=40)
PLACES = st.tuples(st.sampled_from(["books", "code", "lexical"]), st.sampled_from(["T1", "T2", "T3"]))


@st.composite
def sets(draw: st.DrawFn) -> list[Question]:
    return [question(number, *draw(PLACES)) for number in draw(NUMBERS)]


@given(
    sets(),
    st.sampled_from([Fraction(1, 2), SHARE, Fraction(1, 10), Fraction(9, 10)]),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_aut_01_strata_are_balanced_within_one_whatever_the_order(
    questions: list[Question], share: Fraction, random
) -> None:
    done = apply(questions, share)
    assert all(one.split is not None for one in done)
    assert off_balance(done, share) < 1
    tests = sum(one.split == "test" for one in done)
    assert abs(tests - share * len(done)) < 1
    shuffled = questions[:]
    random.shuffle(shuffled)
    assert assign(shuffled, share).splits == assign(questions, share).splits


@given(sets(), st.data())
@settings(deadline=None)
def test_aut_01_questions_that_are_added_move_none_and_keep_the_balance(
    questions: list[Question], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(questions)))
    done = apply(questions[:first])
    later = apply(done + questions[first:])
    assert later[:first] == done
    assert off_balance(later) < 1 + Fraction(1, 10**9)


def test_aut_01_rejected_questions_stay_null_and_do_not_count() -> None:
    rejected = Provenance(status="rejected")
    questions = [question(number, provenance=rejected if number < 5 else Provenance()) for number in range(10)]
    splits = assign(questions, SHARE).splits
    assert sorted(splits) == [f"q-{number:04d}" for number in range(5, 10)]
    assert Counter(splits.values()) == {"dev": 3, "test": 2}


def test_what_was_split_by_hand_stays_and_the_rest_makes_up_for_it() -> None:
    questions = [question(number, split="dev" if number < 6 else None) for number in range(10)]
    assert set(assign(questions, SHARE).splits.values()) == {"test"}


def test_many_strata_of_one_question_meet_the_share_together() -> None:
    questions = [question(number, suite=f"s{number}") for number in range(50)]
    assert Counter(assign(questions, SHARE).splits.values()) == {"dev": 30, "test": 20}
    assert Counter(assign_by_gold(questions, SHARE).splits.values()) == {"dev": 30, "test": 20}


@pytest.mark.parametrize("function", ["assign", "assign_by_gold"])
def test_aut_01_the_hash_seed_has_no_say(function: str) -> None:
    code = (
        f"from fractions import Fraction\nfrom pytest_ragbench.authoring.splitting import {function}\n"
        "from pytest_ragbench.questions.model import *\n"
        "qs = [Question(f'q-{n:04d}', 't', 's', 'T1', gold=(GoldSource(Locator(f'{n // 3}.md')),)) for n in range(40)]\n"
        f"print(sorted({function}(qs, Fraction(2, 5)).splits.items()))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def pair_on(number: int, locator: Locator) -> list[Question]:
    return [question(number + extra, gold=(GoldSource(locator),)) for extra in (0, 1)]


def test_aut_02_questions_on_one_passage_are_kept_together() -> None:
    questions = [one for number in range(20) for one in pair_on(2 * number, Locator(f"n{number}.md", heading=("A",)))]
    splits = assign_by_gold(questions, SHARE).splits
    assert all(splits[f"q-{2 * number:04d}"] == splits[f"q-{2 * number + 1:04d}"] for number in range(20))
    assert Counter(splits.values()) == {"dev": 24, "test": 16}
    apart = assign(questions, SHARE).splits
    assert any(apart[f"q-{2 * number:04d}"] != apart[f"q-{2 * number + 1:04d}"] for number in range(20))


def test_aut_02_a_group_is_completed_on_the_side_it_stands_on_and_a_torn_one_is_told() -> None:
    one, other = pair_on(0, Locator("a.md"))
    assert assign_by_gold([replace(one, split="test"), other], SHARE).splits == {other.id: "test"}
    torn = [replace(one, split="test"), replace(other, split="dev"), question(5, gold=one.gold)]
    result = assign_by_gold(torn, SHARE)
    assert result.torn == (("q-0000", "q-0001", "q-0005"),)
    assert set(result.splits) == {"q-0005"}


def overlap(one: Locator, other: Locator) -> bool:
    """The rule as it is told, for two locators of one file; the product never compares each with each."""
    if one.pages is not None and other.pages is not None:
        return one.pages[0] <= other.pages[1] and other.pages[0] <= one.pages[1]
    if one.heading and other.heading:
        return all(mine.casefold() == yours.casefold() for mine, yours in zip(one.heading, other.heading, strict=False))
    return one.pages is None and other.pages is None and not one.heading and not other.heading


LOCATORS = st.builds(
    Locator,
    st.just("b.pdf"),
    st.none() | st.tuples(st.integers(1, 9), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))),
    st.lists(st.sampled_from(["A", "a", "B"]), max_size=3).map(tuple),
)


@given(st.lists(st.lists(LOCATORS, min_size=1, max_size=2), max_size=8))
@settings(deadline=None)
def test_groups_are_what_comparing_each_locator_with_each_gives(places: list[list[Locator]]) -> None:
    questions = [question(number, gold=tuple(map(GoldSource, found))) for number, found in enumerate(places)]
    group = list(range(len(places)))
    for one, mine in enumerate(places):
        for other, yours in enumerate(places):
            if any(overlap(a, b) for a in mine for b in yours):
                group = [group[one] if number == group[other] else number for number in group]
    expected = {frozenset(i for i, number in enumerate(group) if number == name) for name in group}
    assert {frozenset(int(one.id[2:]) for one in found) for found in groups_by_gold(questions)} == expected


def test_scl_01_five_thousand_questions_on_one_book_are_grouped_in_seconds() -> None:
    headings = [Locator("b.md", heading=("Ch", f"section {number}")) for number in range(2_500)]
    pages = [Locator("b.md", (2 * number + 1, 2 * number + 1)) for number in range(2_500)]
    questions = [question(number, gold=(GoldSource(place),)) for number, place in enumerate(headings + pages)]
    started = time.process_time()
    assert len(groups_by_gold(questions)) == 5_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize("done", range(5))
def test_a_split_that_was_interrupted_between_two_files_is_completed_to_the_same_sides(done: int) -> None:
    questions = [question(number, suite=f"s{number % 3}") for number in range(40)]
    whole = assign(questions, SHARE).splits
    part = [replace(one, split=whole[one.id] if int(one.id[2:]) % 5 < done else None) for one in questions]
    assert {**whole, **assign(part, SHARE).splits} == whole


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (Locator("b.pdf", (5, 6)), Locator("b.pdf", (6, 9)), True),
        (Locator("b.pdf", (5, 6)), Locator("b.pdf", (7, 9)), False),
        (Locator("b.pdf", (5, 6)), Locator("b.pdf"), False),
        (Locator("b.pdf"), Locator("b.pdf"), True),
        (Locator("a.md", heading=("A",)), Locator("a.md", heading=("a", "B")), True),
        (Locator("a.md", heading=("A", "B")), Locator("a.md", heading=("A", "C")), False),
        (Locator("a.md", heading=("3.1",)), Locator("a.md", heading=("3.10",)), False),
        (Locator("a.md", heading=("A",)), Locator("a.md"), False),
    ],
)
def test_which_locators_of_a_file_share_a_passage(one: Locator, other: Locator, shared: bool) -> None:
    for pair in ((one, other), (other, one)):
        groups = groups_by_gold([question(number, gold=(GoldSource(place),)) for number, place in enumerate(pair)])
        assert (len(groups) == 1) is shared
        assert overlap(*pair) is shared


def test_groups_join_through_a_third_question_and_only_over_required_sources() -> None:
    optional = GoldSource(Locator("z.md"), required=False)
    questions = [
        question(1, gold=(GoldSource(Locator("A.md")),)),
        question(2, gold=(GoldSource(Locator("a.md")), GoldSource(Locator("b.md")))),
        question(3, gold=(GoldSource(Locator("./b.md")), optional)),
        question(4, gold=(GoldSource(Locator("c.md")), optional)),
        question(5),
    ]
    assert [[one.id for one in group] for group in groups_by_gold(questions)] == [
        ["q-0001", "q-0002", "q-0003"],
        ["q-0004"],
        ["q-0005"],
    ]
