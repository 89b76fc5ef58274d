"""`gate.json`: a verdict and back."""

from __future__ import annotations

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.gates.model import Flip, GateLine, Refusal, Verdict
from pytest_ragbench.gates.serial import from_values, to_values

LINE = GateLine("one", "overall", "mrr@10", 0.5, 0.7, -0.2, 0.6, 0.02, 40, gated=True, outcome="below floor", note="")
VERDICT = Verdict(
    "failed",
    "full",
    "baselines/main.json",
    (LINE,),
    (Refusal("k", "5", "10", "pytest"),),
    (Flip("lex-0001", "one", "mrr@10", 1.0, 0.0),),
    ("a note",),
)


def test_a_verdict_survives_strict_json():
    assert from_values(canonical.loads(canonical.dumps(to_values(VERDICT)))) == VERDICT


def test_the_file_says_its_schema():
    assert to_values(VERDICT)["schema_version"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [({"status": "green"}, "'green' is no status"), ({"mode": "half"}, "'half' is no mode")],
)
def test_a_word_that_no_gate_says_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        from_values(to_values(VERDICT) | change)
    values = to_values(VERDICT)
    values["lines"][0]["outcome"] = "fine"
    with pytest.raises(ValueError, match="'fine' is no outcome"):
        from_values(values)


def test_an_unknown_key_is_refused():
    values = to_values(VERDICT)
    values["lines"][0]["extra"] = 1
    with pytest.raises(TypeError):
        from_values(values)
