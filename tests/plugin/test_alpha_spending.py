"""`rag_alpha_spending`: each look of a real ledger is judged at its share of 5 %, and every place says so."""

from __future__ import annotations

import json

import pytest
from plugin_support import HOW, question, run_json, summary

LEVELS = {1: 0.030396355, 2: 0.007599089}
"""6 * 0.05 / (pi^2 * j^2) for j = 1, 2: 0.3 / 9.8696044 and a quarter of it."""

LOOK = ("-m", "sealed", "--unseal-test", "--rag-configs=A,B")


def write(project, ini="rag_alpha_spending = on"):
    """Three dev questions and seven of the test split; B finds each of the seven, at ranks 1 to 3, and A none."""
    questions = [question(number, split="test" if number > 3 else "dev") for number in range(1, 11)]
    found = {f"question {n}": [*["x.md", "y.md"][: n % 3], f"g{n}.md"] for n in range(1, 11)}
    configs = {
        "defaults": {"list": "bad"},
        "experiments": {"steps": {"arms": {"A": {}, "B": {"overrides": {"list": "good"}, "paired": "A"}}}},
    }
    project.write(questions, {"bad": {}, "good": found}, configs=configs)
    project.file("pytest.ini", f"[pytest]\n{ini}\n")
    return project


def comparison(folder):
    return summary(folder)["results"]["B"]["paired"]["A"]["ndcg@10"]


@HOW
def test_two_looks_are_judged_at_their_shares_and_say_so(project, workers):
    write(project)
    for look in (1, 2):
        result = project.run(*LOOK, *workers)
        assert result.ret == 0
        level = LEVELS[look]
        bootstrap = run_json(project.runs[-1])["bootstrap"]
        assert bootstrap["confidence"] == pytest.approx(1 - level, abs=1e-9)
        assert (bootstrap["look"], bootstrap["seed"]) == (look, 20260901)
        said = f"Alpha spending: look {look} is judged at 6 x 0.05 / (pi^2 x {look}^2) = {level:.4g}"
        result.stdout.fnmatch_lines([f"ragbench: {said.replace('[', '[[]')}*"])  # the header
        report = (project.runs[-1] / "report.md").read_text(encoding="utf-8")
        assert f"{said}, its intervals have {100 * (1 - level):.6g} %." in report.replace("\\", "")
        assert f"{100 * (1 - level):.6g} % percentile intervals" in report
    # seven files that all differ one way: p = 2^-6 = 0.015625, below 0.0304 and above 0.0076
    first, second = (comparison(folder) for folder in project.runs)
    assert (first["p_sign_flip"], second["p_sign_flip"]) == (0.015625, 0.015625)
    assert (first["verdict"], second["verdict"]) == ("real", "unresolvable")
    assert second["low"] <= first["low"] < first["high"] <= second["high"]
    assert first["delta"] == second["delta"]
    report = (project.runs[-1] / "report.md").read_text(encoding="utf-8")
    # 2^(1 - 9) = 0.0039 is the first power of two below 0.0076
    assert "fewer than 9 clusters differ, so no outcome could have reached p &lt;= 0.007599" in report


def test_off_by_default_and_a_dev_run_spends_nothing(project):
    write(project, ini="")
    project.run(*LOOK)
    project.file("pytest.ini", "[pytest]\nrag_alpha_spending = on\n")
    result = project.run("--rag-configs=A,B")
    assert "Alpha spending" not in result.stdout.str()
    usual = {"seed": 20260901, "resamples": 10_000, "confidence": 0.95, "cluster": "file"}
    for folder in project.runs:
        assert run_json(folder)["bootstrap"] in (usual, usual | {"look": None})
        assert "Alpha spending" not in (folder / "report.md").read_text(encoding="utf-8")
    project.run(*LOOK)
    assert run_json(project.runs[-1])["bootstrap"]["look"] == 2  # a look counts, whatever it was judged at


def test_the_words_of_a_difference_and_of_holms_adjustment_follow_the_level(project):
    write(project)
    first, second = (project.run(*LOOK).stdout.str() for _ in range(2))
    # p Holm of one comparison is p: 0.0156 is enough for the first look
    assert "B beats A: ndcg@10" in first
    assert "B against A, too few to tell: ndcg@10" in second
    assert "fewer than 9 cannot reach p 0.007599" in " ".join(second.split())


def test_the_report_made_again_and_a_comparison_of_both_looks_hold(project, monkeypatch, capsys):
    from pytest_ragbench.cli import main

    write(project)
    project.run(*LOOK)
    project.run(*LOOK)
    monkeypatch.chdir(project.path)
    for folder in project.runs:
        capsys.readouterr()
        assert main(["report", folder.name]) == 0
        assert capsys.readouterr().out == (folder / "report.md").read_text(encoding="utf-8")
    assert main(["compare", *[folder.name for folder in project.runs]]) == 0
    assert "A" in capsys.readouterr().out


@pytest.mark.parametrize("ini", ["maybe", "2", "0.05"])
def test_a_value_of_another_kind_is_refused(project, ini):
    write(project, ini=f"rag_alpha_spending = {ini}")
    result = project.run("--rag-configs=A")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (result.stderr if "rag_alpha" in result.stderr.str() else result.stdout).fnmatch_lines(
        [f"*rag_alpha_spending = {ini}: it is on or off*"]
    )


def test_a_configuration_graduates_from_the_records_of_real_sessions(project, monkeypatch, capsys):
    from pytest_ragbench.cli import main

    questions = [question(number, split="test" if number > 12 else "dev") for number in range(1, 25)]
    found = {f"question {n}": [*["x.md", "y.md"][: n % 3], f"g{n}.md"] for n in range(1, 25)}
    configs = {
        "defaults": {"list": "bad"},
        "factors": {"late": {"list": "good"}},
        "configurations": {"old": {}, "new": {"factors": ["late"]}},
    }
    project.write(questions, {"bad": {}, "good": found}, configs=configs)
    project.file("pytest.ini", "[pytest]\nrag_alpha_spending = on\n")
    monkeypatch.chdir(project.path)

    def graduate():
        status = main(["graduate", "new", "--against", "old", "--json"])
        return status, json.loads(capsys.readouterr().out)

    project.run("--rag-configs=new,old")
    capsys.readouterr()
    status, told = graduate()
    assert status == 1
    (missing,) = told["missing"]
    assert missing["opens_test"]
    command, *typed = missing["command"].split()
    assert command == "pytest"
    assert project.run(*typed).ret == 0  # the very command that was printed
    capsys.readouterr()
    status, told = graduate()
    assert (status, told["graduated"], told["looks"], told["missing"]) == (0, True, 1, [])
    assert {clause["clause"] for clause in told["clauses"]} == {"dev", "test", "loo:late", "suites"}
    assert [run["look"] for run in told["runs"]] == [None, 1]
    confidence = next(one for one in told["clauses"] if one["clause"] == "test")["evidence"][0]["confidence"]
    assert confidence == pytest.approx(1 - LEVELS[1], abs=1e-9)
