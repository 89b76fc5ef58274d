"""The gate's verdict in words: the sentence, the table, what is refused, and what is kept for the details."""

from __future__ import annotations

import pytest

from pytest_ragbench.gates.model import Flip, GateLine, Refresh, Refusal, Verdict
from pytest_ragbench.reports.model import Bullets, Sentences, Table
from pytest_ragbench.reports.text import cell_text
from pytest_ragbench.reports.verdict import headline, refresh_blocks, verdict_blocks, verdict_sections
from pytest_ragbench.reports.view import RunView


def line(outcome="ok", *, metric="mrr@10", scope="overall", gated=True, configuration="one", **keys):
    values = {"current": 0.5, "baseline": 0.7, "delta": -0.2, "floor": 0.4, "allowed": 0.1, "n": 40, "note": "", **keys}
    return GateLine(configuration, scope, metric, gated=gated, outcome=outcome, **values)


def verdict(*lines, status="passed", mode="full", baseline="baselines/main.json", refusals=(), flips=(), notes=()):
    return Verdict(status, mode, baseline, lines, tuple(refusals), tuple(flips), tuple(notes))


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (verdict(line()), "Gate passed: 1 number judged."),
        (verdict(line(), line("inconclusive")), "Gate passed: 2 numbers judged, 1 inconclusive."),
        (verdict(line(), mode="floors", baseline=None), "Gate passed, floors alone: 1 number judged."),
        (verdict(line("no baseline"), baseline=None), "Gate passed, floors alone: 1 number judged."),
        (
            verdict(line(), line("no baseline", floor=None)),
            "Gate passed: 1 number judged, 1 without a baseline.",
        ),
        (
            verdict(line("regressed"), line(), status="failed"),
            "Gate failed: 1 of 2 numbers: mrr@10 of one regressed.",
        ),
        (
            verdict(*[line("below floor", scope=f"suite:s{n}") for n in range(5)], status="failed"),
            (
                "Gate failed: 5 of 5 numbers: mrr@10 of one in suite:s0 below floor, mrr@10 of one in suite:s1 below "
                "floor, mrr@10 of one in suite:s2 below floor and 2 more."
            ),
        ),
        (
            verdict(status="refused", refusals=[Refusal("k", "5", "10", "c"), Refusal("split", "a", "b", "c")]),
            "Gate refused: k, split.",
        ),
    ],
)
def test_the_sentence_says_what_counts(found, sentence):
    assert headline(found) == sentence
    assert verdict_blocks(found)[0] == Sentences(sentence)


def rows(found):
    (table,) = [block for block in verdict_blocks(found) if isinstance(block, Table)]
    return [[cell_text(cell) for cell in row] for row in table.rows]


def test_failing_numbers_come_first_and_what_is_not_judged_does_not_come():
    found = verdict(
        line(metric="a"), line("shown", metric="b", gated=False), line("regressed", metric="c"), status="failed"
    )
    assert [row[0] for row in rows(found)] == ["c", "a"]


def test_a_row_has_the_numbers_with_their_signs_and_blanks_where_there_are_none():
    found = verdict(line("no value", current=None, delta=None, baseline=None, floor=None, n=0), status="failed")
    assert rows(found) == [["mrr@10", "no value", "", "", "", "", "0.100", "0"]]
    assert rows(verdict(line(scope="suite:books"))) == [
        ["mrr@10, suite:books", "ok", "0.700", "0.500", "-0.200", "0.400", "0.100", "40"]
    ]


FLOOR_ALONE = {"baseline": None, "delta": None, "allowed": None}


@pytest.mark.parametrize("keys", [{"mode": "floors"}, {"baseline": None}], ids=["asked for", "no baseline"])
def test_floors_alone_have_no_columns_of_a_baseline(keys):
    found = verdict(line(**FLOOR_ALONE), line(metric="b", gated=False, floor=None, **FLOOR_ALONE), **keys)
    judged, shown = [
        next(block for block in section.blocks if isinstance(block, Table))
        for section in verdict_sections(RunView(RUN, verdict=found))
    ]
    assert [column.title for column in judged.columns] == ["metric", "verdict", "current", "floor", "n"]
    assert rows(found) == [["mrr@10", "ok", "0.500", "0.400", "40"]]
    assert [column.title for column in shown.columns] == ["metric", "verdict", "current", "n"]
    assert judged.keys == shown.keys == 2


def test_by_floors_alone_a_column_stays_where_one_row_has_a_value():
    found = verdict(line(**FLOOR_ALONE), line(metric="b", **{**FLOOR_ALONE, "allowed": 0.1}), mode="floors")
    assert rows(found) == [["mrr@10", "ok", "0.500", "0.400", "", "40"], ["b", "ok", "0.500", "0.400", "0.100", "40"]]


def test_against_a_baseline_its_columns_stay_though_nothing_has_a_value():
    assert rows(verdict(line(**FLOOR_ALONE))) == [["mrr@10", "ok", "", "0.500", "", "0.400", "", "40"]]


def test_several_configurations_are_told_apart_by_a_column():
    assert [row[:2] for row in rows(verdict(line(), line(configuration="two")))] == [
        ["mrr@10", "one"],
        ["mrr@10", "two"],
    ]


def test_a_refusal_has_what_was_found_and_expected_and_the_command():
    refusal = Refusal("k", "rankings cut at 5", "cut at 10", "pytest --rag-gate")
    bullets = verdict_blocks(verdict(status="refused", refusals=[refusal]))[1]
    assert bullets == Bullets(("k: found rankings cut at 5; expected cut at 10. To mend it: pytest --rag-gate",))


def test_notes_follow_and_what_is_enforced_elsewhere_is_told():
    elsewhere = line("enforced elsewhere", metric="leaks", configuration="", gated=False, note="enforced by others")
    found = verdict(line("inconclusive", note="too few"), elsewhere, notes=["a note."])
    assert verdict_blocks(found)[-1] == Bullets(
        ("mrr@10 of one: inconclusive; too few.", "leaks: enforced by others; not judged here.", "a note.")
    )


RUN = {"run_id": "R", "started_at": "t"}


def test_questions_that_changed_and_numbers_that_are_shown_are_details():
    flips = [Flip("lex-0001", "one", "mrr@10", 1.0, 0.25), Flip("lex-0002", "one", "mrr@10", 0.5, 1.0)]
    view = RunView(RUN, verdict=verdict(line(), line("shown", gated=False), flips=flips))
    sections = {section.title: section for section in verdict_sections(view)}
    assert [(title, section.detail) for title, section in sections.items()] == [
        ("Gate: passed", False),
        ("Gate: questions that changed", True),
        ("Gate: shown, not judged", True),
    ]
    sentence, table = sections["Gate: questions that changed"].blocks
    assert sentence.text.startswith(
        "2 questions scored otherwise than in the baseline by a judged metric: 1 values are lower"
    )
    assert [cell_text(cell) for cell in table.rows[0]] == ["lex-0001", "one", "mrr@10", "1.000", "0.250", "-0.750"]


def test_a_run_without_a_gate_has_no_section():
    assert not list(verdict_sections(RunView(RUN)))


def test_a_refresh_shows_the_means_that_it_moves_alone():
    refresh = Refresh("m.json", written=True, lines=(line("shown"), line("shown", metric="b", delta=0.0)))
    sentence, table = refresh_blocks(refresh)
    assert sentence.text == "m.json was written, with the rows beside it: look through the change and commit it."
    assert [[cell_text(cell) for cell in row] for row in table.rows] == [["one", "mrr@10", "0.700", "0.500", "-0.200"]]


def test_a_refresh_that_changes_nothing_says_so():
    (sentence,) = refresh_blocks(Refresh("m.json"))
    assert sentence.text == "m.json is unchanged, to the last byte."


def test_a_forced_refresh_says_first_what_is_missing():
    first, *_ = refresh_blocks(Refresh("m.json", forced=("partial run: a selection",), written=True))
    assert first.text == (
        "FORCED from a run that is not whole: partial run: a selection. m.json says so until a whole run replaces it."
    )
