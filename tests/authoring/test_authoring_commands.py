"""`ragbench validate` and `ragbench split` as commands: output, exit status, locale, the project's ini file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ragbench.authoring.project import find_project
from pytest_ragbench.cli import main
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.loading import load_questions

ASCII_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}
SET = """\
- id: par-0001
  question: "où est la démonstration du théorème 可微?"
  suite: paraphrase
  tier: T2
  gold: [{file: Résumé.md, heading: Théorème}]
- {id: par-0002, question: other words, suite: paraphrase, tier: T2, gold: [{file: Résumé.md}]}
"""


def ragbench(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_ragbench.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nrag_corpus = docs\n")
    (tmp_path / "golden" / "sets").mkdir(parents=True)
    (tmp_path / "golden" / "sets" / "naïve.yaml").write_text(SET, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "Résumé.md").write_text("# Théorème\n可微\n", encoding="utf-8")
    return tmp_path


def test_validate_finds_sets_and_corpus_by_the_ini_file(project: Path) -> None:
    done = ragbench("validate", folder=project)
    assert done.returncode == 0, done.stderr
    assert "2 questions: 0 errors, 0 warnings" in done.stdout.decode()
    assert "paraphrase" in done.stdout.decode()
    assert "no corpus" not in done.stdout.decode()


def test_yml_11_a_locale_without_utf_8_reads_the_same(project: Path) -> None:
    for arguments in (("validate",), ("split", "--dry-run")):
        done = ragbench(*arguments, folder=project, **ASCII_LOCALE)
        assert (done.returncode, done.stderr) == (0, b"")
    code = "from pathlib import Path\nfrom pytest_ragbench.questions.loading import load_questions as l\nq = l(Path('golden/sets'))\nprint(q.digest, ascii(list(q.files.values())))"
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
            capture_output=True,
            check=True,
        ).stdout
        for environment in (ASCII_LOCALE, {"PYTHONUTF8": "1"})
    ]
    assert said[0] == said[1]
    assert b"na\\xefve.yaml" in said[0]


def test_yml_11_a_terminal_that_cannot_show_a_name_gets_it_escaped(project: Path) -> None:
    (project / "docs" / "Résumé.md").unlink()
    done = ragbench("validate", folder=project, **ASCII_LOCALE)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"R\\xe9sum\\xe9.md" in done.stdout


def test_errors_are_status_1_and_name_file_line_id_field_and_code(project: Path) -> None:
    (project / "docs" / "Résumé.md").unlink()
    done = ragbench("validate", folder=project)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert lines[0].startswith(
        "error: golden/sets/naïve.yaml:5: par-0001: gold[0].file: the corpus has no file 'Résumé.md'"
    )
    assert lines[0].endswith("[gold-file-missing]")
    assert lines[-1] == "2 questions: 2 errors, 0 warnings"


def test_warnings_alone_are_status_0(project: Path) -> None:
    (project / "golden" / "sets" / "more.yaml").write_text("# none yet\n")
    done = ragbench("validate", folder=project)
    assert (done.returncode, b"warning: golden/sets/more.yaml: " in done.stdout) == (0, True)


def test_a_set_that_does_not_load_is_an_error_of_the_set(project: Path) -> None:
    (project / "golden" / "sets" / "bad.yaml").write_text("- id: par-0001\n  tier: T9\n")
    done = ragbench("validate", folder=project)
    assert done.returncode == 1
    assert b"golden/sets/bad.yaml:2: par-0001: tier: must be one of T1, T2, T3, T4" in done.stdout
    assert b"[duplicate-id]" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "nowhere"),
        ("validate", "--corpus", "nowhere"),
        ("validate", "--configs", "nowhere.yaml"),
        ("split", "nowhere"),
        ("split", "--test-share", "1"),
        ("split", "--test-share", "half"),
        ("split", "--group-by", "colour"),
        ("nonsense",),
        (),
    ],
)
def test_a_mistake_in_the_command_is_status_4_without_a_traceback(project: Path, arguments: tuple[str, ...]) -> None:
    done = ragbench(*arguments, folder=project)
    assert done.returncode == 4
    assert done.stderr
    assert b"Traceback" not in done.stderr


def test_split_of_a_wrong_set_is_status_4_and_writes_nothing(project: Path) -> None:
    file = project / "golden" / "sets" / "bad.yaml"
    file.write_text("- id: par-0001\n  tier: T9\n")
    before = {path: path.read_bytes() for path in project.rglob("*.yaml")}
    assert ragbench("split", folder=project).returncode == 4
    assert {path: path.read_bytes() for path in project.rglob("*.yaml")} == before


def test_split_writes_the_splits_and_says_how_the_strata_stand(project: Path) -> None:
    dry = ragbench("split", "--dry-run", "--test-share", "0.5", folder=project)
    assert b"2 questions would be given a split: 1 dev, 1 test" in dry.stdout
    done = ragbench("split", "--test-share", "0.5", folder=project)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 questions given a split: 1 dev, 1 test" in done.stdout
    splits = {question.id: question.split for question in load_questions(project / "golden" / "sets").questions}
    assert all(f"{name}: {split}" in dry.stdout.decode() for name, split in splits.items())
    again = ragbench("split", "--group-by", "gold", folder=project)
    assert b"0 questions given a split" in again.stdout


def test_the_command_runs_in_process_too(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["validate", "--corpus", "docs", "golden/sets"]) == 0
    assert main(["--version"]) == 0
    assert main(["validate", "--help"]) == 0
    assert "ragbench" in capsys.readouterr().out


def test_loc_08_a_configuration_named_like_a_path_is_refused(project: Path) -> None:
    (project / "golden" / "configs.yaml").write_text("configurations: {../../x: {}}\n")
    done = ragbench("validate", folder=project)
    assert done.returncode == 1
    assert done.stdout.startswith(b"error: golden/configs.yaml:1: configurations")
    assert b"bad name" in done.stdout


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nrag_sets = other/sets\naddopts = %d\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\nrag_sets = "other/sets"\n'),
        ("pyproject.toml", '[tool.pytest]\nrag_sets = "other/sets"\n'),
        ("tox.ini", "[pytest]\nrag_sets = other/sets\n"),
        ("setup.cfg", "[tool:pytest]\nrag_sets = other/sets\n"),
        ("pytest.toml", '[pytest]\nrag_sets = "other/sets"\n'),
    ],
)
def test_the_ini_file_is_found_from_a_folder_below(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "tox.ini").write_text("[tox]\nenv_list = x\n")
    project = find_project(tmp_path / "deep" / "er")
    assert project.root == tmp_path
    assert project.path("rag_sets") == tmp_path / "other" / "sets"
    assert project.path("rag_runs_dir") == tmp_path / ".ragbench" / "runs"
    assert project.path("rag_corpus") is None


def test_without_an_ini_file_the_working_directory_is_the_project(tmp_path: Path) -> None:
    assert find_project(tmp_path).path("rag_configs_file") == tmp_path / "golden" / "configs.yaml"


def test_a_damaged_ini_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest")
    with pytest.raises(UsageError, match=r"pyproject\.toml: cannot be read"):
        find_project(tmp_path)
