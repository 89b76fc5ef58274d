"""A run whose rows tell of no gate, walk or route keeps its summary and its report, to the last byte.

The saved run in `plain/` was written before there were such sections; it is made anew only when a number or a sentence
that every run has changes on purpose.
"""

import json
from pathlib import Path

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.serial import from_mapping
from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.markdown import render_markdown

SAVED = Path(__file__).parent / "plain"
EXTRAS = {"gate", "walk", "route", "by_prefix", "tied_top"}


def lines(name):
    return [json.loads(line) for line in (SAVED / name).read_text(encoding="utf-8").splitlines()]


def test_a_plain_run_keeps_its_summary_to_the_last_byte():
    run = json.loads((SAVED / "run.json").read_text(encoding="utf-8"))
    table = RowTable(metric_names(run["k"]))
    for row in lines("per_query.jsonl"):
        table.add(row)
    plan = Plan(
        tuple(map(from_mapping, lines("questions.jsonl"))),
        tuple(
            Configuration(one["name"], one["name"], one["overrides"], tuple(one["factors"]), tuple(one["pairs"]))
            for one in run["configurations"]
        ),
        tuple(Experiment(one["name"], tuple(one["arms"])) for one in run["experiments"]),
        k=run["k"],
        resamples=run["bootstrap"]["resamples"],
    )
    summary = summarise(table, plan, complete=True)
    assert canonical.dumps_pretty(summary) == (SAVED / "summary.json").read_text(encoding="utf-8")
    assert not any(EXTRAS & found.keys() for found in summary["results"].values())
    assert set(summary["attribution"]) == {"families"}


def test_a_plain_run_keeps_its_report_to_the_last_byte():
    run, summary = (json.loads((SAVED / name).read_text(encoding="utf-8")) for name in ("run.json", "summary.json"))
    assert render_markdown(build(run, summary)) == (SAVED / "report.md").read_text(encoding="utf-8")
