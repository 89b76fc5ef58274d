"""`--rag-gate` and `--rag-update-baseline`: what they need before anything runs, and what they make of the record.

Whatever is wrong with the command or its files is said before any search; what only the rows can tell, at the end.
"""

from __future__ import annotations

from os.path import lexists
from typing import TYPE_CHECKING

from pytest_ragbench.baselines import MAIN
from pytest_ragbench.baselines.files import read_baseline, write_baseline
from pytest_ragbench.baselines.projection import measured_digest
from pytest_ragbench.configurations.thresholds import FILE_NAME, Known, load_hard_gates
from pytest_ragbench.errors import BaselineError, RagbenchError, RecordError, UsageError
from pytest_ragbench.gates.comparable import Measured, command, measured_by, obstacles
from pytest_ragbench.gates.model import Refresh, Refusal
from pytest_ragbench.gates.rules import judge
from pytest_ragbench.gates.serial import to_values
from pytest_ragbench.metrics.catalogue import METRICS_VERSION, metric_names
from pytest_ragbench.records.files import write_object
from pytest_ragbench.runs.gating import (
    UPDATE,
    Held,
    baseline_of_run,
    check_rules,
    judge_run,
    measured_in,
    not_against,
    summary_of,
    whole,
)

if TYPE_CHECKING:
    import pytest

    from pytest_ragbench.configurations.hard_gates import GateRule
    from pytest_ragbench.gates.model import GateLine, Verdict
    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.settings import Settings
    from pytest_ragbench.records.record import RunRecord

NO_THRESHOLDS = """\
--rag-gate: {path} does not exist; say what this project tolerates, for example

    hard_gates:
      recall@10: {{min: 0.80, max_regression_delta: 0.02}}"""

TWO_MEANINGS = (
    "--rag-gate holds a run against the baseline and --rag-update-baseline replaces it: a refresh that is judged would "
    "be red for the very change that it is for; type one of the two"
)


class Gating:
    """What one session does with its record beyond reporting it.

    Attributes:
        held: What the run is held against.
        typed: Whether the command line itself asked for it.
        idle: Whether nothing was measured, where something was asked for.
        foreseen: Why the gate will refuse the run, as far as can be told before it.
        verdict: What the gate says, once the rows are there.
        refresh: What became of the baseline, once the record is finished.
    """

    def __init__(self, settings: Settings, rules: tuple[GateRule, ...] | None, held: Held, *, typed: bool) -> None:
        self._settings = settings
        self._rules = rules
        self.held = held
        self.typed = typed
        self.idle = False
        self.foreseen: tuple[Refusal, ...] = ()
        self.verdict: Verdict | None = None
        self.refresh: Refresh | None = None

    @property
    def keeps(self) -> bool:
        """Whether it makes the run the baseline, rather than judging it."""
        return self._settings.update_baseline

    @property
    def failed(self) -> bool:
        """Whether the session fails for it: a gate that is not green or judged nothing, or a baseline not kept."""
        red = self.idle or (self.verdict is not None and self.verdict.status != "passed")
        return red or (self.refresh is not None and bool(self.refresh.refusals))

    def judge(self, record: RunRecord) -> None:
        """Judge a run whose rows and summary are written, and save the verdict beside them.

        Raises:
            RecordError: The record is damaged, or the verdict cannot be written.
        """
        if self._rules is None:
            return
        self.verdict = judge_run(record, self._rules, None if self._settings.gate == "floors" else self.held)
        write_object(record.folder / "gate.json", to_values(self.verdict))

    def update(self, record: RunRecord) -> None:
        """Make a finished run the baseline, where that was asked for and it stands for all that it planned.

        Raises:
            RecordError: The record is damaged, or the baseline cannot be written.
        """
        if not self.keeps:
            return
        shown, again = self.held.shown, command(measured_in(record), UPDATE)
        refusals = whole(record, again)
        forced = tuple(f"{refusal.what}: {refusal.found}" for refusal in refusals) if self._settings.force else ()
        if refusals and not forced:
            self.refresh = Refresh(shown, tuple(refusals))
            return
        baseline = baseline_of_run(record, forced)
        if not baseline.rows:
            nothing = Refusal("nothing scored", "no row with a score", "a question that is answerable", again)
            self.refresh = Refresh(shown, (nothing,))
            return
        lines = self._beside(record)
        written = write_baseline(self._settings.baselines, baseline)
        self.refresh = Refresh(shown, forced=forced, written=written, lines=lines)

    def _beside(self, record: RunRecord) -> tuple[GateLine, ...]:
        """The means over all questions beside those of the old baseline, where that can be compared."""
        old = self.held.baseline
        if old is None or any(obstacles(measured_in(record), measured_by(old), self.held.shown)):
            return ()
        lines = judge((), summary_of(record)["results"], old.results)
        return tuple(line for line in lines if line.scope == "overall")


def prepare(bench: Bench, config: pytest.Config) -> Gating | None:
    """Read what the session needs to judge or to keep its run; None where neither was asked for.

    Raises:
        UsageError: The flags contradict each other, or thresholds or baseline cannot be read.
    """
    settings = bench.settings
    args = [str(arg) for arg in config.invocation_params.args]
    gated = any(arg.startswith("--rag-gate") for arg in args)
    _check_flags(settings, args, gated=gated)
    if settings.update_baseline:
        return Gating(settings, None, _old(settings), typed=True)
    if settings.gate is None:
        return None
    path = settings.baselines / FILE_NAME
    shown = settings.shown(path)
    if not lexists(path):  # a link to nothing is told where it is read
        raise UsageError(NO_THRESHOLDS.format(path=shown))
    rules = load_hard_gates(path, _known(bench), shown_as=shown)
    floors = settings.gate == "floors"
    check_rules(rules, shown, floors=floors)
    gating = Gating(settings, rules, Held(_main(settings)) if floors else _held(settings), typed=gated)
    if not floors:
        gating.foreseen = tuple(not_against(_asked(bench), rules, gating.held))
    return gating


def _asked(bench: Bench) -> Measured:
    """What the session is about to measure, so that a refusal is told before an hour is spent on it."""
    return Measured(
        metrics_version=METRICS_VERSION,
        split=bench.split,
        suites=tuple(sorted(bench.settings.suites)) or None,
        domains=tuple(sorted(bench.settings.domains)) or None,
        limit=bench.settings.limit,
        k=bench.settings.k,
        questions_digest=measured_digest(bench.whole),
        questions=frozenset(question.id for question in bench.whole if question.answerable),
        configurations={one.name: one.overrides for one in bench.configurations},
        asked=bench.names,
    )


def _check_flags(settings: Settings, args: list[str], *, gated: bool) -> None:
    if settings.force and not settings.update_baseline:
        raise UsageError("--rag-force goes with --rag-update-baseline: it keeps a run that is partial or has errors")
    if settings.update_baseline and UPDATE not in args:
        raise UsageError("--rag-update-baseline counts only when typed: a baseline is never refreshed by itself")
    if settings.update_baseline and gated:
        raise UsageError(TWO_MEANINGS)


def _known(bench: Bench) -> Known:
    questions = bench.questions.questions
    return Known(
        k=bench.settings.k,
        metrics=metric_names(bench.settings.k),
        configurations=tuple(bench.catalogue.configurations),
        suites=frozenset(question.suite for question in questions),
        domains=frozenset(question.domain for question in questions if question.domain),
    )


def _main(settings: Settings) -> str:
    return settings.shown(settings.baselines / MAIN)


def _held(settings: Settings) -> Held:
    """The baseline, or why it is none.

    Raises:
        UsageError: It cannot be read at all.
    """
    try:
        return Held(_main(settings), read_baseline(settings.baselines, settings.shown(settings.baselines)))
    except BaselineError as error:
        return Held(_main(settings), error=error)
    except RecordError as error:
        raise UsageError(
            f"--rag-gate: the baseline cannot be read: {error}; restore it from version control, or capture it anew "
            f"with --rag-update-baseline"
        ) from error


def _old(settings: Settings) -> Held:
    """The baseline that is about to be replaced; one that is none, or cannot be read, is replaced all the same."""
    try:
        return _held(settings)
    except RagbenchError:
        return Held(_main(settings))
