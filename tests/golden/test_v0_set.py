"""golden/v0: 300 documents and 500 questions, just as their tables make them, and what a run over them needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from golden.v0 import generate
from golden.v0.generate import main
from pytest_ragbench.authoring.validation import validate
from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.metrics.faithfulness import claims_of, faithfulness
from pytest_ragbench.questions.loading import load_questions
from rag.options import Options, load_settings, with_overrides

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "golden" / "v0"
DOMAINS = {"data-platforms", "governance-security", "machine-learning-operations", "networking", "software-delivery"}


@pytest.fixture(scope="module")
def questions():
    return load_questions(HOME / "sets").questions


def test_there_are_five_domains_of_twenty_concepts_with_three_passages_each():
    documents = [path.relative_to(HOME / "corpus") for path in (HOME / "corpus").rglob("*.md")]
    assert len(documents) == 300
    assert Counter(path.parts[0] for path in documents) == dict.fromkeys(DOMAINS, 60)
    concepts = Counter((path.parts[0], path.stem.rpartition("-")[0]) for path in documents)
    assert len(concepts) == 100
    assert set(concepts.values()) == {3}


def test_there_are_a_hundred_questions_a_domain_of_every_difficulty(questions):
    assert len(questions) == len({question.id for question in questions}) == len({one.text for one in questions}) == 500
    assert Counter(question.domain for question in questions) == dict.fromkeys(DOMAINS, 100)
    spread = Counter((question.domain, question.difficulty) for question in questions)
    assert len(spread) == 15
    assert min(spread.values()) >= 25
    assert {question.split for question in questions} == {"dev"}


def test_every_concept_and_nearly_every_document_is_asked_about(questions):
    asked = {source.locator.file for question in questions for source in question.gold}
    concepts = {Path(path).stem.rpartition("-")[0] for path in asked}
    assert len(concepts) == 100
    assert len(asked) >= 290


def test_the_gold_passages_hold_every_word_of_the_answer(questions):
    for question in questions:
        texts = [(HOME / "corpus" / source.locator.file).read_text(encoding="utf-8") for source in question.gold]
        assert claims_of(question), question.id
        assert faithfulness(claims_of(question), texts) == 1.0, question.id


def test_some_questions_need_passages_of_two_domains(questions):
    domains = [{source.locator.file.split("/")[0] for source in question.gold} for question in questions]
    assert sum(len(found) == 2 for found in domains) >= 2


def test_a_question_of_one_sentence_points_at_nothing_that_it_does_not_name(questions):
    pointing = re.compile(r"\b(?:such (?!as\b)|(?:this|these) )")
    alone = [question for question in questions if not re.search(r"[.!?] ", question.text)]
    assert [question.id for question in alone if pointing.search(question.text)] == []


def test_validate_finds_neither_error_nor_warning():
    found = validate(HOME / "sets", corpus=HOME / "corpus", configurations=HOME / "configs.yaml")
    assert (found.errors, found.warnings, found.questions, found.checked) == ([], [], 500, True)


# -- the generator -----------------------------------------------------------------------------------------------------


def test_what_is_committed_is_what_the_tables_make(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out == "golden/v0 is as generated: 305 files\n"


@pytest.fixture
def copy(tmp_path):
    for folder in ("concepts", "corpus", "sets"):
        shutil.copytree(HOME / folder, tmp_path / folder)
    return tmp_path


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_changed_character_of_a_document_is_named_with_its_line(copy, capsys):
    path = copy / "corpus" / "networking" / "quic-limits.md"
    path.write_text(path.read_text(encoding="utf-8").replace("throttled", "throttlfd"), encoding="utf-8")
    assert main(["--check"], copy) == 1
    (line,) = [number for number, text in enumerate(path.read_text().split("\n"), 1) if "throttlfd" in text]
    assert capsys.readouterr().err.startswith(
        f"golden/v0/corpus/networking/quic-limits.md differs from what its table makes, from line {line} on;"
    )


def test_one_changed_character_of_a_question_a_table_or_a_line_end_is_found(copy, capsys):
    for name, old, new in (
        ("sets/networking.jsonl", b"RFC 6928?", b"RFC 6929?"),
        ("concepts/networking.yaml", b"RFC 6928?", b"RFC 6929?"),
        ("corpus/networking/quic-works.md", b"\n", b"\r\n"),
    ):
        kept = (copy / name).read_bytes()
        (copy / name).write_bytes(kept.replace(old, new, 1))
        assert main(["--check"], copy) == 1
        assert capsys.readouterr().err.split(" ")[0].removeprefix("golden/v0/") in {name, "sets/networking.jsonl"}
        (copy / name).write_bytes(kept)
    assert main(["--check"], copy) == 0


def test_the_first_missing_or_superfluous_file_is_named(copy, capsys):
    (copy / "sets" / "networking.jsonl").unlink()
    (copy / "sets" / "zebra.jsonl").write_text("")
    assert main(["--check"], copy) == 1
    assert capsys.readouterr().err.startswith("golden/v0/sets/networking.jsonl is missing;")
    (copy / "corpus" / "networking" / "notes.txt").write_text("")
    assert main(["--check"], copy) == 1
    assert capsys.readouterr().err.startswith(
        "golden/v0/corpus/networking/notes.txt is superfluous: no table makes it;"
    )


def test_a_check_writes_nothing(copy):
    (copy / "sets" / "networking.jsonl").unlink()
    before = contents(copy)
    main(["--check"], copy)
    assert contents(copy) == before


def test_generating_mends_whatever_differs_and_leaves_the_rest_untouched(copy, capsys):
    whole = contents(copy)
    untouched = copy / "corpus" / "networking" / "vxlan-works.md"
    os.utime(untouched, ns=(1, 1))
    (copy / "sets" / "networking.jsonl").write_text("broken")
    (copy / "corpus" / "networking" / "quic-works.md").unlink()
    (copy / "corpus" / "networking" / "notes.txt").write_text("")
    assert main([], copy) == 0
    assert "305 files, of which 2 were written and 1 superfluous ones removed" in capsys.readouterr().out
    assert contents(copy) == whole
    assert untouched.stat().st_mtime_ns == 1


def test_a_disk_that_fills_up_changes_no_file(copy, capsys, monkeypatch):
    for path in (copy / "sets").iterdir():
        path.write_text("broken")
    before = contents(copy)
    staged = []
    real = generate.stage

    def full(path, parts):
        if len(staged) == 3:
            raise OSError(28, "No space left on device", str(path))
        staged.append(path)
        return real(path, parts)

    monkeypatch.setattr(generate, "stage", full)
    assert main([], copy) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert contents(copy) == before


# -- a run over it -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue(HOME / "configs.yaml")


def test_every_configuration_is_one_the_pipeline_honours_and_leaves_nothing_to_defaults(catalogue):
    settings = load_settings(HOME / "pipeline.yaml")
    searching = [configuration for configuration in catalogue.configurations.values() if configuration.searches]
    assert {"offline", "bm25", "minilm", "default-k10"} <= {configuration.name for configuration in searching}
    for configuration in searching:
        assert set(configuration.overrides) == set(Options.model_fields)
        with_overrides(settings.search, configuration.overrides)


def test_the_protocol_is_that_of_the_other_golden_questions():
    ours, theirs = (
        yaml.safe_load(path.read_text()) for path in (HOME / "configs.yaml", ROOT / "golden" / "configs.yaml")
    )
    assert ours["defaults"] == theirs["defaults"]


def test_offline_uses_no_model(catalogue):
    told = catalogue.configurations["offline"].overrides
    assert [lane for lane in ("sparse", "dense", "hashing", "overlap", "trigrams") if told[lane]] == [
        *("hashing", "overlap", "trigrams"),
    ]
    assert (told["rerank"], told["gate"], told["hyde"], told["hype"], told["decompose"]) == (
        "none",
        "none",
        *[False] * 3,
    )


RANK_ALL = """
import hashlib, json, sys, tempfile
from pathlib import Path
from rag.options import load_settings
from rag.pipeline import RagPipeline

home = Path(sys.argv[1])
settings = load_settings(home / "pipeline.yaml").model_copy(update={"corpus": str(home / "corpus")})
lanes = dict(sparse=False, dense=False, hashing=True, overlap=True, trigrams=True, rerank="none", top_k=10)
ranked, foreign = hashlib.sha256(), 0
with tempfile.TemporaryDirectory() as state:
    pipeline = RagPipeline(settings, Path(state), quiet=True)
    for path in sorted((home / "sets").iterdir()):
        for question in map(json.loads, path.read_text(encoding="utf-8").splitlines()[::5]):
            chunks = pipeline.search(question["question"], **lanes).chunks
            ranked.update(repr([(chunk.file, chunk.score.hex()) for chunk in chunks]).encode())
            foreign += any(not chunk.file.startswith(question["domain"] + "/") for chunk in chunks)
loaded = sorted({"torch", "transformers", "sentence_transformers"} & set(sys.modules))
print(json.dumps([ranked.hexdigest(), foreign, loaded]))
"""


def test_offline_ranks_alike_under_every_hash_seed_without_torch_and_across_domains():
    found = []
    for seed in ("0", "4711"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", RANK_ALL, str(HOME)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    _, foreign, loaded = found[0]
    assert loaded == []
    assert foreign > 90  # of 100 questions, those with a document of another domain among their ten


def collected(*arguments, folder=ROOT):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_folder_is_a_project_of_its_own(tmp_path):
    told = collected("golden/v0", "--rag-configs=offline", "--rag-limit=2", f"--rag-runs-dir={tmp_path}")
    assert re.search(r"^2 passed", told, re.MULTILINE)
    (record,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert json.loads((record / "run.json").read_text())["sets"] == "sets"


def test_the_repositorys_own_run_does_not_collect_it():
    told = collected("--rag-configs=R0-bm25", "--collect-only")
    assert "golden/test_golden.py::" in told
    assert "v0" not in told
