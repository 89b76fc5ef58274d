"""Claims about the rows held as columns."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ragbench.analysis.table import ABSENT, CACHED, COLD, ERRORED, RowTable

METRICS = ("hit@1", "mrr@10")


def ranked(file="a.md", *, pages=None, heading=(), matches=(), score=0.5, id_=None, text=None):
    return {
        **({} if text is None else {"text_digest": text}),
        "rank": 1, "id": id_, "file": file, "pages": pages, "heading": list(heading), "score": score,
        "matches": list(matches), "doc_matches": list(matches),
    }  # fmt: skip


def row(question="q-0001", configuration="c", *, hit=1.0, ranking=(), **fields):
    metrics = {"hit@1": hit, "mrr@10": 0.5}
    return {
        "question": question,
        "configuration": configuration,
        "metrics": metrics,
        "ranking": list(ranking),
        **fields,
    }


def table_of(*rows) -> RowTable:
    table = RowTable(METRICS)
    for one in rows:
        table.add(one)
    return table


def test_cells_come_in_the_order_asked_for_and_absent_ones_are_null():
    table = table_of(row("q-0002", hit=0.25), row("q-0001", hit=0.75))
    slots = table.slots(["q-0001", "q-0002", "q-0003"], "c")
    assert slots[2] == ABSENT
    assert table.metrics(slots)[:, 0].tolist()[:2] == [0.75, 0.25]
    assert np.isnan(table.metrics(slots)[2, 0])
    assert (~np.isnan(table.metrics(slots))).any(axis=1).tolist() == [True, True, False]


def test_an_empty_table_answers_as_if_everything_were_absent():
    table = RowTable(METRICS)
    slots = table.slots(["q-0001"], "c")
    assert np.isnan(table.metrics(slots)[:, 1]).all()
    assert np.isnan(table.metrics(slots)).all()
    assert not table.flagged(slots, ERRORED).any()
    assert table.satisfied(slots) == [0]
    assert (table.spans(slots), table.timings(slots)) == ([], {})
    assert table.rankings(slots).tolist() == [0]


def test_of_two_rows_for_one_cell_the_last_one_counts_in_every_column():
    first = row(hit=0.0, ranking=[ranked(matches=[0], pages=[1, 9])], timings={"search": 5.0, "rerank": 4.0}, cold=True)
    table = table_of(first, row(hit=1.0, ranking=[ranked(matches=[1])], timings={"search": 2.0}, cached=["dense"]))
    slots = table.slots(["q-0001"], "c")
    assert len(table) == 1
    assert table.metrics(slots)[:, 0].tolist() == [1.0]
    assert table.satisfied(slots) == [0b10]
    assert table.spans(slots) == []
    assert {stage: values.tolist() for stage, values in table.timings(slots).items()} == {"search": [2.0]}
    assert not table.flagged(slots, COLD)[0]
    assert table.flagged(slots, CACHED)[0]


def test_an_errored_row_has_no_metric_even_if_it_names_one():
    table = table_of(row(hit=1.0, error="ValueError: boom"))
    slots = table.slots(["q-0001"], "c")
    assert np.isnan(table.metrics(slots)[0, 0])
    assert table.flagged(slots, ERRORED).tolist() == [True]


def test_null_and_missing_metrics_are_null():
    table = RowTable((*METRICS, "ndcg@10"))
    table.add(row(hit=None))
    slots = table.slots(["q-0001"], "c")
    assert [np.isnan(table.metrics(slots)[0, column]) for column in range(3)] == [True, False, True]


def test_a_stage_that_appears_late_is_absent_from_earlier_rows():
    table = table_of(row("q-0001", timings={"search": 1.0}), row("q-0002", timings={"search": 2.0, "hyde": 3.0}))
    found = table.timings(table.slots(["q-0001", "q-0002"], "c"))
    assert {stage: values.tolist() for stage, values in found.items()} == {"hyde": [3.0], "search": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ([ranked("a.md")], [ranked("a.md", score=0.1)], True),
        ([ranked("a.md")], [ranked("a.md", matches=[0])], True),
        ([ranked("a.md", pages=[1, 2])], [ranked("a.md", pages=(1, 2))], True),
        ([ranked("a.md")], [ranked("b.md")], False),
        ([ranked("a.md", id_="1")], [ranked("a.md", id_="2")], False),
        ([ranked("a.md", pages=[1, 2])], [ranked("a.md", pages=[1, 3])], False),
        ([ranked("a.md", heading=["A", "B"])], [ranked("a.md", heading=["A > B"])], False),
        ([ranked("a.md"), ranked("b.md")], [ranked("b.md"), ranked("a.md")], False),
        ([ranked("a.md")], [ranked("a.md"), ranked("a.md")], False),
        ([ranked("a.md", text="1f")], [ranked("a.md", text="1f", score=0.4)], True),
        ([ranked("a.md", text="1f")], [ranked("a.md", text="2e")], False),
        ([], [], True),
    ],
)
def test_rankings_are_equal_when_places_texts_and_order_are_whatever_the_scores(one, two, same):
    table = table_of(row("q-0001", ranking=one), row("q-0002", ranking=two))
    first, second = table.rankings(table.slots(["q-0001", "q-0002"], "c"))
    assert (first == second) is np.bool_(same)


def test_loc_05_spans_are_those_of_matched_chunks_with_pages():
    ranking = [
        ranked(pages=[1, 500], matches=[0]),
        ranked(pages=[7, 7], matches=[0]),
        ranked(pages=[1, 9]),
        ranked(matches=[0]),
    ]
    table = table_of(row(ranking=ranking))
    assert table.spans(table.slots(["q-0001"], "c")) == [1, 500]


@pytest.mark.parametrize("source", [-1, 1 << 12, 10**12, 10**30])
def test_rec_02_a_gold_source_that_no_question_has_is_refused_and_fills_no_memory(source: int) -> None:
    with pytest.raises(ValueError, match=r"negative shift|gold source"):
        len(table_of(row(ranking=[ranked(matches=(source,))])))
