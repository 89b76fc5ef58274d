"""The pytest plugin's front door: options, the decision to wake, and the two fixtures. It computes nothing.

Inert until asked: an unrelated session imports this module and `harness.options`, and nothing else of the package.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench.harness import options

if TYPE_CHECKING:
    from pytest_ragbench.harness.rows import RagRow
    from pytest_ragbench.harness.session import BenchSession
    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.questions.model import Question


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and their ini twins."""
    options.add(parser)


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Keep a bench run from loading the conftest files of other tests, which may not even import here."""
    if options.typed_here(early_config):
        from pytest_ragbench.harness import imports

        imports.load_plainly(early_config)
        from pytest_ragbench.harness import collector, narrowing

        collector.give_back_last(early_config)
        narrowing.narrow_conftests(early_config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Offer `rag_row`, and wake the bench when this session asks for it."""
    config.pluginmanager.register(RowFixture(config), "ragbench-row")
    if options.wakes(config):
        from pytest_ragbench.harness import collector

        with collector.paused():  # thousands of questions and cells, all kept
            _wake(config).open()
            collector.freeze(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test that asks for `rag_row` over the cells of the run."""
    if "rag_row" in metafunc.fixturenames:
        _wake(metafunc.config).parametrize(metafunc)


@pytest.fixture(scope="session")
def rag_pipeline() -> Any:
    """The pipeline under test: override this fixture with anything that has `search(query, **overrides)`."""
    from pytest_ragbench.harness.pipelines import MISSING_PIPELINE

    raise pytest.UsageError(MISSING_PIPELINE)


@pytest.fixture(scope="session")
def rag_llm(request: pytest.FixtureRequest) -> Seam | None:
    """What answers prompts, as `--rag-llm` or the ini key `rag_llm` says; None without either."""
    return _wake(request.config).llm()


@pytest.fixture(scope="session")
def rag_questions(request: pytest.FixtureRequest) -> tuple[Question, ...]:
    """The questions of the run with their gold: for probes that ask what a pipeline could do, not for pipelines."""
    return _wake(request.config).questions()


class RowFixture:
    """Holds the fixture of every item. It asks for no `request`, which pytest would define anew three times an item."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.fixture
    def rag_row(self, rag_pipeline: Any) -> RagRow:
        """The measured row of one golden question under one configuration."""
        return _wake(self._config).measure(rag_pipeline)


def _wake(config: pytest.Config) -> BenchSession:
    if "pytest_ragbench.harness.session" not in sys.modules:
        from pytest_ragbench.harness import imports

        imports.load_plainly(config)
    from pytest_ragbench.harness.session import wake

    return wake(config)
