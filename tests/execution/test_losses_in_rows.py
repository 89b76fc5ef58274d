"""What a row says of lost sources: read from the stages, and from what the pipeline says that its index holds."""

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.rowline import row_line

ARM = Configuration("c", "c")


def question(*files, number=1, pages=None):
    gold = tuple(GoldSource(Locator(file, pages)) for file in files)
    return Question(f"los-{number:04d}", "what?", "books", "T1", "dev", answerable=bool(gold), gold=gold)


def ranking(*placed, length=60):
    files = [f"{rank}.md" for rank in range(1, length + 1)]
    for file, rank in placed:
        files[rank - 1] = file
    return files


class Pipeline:
    """Returns one result; tells what its index holds, and counts how often it was asked."""

    def __init__(self, index=None, **result):
        self.result, self.asked = result, []
        if index is not None:
            self.indexed_chunks = lambda file: self.asked.append(file) or index[file]

    def search(self, _query):
        return self.result


def losses(asked, pipeline=None, k=10, **result):
    row = measure(pipeline or Pipeline(**result), asked, ARM, k=k).row
    assert row["error"] is None
    assert canonical.loads(row_line(row))["losses"] == row["losses"]
    return row["losses"]


def test_without_stages_a_row_does_not_say_what_was_lost():
    assert losses(question("a.md"), chunks=["x.md"]) is None


def test_with_stages_it_says_that_nothing_was_lost_or_what_was():
    asked = question("a.md", "b.md")
    stages = {"lane": ["a.md", "b.md"]}
    assert losses(asked, chunks=["a.md", "b.md"], stages=stages) == []
    assert losses(asked, chunks=["b.md"], stages=stages | {"gate": ["b.md"]}) == [{"gold": 0, "layer": "gate"}]


def test_an_unanswerable_question_loses_nothing():
    assert losses(question(), chunks=["a.md"], stages={"lane": ["a.md"]}) == []


def test_a_failed_search_says_nothing():
    assert measure(Pipeline(chunks=3), question("a.md"), ARM, k=10).row["losses"] is None


@pytest.mark.parametrize(("placed", "layer"), [(25, "rerank"), (44, "fusion")])
def test_how_far_a_rerank_judged_is_seen_from_what_it_left_in_place(placed, layer):
    before = ranking(("a.md", placed))
    after = [*reversed(before[:30]), *before[30:]] if placed > 30 else [*before[5:30], *before[:5], *before[30:]]
    stages = {"lane": ["a.md"], "fusion": before, "rerank": after, "cut": after[:10]}
    assert losses(question("a.md"), chunks=after[:10], lanes_run=["lane"], stages=stages) == [
        {"gold": 0, "layer": layer}
    ]


def test_scores_do_not_tell_two_chunks_of_a_ranking_apart():
    before = [{"file": file, "score": 1.0} for file in ranking(("a.md", 44))]
    after = [*reversed(before[:30]), *({**chunk, "score": 0.5} for chunk in before[30:])]
    stages = {"lane": ["a.md"], "fusion": before, "rerank": after, "cut": after[:10]}
    found = losses(question("a.md"), chunks=after[:10], lanes_run=["lane"], stages=stages)
    assert found == [{"gold": 0, "layer": "fusion"}]


def test_the_final_ranking_is_cut_at_k():
    stages = {"lane": ["x.md", "y.md", "a.md"]}
    assert losses(question("a.md"), k=2, chunks=stages["lane"], stages=stages) == [{"gold": 0, "layer": "cut-off"}]


# --- what the index holds -----------------------------------------------------------------------------------------------


def test_a_source_that_no_chunk_of_the_index_satisfies_is_not_indexed():
    index = {"a.pdf": [{"file": "a.pdf", "pages": [1, 3]}, {"file": "a.pdf", "pages": [7, 9]}]}
    stages = {"lane": ["x.md"]}
    for pages, layer in (((4, 6), "not indexed"), ((8, 8), "not in any lane")):
        asked = question("a.pdf", pages=pages)
        assert losses(asked, Pipeline(index, chunks=["x.md"], stages=stages)) == [{"gold": 0, "layer": layer}]


def test_the_index_is_asked_once_a_question_and_only_where_a_source_was_never_found():
    index = {"a.md": [], "b.md": ["b.md"]}
    pipeline = Pipeline(index, chunks=["x.md"], stages={"lane": ["b.md"]})
    found = question("b.md", number=2)
    assert losses(found, pipeline) == [{"gold": 0, "layer": "cut-off"}]
    assert pipeline.asked == []
    missing = question("a.md", "b.md", number=3)
    for _ in range(2):
        assert losses(missing, pipeline)[0] == {"gold": 0, "layer": "not indexed"}
    assert pipeline.asked == ["a.md", "b.md"]


def test_another_pipeline_is_asked_anew():
    asked = question("a.md")
    result = {"chunks": ["x.md"], "stages": {"lane": ["x.md"]}}
    assert losses(asked, Pipeline({"a.md": []}, **result)) == [{"gold": 0, "layer": "not indexed"}]
    assert losses(asked, Pipeline({"a.md": ["a.md"]}, **result)) == [{"gold": 0, "layer": "not in any lane"}]
    assert losses(asked, Pipeline(**result)) == [{"gold": 0, "layer": "not in any lane"}]


def test_what_is_no_chunk_of_the_index_is_an_error_of_the_row():
    pipeline = Pipeline({"a.md": 3}, chunks=["x.md"], stages={"lane": ["x.md"]})
    row = measure(pipeline, question("a.md"), ARM, k=10).row
    assert row["error"].startswith("PipelineError: indexed_chunks('a.md') is ")


def test_absolute_names_of_the_index_are_taken_below_the_corpus():
    asked, result = question("a.md"), {"chunks": ["/corpus/x.md"], "stages": {"lane": ["/corpus/x.md"]}}
    row = measure(Pipeline({"a.md": ["/corpus/a.md"]}, **result), asked, ARM, k=10, root="/corpus").row
    assert row["losses"] == [{"gold": 0, "layer": "not in any lane"}]
