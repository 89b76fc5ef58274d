"""The bench of one process: loaded when it wakes, it joins plan, items, measuring and recording.

Refusals have one way out: a usage error where pytest takes one, and from a worker a note to the controller, since a
usage error inside a worker would be an internal error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_ragbench.errors import RagbenchError, SealedError, UsageError
from pytest_ragbench.harness import bench as benches
from pytest_ragbench.harness import expressions, guard, narrowing, options, pipelines
from pytest_ragbench.harness.cells import cell_of
from pytest_ragbench.harness.rows import parse_requirements
from pytest_ragbench.harness.settings import read_settings
from pytest_ragbench.metrics.catalogue import metric_names

if TYPE_CHECKING:
    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.cells import Cell, Key
    from pytest_ragbench.harness.comparing import Earlier
    from pytest_ragbench.harness.measuring import Measurer
    from pytest_ragbench.harness.recorder import Recorder
    from pytest_ragbench.harness.rows import RagRow
    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.questions.model import Question

REFUSAL = "ragbench_refusal"
"""Key of a worker's output under which it tells the controller why it would not run."""

NO_TEST = """\
nothing to run: no collected test asks for rag_row; write one, for example test_golden.py:

    def test_question(rag_row):
        rag_row.check()"""

_session = pytest.StashKey["BenchSession"]()


def wake(config: pytest.Config) -> BenchSession:
    """The bench of this process, created at the first call."""
    session = config.stash.get(_session, None)
    if session is None:
        session = config.stash[_session] = BenchSession(config)
        session.register()
    return session


class BenchSession:
    """State of the bench in one process.

    Attributes:
        config: pytest's configuration.
        bench: Questions, configurations and plan; None when they could not be read.
        refusal: Why nothing can run, or None.
        recorder: Takes rows and writes the record; None in a worker, and where nothing is measured.
        measurer: Searches and scores; None where nothing is measured.
        finished: Cells that a resumed run need not measure.
        earlier: The run to compare with at the end; None where none was asked for.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.bench: Bench | None = None
        self.refusal: str | None = None
        self.recorder: Recorder | None = None
        self.measurer: Measurer | None = None
        self.finished: frozenset[Key] = frozenset()
        self.earlier: Earlier | None = None
        self._llm: Seam | None = None
        self._item: pytest.Item | None = None
        self._parametrized = False
        self._sealed = False
        try:
            self._load()
        except RagbenchError as error:
            self.refusal = str(error)
            self._sealed = isinstance(error, SealedError)

    def _load(self) -> None:
        config = self.config
        settings = read_settings(config)
        markexpr = str(config.getoption("markexpr", default="") or "")
        settings, self.finished = guard.resume(settings, options.typed_options(config))
        self.bench = benches.load(settings, markexpr=markexpr, typed_ids=options.typed_ids(config))
        if markexpr:
            config.option.markexpr = benches.respell(self.bench.catalogue, markexpr)
        for line in self.bench.marker_lines():
            config.addinivalue_line("markers", line)
        requirements = parse_requirements(settings.require, metric_names(settings.k))
        if not options.is_worker(config):
            guard.check_request(self.bench, markexpr)
        if options.measures_nothing(config):
            return
        from pytest_ragbench.harness.measuring import Measurer  # what only shows what it would run needs none of this

        self.measurer = Measurer(self.bench, requirements, remote=options.is_worker(config))
        if not options.is_worker(config):
            from pytest_ragbench.harness import publishing
            from pytest_ragbench.harness.recorder import Recorder  # statistics and numpy, for who records alone

            self.recorder = Recorder(config, self.bench)
            if settings.gate is not None or settings.update_baseline or settings.force:
                from pytest_ragbench.harness.gating import prepare

                self.recorder.gating = prepare(self.bench, config)
            publishing.check_files(config, settings)
            if settings.compare is not None:
                from pytest_ragbench.harness.comparing import earlier_run

                self.earlier = earlier_run(self.bench, typed="rag_compare" in options.typed_options(config))

    def register(self) -> None:
        """Register the hooks of a session that is awake, late, so that they see what other plugins have selected."""
        from pytest_ragbench.harness.hooks import BenchHooks

        self.config.pluginmanager.register(BenchHooks(self), "ragbench-session")
        if options.is_controller(self.config):
            from pytest_ragbench.harness.distribution import DistributionHooks

            self.config.pluginmanager.register(DistributionHooks(self), "ragbench-distribution")

    def open(self) -> None:
        """Before anything is collected: refuse what the command asked for wrongly, then narrow collection.

        Raises:
            pytest.UsageError: The command cannot be carried out. Where only an ini key or `-m` woke the bench, a set
                that cannot be read is no obstacle until a test needs it; the seal always is.
        """
        # A worker refuses when it has collected: one that dies before is replaced, again and again.
        told = self.refusal is not None and not options.is_worker(self.config)
        if told and (self._sealed or options.typed_here(self.config)):
            raise pytest.UsageError(self.refusal)
        if options.is_controller(self.config):
            from pytest_ragbench.harness.remote import check_remote

            try:
                check_remote(self.config)
            except UsageError as error:
                raise pytest.UsageError(str(error)) from error
        try:
            expressions.compile_expression(str(self.config.getoption("markexpr", default="") or ""))
        except RagbenchError as error:  # pytest says so too, but in a worker that is an internal error
            raise pytest.UsageError(str(error)) from error
        self._narrow()

    def _narrow(self) -> None:
        if self.bench is not None and (options.typed_here(self.config) or self._only_cells(self.bench)):
            narrowing.narrow(self.config, self.bench.settings.tests)

    def _only_cells(self, bench: Bench) -> bool:
        """Whether `-m` can select nothing but cells: it then needs no other folder."""
        markexpr = str(self.config.getoption("markexpr", default="") or "")
        markers = {configuration.marker for configuration in bench.catalogue.configurations.values()}
        return bool(markexpr) and not expressions.can_be_true(markexpr, false={*markers, "ragbench", "sealed"})

    def refuse(self, text: str) -> NoReturn:
        """End the session with exit status 4 from inside an item, wherever this process stands."""
        if options.is_worker(self.config):
            self.config.workeroutput[REFUSAL] = text  # type: ignore[attr-defined]
        pytest.exit(text, returncode=int(pytest.ExitCode.USAGE_ERROR))

    def set_up(self, item: pytest.Item) -> None:
        """Before the fixtures of an item: remember whose they are, and begin the record for a cell.

        Raises:
            pytest.exit.Exception: As `begin`.
        """
        self._item = item
        if self.measurer is not None and (cell := cell_of(item)) is not None:
            self.begin(cell)

    def begin(self, cell: Cell) -> None:
        """Before anything of a cell runs here: hold it against the seal, and see that a record has begun.

        Raises:
            pytest.exit.Exception: The cell is sealed, or the record cannot begin: the session ends with exit status 4.
        """
        if cell.sealed and not (self.bench is not None and guard.opens(self.bench)):
            self.refuse(guard.sealed_alone(self.bench, 1))  # selection drops it; what brought it back may not search
        if self.recorder is None or self.recorder.started:
            return
        try:
            self.recorder.start()
        except RagbenchError as error:
            self.refuse(str(error))

    def parametrize(self, metafunc: pytest.Metafunc) -> None:
        """Make the cells of the run the parameters of a test; with nothing to run, none."""
        self._parametrized = True
        parameters: list[Any] = [] if self.refusal or self.bench is None else self.bench.parameters
        metafunc.parametrize("rag_row", parameters, indirect=True)

    def measure(self, pipeline: Any) -> RagRow:
        """Measure the cell of the item that is being set up.

        Raises:
            pytest.exit.Exception: The pipeline refuses a configuration: the session ends with exit status 4.
        """
        item = self._item
        cell = None if item is None else cell_of(item)
        if item is None or cell is None or self.measurer is None:
            raise pytest.UsageError(
                "rag_row is for tests that name it as an argument; it is parametrized at collection"
            )
        self.begin(cell)
        try:
            return self.measurer.row(item, cell, pipeline)
        except UsageError as error:
            self.refuse(str(error))

    def llm(self) -> Seam | None:
        """The language model that was asked for, opened once in this process; None without one.

        Raises:
            pytest.exit.Exception: It cannot be opened: the session ends with exit status 4.
        """
        if self._llm is None and self.bench is not None and self.bench.settings.llm is not None:
            from pytest_ragbench.harness.models import open_seam

            try:
                self._llm = open_seam(self.bench.settings.llm)
            except UsageError as error:
                self.refuse(str(error))
        return self._llm

    def questions(self) -> tuple[Question, ...]:
        """The questions of the run, by id: of the sealed split only those that this session may search."""
        return () if self.bench is None else self.bench.planned

    def select(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """After every other selection: drop what is sealed, of another split or measured; refuse if nothing is left."""
        if not self._parametrized:
            if options.typed_here(self.config) and not session.testsfailed:
                self._refuse_items(items, NO_TEST)
            return
        if self.refusal is not None or self.bench is None:
            if options.typed_here(self.config) or any("rag_row" in getattr(item, "fixturenames", ()) for item in items):
                self._refuse_items(items, self.refusal or "nothing to run")
            return
        kept, dropped, sealed = guard.partition(self.bench, items, self.finished)
        refusal = self._refusal_of(session, kept, sealed)
        if refusal is not None:
            self._refuse_items(items, refusal)
            return
        if dropped:
            self.config.hook.pytest_deselected(items=dropped)
            items[:] = kept
        if self.measurer is not None:
            self.measurer.expect(kept)
        if self.recorder is not None and not options.is_controller(self.config):
            self.recorder.expect({item.nodeid: cell for item in kept if (cell := cell_of(item))}, self.finished)

    def _refusal_of(self, session: pytest.Session, kept: list[pytest.Item], sealed: int) -> str | None:
        """Why what selection has left cannot run, or None. Errors of collection come first; pytest reports them."""
        cells = [item for item in kept if cell_of(item)]
        if session.testsfailed:
            goes_on = bool(self.config.getoption("continue_on_collection_errors", default=False))
            opens = bool(cells) and self.bench is not None and guard.opens(self.bench)
            return guard.sealed_after_errors(session.testsfailed) if goes_on and opens else None
        if not cells and not self.finished and (options.typed_here(self.config) or not kept):
            return self._nothing_to_run(sealed)
        return pipelines.refusal_of(cells)

    def _refuse_items(self, items: list[pytest.Item], text: str) -> None:
        """Refuse at the end of collection. A worker reports an empty collection, and why when it goes down."""
        if not options.is_worker(self.config):
            raise pytest.UsageError(text)
        self.config.workeroutput[REFUSAL] = text  # type: ignore[attr-defined]
        items.clear()

    def _nothing_to_run(self, sealed: int) -> str:
        if sealed:
            return guard.sealed_alone(self.bench, sealed)
        if self.bench is not None:
            known = {line.partition(":")[0] for line in self.config.getini("markers")}
            known = {name.partition("(")[0].strip() for name in known}
            markexpr = str(self.config.getoption("markexpr", default="") or "")
            unknown = [name for name in expressions.names(markexpr) if name not in known]
            if unknown:
                return guard.unknown_marker(unknown[0], known)
            if self.bench.whole and not self.bench.planned:
                return guard.empty_shard(self.bench)
        return "nothing to run: no question is left by the suites, split, -k, -m or paths that were asked for"
