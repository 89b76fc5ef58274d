"""Big sets, many configurations and a very long question: nothing is lost, no id grows, the report stays readable."""

from __future__ import annotations

import json
import re

from plugin_support import question, rows, run_json

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.harness.cells import cross
from pytest_ragbench.questions.model import Question

LONG = "why " * 7_500


def test_scl_01_five_thousand_questions_under_64_configurations_are_so_many_cells_with_short_ids_of_their_own():
    questions = [Question(f"lex-{n:04d}", LONG if n == 1 else "?", "lexical", "T1") for n in range(1, 5_001)]
    configurations = [Configuration(f"c:{n}", f"c.{n}") for n in range(64)]
    ids = [cell.id for cell in cross(questions, configurations)]
    assert len(set(ids)) == len(ids) == 320_000
    assert max(map(len, ids)) == len("c.63-lex-5000")


def test_scl_01_five_thousand_questions_and_one_of_30000_characters_are_collected(project):
    project.write([], {"default": {}})
    text = "".join(
        f"- {json.dumps(question(n, text=f'{LONG}end?' if n == 1 else None))}\n" for n in range(1, 5_001)
    )  # JSON is YAML, and is written a hundred times as fast
    project.file("golden/sets/set.yaml", text)
    ids = project.collect("--rag-configs=default")
    assert ids == [f"golden/test_golden.py::test_question[default-lex-{n:04d}]" for n in range(1, 5_001)]


def test_scl_01_a_run_of_2000_items_keeps_each_row_once_and_its_report_fits_a_screen_or_a_few(project):
    asked = [question(n, text=f"{LONG}end?" if n == 1 else None) for n in range(1, 41)]
    project.write(asked, {f"list-{n:02d}": {"*": ["g1.md"]} for n in range(50)})
    names = ",".join(f"list-{n:02d}" for n in range(50))
    result = project.run(f"--rag-configs={names}", "-q")
    assert result.ret == 0
    result.assert_outcomes(passed=2_000)
    (folder,) = project.runs
    found = rows(folder)
    assert len((folder / "per_query.jsonl").read_text(encoding="utf-8").splitlines()) == len(found) == 2_000
    assert set(found) == {(record["id"], f"list-{n:02d}") for record in asked for n in range(50)}
    assert sum(row["metrics"]["hit@1"] for row in found.values()) == 50  # each list holds the gold of the first alone
    assert run_json(folder)["complete"] is True
    shown = result.outlines[next(at for at, line in enumerate(result.outlines) if "= ragbench" in line) :]
    assert len(shown) < 500
    assert max(map(len, shown)) < 400
    assert any(re.search(r"`ragbench show \S+ --verbose` prints all of it", line) for line in shown)
    for text in (*shown, (folder / "report.md").read_text(encoding="utf-8")):
        assert LONG[:1_000] not in text
