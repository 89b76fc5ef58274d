"""Overrides and settings: unknown ones are refused with a suggestion, bad ones with their value and range."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import OptionError, SettingsError
from rag.options import Options, Settings, load_settings, with_overrides

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"spars": True}, "unknown option 'spars'; did you mean 'sparse'"),
        ({"zzz": 1}, "unknown option 'zzz'; known: boost_weight, code_lanes, "),
        ({"omni_search": False}, "unknown option 'omni_search'; did you mean 'omnisearch'"),
        ({"sparse": 1}, "sparse=1"),
        ({"sparse": "yes"}, "sparse='yes'"),
        ({"top_k": 0}, "top_k=0.*greater than or equal to 1"),
        ({"top_k": True}, "top_k=True"),
        ({"top_k": 2.5}, "top_k=2.5"),
        ({"top_k": None}, "top_k=None"),
        ({"rrf_k": 10_001}, "rrf_k=10001.*less than or equal to 1000"),
        ({"dense_search": "fast"}, "dense_search='fast'.*'exact', 'hnsw' or 'auto'"),
        ({"rerank": True}, "rerank=True.*'none', 'late-interaction', 'cross-encoder' or 'laya'"),
        ({"max_per_file": 0}, "max_per_file=0"),
        ({"sparse": False, "dense": False}, "no lane is on: set sparse, dense, hashing, overlap or trigrams to true"),
        ({"top_k": 50, "dense_pool": 20}, "top_k 50 is more than dense_pool 20 can give"),
        ({"hashing": "yes"}, "hashing='yes'"),
        ({"trigram": True}, "unknown option 'trigram'; did you mean 'trigrams'"),
        ({"top_k": 50, "overlap": True, "overlap_pool": 20}, "top_k 50 is more than overlap_pool 20 can give"),
        (
            {"sparse": False, "dense": False, "hashing": True, "generated_mode": "route", "routed": True},
            "routed follows what sparse and dense would find",
        ),
        ({"code_preset": True}, "set code_lanes to true too"),
        ({"routed": True}, "set generated_mode to route too"),
        ({"generated_mode": "route"}, "set routed to true too"),
        ({"walk": "e1e4", "rerank": "none"}, "set rerank to other than none"),
        ({"oracle": "pool", "rerank": "none"}, "oracle pool probes the rerank"),
        ({"gate": "rerank-score", "rerank": "late-interaction"}, "a gate needs gate_threshold"),
        ({"gate": "rerank-score", "rerank": "none", "gate_threshold": 0.5}, "judges by the reranker"),
    ],
)
def test_a_bad_override_is_refused_by_name_and_value(overrides, message, write, pipeline):
    with pytest.raises(OptionError, match=message):
        with_overrides(Options(), overrides)
    write({"a.md": "text"})
    search = pipeline()
    with pytest.raises(ValueError, match=message):
        search.check_overrides(**overrides)
    with pytest.raises(ValueError, match=message):
        search.search("text", **overrides)


def test_several_faults_are_named_together():
    with pytest.raises(OptionError, match=r"top_k=0.*; unknown option 'densee'"):
        with_overrides(Options(), {"densee": True, "top_k": 0})


def test_overrides_lie_over_the_defaults_and_change_nothing_else():
    defaults = Options(top_k=7, rrf_k=30)
    assert with_overrides(defaults, {"top_k": 9}) == Options(top_k=9, rrf_k=30)
    assert with_overrides(defaults, {}) is defaults


def test_a_pool_smaller_than_top_k_matters_only_where_its_lane_is_on():
    assert with_overrides(Options(), {"dense": False, "dense_pool": 5}).dense_pool == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modell: x", "unknown option 'modell'; did you mean 'model'"),
        ("search: {topk: 3}", "unknown option 'search.topk'; did you mean 'top_k'"),
        ("chunking: {max_char: 3}", "unknown option 'chunking.max_char'; did you mean 'max_chars'"),
        ("chunking: {max_chars: 3}", "chunking.max_chars=3"),
        ("- a", "expected a mapping"),
        ("", "expected a mapping"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_bad_settings_name_the_file_and_the_key(text, message, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        load_settings(path)
    assert str(path) in str(caught.value)


def test_settings_that_are_not_there_are_an_error_of_the_settings(tmp_path):
    with pytest.raises(SettingsError, match=r"config\.yaml"):
        load_settings(tmp_path / "config.yaml")


def test_the_shipped_configuration_is_valid_and_spells_out_every_search_option():
    import yaml

    path = ROOT / "rag" / "config.yaml"
    assert isinstance(load_settings(path), Settings)
    written = yaml.safe_load(path.read_text())["search"]
    assert set(written) == set(Options.model_fields)
