"""Rows and summaries of real runs: what the cases on metrics and statistics ask for, from set to report."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from plugin_support import HOW, Project, question, rows, run_json, summary

from pytest_ragbench.harness.measuring import FIELDS_ATTRIBUTE, ROW_ATTRIBUTE


def chunk(text):
    """`b.pdf p5`, `a.md#2` or `b.md (Proof)` as a retrieved chunk."""
    if text.endswith(")"):
        file, _, heading = text.removesuffix(")").partition(" (")
        return {"file": file, "heading": [heading]}
    if " p" in text:
        file, _, page = text.partition(" p")
        return {"file": file, "pages": [int(page), int(page)]}
    file, _, number = text.partition("#")
    return {"file": file, "id": f"{file}#{number or 1}"}


def fillers(count):
    return [f"filler{number}.md" for number in range(count)]


def whole(*files):
    return [{"file": file} for file in files]


ALL_FOUND = {"hit@1": 1, "hit@5": 1, "hit@10": 1, "recall@10": 1.0, "complete@10": 1, "mrr@10": 1.0}
NOT_FOUND = {"hit@1": 0, "hit@5": 0, "hit@10": 0, "recall@10": 0.0, "complete@10": 0, "mrr@10": 0.0, "ndcg@10": 0.0}
PAGED = [{"file": "b.pdf", "pages": [5, 6]}, {"file": "b.pdf", "pages": [6, 7]}]
OPTIONAL = [{"file": "a.md"}, {"file": "ctx.md", "required": False}]

CASES = {
    # name: gold, ranking under each list, metrics expected under each list
    "met-01": (whole("notes/a.md"), {"A": ["notes/a.md#1", "notes/a.md#2"]}, {"A": ALL_FOUND | {"ndcg@10": 1.0}}),
    "met-02": (
        whole("a.md", "b.md"),
        {"A": ["a.md#1", "a.md#2", "a.md#3"]},
        {"A": ALL_FOUND | {"recall@10": 0.5, "complete@10": 0, "ndcg@10": 0.613147}},
    ),
    "met-03": (
        PAGED,
        {"A": ["b.pdf p6"], "B": ["b.pdf p5", "b.pdf p6"], "C": ["b.pdf p6", "b.pdf p7"]},
        {
            "A": ALL_FOUND | {"ndcg@10": 0.613147},
            "B": ALL_FOUND | {"ndcg@10": 1.0},
            "C": ALL_FOUND | {"ndcg@10": 0.613147},
        },
    ),
    "met-05": (
        whole("a.md", "b.md", "c.md", "d.md", "e.md"),
        {"A": ["a.md#1"]},
        {"A": ALL_FOUND | {"recall@10": 0.2, "complete@10": 0, "ndcg@10": 0.33916}},
    ),
    "met-07-rank-1": (whole("a.md"), {"A": ["a.md"]}, {"A": {"ndcg@10": 1.0, "mrr@10": 1.0, "hit@10": 1}}),
    "met-07-rank-2": (whole("a.md"), {"A": [*fillers(1), "a.md"]}, {"A": {"ndcg@10": 0.63093, "mrr@10": 0.5}}),
    "met-07-rank-3": (whole("a.md"), {"A": [*fillers(2), "a.md"]}, {"A": {"ndcg@10": 0.5, "mrr@10": 0.333333}}),
    "met-07-rank-10": (
        whole("a.md"),
        {"A": [*fillers(9), "a.md"]},
        {"A": {"ndcg@10": 0.289065, "mrr@10": 0.1, "hit@10": 1}},
    ),
    "met-07-rank-11": (whole("a.md"), {"A": [*fillers(10), "a.md"]}, {"A": NOT_FOUND}),
    "met-08": (whole("a.md", "b.md"), {"A": ["a.md#1", "b.md#1", "x.md#1"]}, {"A": {"p@5": 0.4}}),
    "met-08-repeats": (whole("a.md"), {"A": ["a.md#1", "a.md#2", "x.md#1"]}, {"A": {"p@5": 0.4}}),
    "met-09-found": (whole("a.md"), {"A": ["a.md#1"]}, {"A": ALL_FOUND | {"ndcg@10": 1.0}}),
    "met-09-empty": (whole("b.md"), {"A": []}, {"A": NOT_FOUND | {"p@5": 0.0}}),
    "met-10-hit": (whole("a.md"), {"A": ["a.md"]}, {"A": {"hit@1": 1}}),
    "met-10-miss": (whole("a.md"), {"A": ["x.md"]}, {"A": {"hit@1": 0}}),
    "met-10-unanswerable": ([], {"A": ["x.md"]}, {"A": {"hit@1": None, "ndcg@10": None, "p@5": None}}),
    "met-10-unanswerable-too": ([], {"A": []}, {"A": {"hit@1": None, "recall@10": None}}),
    "met-16": (
        [{"file": "a.pdf", "pages": [1, 1], "hop": 1}, {"file": "b.md", "heading": "Proof", "hop": 2}],
        {"A": ["x.md", "y.md", "b.md (Proof)"]},
        {
            "A": {
                "hit@1": 0,
                "hit@5": 1,
                "hit@10": 1,
                "recall@10": 0.5,
                "complete@10": 0,
                "mrr@10": 1 / 3,
                "ndcg@10": 0.306574,
            }
        },
    ),
    "met-17": (
        OPTIONAL,
        {"A": ["ctx.md#1"], "B": ["ctx.md#1", "a.md#1"]},
        {
            "A": {"hit@1": 0, "mrr@10": 0.0, "recall@10": 0.0, "complete@10": 0, "ndcg@10": 0.0, "p@5": 0.2},
            "B": {"hit@1": 0, "mrr@10": 0.5, "recall@10": 1.0, "complete@10": 1, "ndcg@10": 0.63093, "p@5": 0.4},
        },
    ),
    "loc-05": (
        [{"file": "book.pdf", "pages": [212, 213]}],
        {"A": [{"file": "book.pdf", "pages": [1, 500]}]},
        {"A": ALL_FOUND | {"ndcg@10": 1.0}},
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The record of one run over every case, each its own question in a suite of its area."""
    project = Project(SimpleNamespace(path=tmp_path_factory.mktemp("cases")))
    records, lists = [], {"A": {}, "B": {}, "C": {}}
    for number, (name, (gold, rankings, _)) in enumerate(CASES.items(), start=1):
        records.append(question(number, text=name, suite=name[:6].replace("-", ""), gold=gold, answerable=bool(gold)))
        for list_name, ranking in rankings.items():
            lists[list_name][name] = [chunk(entry) if isinstance(entry, str) else entry for entry in ranking]
    project.write(records, lists)
    process = project.start("--rag-configs=A,B,C")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return project.runs[0]


@pytest.mark.parametrize("name", CASES)
def test_a_row_holds_the_metrics_of_its_case(folder, name):
    found = rows(folder)
    number = list(CASES).index(name) + 1
    for configuration, expected in CASES[name][2].items():
        metrics = found[(f"lex-{number:04d}", configuration)]["metrics"]
        for metric, value in expected.items():
            assert metrics[metric] == (None if value is None else pytest.approx(value, abs=1e-6)), metric
        assert all(0 <= value <= 1 for value in metrics.values() if value is not None)


def test_met_09_an_empty_ranking_stays_in_the_denominator(folder):
    means = summary(folder)["results"]["A"]["by_suite"]["met09"]
    assert {name: means[name]["mean"] for name in ("ndcg@10", "mrr@10", "p@5")} == {
        "ndcg@10": 0.5,
        "mrr@10": 0.5,
        "p@5": 0.1,
    }
    assert means["ndcg@10"]["n"] == 2


def test_met_10_unanswerable_questions_are_counted_apart(folder):
    results = summary(folder)["results"]["A"]
    means = results["by_suite"]["met10"]["hit@1"]
    assert (means["mean"], means["n"]) == (0.5, 2)
    assert results["unanswerable"] == 2
    assert results["rows"] == {"scored": len(CASES) - 2, "errored": 0, "not_run": 0}


def test_met_16_recall_by_hop_shows_which_step_failed(folder):
    by_hop = summary(folder)["results"]["A"]["by_hop"]
    assert {hop: metrics["recall@10"]["mean"] for hop, metrics in by_hop.items()} == {"1": 0.0, "2": 1.0}
    assert "hop" in (folder / "report.md").read_text(encoding="utf-8")


def test_loc_05_the_pages_of_matched_chunks_are_shown(folder):
    # Under A: pages 6 (MET-03) and 1-500; under C: pages 6 and 7.
    results = summary(folder)["results"]
    assert results["A"]["page_span"] == {"median": 250.5, "max": 500}
    assert results["C"]["page_span"] == {"median": 1, "max": 1}
    assert "500" in (folder / "report.md").read_text(encoding="utf-8")


@HOW
def test_met_15_error_rows_raise_no_mean_and_fail_the_run(project, workers):
    answers = {f"question {n}": [f"g{n}.md"] if n % 2 else {"raise": "timed out"} for n in range(1, 11)}
    project.write([question(number) for number in range(1, 11)], {"A": answers})
    result = project.run("--rag-configs=A", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    results = summary(project.runs[0])["results"]["A"]
    assert (results["overall"]["hit@1"]["mean"], results["overall"]["hit@1"]["n"]) == (1.0, 5)
    assert results["rows"] == {"scored": 5, "errored": 5, "not_run": 0}
    report = (project.runs[0] / "report.md").read_text(encoding="utf-8")
    assert "| A | 5/10 | 1.000 [1.000, 1.000] |" in report
    assert "RuntimeError: timed out" in report
    assert run_json(project.runs[0])["status"] == "done"


@pytest.fixture(scope="module")
def paired(tmp_path_factory):
    """The record of A, a twin of A, and B, which finds what A misses, over twelve questions."""
    project = Project(SimpleNamespace(path=tmp_path_factory.mktemp("paired")))
    hits = {f"question {number}": [f"g{number}.md"] for number in range(1, 13)}
    half = {f"question {number}": [f"g{number}.md" if number % 2 else "x.md"] for number in range(1, 13)}
    misses = {f"question {number}": ["x.md"] for number in range(1, 13)}
    configurations = {
        "half": {"overrides": {"list": "half"}},
        "twin": {"overrides": {"list": "half"}, "paired": "half"},
        "none": {"overrides": {"list": "misses"}},
        "all": {"overrides": {"list": "hits"}, "paired": "none"},
    }
    lists = {"half": half, "misses": misses, "hits": hits}
    project.write([question(n) for n in range(1, 13)], lists, configs={"configurations": configurations})
    for typed in ((), ("--rag-limit=1",)):
        process = project.start("--rag-configs=half,twin,none,all", *typed)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    return project.runs


def test_sta_01_two_equal_arms_show_no_difference_and_are_inert(paired):
    results = summary(paired[0])["results"]["twin"]
    block = results["paired"]["half"]["hit@1"]
    assert (block["gained"], block["lost"], block["p_mcnemar"], block["delta"]) == (0, 0, 1.0, 0.0)
    assert block["verdict"] == "no difference"
    assert results["inert"] == ["half"]
    report = (paired[0] / "report.md").read_text(encoding="utf-8")
    assert "inert" in report
    assert "no difference" in report


def test_sta_04_constant_values_have_an_interval_and_a_constant_difference_is_indeterminate(paired):
    results = summary(paired[0])["results"]["all"]
    assert {key: results["overall"]["hit@5"][key] for key in ("mean", "low", "high")} == {
        "mean": 1,
        "low": 1,
        "high": 1,
    }
    block = results["paired"]["none"]["hit@5"]
    assert (block["low"], block["high"], block["verdict"]) == (1.0, 1.0, "indeterminate")
    text = (paired[0] / "summary.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    json.loads(text)


def test_sta_07_one_question_is_a_diagnostic_and_its_difference_indeterminate(paired):
    results = summary(paired[1])["results"]
    means = results["all"]["by_suite"]["lexical"]
    assert (means["ndcg@10"]["low"], means["ndcg@10"]["high"], means["_set"]["n"]) == (1.0, 1.0, 1)
    assert means["_set"]["diag"] is True
    assert results["all"]["paired"]["none"]["ndcg@10"]["verdict"] == "indeterminate"
    assert "diag" in (paired[1] / "report.md").read_text(encoding="utf-8")


LIMITS = {"f4": 4, "f5": 5, "f6": 6, "f11": 11, "f12": 12, "idle": 0}

FACTORIAL = f"""
import pytest

LIMITS = {LIMITS!r}

@pytest.fixture(scope="session")
def rag_pipeline():
    def search(query, **on):
        number = int(query.split()[-1])
        found = number <= max([limit for name, limit in LIMITS.items() if on[name]], default=0)
        return [f"g{{number}}.md" if found else "x.md"]
    return search
"""


def test_sta_14_many_comparisons_are_counted_adjusted_and_some_are_too_few_to_tell(project):
    configs = {"defaults": dict.fromkeys(LIMITS, False), "factors": {name: {name: True} for name in LIMITS}}
    project.write([question(number) for number in range(1, 13)], {"L": {}}, configs=configs)
    project.file("conftest.py", FACTORIAL)
    assert project.run("--rag-configs=factorial").ret == 0
    results = summary(project.runs[0])["results"]
    assert len(results) == 64
    blocks = {name: results[f"F:{name}"]["paired"]["F:none"]["hit@1"] for name in LIMITS}
    # All differences point one way, so the exact two-sided p of d discordant pairs is 2 * 0.5 ** d.
    for name, discordant in LIMITS.items():
        assert blocks[name]["p_mcnemar"] == pytest.approx(min(1.0, 2 * 0.5**discordant)), name
        assert blocks[name]["comparisons"] == 63
    assert {name: block["verdict"] for name, block in blocks.items()} == {
        "f4": "unresolvable",
        "f5": "unresolvable",
        "f6": "real",
        "f11": "real",
        "f12": "indeterminate",
        "idle": "no difference",
    }
    assert blocks["f6"]["p_sign_flip"] == pytest.approx(0.03125)
    assert blocks["f6"]["p_holm"] > 0.05
    assert blocks["f4"]["p_smallest"] == pytest.approx(0.125)
    report = (project.runs[0] / "report.md").read_text(encoding="utf-8")
    assert "63 comparisons" in report
    # 63 * 0.05 = 3.15 expected, to two digits
    assert "At this level about 3.2 of them would look real by chance alone, so p Holm is beside p" in report
    assert "too few to tell" in report


WRONG = {
    "page": "gold: [{file: b.pdf, page: [5, 6]}]",
    "requried": "gold: [{file: b.md, requried: false}]",
    "anwserable": "gold: [{file: b.md}]\n  anwserable: false",
    "one": "gold: [{file: b.md}]\n  1: a",
    "on": "gold: [{file: b.md}]\n  on: x",
    "list": "gold: [{file: b.md}]\n  ? [a, b]\n  : c",
}
RECORD = "- id: lex-{number:04d}\n  question: what\n  suite: lexical\n  tier: T1\n  split: dev\n  answerable: true\n  {rest}\n"


def test_yml_12_a_run_refuses_unknown_fields_with_the_text_of_validate(project):
    project.write([question(99)], {"A": {"*": ["b.pdf"]}})
    for number, (name, rest) in enumerate(WRONG.items(), start=1):
        project.file(f"golden/sets/{name}.yaml", RECORD.format(number=number, rest=rest))
    before = project.tree()
    said = project.command("validate")
    assert said.ret == 1
    complaints = [line.removeprefix("error: ") for line in said.outlines if line.startswith("error: ")]
    for name in WRONG:
        assert [text for text in complaints if f"{name}.yaml:" in text], name
    assert "pages" in next(text for text in complaints if "page.yaml" in text)
    assert "required" in next(text for text in complaints if "requried.yaml" in text)
    result = project.here("--rag-configs=A")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stderr.str()
    assert all(complaint in text for complaint in complaints)
    assert "Traceback" not in text
    assert project.tree() == before


FULL = """
def test_question(rag_row):
    golden = rag_row.golden
    if golden.id == "lex-0001":
        assert (golden.nuggets, golden.answer, golden.difficulty) == (("a fact", "another"), "A fact.", "hard")
        assert (golden.strategy, golden.domain, golden.expect_course) == ("compare", "calculus", "Analysis 1")
        assert golden.gold[0].alternatives[0].heading == ("Ch 4", "Bisection")
        assert golden.provenance.reviewed_at == "2026-01-05"
        assert rag_row.metrics["faithfulness"] == 1.0
    else:
        assert (golden.nuggets, golden.answer, golden.difficulty, golden.strategy) == ((), None, None, None)
        assert rag_row.metrics["faithfulness"] is None
"""


def test_every_optional_field_of_a_question_reaches_the_test_the_row_and_the_record(project):
    keys = {
        "nuggets": ["a fact", "another"],
        "answer": "A fact.",
        "difficulty": "hard",
        "strategy": "compare",
        "domain": "calculus",
        "expect_course": "Analysis 1",
        "source_id": "q-17",
        "notes": "read twice",
        "provenance": {"author": "draft", "status": "edited", "reviewed_at": "2026-01-05", "seed_chunks": ["c1"]},
    }
    gold = [{"file": "g1.md", "alternatives": [{"file": "b.md", "heading": "Ch 4 > Bisection"}]}]
    answers = {"*": [{"file": "g1.md", "text": "here stands a fact and another"}]}
    project.write([question(1, gold=gold, **keys), question(2)], {"A": answers}, test=FULL)
    project.run("--rag-configs=A").assert_outcomes(passed=2)
    row = rows(project.runs[0])[("lex-0001", "A")]
    assert (row["difficulty"], row["strategy"], row["domain"], row["author"]) == (
        "hard",
        "compare",
        "calculus",
        "draft",
    )
    kept = [json.loads(line) for line in (project.runs[0] / "questions.jsonl").read_text().splitlines()]
    assert {key: kept[0][key] for key in keys} == keys
    assert not keys.keys() & kept[1].keys() - {"provenance"}
    results = summary(project.runs[0])["results"]["A"]
    assert set(results["by_difficulty"]) == {"hard"}
    assert set(results["by_strategy"]) == {"compare"}
    assert os.listdir(project.runs[0]).count("chunks.jsonl") == 1


def test_a_row_of_another_cell_does_not_make_a_run_complete(project):
    """As many rows as planned cells, but one under a name that nobody planned: a plugin of the project renamed it."""
    project.write([question(1), question(2)], {"one": {"question 1": ["g1.md"], "question 2": ["g2.md"]}})
    path = project.path / "conftest.py"
    path.write_text(
        path.read_text(encoding="utf-8")
        + """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    told = vars(report)
    if "ROW" in told and "lex-0002" in report.nodeid:
        told.pop("FIELDS", None)
        told["ROW"] = told["ROW"].replace('"configuration":"one"', '"configuration":"zz"')
""".replace("FIELDS", FIELDS_ATTRIBUTE).replace("ROW", ROW_ATTRIBUTE),
        encoding="utf-8",
    )
    project.run("--rag-configs=one")
    (folder,) = project.runs
    assert sorted(rows(folder)) == [("lex-0001", "one"), ("lex-0002", "zz")]
    assert run_json(folder)["complete"] is False
    assert summary(folder)["complete"] is False
