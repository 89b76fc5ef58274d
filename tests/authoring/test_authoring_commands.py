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

ASCII_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "", "LC_ALL": "C", "LANG": "C"}
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
        ("split", "--test-share", "1e-99999999"),
        ("split", "--test-share", "0." + "1" * 50_000),
        ("split", "--test-share", "1/0"),
        ("split", "--lock-timeout", "-1"),
        ("split", "--lock-timeout", "nan"),
        ("validate", "x" * 5_000),
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


@pytest.mark.parametrize("share", ["0.4", ".4", "2/5"])
def test_a_share_may_be_a_fraction(project: Path, share: str) -> None:
    assert ragbench("split", "--dry-run", "--test-share", share, folder=project).returncode == 0


def test_a_reader_that_goes_away_is_no_traceback(project: Path) -> None:
    (project / "docs" / "Résumé.md").unlink()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_ragbench.cli", "validate"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_a_file_that_the_system_refuses_is_told_in_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusing(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", "golden/sets/a.yaml")

    monkeypatch.chdir(project)
    monkeypatch.setattr("pytest_ragbench.authoring.validation.validate", refusing)
    assert main(["validate"]) == 4
    assert capsys.readouterr().err == "ragbench validate: error: golden/sets/a.yaml: Input/output error\n"


def test_ctrl_c_is_status_130_without_a_traceback(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(project)
    monkeypatch.setattr("pytest_ragbench.authoring.split_sets.split_sets", interrupted)
    assert main(["split"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_pyproject_without_settings_of_pytest_still_marks_the_root(tmp_path: Path) -> None:
    """As for pytest, which takes its folder for the rootdir; the defaults lie below that."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert find_project(tmp_path / "deep" / "er").path("rag_sets") == tmp_path / "golden" / "sets"
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nrag_sets = mine\n")
    assert find_project(tmp_path / "deep").path("rag_sets") == tmp_path / "mine"


def test_a_home_folder_of_nobody_is_a_usage_error(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\nrag_sets = ~no-such-user/sets\n")
    done = ragbench("validate", folder=project)
    assert done.returncode == 4
    assert done.stderr.startswith(b"ragbench validate: error: rag_sets = ~no-such-user/sets: there is no such home")


def test_loc_08_nothing_outside_of_the_corpus_is_ever_shown(project: Path) -> None:
    sentinel = "sentinel text that stands outside only"
    (project / "outside.md").write_text(f"# {sentinel}\n{sentinel}\n")
    (project / "docs" / "link.md").symlink_to(project / "outside.md")
    for gold in ("../outside.md", str(project / "outside.md"), "link.md"):
        (project / "golden" / "sets" / "naïve.yaml").write_text(
            f"- {{id: par-0001, question: q, suite: s, tier: T1, nuggets: [x], gold: [{{file: '{gold}', heading: sen}}]}}\n"
        )
        done = ragbench("validate", folder=project)
        assert done.returncode == 1
        assert b"par-0001: gold[0].file: " in done.stdout
        assert sentinel.encode() not in done.stdout + done.stderr


def test_configurations_that_the_ini_file_names_must_be_there(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\nrag_configs_file = golden/confgs.yaml\n")
    done = ragbench("validate", folder=project)
    assert done.returncode == 4
    assert b"no configurations: golden/confgs.yaml cannot be read: No such file" in done.stderr
