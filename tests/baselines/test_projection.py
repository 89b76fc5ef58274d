"""From a run to the bytes of its baseline."""

from __future__ import annotations

import dataclasses

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ragbench import canonical
from pytest_ragbench.baselines.agreement import disagreements
from pytest_ragbench.baselines.projection import encode_main, encode_rows, measured_digest, rows_digest
from pytest_ragbench.questions.model import Provenance

VALUES = {1: (1.0, 1.0), 2: (0.0, 0.5), 3: (1.0, 1 / 3), 4: (1.0, None), 5: None}


def files(baseline):
    rows = encode_rows(baseline.rows)
    return encode_main(baseline, rows_digest(rows)), rows


def test_it_holds_means_and_counts_and_nothing_of_intervals(capture):
    main = canonical.loads(files(capture(VALUES))[0].decode())
    assert main["results"]["one"]["overall"] == {
        "hit@10": {"mean": 0.75, "n": 4},
        "recall@10": {"mean": 0.611111111111, "n": 3},  # (1 + 1/2 + 1/3) / 3 = 11/18
    }
    assert main["results"]["one"]["by_suite"]["books"]["hit@10"] == {"mean": 0.5, "n": 2}
    assert main["results"]["one"]["rows"] == {"scored": 4}


def test_it_holds_no_clock_machine_run_or_commit(capture):
    main = canonical.loads(files(capture(VALUES))[0].decode())
    assert sorted(main) == [
        "configurations",
        "domains",
        "k",
        "ledger",
        "limit",
        "metrics_version",
        "questions_digest",
        "results",
        "rows_digest",
        "schema_version",
        "split",
        "suites",
    ]


def test_rows_are_sorted_rounded_once_and_only_those_that_score(capture):
    lines = files(capture(VALUES, ("two", "one")))[1].decode().splitlines()
    rows = [canonical.loads(line) for line in lines]
    assert [(row["question"], row["configuration"]) for row in rows] == [
        (f"lex-{number:04d}", name) for number in (1, 2, 3, 4) for name in ("one", "two")
    ]
    assert rows[4]["metrics"] == {"hit@10": 1.0, "recall@10": 0.333333333333}
    assert rows[0]["cluster"] == "g1.md"


def test_a_forced_baseline_is_marked(capture):
    main = canonical.loads(files(capture(VALUES, forced=("errored rows: 1 row failed",)))[0].decode())
    assert main["forced"] == ["errored rows: 1 row failed"]


SCORES = st.none() | st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(values=st.dictionaries(st.integers(1, 40), SCORES, min_size=1, max_size=12), seed=st.integers())
def test_gat_06_order_changes_no_byte(capture, values, seed):
    assert files(capture(values, ("one", "two"), shuffled=seed)) == files(capture(values, ("one", "two")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(values=st.dictionaries(st.integers(1, 40), SCORES, min_size=1, max_size=12))
def test_the_means_of_a_captured_baseline_are_those_of_its_rounded_rows(capture, values):
    assert not list(disagreements(capture(values, ("one", "two"))))


def test_gat_07_no_output_ever_holds_nan_or_infinity(capture):
    main, rows = files(capture(VALUES))
    canonical.loads(main.decode())
    for line in rows.decode().splitlines():
        canonical.loads(line)
    assert b"NaN" not in main + rows
    assert b"Infinity" not in main + rows


def test_the_digest_is_of_what_is_asked_and_accepted_and_not_of_who_wrote_it(question):
    one, two = question(1), question(2)
    digest = measured_digest([one, two])
    assert measured_digest([two, one]) == digest
    noted = dataclasses.replace(one, notes="looked at", provenance=Provenance(status="verified"), source_id="x")
    assert measured_digest([noted, two]) == digest
    for change in ({"text": "other"}, {"gold": two.gold}, {"nuggets": ("a",)}, {"domain": "other"}, {"answer": "a"}):
        assert measured_digest([dataclasses.replace(one, **change), two]) != digest
