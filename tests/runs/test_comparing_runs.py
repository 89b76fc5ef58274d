"""Run against run: paired by question, wins and losses, what differs, and what cannot be compared."""

import json
from dataclasses import replace

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.reports.between import build_between
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.runs.comparing import compare_runs

RIGHT, SECOND, WRONG = (lambda n: [f"g{n}.md"]), (lambda n: ["x.md", f"g{n}.md"]), (lambda _: ["x.md"])
NAMES = [f"lex-{number:04d}" for number in range(1, 13)]


def lists(*answers):
    """One answer a question, in the order of the ids."""
    return {name: answer(number) for number, (name, answer) in enumerate(zip(NAMES, answers, strict=True), start=1)}


@pytest.fixture
def questions(question_of):
    return [question_of(number) for number in range(1, 13)]


@pytest.fixture
def old(run_of, questions):
    return run_of(questions, {"base": lists(*[WRONG] * 7, *[RIGHT] * 5)})


@pytest.fixture
def new(run_of, questions):
    """Seven questions won (six by a whole, one by 1/log2(3)), one lost, four tied."""
    return run_of(
        questions, {"base": lists(*[RIGHT] * 6, SECOND, WRONG, *[RIGHT] * 4)}, git={"sha": "b" * 40, "dirty": True}
    )


def test_wins_losses_ties_and_means_are_those_of_the_rows(old, new):
    (found,) = compare_runs([old, new])["comparisons"]
    ndcg = found["metrics"]["ndcg@10"]
    second = 0.630929753571457  # 1 / log2(3)
    assert (ndcg["won"], ndcg["lost"], ndcg["tied"], ndcg["n"]) == (7, 1, 4, 12)
    assert ndcg["before"] == pytest.approx(5 / 12, abs=1e-11)
    assert ndcg["after"] == pytest.approx((10 + second) / 12, abs=1e-11)
    assert ndcg["delta"] == pytest.approx((5 + second) / 12, abs=1e-11)
    hit = found["metrics"]["hit@1"]
    assert (hit["won"], hit["lost"]) == (6, 1)
    assert hit["p_mcnemar"] == 0.125  # 2 * (C(7,0) + C(7,1)) / 2**7, exact and two-sided
    assert ndcg["verdict"] == "not resolved"


def test_the_sign_flip_p_counts_the_patterns_that_are_as_extreme(old, new):
    """Eight differences: 1 six times, 1/log2(3), -1. All 256 patterns of signs, by hand."""
    differences = [1.0] * 6 + [0.630929753571457] + [-1.0]
    totals = [sum(d if pattern >> i & 1 else -d for i, d in enumerate(differences)) for pattern in range(256)]
    extreme = sum(abs(total) >= abs(sum(differences)) - 1e-9 for total in totals)
    (found,) = compare_runs([old, new])["comparisons"]
    assert found["metrics"]["ndcg@10"]["p_sign_flip"] == extreme / 256


def test_the_statistics_are_those_of_one_run_that_holds_both_arms(old, new, questions):
    table = RowTable(metric_names(10))
    for name, record in (("old", old), ("new", new)):
        for row in record.rows():
            table.add({**row, "configuration": name})
    arms = (Configuration("old", "old"), Configuration("new", "new", pairs=("old",)))
    one_run = summarise(table, Plan(tuple(questions), arms), complete=True)["results"]["new"]["paired"]["old"]
    (found,) = compare_runs([old, new])["comparisons"]
    for metric, entry in one_run.items():
        theirs = {
            key: entry[key] for key in ("delta", "low", "high", "n", "verdict", "p_sign_flip", "p_mcnemar", "mde")
        }
        assert {key: found["metrics"][metric][key] for key in theirs} == theirs


def test_the_questions_that_changed_most_come_first_with_both_values(old, new):
    (found,) = compare_runs([old, new])["comparisons"]
    changed = [(row["question"], row["before"], row["after"]) for row in found["changed"]]
    assert changed[:7] == [*((name, 0.0, 1.0) for name in NAMES[:6]), (NAMES[7], 1.0, 0.0)]
    assert changed[7] == (NAMES[6], 0.0, pytest.approx(0.63093, abs=1e-5))
    assert len(changed) == 8


def test_the_other_way_round_gains_are_losses(old, new):
    one, other = compare_runs([old, new])["comparisons"][0], compare_runs([new, old])["comparisons"][0]
    for metric in ("ndcg@10", "hit@1", "doc_mrr@10"):
        entry = one["metrics"][metric]
        assert other["metrics"][metric]["delta"] == pytest.approx(-entry["delta"], abs=1e-12)
        assert (other["metrics"][metric]["won"], other["metrics"][metric]["lost"]) == (entry["lost"], entry["won"])


def test_sta_01_a_run_against_itself_makes_no_difference(old):
    found = compare_runs([old, old])
    entry = found["comparisons"][0]["metrics"]["hit@1"]
    assert (entry["verdict"], entry["p_mcnemar"], entry["delta"]) == ("no difference", 1.0, 0.0)
    assert found["comparisons"][0]["changed"] == []
    assert "base ranked exactly as in" in render_markdown(build_between(found))


def test_sta_14_several_pairs_are_one_family_and_their_number_is_told(old, new):
    found = compare_runs([old, new, new])
    entries = [pair["metrics"]["ndcg@10"] for pair in found["comparisons"]]
    assert [entry["comparisons"] for entry in entries] == [2, 2]
    assert [entry["p_holm"] for entry in entries] == [min(1.0, 2 * entry["p_sign_flip"]) for entry in entries]
    assert "2 pairs: about 0.1 would look real by chance alone" in render_markdown(build_between(found))


def test_configurations_of_other_names_are_paired_by_name_or_marker(run_of, questions):
    one = run_of(questions, {"F:none": lists(*[WRONG] * 12)})
    other = run_of(questions, {"big": lists(*[RIGHT] * 12)})
    with pytest.raises(
        UsageError, match=r"\(F:none\) and .* \(big\) share no configuration; pair two with --config A=B"
    ):
        compare_runs([one, other])
    (found,) = compare_runs([one, other], [("F.none", "big")])["comparisons"]
    assert (found["other"], found["configuration"]) == ("F:none", "big")
    assert found["metrics"]["hit@1"]["verdict"] == "indeterminate"  # STA-04: every question +1
    with pytest.raises(UsageError, match=r"--config huge: .* has no such configuration; it has: big"):
        compare_runs([one, other], [("F:none", "huge")])


REFUSED = {
    "split": ({"split": "all"}, r"split: dev in .*, all in .*; run one of them again with --rag-split"),
    "k": ({"k": 5}, r"k: 10 in .*, 5 in .*; run one of them again with --rag-k"),
    "incomplete": (
        {"complete": False},
        "is incomplete .done.: planned cells have no row; finish it with --rag-resume=",
    ),
    "partial": ({"partial": True}, "is partial: its selection left planned cells out"),
    "shard": (
        {"shard": {"index": 1, "of": 3, "questions": 36}, "partial": True},
        "is one shard of 3; join all of them",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_comparable_is_refused_by_what_differs_and_what_to_do(case, old, run_of, questions):
    keys, message = REFUSED[case]
    with pytest.raises(UsageError, match=f"^not comparable: .*{message}"):
        compare_runs([old, run_of(questions, {"base": {}}, **keys)])


def test_other_questions_are_refused_by_their_ids(old, run_of, questions, question_of):
    fewer = run_of([*questions[:-1], question_of(77)], {"base": {}})
    with pytest.raises(UsageError, match=r"1 only in .* \(lex-0012\).*1 only in .* \(lex-0077\)"):
        compare_runs([old, fewer])
    reworded = run_of([replace(questions[0], text="other words"), *questions[1:]], {"base": {}})
    with pytest.raises(UsageError, match=r"1 was changed between .* \(lex-0001: text\)"):
        compare_runs([old, reworded])
    regraded = [replace(questions[0], suite="code"), *(replace(q, gold=q.gold * 2) for q in questions[1:])]
    changed = r"12 were changed between .* \(lex-0001: suite, lex-0002: gold, lex-0003: gold and 9 more\)"
    with pytest.raises(UsageError, match=changed):
        compare_runs([old, run_of(regraded, {"base": {}})])


def test_gat_10_other_metric_definitions_are_refused_by_their_versions(old, new):
    path = new.folder / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "metrics_version": 99}))
    with pytest.raises(UsageError, match=r"metric definitions: version 1 in .*, 99 in .*; run the older one again"):
        compare_runs([old, new])
    path.unlink()
    with pytest.raises(UsageError, match="does not say by which metric definitions it scored"):
        compare_runs([old, new])


def test_rows_of_the_sealed_split_are_named_as_such(run_of, question_of):
    mixed = [question_of(number, split="test" if number % 2 else "dev") for number in range(1, 13)]
    ledger = {"count": 3, "last_hash": "f" * 64}
    one, other = (run_of(mixed, {"base": lists(*[a] * 12)}, split="all", ledger=ledger) for a in (WRONG, RIGHT))
    found = compare_runs([one, other])
    assert found["sealed"] == 6
    assert [row["question"] for row in found["comparisons"][0]["changed"] if row["sealed"]] == NAMES[::2]
    text = render_markdown(build_between(found))
    assert "lex-0001 (sealed)" in text
    assert "lex-0002 (sealed)" not in text
    assert "6 questions of the sealed test split" in text
    assert "this reads what was measured and is no look; the split was opened 3 times" in text


def test_the_same_records_give_the_same_bytes_and_strict_json(old, new):
    one, other = (canonical.dumps_pretty(compare_runs([old, new])) for _ in range(2))
    assert one == other
    assert canonical.loads(one)["schema_version"] == 1


def test_rpt_02_hostile_texts_stay_in_their_cells(run_of, question_of):
    texts = ["a | b || c", "a \\| b", "line1\nline2\rline3", "`code | x", "x" * 20_000, "</script><b>"]
    hostile = [question_of(number, text=text) for number, text in enumerate(texts, start=1)]
    names = [question.id for question in hostile]
    one = run_of(hostile, {"base": {name: [] for name in names}})
    other = run_of(hostile, {"base": {name: [f"g{number}.md"] for number, name in enumerate(names, start=1)}})
    text = render_markdown(build_between(compare_runs([one, other])))
    rows = [line for line in text.splitlines() if line.startswith("| lex-")]
    assert len(rows) == 6
    assert all(line.replace("\\|", "").count("|") == 7 for line in rows)


def test_the_command_prints_a_terminal_markdown_and_json_form(old, new, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    typed = ["compare", old.folder.name, new.folder.name, "--runs-dir", "runs"]
    assert main(typed) == 0
    assert "New against old\n" in capsys.readouterr().out
    assert main([*typed, "--markdown", "--config", "base"]) == 0
    assert "## Questions that changed most: base" in capsys.readouterr().out
    assert main([*typed, "--json", "--config", "base=base"]) == 0
    assert json.loads(capsys.readouterr().out) == compare_runs([old, new])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "last"], "no record here"),
        (["last"], "name two runs"),
        (["last", "last", "--config", "=b"], "it is A=B"),
    ],
)
def test_a_mistake_in_the_command_is_a_sentence(arguments, message, old, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *arguments, "--runs-dir", "runs"]) == 4
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err


def test_rec_02_a_damaged_row_is_told_by_its_record(old, new):
    path = new.folder / "per_query.jsonl"
    row = {"question": "lex-0001", "configuration": "base", "ranking": 3, "metrics": {}}
    path.write_text("\n".join([json.dumps(row), *path.read_text(encoding="utf-8").splitlines()[1:]]), encoding="utf-8")
    with pytest.raises(RecordError, match=f"{new.folder.name}: a file of this record is not what a run writes"):
        compare_runs([old, new])


def test_rec_02_rows_that_a_complete_record_lost_are_told_and_not_passed_over(old, new):
    """Nine of twelve pairs would be another comparison, under the name of the whole."""
    path = new.folder / "per_query.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(lines[:-2]) + '\n{"question": "lex-00', encoding="utf-8")
    with pytest.raises(RecordError, match=r"has 10 of 12 rows, none of lex-0011 under base; the last line .* is torn"):
        compare_runs([old, new])
    path.write_text("\n".join([*lines, lines[0]]) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match="a row of lex-0001 under base that was not planned, or has it twice"):
        compare_runs([old, new])


def test_sta_14_the_suites_of_a_pair_are_a_family_too(run_of, question_of):
    """Three suites of eight questions: eight, seven and no question won. p = 2/2**8, 2/2**7 and 1, by Holm times 3, 2, 1."""
    suites = ["books"] * 8 + ["code"] * 8 + ["lexical"] * 8
    asked = [question_of(number, suite=suite) for number, suite in enumerate(suites, start=1)]
    won = {question.id: [f"g{at}.md"] for at, question in enumerate(asked[:15], start=1)}
    (pair,) = compare_runs([run_of(asked, {"base": {}}), run_of(asked, {"base": won})])["comparisons"]
    told = {
        suite: (entry["p_sign_flip"], entry["p_holm"], entry["comparisons"])
        for suite, entry in pair["by_suite"].items()
    }
    assert told == {
        "books": (2 / 256, 6 / 256, 3),
        "code": (2 / 128, 4 / 128, 3),
        "lexical": (1.0, 1.0, 3),
    }  # fmt: skip
    assert pair["metrics"]["ndcg@10"]["p_holm"] == pair["metrics"]["ndcg@10"]["p_sign_flip"]  # of one pair
    text = render_markdown(build_between(compare_runs([run_of(asked, {"base": {}}), run_of(asked, {"base": won})])))
    assert (
        "3 suites: about 0.15 would look real by chance alone, so p Holm, over the suites of a pair, is beside p."
        in text
    )
    row = next(line for line in text.splitlines() if "code (diag)" in line)
    assert [cell.strip() for cell in row.split("|")][-4:-2] == ["0.0156", "0.0312"]


def test_the_suites_of_each_pair_are_a_family_of_their_own(run_of, question_of):
    asked = [question_of(number, suite="books" if number <= 8 else "code") for number in range(1, 17)]
    arms = {"one": {}, "two": {}}
    better = {question.id: [f"g{at}.md"] for at, question in enumerate(asked, start=1)}
    found = compare_runs([run_of(asked, arms), run_of(asked, {"one": better, "two": {}})])["comparisons"]
    assert [pair["by_suite"]["books"]["comparisons"] for pair in found] == [2, 2]
    assert found[0]["by_suite"]["books"]["p_holm"] == 2 * 2 / 256


def words_of(found):
    section = next(one for one in build_between(found).sections if one.title == "In words")
    return [line[2:] for line in render_terminal(replace(build_between(found), sections=(section,)), 1_000).splitlines()
            if line.startswith("- ")]  # fmt: skip


def test_pairs_that_ranked_alike_are_one_sentence_that_points_nowhere(run_of, questions):
    """Fifteen configurations, of which one changed: nothing of the others stands below."""
    names = [f"c{number:02d}" for number in range(15)]
    answers = lists(*[RIGHT] * 12)
    one = run_of(questions, dict.fromkeys(names, answers))
    other = run_of(questions, dict.fromkeys(names, answers) | {"c14": lists(*[WRONG] * 12)})
    said = words_of(compare_runs([one, other]))
    assert [line.split(":")[0] for line in said[:1]] == ["c14, indeterminate"]
    assert said[1:] == [
        f"{', '.join(names[:12])} and 2 more ranked exactly as in {one.run['run_id']} on every question."
    ]
    assert words_of(compare_runs([one, one])) == [
        f"{', '.join(names[:12])} and 3 more ranked exactly as in {one.run['run_id']} on every question."
    ]


def test_pairs_beyond_the_twelfth_that_are_said_to_stand_below_do(run_of, questions):
    names = [f"c{number:02d}" for number in range(15)]
    one = run_of(questions, dict.fromkeys(names, lists(*[RIGHT] * 12)))
    other = run_of(questions, dict.fromkeys(names, lists(*[WRONG] * 12)))
    found = compare_runs([one, other])
    assert words_of(found)[-1] == "3 more pairs stand below and in the output of --json."
    text = render_markdown(build_between(found)).partition("## New against old")[2]
    assert all(f"| {name} | ndcg@10" in text for name in names)


def test_sta_04_too_few_to_tell_is_said_by_how_few_differ_and_not_by_a_detectable_effect(run_of, questions):
    """One question lost of twelve: whatever its size, 2 ** (1 - 1) is the smallest p there is."""
    one = run_of(questions, {"base": lists(*[RIGHT] * 12)})
    other = run_of(questions, {"base": lists(SECOND, *[RIGHT] * 11)})
    (said,) = words_of(compare_runs([one, other]))
    assert said.startswith("base, too few to tell: ndcg@10 1.000 to 0.969, ")
    assert said.endswith("; 1 cluster with a difference, and fewer than 6 cannot reach p 0.05.")
    assert "may go unseen" not in said


def test_a_record_named_twice_is_said_to_be_one(old, new):
    said = "Old and new are one and the same record"
    assert said in render_markdown(build_between(compare_runs([old, old])))
    assert said not in render_markdown(build_between(compare_runs([old, new])))


def test_a_run_that_a_selection_cut_is_not_said_to_have_broken_off(old, run_of, questions):
    cut = run_of(questions, {"base": {}}, complete=False, partial=True)
    with pytest.raises(
        UsageError, match=r"incomplete: its selection \(-k, -m, --lf or a path\) left planned cells out"
    ):
        compare_runs([old, cut])


@pytest.mark.parametrize("command", ["compare", "merge", "power", "export", "show", "report"])
def test_an_empty_text_names_no_record(command, old, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([command, "", "--runs-dir", "runs"]) == 4
    assert "an empty text names no record; write `last`, a run id, or the path of a record" in capsys.readouterr().err
