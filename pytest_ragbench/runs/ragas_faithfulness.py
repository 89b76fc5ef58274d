"""`ragbench ragas`: the faithfulness of RAGAS over a saved run, its prompts asked through the one seam to models.

RAGAS splits the reference answer into statements, then asks which of them the first five chunks support. It judges
meaning where the run's own `faithfulness` counts words; what it says depends on the model. Nothing gates on it.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from math import fsum
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import number
from pytest_ragbench.errors import PipelineError, UsageError
from pytest_ragbench.llm.seam import NoCompletionError
from pytest_ragbench.metrics.faithfulness import CONTEXTS, content_words
from pytest_ragbench.records.chunks import text_digest
from pytest_ragbench.runs.reading import last_rows, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord

    Texts = Mapping[tuple[str, str, str], str]
    Score = Callable[[str, str, Sequence[str]], float]

SCHEMA_VERSION = 1
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


def score_run(record: RunRecord, seam: Seam) -> dict[str, Any]:
    """Score every row with an answerable question that has a reference answer.

    Args:
        record: A run that stands for all that it planned.
        seam: Who answers the prompts of RAGAS.

    Returns:
        Strict JSON values: `schema_version`, `run_id`, `model`, `ragas` (its version); `configurations` -> name ->
        `{ragas, lexical, n, unanswered}`, the means over the same rows; `rows`, each `question`, `configuration`,
        `ragas` (null where the model gave no answer, or none that holds a statement), `lexical`, `error`.

    Raises:
        UsageError: The run is not whole, or RAGAS is not installed.
        RecordError: The record is damaged.
    """
    if complaint := whole(record):
        raise UsageError(complaint)
    version, score = _scorer(seam)
    questions = {question.id: question for question in record.questions()}
    texts = {(chunk["id"], chunk["file"], text_digest(chunk["text"])): chunk["text"] for chunk in record.chunks()}
    rows = [
        _row(row, question, texts, score)
        for row in last_rows(record)
        if row["error"] is None and (question := questions[row["question"]]).answerable and question.answer
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": record.run["run_id"],
        "model": seam.model,
        "ragas": version,
        "configurations": dict(_means(record, rows)),
        "rows": rows,
    }


def _row(row: Mapping[str, Any], question: Question, texts: Texts, score: Score) -> dict[str, Any]:
    contexts = [
        texts.get((ranked["id"], ranked["file"], ranked["text_digest"]), "") for ranked in row["ranking"][:CONTEXTS]
    ]
    value: float | None = 0.0  # nothing to support a statement with; no model is asked, as in the lexical twin
    error = None
    if any(map(content_words, contexts)):
        try:
            value = score(question.text, str(question.answer), contexts)
        except PipelineError as missing:
            value, error = None, str(missing)
    found = {"question": question.id, "configuration": row["configuration"], "error": error}
    measured = None if value is None or math.isnan(value) else number(value)
    return {**found, "ragas": measured, "lexical": row["metrics"].get("faithfulness")}


def _means(record: RunRecord, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in record.run["configurations"]:
        own = [row for row in rows if row["configuration"] == entry["name"]]
        both = [row for row in own if row["ragas"] is not None and row["lexical"] is not None]
        means = {
            kind: number(fsum(row[kind] for row in both) / len(both)) if both else None for kind in ("ragas", "lexical")
        }
        yield entry["name"], {**means, "n": len(both), "unanswered": sum(row["ragas"] is None for row in own)}


def _scorer(seam: Seam) -> tuple[str, Score]:
    """The version of RAGAS, and its metric over one row.

    Raises:
        UsageError: It is not installed, or what is installed does not load.
    """
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")  # it would send what it measures to its makers
    try:
        import ragas
        from ragas.llms.base import InstructorBaseRagasLLM
        from ragas.metrics.collections import Faithfulness
    except ImportError as error:
        raise UsageError(
            f"RAGAS does not load here ({error}): pip install 'pytest-ragbench[ragas]', in an environment of its own, "
            "since it holds back other packages"
        ) from None

    class Asked(InstructorBaseRagasLLM):  # type: ignore[misc]
        """What RAGAS takes for a model: one prompt, and the pydantic model that the completion must be of."""

        def generate(self, prompt: str, response_model: Any) -> Any:
            text = seam.complete("", prompt)
            fenced = _FENCE.match(text)
            try:
                return response_model.model_validate_json(fenced[1] if fenced else text)
            except ValueError as error:
                raise NoCompletionError(f"the completion is not the JSON that RAGAS asks for: {error}") from None

        async def agenerate(self, prompt: str, response_model: Any) -> Any:
            return self.generate(prompt, response_model)

    metric = Faithfulness(llm=Asked())

    def score(question: str, answer: str, contexts: Sequence[str]) -> float:
        found = asyncio.run(metric.ascore(user_input=question, response=answer, retrieved_contexts=list(contexts)))
        return float(found.value)

    return str(ragas.__version__), score
