"""Each of the 500 questions under every configuration of the run. A miss is data; only an error fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ragbench import RagRow


def test_question(rag_row: RagRow) -> None:
    rag_row.check()
