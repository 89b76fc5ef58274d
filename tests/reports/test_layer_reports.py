"""What a report says of gates, sweeps, walks, routing and ties, from runs that the real code measured."""

import pytest

from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import text_digest
from pytest_ragbench.reports import tables
from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.model import Bullets, Plot, Sentences, Table
from pytest_ragbench.reports.plots import unit_plot
from pytest_ragbench.reports.question import build_question
from pytest_ragbench.reports.terminal import NARROWEST, render_terminal
from pytest_ragbench.reports.text import cell_text
from pytest_ragbench.reports.view import RunView


def question(number, *files, prefix="gph", **fields):
    hop = fields.pop("hop", None)
    gold = tuple(GoldSource(Locator(file), hop=hop) for file in files)
    tier = fields.pop("tier", "T1")
    return Question(f"{prefix}-{number:04d}", f"q{number}", "canvas", tier, answerable=bool(gold), gold=gold, **fields)


def report(answers, *arms, experiments=()):
    """Of question -> arm -> result."""
    table = RowTable(metric_names())
    for asked, of_arm in answers.items():
        for arm in arms:
            table.add(measure(lambda _, r=of_arm[arm.name], **__: r, asked, arm, k=10).row)
    run = {
        "run_id": "r", "status": "done", "started_at": "t", "k": 10, "experiments": list(experiments),
        "configurations": [{"name": arm.name, "overrides": arm.overrides} for arm in arms],
    }  # fmt: skip
    return build(run, summarise(table, Plan(tuple(answers), arms, resamples=200), complete=True))


def blocks(found, title, kind):
    section = next(section for section in found.sections if section.title.startswith(title))
    return [block for block in section.blocks if isinstance(block, kind)]


def rows(found, title, number=0):
    """A section's table as rows of column title -> text."""
    table = blocks(found, title, Table)[number]
    return [
        {column.title: cell_text(cell) for column, cell in zip(table.columns, row, strict=True)} for row in table.rows
    ]


def titles(found):
    return [section.title.partition(":")[0] for section in found.sections]


# --- gate ---------------------------------------------------------------------------------------------------------------


def gate(chunks, threshold, confidence, removed=()):
    said = {"scorer": "late", "threshold": threshold, "confidence": confidence, "removed": list(removed)}
    return {"chunks": list(chunks), "gate": said}


LOW, HIGH = (Configuration(name, name, {"gate_threshold": at}) for name, at in (("low", 0.1), ("high", 0.8)))
SWEPT = {
    question(1, "a.md"): {"low": gate(["a.md"], 0.1, 0.9), "high": gate(["a.md"], 0.8, 0.9)},
    question(2, "b.md"): {"low": gate(["b.md"], 0.1, 0.5), "high": gate([], 0.8, 0.5, ["b.md"])},
    question(3): {"low": gate(["x.md"], 0.1, 0.2), "high": gate([], 0.8, 0.2, ["x.md"])},
}


def test_the_gate_s_table_has_a_row_an_arm_and_its_curve():
    found = report(SWEPT, LOW, HIGH)
    low, high = rows(found, "Relevance gate")
    assert (low["configuration"], low["scorer"], low["threshold"]) == ("low", "late", "0.1")
    assert [low[key].split()[0] for key in ("answered", "risk", "abstained, unanswerable")] == [
        "1.000",
        "0.333",
        "0.000",
    ]
    assert [high[key].split()[0] for key in ("answered", "risk", "gold removed")] == ["0.333", "0.000", "0.500"]
    assert [high[f"abstained, {kind}"].split()[0] for kind in ("unanswerable", "answerable")] == ["1.000", "0.500"]
    # Under `low`: right, right, lost in the order of confidence; (0 + 0 + 1/3) / 3.
    curve = rows(found, "Relevance gate", 1)[0]
    assert (curve["risk at 50%"], curve["risk at 100%"], curve["AURC"], curve["n"]) == ("0.000", "0.333", "0.111", "3")


def test_a_sweep_is_one_table_by_rising_threshold_and_one_plot():
    found = report(SWEPT, HIGH, LOW)
    section = next(section for section in found.sections if section.title == "Gate sweep: gate_threshold of late")
    assert [row["mark"] + row["configuration"] for row in rows(found, section.title)] == ["alow", "bhigh"]
    (plot,) = blocks(found, section.title, Plot)
    assert sum(isinstance(block, Table) for block in section.blocks) == 1
    # `low` answers all at risk 1/3, `high` a third at risk 0; the curve of `low` lies at 0, 0 and, under a, 1/3.
    assert {mark for line in plot.lines[1:-3] for mark in line.partition("|")[2]} == {" ", "a", "b", "."}
    bottom = plot.lines[-4].partition("|")[2]
    assert (bottom.index("b"), bottom.index(".")) == (10, 20)
    for text in (render_markdown(found), render_terminal(found, NARROWEST)):
        assert all(line in text.splitlines() for line in plot.lines)


def test_a_plot_puts_points_where_they_are_within_the_narrowest_terminal():
    plot = unit_plot({"a": [(0.0, 0.0), (1.0, 0.2)], "b": [(0.5, 0.1)]}, "answered", "risk")
    grid = [line.partition("|")[2] for line in plot.lines[1:12]]
    assert plot.lines[1].startswith("0.20|")
    assert (grid[0].index("a"), grid[5].index("b"), grid[10].index("a")) == (30, 15, 0)
    assert max(map(len, plot.lines)) <= NARROWEST
    assert "".join(plot.lines).isascii()


# --- walk ---------------------------------------------------------------------------------------------------------------

OFF, ON = Configuration("off", "off"), Configuration("on", "on", pairs=("off",))


def walk(chunks, search, added):
    return {"chunks": list(chunks), "walk": {"search": list(search), "added": [{"chunk": file} for file in added]}}


def graph(kept):
    """Twelve controls; the walk pushes the gold of some below its first place, others it leaves alone."""
    answers = {}
    for number in range(12):
        file = f"f{number}.md"
        ranking = [file, "w.md"] if kept(number) else ["w.md", file]
        answers[question(number, file)] = {"off": [file], "on": walk(ranking, [file], ["w.md"])}
    asked = question(99, "z.md", tier="T4", hop=2)
    answers[asked] = {"off": ["x.md"], "on": walk(["z.md"], ["x.md"], ["z.md"])}
    return report(answers, OFF, ON)


def test_the_graph_s_contribution_is_told_and_which_gold_the_walk_alone_found():
    (row,) = rows(graph(lambda _: True), "Graph contribution")
    assert (row["configuration"], row["sources"], row["questions"], row["generated"]) == ("on", "1", "1", "0.000")
    assert row["found by the walk alone"].startswith(f"{1 / 13:.3f} [")
    assert row["added"] == "1.000 [1.000, 1.000]"


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (lambda number: number % 4 == 0, "they regress: ndcg@10 -0."),
        (lambda number: number > 0, "no regression is shown, and none excluded: lower, not real: ndcg@10 -0."),
    ],
)
def test_the_report_says_whether_single_hop_controls_regress(kept, said):
    found = graph(kept)
    (line,) = blocks(found, "Graph contribution", Bullets)[1].items
    assert line.startswith(f"on against off, 12 controls: {said}")
    assert {row["metric"] for row in rows(found, "Graph contribution", 1)} == {
        "ndcg@10", "recall@10", "complete@10", "hit@1",
    }  # fmt: skip


def test_controls_that_scored_the_same_do_not_regress():
    answers = {question(n, f"{n}.md"): {"off": [f"{n}.md"], "on": walk([f"{n}.md"], [], [])} for n in range(3)}
    (line,) = blocks(report(answers, OFF, ON), "Graph contribution", Bullets)[1].items
    assert line == "on against off, 3 controls: they do not regress: every one of them scored the same."


# --- routing ------------------------------------------------------------------------------------------------------------


def test_routing_generated_counts_and_prefixes_have_tables_of_their_own():
    route = {"course": "os", "scope": "course:db", "router_hits": 2, "new": 1}
    answers = {
        question(1, "a.md", prefix="rtc", expect_course="OS"): {"off": {"chunks": ["a.md"], "route": route}},
        question(2, "b.md", prefix="rtu"): {"off": {"chunks": [], "route": {**route, "new": 0}}},
    }
    found = report(answers, OFF)
    (row,) = rows(found, "Routing accuracy")
    assert (row["accuracy"].split()[0], row["right"], row["wrong"], row["none"]) == ("1.000", "1", "0", "0")
    assert [row[f"ndcg@10, scope {kind}"] for kind in ("right", "wrong", "none")] == ["", "1.000 (n 1)", ""]
    (counts,) = rows(found, "Generated routing")
    assert [counts[key].split()[0] for key in ("router hits", "new")] == ["2.000", "0.500"]
    assert "targets" not in counts
    prefixes = {(row["prefix"], row["suite"]): row["off"] for row in rows(found, "Questions by prefix")}
    assert prefixes == {
        ("rtc", "all"): "1.000 [1.000, 1.000]", ("rtc", "canvas"): "1.000 [1.000, 1.000]",
        ("rtu", "all"): "0.000 [0.000, 0.000]", ("rtu", "canvas"): "0.000 [0.000, 0.000]",
    }  # fmt: skip


def test_what_a_run_does_not_tell_has_no_section():
    shown = titles(report({question(1, "a.md"): {"off": ["a.md"]}}, OFF))
    layers = {"Relevance gate", "Gate sweep", "Graph contribution", "Routing accuracy", "Generated routing"}
    assert not {*layers, "Questions by prefix"} & set(shown)


# --- ties, judged experiments, one question -----------------------------------------------------------------------------


def test_rnk_02_tied_top_scores_are_counted_below_the_results():
    tied = [{"file": "a.md", "score": 1.0}, {"file": "b.md", "score": 1.0}]
    found = report({question(1, "a.md"): {"off": tied, "on": ["a.md"]}}, OFF, ON)
    (line,) = blocks(found, "Results", Bullets)[0].items
    assert line.startswith("Tied top scores: the first two chunks have one score under off in 1 row;")


def test_rnk_02_of_many_configurations_whose_top_scores_tied_there_is_the_range():
    results = {f"arm{number:02}": {"tied_top": 3 * number} for number in range(13)}
    (section,) = tables.main_table(RunView({}, {"results": results}))
    (line,) = section.blocks[-1].items
    assert line == (
        "Tied top scores: the first two chunks have one score under 12 of 13 configurations, from arm01 in 3 rows to "
        "arm12 in 36 rows; their order is then no judgment, and a scorer that ties often is saturated."
    )


def test_an_experiment_that_says_so_is_compared_by_its_own_metrics():
    experiment = {
        "name": "diversity", "arms": ["off", "on"], "judged_by": ["recall@k", "complete@k"], "guarded_by": ["hit@1"],
    }  # fmt: skip
    answers = {question(1, "a.md"): {"off": ["a.md"], "on": ["b.md"]}}
    found = report(answers, OFF, ON, experiments=[experiment])
    assert [row["metric"] for row in rows(found, "Comparisons: diversity")] == ["recall@10", "complete@10", "hit@1"]
    assert "judged by recall@10, complete@10, guarded by hit@1." in blocks(found, "Comparisons", Sentences)[0].text


def test_one_question_shows_what_the_gate_removed_what_the_walk_found_and_where_routing_led():
    asked = question(1, "a.md", "b.md", expect_course="os")
    result = {
        **gate(["b.md"], 0.5, 0.75, ["a.md", "x.md"]),
        "walk": {"search": [], "added": [{"chunk": "b.md"}]},
        "route": {"course": "db"},
    }
    row = measure(lambda _: result, asked, OFF, k=10).row
    said = [block.text for block in build_question(asked, [row], {}).sections[1].blocks if isinstance(block, Sentences)]
    assert said[1:] == [
        "The gate removed 2 chunks, among them what satisfies 0; confidence 0.75, threshold 0.5.",
        "The walk added 1 chunk, 1 of them in the ranking; it alone found 1.",
        "Routing: course db, expected os.",
    ]


def test_one_question_shows_the_text_that_each_configuration_returned_under_one_id():
    asked = question(1, "a.md")
    near, wide = (Chunk("a.md", id="1", text=text) for text in ("a guard", "a lock, a guard"))
    measured = [measure(lambda _, r=r, **__: [r], asked, arm, k=10) for r, arm in ((near, OFF), (wide, ON))]
    kept = {(chunk.id, chunk.file, text_digest(chunk.text)): chunk.text for own in measured for chunk in own.chunks}
    shown = build_question(asked, [own.row for own in measured], kept)
    found = [block.rows for section in shown.sections[1:] for block in section.blocks if isinstance(block, Table)]
    assert [str(rows[0][-1]) for rows in found if rows] == ["a guard", "a lock, a guard"]
