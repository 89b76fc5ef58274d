"""Baselines and runs as values."""

import pytest

from pytest_ragbench.baselines.model import Baseline, BaselineRow
from pytest_ragbench.gates.comparable import Measured


def row_of(number, value, *, metric="hit@10", configuration="one", cluster=None, suite="lexical", **keys):
    question = f"lex-{number:04d}"
    return BaselineRow(
        question,
        configuration,
        suite,
        keys.get("domain"),
        keys.get("difficulty"),
        cluster or f"g{number}.md",
        {metric: value},
    )


def baseline_with(rows=(), **changes):
    values = {
        "metrics_version": 1,
        "questions_digest": "d" * 64,
        "split": "dev",
        "suites": None,
        "domains": None,
        "limit": None,
        "k": 10,
        "configurations": {"one": {}},
        "ledger": {"count": 0, "last_hash": None},
        "results": {},
        "forced": (),
        "rows": tuple(rows),
    }
    return Baseline(**{**values, **changes})


def measured_with(**changes):
    values = {
        "metrics_version": 1,
        "split": "dev",
        "suites": None,
        "domains": None,
        "limit": None,
        "k": 10,
        "questions_digest": "d" * 64,
        "questions": frozenset({"lex-0001", "lex-0002"}),
        "configurations": {"one": {}},
        "asked": ("one",),
    }
    return Measured(**{**values, **changes})


@pytest.fixture
def row():
    return row_of


@pytest.fixture
def baseline():
    return baseline_with


@pytest.fixture
def measured():
    return measured_with
