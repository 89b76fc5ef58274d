"""Writes the projects whose whole sessions are measured: questions, configurations, the pipeline that is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECORD = """\
- id: lex-{n:05d}
  question: What does note {n} say of the matter?
  suite: {suite}
  tier: T{tier}
  split: dev
  answerable: true
  gold:
  - file: notes/{file}.md
"""


def write_project(folder: Path, files: Iterable[int], *, configs: str, conftest: str) -> None:
    """A question about each of the notes, of two suites and four tiers, and a test that asks for the row alone."""
    records = [
        RECORD.format(n=n, file=file, suite="lexical" if n % 2 else "books", tier=n % 4 + 1)
        for n, file in enumerate(files)
    ]
    golden = folder / "golden"
    (golden / "sets").mkdir(parents=True)
    (golden / "sets" / "set.yaml").write_text("".join(records), encoding="utf-8")
    (golden / "configs.yaml").write_text(configs, encoding="utf-8")
    (golden / "test_golden.py").write_text("def test_question(rag_row):\n    rag_row.check()\n", encoding="utf-8")
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
