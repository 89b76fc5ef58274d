"""Claims about how often arms that do not differ are called real. The scenarios stand in benchmarks/simulate_verdicts.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "simulate_verdicts.py"


@pytest.fixture(scope="module")
def simulation():
    if not SCRIPT.is_file():
        pytest.skip(f"{SCRIPT.name} is not part of this distribution")
    spec = importlib.util.spec_from_file_location("simulate_verdicts", SCRIPT)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_files_whose_questions_move_together_do_not_pass_for_evidence(simulation):
    found = simulation.rates(simulation.in_files(), 1000, resamples=1000)
    assert found.holds
    # A design effect of 1 + 7 * 0.3 = 3.1 puts 1.96 standard errors at 1.11: naive resampling errs 27 % of the time.
    assert found.naive == pytest.approx(0.27, abs=0.05)


def test_twenty_questions_that_mostly_tie_do_not_pass_for_evidence(simulation):
    assert simulation.rates(simulation.with_ties(20), 1000, resamples=1000).holds


@pytest.mark.simulation
@pytest.mark.parametrize("number", range(4))
def test_false_real_verdicts_stay_below_five_percent(simulation, number):
    scenario = simulation.SCENARIOS[number]
    assert scenario.bounded
    assert simulation.rates(scenario, 5000, resamples=2000).holds
