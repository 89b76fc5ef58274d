"""`thresholds.yaml`: its default, its bounds, and what is refused."""

from __future__ import annotations

import pytest

from pytest_ragbench.configurations.thresholds import load_thresholds
from pytest_ragbench.errors import InputError, UsageError


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        path = tmp_path / "thresholds.yaml"
        path.write_text(text, encoding="utf-8")
        return load_thresholds(path, shown_as="thresholds.yaml")

    return load


def test_without_a_file_or_without_the_key_a_suite_may_fall_by_two_hundredths(loaded):
    assert load_thresholds(None).max_suite_regression == 0.02
    assert loaded("").max_suite_regression == 0.02
    assert loaded("{}\n").max_suite_regression == 0.02


@pytest.mark.parametrize(("text", "value"), [("0.05", 0.05), ("0", 0.0), ("1", 1.0)])
def test_the_tolerance_is_read(loaded, text, value):
    assert loaded(f"max_suite_regression: {text}\n").max_suite_regression == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_suite_regresion: 0.1", r"thresholds.yaml:1: max_suite_regresion: unknown field; did you mean"),
        ("max_suite_regression: -0.1", "a number from 0 to 1, found -0.1"),
        ("max_suite_regression: 2", "a number from 0 to 1, found 2"),
        ("max_suite_regression: .nan", "thresholds.yaml:1: max_suite_regression"),
        ("max_suite_regression: '0.1'", "must be a number, without quotes, found the text"),
        ("max_suite_regression: true", "must be a number"),
        ("max_suite_regression:", "must be a number"),
        ("- 0.1", "a mapping with keys as `max_suite_regression` and `hard_gates`, but this is a list"),
        ("max_suite_regression: 0.1\nmax_suite_regression: 0.2", "duplicate-key"),
    ],
)
def test_a_mistake_names_line_and_field(loaded, text, said):
    with pytest.raises(InputError, match=said):
        loaded(text + "\n")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"no thresholds: .*cannot be read"):
        load_thresholds(tmp_path / "none.yaml")
