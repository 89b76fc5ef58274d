"""`--rag-shard=I/N` on several machines, `ragbench merge` of what they measured."""

from __future__ import annotations

import json
import shutil

import pytest
from plugin_support import HOW, question, results_bytes, rows, run_json, summary

from pytest_ragbench.cli import main
from pytest_ragbench.errors import RecordError
from pytest_ragbench.records.writer import RunWriter

QUESTIONS = 11
CONFIGURATIONS = ("low", "mid", "high")
ALL = "--rag-configs=low,mid,high"


def write_graded(project, questions=QUESTIONS, **changed):
    """Three lists that find the gold at ranks that differ by question and list; two questions share a file."""
    lists = {
        name: {
            f"question {number}": [
                *(f"x{filler}.md" for filler in range((number * 3 + depth * 2) % 7)),
                f"g{number}.md",
            ]
            for number in range(1, questions + 1)
        }
        for depth, name in enumerate(CONFIGURATIONS)
    }
    for name, answers in changed.items():
        lists[name].update(answers)
    gold = {2: [{"file": "g1.md"}, {"file": "g2.md"}]}
    return project.write([question(number, gold=gold.get(number)) for number in range(1, questions + 1)], lists)


def shards(project, of=3, *options):
    """Run every shard; their records, in order."""
    for index in range(1, of + 1):
        assert project.run(ALL, f"--rag-shard={index}/{of}", *options).ret == 0
    return project.runs[-of:]


def merged(project, folders, *options):
    """The record that a merge makes."""
    result = project.command("merge", *map(str, folders), *options)
    assert result.ret == 0, result.stderr.str()
    return project.path / result.outlines[-1].removeprefix("record: ")


def refusal(capsys, *folders):
    """What a merge says that is refused."""
    capsys.readouterr()
    assert main(["merge", *map(str, folders)]) == 4
    return capsys.readouterr().err


def untimed(folder):
    return {key: {**row, "timings": None, "cold": None} for key, row in rows(folder).items()}


@HOW
def test_a_run_in_three_shards_and_merged_equals_the_whole_run_byte_for_byte_in_results(project, workers):
    write_graded(project, low={"question 4": {"raise": "no index"}})
    assert project.run(ALL, *workers).ret == 1
    (whole,) = project.runs
    for index in (1, 2, 3):
        assert project.run(ALL, f"--rag-shard={index}/3", *workers).ret == (index == 1)
    parts = project.runs[-3:]
    one = merged(project, [parts[2], parts[0], parts[1]])
    assert results_bytes(one) == results_bytes(whole)
    same = ("attribution", "complete", "schema_version", "metrics_version")
    assert {key: summary(one)[key] for key in same} == {key: summary(whole)[key] for key in same}
    assert untimed(one) == untimed(whole)
    for file in ("questions.jsonl", "chunks.jsonl"):
        assert (one / file).read_bytes() == (whole / file).read_bytes()
    assert list(rows(one)) == sorted(rows(one))


def test_a_merged_record_is_a_whole_run_that_says_where_it_comes_from(project):
    write_graded(project)
    parts = shards(project)
    run = run_json(merged(project, parts))
    assert (run["status"], run["complete"], run["partial"], run["shard"]) == ("done", True, False, None)
    assert run["merged_from"] == [folder.name for folder in parts]
    assert run["started_at"] == min(run_json(folder)["started_at"] for folder in parts)
    assert run["finished_at"] == max(run_json(folder)["finished_at"] for folder in parts)
    assert "shard" not in run["selection"]
    assert run["notes"] == [
        "no commit is known of the shards, so nothing says that they measured one state of the code"
    ]
    report = (project.runs[-1] / "report.md").read_text(encoding="utf-8")
    assert f"merged from {parts[0].name}, {parts[1].name}, {parts[2].name}." in report
    assert "Complete: every planned cell has a row." in report
    assert project.command("report", "last").stdout.str().strip() == report.strip()


def test_a_shard_is_every_nth_question_whole_and_says_so(project):
    write_graded(project)
    result = project.here(ALL, "--rag-shard=2/3")
    result.stdout.fnmatch_lines(["ragbench: 4 questions x 3 configurations *, split dev, shard 2/3 of 11 questions, *"])
    result.stdout.fnmatch_lines(["- Shard 2 of 3 of a run of 11 questions: it stands for its part alone; *"])
    (folder,) = project.runs
    wanted = [f"lex-{number:04d}" for number in (2, 5, 8, 11)]
    assert sorted(rows(folder)) == sorted((name, arm) for name in wanted for arm in CONFIGURATIONS)
    run = run_json(folder)
    assert (run["complete"], run["partial"]) == (True, True)
    assert run["shard"] == {"index": 2, "of": 3, "questions": 11}
    assert run["selection"]["shard"] == "2/3"


def test_a_limit_is_divided_and_an_empty_shard_is_refused_but_is_no_gap(project):
    write_graded(project)
    parts = shards(project, 2, "--rag-limit=2")
    assert [len(rows(folder)) for folder in parts] == [3, 3]
    result = project.here(ALL, "--rag-shard=3/3", "--rag-limit=2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*nothing to run: the run has 2 questions, too few for shard 3/3"])
    for index in (1, 2):
        assert project.run(ALL, f"--rag-shard={index}/3", "--rag-limit=2").ret == 0
    assert len(rows(merged(project, project.runs[-2:]))) == 6


def test_an_interrupted_shard_is_finished_by_resuming_and_stays_that_shard(project):
    write_graded(project, mid={"question 5": {"once": "flag", "first": {"interrupt": True}, "then": ["g5.md"]}})
    assert project.spawn(ALL, "--rag-shard=2/3").ret == 2
    (broken,) = project.runs
    result = project.command("merge", broken.name)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{broken.name} is incomplete (failed)*finish it with --rag-resume={broken.name}"])
    other = project.here("--rag-resume=last", "--rag-shard=1/3")
    assert other.ret == 4
    other.stderr.fnmatch_lines(["*ran with shard = 2/3, not 1/3"])
    assert project.here("--rag-resume=last").ret == 0
    finished = project.runs[-1]
    assert run_json(finished)["shard"] == {"index": 2, "of": 3, "questions": 11}
    assert len(rows(finished)) == 4 * 3
    assert project.here(ALL, "--rag-shard=1/3").ret == project.here(ALL, "--rag-shard=3/3").ret == 0
    assert len(rows(merged(project, project.runs[-3:]))) == QUESTIONS * 3


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b"])
def test_what_is_no_shard_is_refused(project, text):
    write_graded(project)
    result = project.here(ALL, f"--rag-shard={text}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--rag-shard={text}: it is I/N, the I-th of N parts, as 1/3, 2/3 and 3/3"])
    assert not project.runs


@HOW
def test_the_test_split_is_not_opened_in_shards(project, workers):
    write_graded(project)
    project.sets([question(number, split="test") for number in range(1, 7)])
    result = project.run(ALL, "--rag-shard=1/3", "--rag-split=test", "--unseal-test", *workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--rag-shard: the test split is opened by one run in one place*"])
    assert not project.runs
    assert not project.ledger


def edited(folder, **changes):
    """A shard's record as another machine might have left it."""
    path = folder / "run.json"
    path.write_text(json.dumps({**run_json(folder), **changes}), encoding="utf-8")


REFUSALS = {
    "question set": {"questions_digest": "0" * 64},
    "split": {"split": "all"},
    "k": {"k": 5},
    "bootstrap": {"bootstrap": {"seed": 1, "resamples": 10_000, "confidence": 0.95, "cluster": "file"}},
    "selection": {"selection": {"configs": ["low"], "shard": "2/3"}},
    "configurations": {"config_digest": "0" * 64},
    "commit": {"git": {"sha": "a" * 40, "dirty": None}},
    "state of the working tree": {"git": {"sha": None, "dirty": True}},
    "index": {"index": "another"},
    "language model": {"llm": {"mode": "live", "model": "m2"}},
    "the pipeline's encoder": {"pipeline": {"encoder": "e2"}},
    "number of shards": {"shard": {"index": 2, "of": 4, "questions": 11}},
}


def test_shards_that_differ_are_refused_by_what_differs(project, capsys):
    write_graded(project)
    parts = shards(project)
    whole = run_json(parts[1])
    for what, changes in REFUSALS.items():
        edited(parts[1], **changes)
        shown = refusal(capsys, *parts)
        assert f"these are not shards of one run: {parts[1].name} differs from {parts[0].name} in: {what}" in shown
        edited(parts[1], **whole)
    assert len(project.runs) == 3


def test_overlap_and_gap_are_refused_by_name(project, capsys):
    write_graded(project)
    first, second, third = shards(project)
    assert project.run(ALL, "--rag-shard=2/3").ret == 0
    again = project.runs[-1]
    assert project.run(ALL).ret == 0
    unsharded = project.runs[-1]

    assert f"overlap: {second.name} and {again.name} are both shard 2; give each shard once" in refusal(
        capsys, first, second, third, again
    )
    assert "gap: there is no shard 2/3, 3/3; run it with --rag-shard=2/3, or name its record too" in refusal(
        capsys, first
    )
    assert f"{unsharded.name} is no shard: it was run without --rag-shard" in refusal(capsys, first, second, unsharded)
    (second / "questions.jsonl").write_bytes((third / "questions.jsonl").read_bytes())
    assert "overlap: 3 questions are in more than one of these shards" in refusal(capsys, first, second, third)
    (second / "questions.jsonl").write_bytes(b"")
    assert "gap: the shards hold 7 questions of the 11 of the run, or not as --rag-shard divides them" in refusal(
        capsys, first, second, third
    )
    assert len(project.runs) == 5


def test_a_shard_that_lost_rows_on_its_way_is_refused_and_no_half_of_a_run_is_left(project, capsys):
    write_graded(project)
    parts = shards(project)
    path = parts[1] / "per_query.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20], encoding="utf-8")
    shown = refusal(capsys, *parts)
    assert f"{parts[1].name}: run.json says that the run is complete, and per_query.jsonl has 11 of 12 rows" in shown
    assert "is torn" in shown
    assert project.runs == parts
    path.write_text("".join([*lines, rows_text(parts[0])]), encoding="utf-8")
    assert "has a row of lex-0001 under high that was not planned" in refusal(capsys, *parts)
    assert project.runs == parts


def rows_text(folder):
    return (folder / "per_query.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[0]


def test_a_merge_that_cannot_be_finished_leaves_nothing(project, capsys, monkeypatch):
    write_graded(project)
    parts = shards(project)

    def full(*_, **__):
        raise RecordError("summary.json: it cannot be written (No space left on device)")

    monkeypatch.setattr(RunWriter, "finish", full)
    assert "No space left on device" in refusal(capsys, *parts)
    assert project.runs == parts


def test_a_merge_that_is_interrupted_leaves_nothing(project, monkeypatch):
    write_graded(project)
    parts = shards(project, 2)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "finish", interrupted)
    assert main(["merge", *map(str, parts)]) == 130
    assert project.runs == parts


@pytest.mark.parametrize(("old", "new", "said"), [
    (b'"ndcg@10":1.0', b'"ndcg@10":NaN', "NaN is not JSON"),
    (b'"lexical"', b'"\xff\xfe"', "this is no UTF-8"),
])  # fmt: skip
def test_rec_02_a_row_that_cannot_be_read_is_told_by_its_line_and_leaves_no_record(project, capsys, old, new, said):
    write_graded(project)
    parts = shards(project, 2)
    path = parts[1] / "per_query.jsonl"
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    shown = refusal(capsys, *parts)
    assert f"{path}:" in shown
    assert said in shown
    assert sorted(project.runs) == sorted(parts)


def test_a_record_that_was_edited_into_another_shape_is_told_without_a_traceback(project, capsys):
    write_graded(project)
    parts = shards(project)
    for changes in ({"selection": ["low"]}, {"finished_at": "yesterday"}, {"finished_at": None}):
        whole = run_json(parts[1])
        edited(parts[1], **changes)
        assert f"{parts[1].name}: a file of this record is not what a run writes" in refusal(capsys, *parts)
        edited(parts[1], **whole)
    assert project.runs == parts


def test_shards_that_replayed_other_answers_of_one_model_are_merged_with_a_note(project):
    write_graded(project)
    parts = shards(project)
    for number, folder in enumerate(parts):
        edited(folder, llm={"mode": "live", "store": f"s{number}.jsonl", "model": "m", "digest": str(number) * 64})
    notes = run_json(merged(project, parts))["notes"]
    assert "the stores of completions that the shards asked do not hold the same answers" in notes


def test_a_merged_record_is_no_shard_and_it_is_said_what_it_is(project, capsys):
    write_graded(project)
    parts = shards(project, 2)
    one = merged(project, parts)
    said = f"{one.name} is no shard: it is a whole run, merged from {parts[0].name}, {parts[1].name}"
    assert said in refusal(capsys, one, parts[1])


def test_a_row_under_a_name_that_was_not_planned_stands_for_no_planned_cell(project, capsys):
    """As many rows as planned cells, and one of them under another name."""
    write_graded(project)
    parts = shards(project)
    path = parts[1] / "per_query.jsonl"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"configuration":"mid"', '"configuration":"zz"', 1), "utf-8"
    )
    assert "has a row of lex-0002 under zz that was not planned" in refusal(capsys, *parts)
    path.unlink()
    shown = refusal(capsys, *parts)
    assert "per_query.jsonl has 0 of 12 rows, none of lex-0002 under high; per_query.jsonl is missing" in shown
    assert sorted(project.runs) == sorted(parts)


def test_chunks_that_a_shard_lost_on_its_way_are_noted(project):
    write_graded(project)
    parts = shards(project)
    path = parts[2] / "chunks.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    notes = run_json(merged(project, parts))["notes"]
    assert any(note.startswith(f"{parts[2].name}: the last line of chunks.jsonl") for note in notes)


def test_records_that_were_carried_here_are_merged_into_a_folder_of_choice(project):
    write_graded(project)
    carried = []
    for number, folder in enumerate(shards(project)):
        carried.append(project.path / f"artifacts-{number}" / folder.name)
        shutil.move(folder, carried[-1])
    one = merged(project, carried, "--to", "joined")
    assert one.parent.name == "joined"
    assert not project.runs
    assert project.command("show", str(one)).ret == 0


def test_shards_of_changed_trees_and_other_versions_are_merged_with_a_note(project):
    write_graded(project)
    parts = shards(project)
    for number, folder in enumerate(parts):
        versions = {**run_json(folder)["versions"], "numpy": f"2.{number}.0"}
        edited(folder, git={"sha": "a" * 40, "dirty": True}, versions=versions)
    notes = run_json(merged(project, parts))["notes"]
    assert notes == [
        "the shards ran on different versions of numpy: 2.0.0, 2.1.0, 2.2.0",
        "the shards were measured with changes in their working trees, which nobody can compare",
    ]


def test_workers_that_run_elsewhere_give_the_same_bytes_where_they_can_find_the_project(project):
    """`popen//chdir=` is to xdist what `ssh=` is: the project is copied, and the worker starts in a folder of its own."""
    write_graded(project)
    assert project.here(ALL).ret == 0
    (project.path.parent / "elsewhere").mkdir()
    tests = project.path / "golden"
    distributed = ("--dist=load", f"--tx=popen//chdir={project.path.parent / 'elsewhere'}", "--rsyncdir=.", str(tests))
    result = project.spawn(ALL, *distributed)
    assert result.ret == 4  # without an ini file nothing tells the worker where the project begins
    result.stderr.fnmatch_lines(["*no question sets: *elsewhere*does not exist*"])
    project.file("pytest.ini", "[pytest]\n")
    assert project.spawn(ALL, *distributed).ret == 0
    assert results_bytes(project.runs[0]) == results_bytes(project.runs[1])
    assert len(project.runs) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "workers on other machines need the absolute path of the tests*--rag-shard=I/N on each machine*"),
        (("golden",), "golden: for workers on other machines, type paths in full*"),
        (("--rag-sets=golden/sets",), "--rag-sets names a file of this machine, and these workers run elsewhere*"),
        (("--rag-resume=last",), "--rag-resume names a file of this machine*"),
    ],
)
def test_workers_elsewhere_that_could_not_find_the_project_are_refused(project, arguments, message):
    write_graded(project)
    if "--rag-resume=last" in arguments:
        assert project.here(ALL).ret == 0
    result = project.spawn(ALL, "--dist=load", "--tx=ssh=nowhere.invalid", *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{message}"])
