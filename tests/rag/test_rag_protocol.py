"""What the shipped experiments must show, through real runs of pytest with this repository's own arms and conftest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CALM = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:cacheprovider")

NOTES = {
    "Courses/Optics/lenses.md": "# Lenses\n\na lens bends light towards its focus",
    "Courses/Optics/prisms.md": "# Prisms\n\na prism splits light by its colour",
    "Courses/Databases/locks.md": "# Locks\n\na lock guards a row until the commit",
    "Courses/Databases/light.md": "# Light locks\n\na light lock guards a row of lens data",
    "Books/waves.md": "# Waves\n\nlight is a wave, and a lens delays it",
}
GENERATED = {"Generated/light.md": "---\ngenerated: true\n---\nlight and lens, see [[lenses]]"}
QUESTIONS = {"lex-0001": "what does a lens of the Optics lecture do to light", "lex-0002": "what guards a row"}


@pytest.fixture
def project(tmp_path):
    """A project of two courses, with this repository's conftest, test and configurations."""
    records = [
        {
            "id": name,
            "question": text,
            "suite": "lexical",
            "tier": "T1",
            "split": "dev",
            "answerable": True,
            "gold": [{"file": "Courses/Optics/lenses.md"}],
            "provenance": {"author": "draft", "status": "verified"},
        }
        for name, text in QUESTIONS.items()
    ]
    settings = {
        "corpus": "corpus",
        "pointers": "pointers.json",
        "labels": [{"path": "Courses/(?P<course>[^/]+)/", "kind": "note"}],
    }
    files = {f"corpus/{name}": text for name, text in NOTES.items()} | {
        "golden/sets/lexical.yaml": yaml.safe_dump(records, sort_keys=False),
        "golden/configs.yaml": (ROOT / "golden" / "configs.yaml").read_text(),
        "golden/test_golden.py": (ROOT / "golden" / "test_golden.py").read_text(),
        "rag/config.yaml": yaml.safe_dump(settings, sort_keys=False),
        "conftest.py": (ROOT / "conftest.py").read_text(),
        "pytest.ini": "[pytest]\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def bench(folder, *arguments, status=0):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": "/"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *CALM, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows_of(folder):
    lines = [
        line
        for path in (folder / ".ragbench" / "runs").glob("*/per_query.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return {(row["question"], row["configuration"]): row for row in map(json.loads, lines)}


def test_where_the_order_is_discarded_the_boost_is_inert_row_by_row_and_the_report_says_so(project):
    text = (project / "golden" / "configs.yaml").read_text()
    (project / "golden" / "unfused.yaml").write_text(text.replace("fuse_rerank: true", "fuse_rerank: false"))
    shown = bench(project, "--rag-configs=routing", "-o", "rag_configs_file=golden/unfused.yaml")
    assert "F-noboost is inert" in shown
    rows = rows_of(project)
    routed = rows["lex-0001", "F-full"]
    assert routed["route"]["scope"] == "course:Optics"
    assert "boost" in routed["stages"]
    assert "boost" not in rows["lex-0001", "F-noboost"]["stages"]
    for question in QUESTIONS:
        for arm, same in (("F-noboost", "F-full"), ("F-none", "F-noscope")):
            assert rows[question, arm]["ranking"] == rows[question, same]["ranking"] != []


SIDECAR = "configuration GM-route: .*pointers.json is not there: write it with `python -m rag.pointers`"
CHECKPOINT = "laya needs .*(pip install laya|docs/laya.md)"


@pytest.mark.parametrize(
    ("arms", "says", "workers"),
    [
        ("generated", SIDECAR, ()),
        ("generated", SIDECAR, ("-n2",)),
        ("R0-bm25,laya-rerank", f"configuration laya-rerank: {CHECKPOINT}", ()),
        ("R0-bm25,gate-laya", f"configuration gate-laya: {CHECKPOINT}", ()),
    ],
    ids=["sidecar", "sidecar-n2", "rerank", "gate"],
)
def test_an_arm_that_cannot_be_honoured_ends_the_run_before_its_first_row(arms, says, workers, project):
    (project / "corpus" / "Generated").mkdir()
    for name, text in GENERATED.items():
        (project / "corpus" / name).write_text(text)
    shown = bench(project, f"--rag-configs={arms}", *workers, status=4)
    assert re.search(says, shown.replace("\n", " ")), shown
    assert "Traceback" not in shown
    assert rows_of(project) == {}


def test_a_text_that_two_golden_questions_share_has_no_gold_of_its_own():
    import importlib.util

    from pytest_ragbench.questions.serial import from_mapping

    spec = importlib.util.spec_from_file_location("wiring", ROOT / "conftest.py")
    wiring = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wiring)

    def question(name, file):
        provenance = {"author": "draft", "status": "verified"}
        record = {"id": name, "question": "same text", "suite": "lexical", "tier": "T1", "split": "dev"}
        return from_mapping({**record, "answerable": True, "gold": [{"file": file}], "provenance": provenance})

    one, other = question("lex-0001", "a.md"), question("lex-0002", "b.md")
    assert wiring.oracle_of((one,))("same text").sources == 1
    assert wiring.oracle_of((one,))("other text") is None
    with pytest.raises(ValueError, match="lex-0001 and lex-0002 ask 'same text'"):
        wiring.oracle_of((one, other))("same text")
