"""`ragbench runs`, and `ragbench show RUN --json`: saved runs for people and for scripts."""

import json

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.runs.saved import list_as_json, list_runs, show_as_json


@pytest.fixture
def questions(question_of):
    return [question_of(number) for number in range(1, 13)]


def answers(found):
    """The first `found` of twelve questions find their source at rank 1, the rest nothing of it."""
    return {f"lex-{number:04d}": [f"g{number}.md" if number <= found else "x.md"] for number in range(1, 13)}


def lines_of(record, limit=20):
    return json.loads(list_as_json(record.folder.parent, limit=limit))


def test_a_run_of_one_configuration_tells_its_mean(run_of, questions):
    record = run_of(questions, {"base": answers(6)})
    (line,) = lines_of(record)["runs"]
    assert line["run"] == record.run["run_id"]
    assert line["headline"].startswith("ndcg@10 0.500 [")  # 6 of 12
    assert (line["state"], line["questions"], line["configurations"], line["verdict"]) == ("done", 12, ["base"], "")


def test_a_run_of_several_tells_their_range_and_how_many_differences_are_real(run_of, questions):
    arms = [Configuration("base", "base", {"name": "base"})]
    arms.append(Configuration("better", "better", {"name": "better"}, pairs=("base",)))
    record = run_of(questions, {"base": answers(3), "better": answers(12)}, arms=arms)
    (line,) = lines_of(record)["runs"]
    # 3 of 12 and 12 of 12; nine of twelve single-file clusters differ, all one way: p = 2 / 2^9
    assert line["headline"] == "ndcg@10 0.250 to 1.000"
    assert line["verdict"] == "1 of 1 difference real"


def test_the_gates_verdict_stands_before_any_other(run_of, questions):
    record = run_of(questions, {"base": answers(6)})
    (record.folder / "gate.json").write_text('{"schema_version": 1, "status": "failed"}', encoding="utf-8")
    (line,) = lines_of(record)["runs"]
    assert line["verdict"] == "gate failed"


def test_the_latest_come_first_and_what_is_left_out_is_counted(run_of, questions):
    records = [run_of(questions, {"base": answers(found)}) for found in (1, 2, 3)]
    ids = [record.run["run_id"] for record in reversed(records)]
    shown = lines_of(records[0], limit=2)
    assert [line["run"] for line in shown["runs"]] == ids[:2]
    assert shown["more"] == 1
    text = list_runs(records[0].folder.parent, limit=2, width=160)
    assert ids[0] in text
    assert f"{ids[2]} " not in text
    assert "1 older run not shown; `--limit N` shows more." in text


def test_a_part_and_an_incomplete_run_are_no_done_ones(run_of, questions):
    run_of(questions, {"base": answers(1)}, partial=True)
    record = run_of(questions, {"base": answers(1)}, complete=False)
    assert [line["state"] for line in lines_of(record)["runs"]] == ["incomplete", "partial"]


def test_rec_02_a_damaged_record_is_named_and_hides_no_other(run_of, questions):
    record, damaged = (run_of(questions, {"base": answers(1)}) for _ in range(2))
    (damaged.folder / "summary.json").write_text('{"results": 3}', encoding="utf-8")
    shown = lines_of(record)
    assert [line["run"] for line in shown["runs"]] == [record.run["run_id"]]
    assert shown["unreadable"] == [damaged.folder.name]
    assert f"No readable record: {damaged.folder.name}." in list_runs(record.folder.parent, limit=20)


def test_the_json_of_a_run_is_what_its_report_is_made_from(run_of, questions):
    lost = {**answers(6), "lex-0012": ValueError("no index")}
    record = run_of(questions, {"base": lost})
    shown = canonical.loads(show_as_json("last", record.folder.parent))
    assert shown["run"] == record.run
    assert shown["summary"] == record.summary()
    assert shown["gate"] is None
    assert [(row["question"], row["error"]) for row in shown["errors"]] == [("lex-0012", "ValueError: no index")]


def test_the_commands_print_them(run_of, questions, capsys):
    record = run_of(questions, {"base": answers(6)})
    typed = ["--runs-dir", str(record.folder.parent)]
    assert main(["runs", *typed]) == 0
    assert record.run["run_id"] in capsys.readouterr().out
    assert main(["runs", "--json", *typed]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["run"] == record.run["run_id"]
    assert main(["show", "--last", "--json", *typed]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "done"


def test_an_error_that_a_later_attempt_mended_is_none(run_of, questions):
    record = run_of(questions, {"base": {**answers(6), "lex-0012": ValueError("no index")}})
    run, path = record.folder / "run.json", record.folder / "per_query.jsonl"
    run.write_text(run.read_text(encoding="utf-8").replace('"status": "done"', '"status": "running"'), encoding="utf-8")
    (lost,) = record.errored_rows()
    with path.open("a", encoding="utf-8") as file:
        file.write(canonical.dumps({**lost, "error": None}) + "\n")
    assert canonical.loads(show_as_json("last", record.folder.parent))["errors"] == []
