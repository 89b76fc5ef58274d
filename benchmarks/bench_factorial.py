"""The factorial over this repository's vault in one process: caches on against caches off, then a warm re-run.

    python benchmarks/bench_factorial.py [questions] [--state FOLDER]

Every arm that has a lane, 48 of the 64, searches each question, the arms of one question side by side, as the bench
hands them out. The index is built and the models are loaded before anything is timed, and models run on one thread. A
scripted language model drafts from the question alone, so that no store is needed. Exit status 1 when caches gain less
than the bound, when they change a result, or when the warm re-run asks a model for anything.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from measuring import Bound, Row, told, versus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.questions.loading import load_questions
from rag import late_interaction
from rag.encoder import SentenceEncoder
from rag.options import load_settings
from rag.pipeline import RagPipeline

ROOT = Path(__file__).resolve().parents[1]
TITLE = "The factorial of this repository"
BOUND = Bound(least=6.0)
INDEX = ("embeddings.sqlite", "tokens.sqlite")
"""What the index holds of its passages; whatever else lies in the folder of caches, searches have left there."""

PAIRS: Counter[str] = Counter()


class Counted(late_interaction.LateInteraction):
    """Late interaction that counts the pairs which no cache knows."""

    def _compute(self, question, texts, meter):
        PAIRS["pairs"] += len(texts)
        return super()._compute(question, texts, meter)


late_interaction.LateInteraction = Counted


class Drafts:
    """A language model that says the question again as a statement; it counts what it is asked."""

    model, source = "scripted", "benchmark"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def complete(self, _system: str, user: str) -> str:
        """The draft."""
        self.counts["drafts"] += 1
        return f"This passage explains it in short. {user.removeprefix('Question: ')} It depends on what is given."


class Models:
    """The models of all pipelines: loaded once, so that loading is in no figure."""

    def __init__(self) -> None:
        self.llm = Drafts()
        self.encoder: SentenceEncoder | None = None

    def load(self, model) -> SentenceEncoder:
        """The encoder, whoever asks."""
        if self.encoder is None:
            self.encoder = SentenceEncoder(model, threads=1)
        return self.encoder

    def calls(self) -> Counter[str]:
        """What the models have been asked since the last time."""
        own = [self.llm.counts, PAIRS, *([self.encoder.counts] if self.encoder else [])]
        asked: Counter[str] = sum(own, Counter())
        for counts in own:
            counts.clear()
        return asked


def run(pipeline: RagPipeline, questions: list[str], arms: list[dict]) -> tuple[float, list]:
    """Processor seconds, and what each cell found."""
    started = time.process_time()
    found = [
        [chunk.id for chunk in pipeline.search(question, **overrides).chunks]
        for question in questions
        for overrides in arms
    ]
    return time.process_time() - started, found


def forget(state: Path) -> None:
    """Remove what searches have left on disk; the index and what it was made of stay."""
    for file in (state / "cache").iterdir():
        if file.name not in INDEX:
            file.unlink()


def spread(questions: list[str], count: int) -> list[str]:
    """As many of the questions, from all sets alike."""
    step = max(1, len(questions) // count)
    return questions[::step][:count]


def in_folder(count: int, state: Path, models: Models) -> list[Row]:
    sets = load_questions(ROOT / "golden" / "sets").questions
    questions = spread([question.text for question in sets if question.split != "test"], count)
    catalogue = load_catalogue(ROOT / "golden" / "configs.yaml")
    named = [catalogue.configurations[name] for name in catalogue.experiments["factorial"].arms]
    arms = [dict(arm.overrides) for arm in named if arm.searches]
    full = dict(catalogue.configurations["full"].overrides)

    def opened(*, caches: bool) -> RagPipeline:
        settings = load_settings(ROOT / "rag" / "config.yaml").model_copy(
            update={"state": str(state), "caches": caches, "threads": 1}
        )
        pipeline = RagPipeline(settings, ROOT, encoder=models.load, llm=models.llm)
        pipeline.warm(**full)
        models.calls()
        return pipeline

    plain = opened(caches=False)
    off, expected = run(plain, questions, arms)
    without = models.calls()
    cached = opened(caches=True)
    forget(state)
    on, found = run(cached, questions, arms)
    asked = models.calls()
    warm, repeated = run(opened(caches=True), questions, arms)
    left = models.calls()
    if not found == expected == repeated:
        raise SystemExit("caches change a result")
    if left:
        raise SystemExit(f"the warm re-run asked the models: {dict(left)}")
    print(f"asked of the models, caches off: {dict(without)}; on: {dict(asked)}", file=sys.stderr)
    cells = len(questions) * len(arms)
    what = f"{len(questions)} questions x {len(arms)} arms, a cell"
    seconds = {"caches on": [on / cells], "caches off": [off / cells]}
    again = {"warm re-run": [warm / cells], "caches off": [off / cells]}
    return [
        *versus(what, seconds, ours="caches on", bounds={"caches off": BOUND}),
        *versus(what, again, ours="warm re-run"),
    ]


def measure(*, quick=False, questions=20, state: Path | None = None) -> list[Row]:
    if state is not None:
        return in_folder(questions, state.resolve(), Models())
    with tempfile.TemporaryDirectory() as name:
        known = ROOT / ".ragbench" / "cache"
        for file in INDEX:  # passages that were embedded before need not be again
            if (known / file).exists():
                (Path(name) / "cache").mkdir(exist_ok=True)
                shutil.copy(known / file, Path(name) / "cache" / file)
        return in_folder(2 if quick else questions, Path(name), Models())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="?", type=int, default=20)
    parser.add_argument("--state", type=Path, help="folder of index and caches, kept; the default is made and removed")
    arguments = parser.parse_args()
    return told(measure(questions=arguments.questions, state=arguments.state))


if __name__ == "__main__":
    sys.exit(main())
