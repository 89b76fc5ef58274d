"""The repository's own thresholds and baseline: sound, and of the questions that it ships."""

from __future__ import annotations

from pathlib import Path

from pytest_ragbench.baselines.files import read_baseline
from pytest_ragbench.baselines.projection import measured_digest
from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.configurations.thresholds import Known, load_hard_gates
from pytest_ragbench.metrics.catalogue import METRICS_VERSION, metric_names
from pytest_ragbench.questions.loading import load_questions
from pytest_ragbench.questions.suites import BUILT_IN

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "baselines"
SETS = ROOT / "golden" / "sets"


def test_recall_mrr_and_faithfulness_gate_and_the_baseline_holds_them():
    catalogue = load_catalogue(ROOT / "golden" / "configs.yaml", reserved=BUILT_IN)
    rules = load_hard_gates(FOLDER / "thresholds.yaml", Known(10, metric_names(), catalogue.configurations, (), ()))
    assert [rule.metric for rule in rules] == ["recall@10", "mrr@10", "faithfulness"]
    overall = read_baseline(FOLDER, "baselines").results["default-k10"]["overall"]
    for rule in rules:
        assert rule.allowed is not None
        assert overall[rule.metric]["mean"] >= rule.floor


def test_the_baseline_is_of_the_questions_and_definitions_that_are_shipped():
    baseline = read_baseline(FOLDER, "baselines")
    dev = [question for question in load_questions(SETS).questions if question.split == "dev" and not question.rejected]
    assert baseline.questions_digest == measured_digest(dev)
    assert (baseline.metrics_version, baseline.split, baseline.k) == (METRICS_VERSION, "dev", 10)
    assert not baseline.forced
