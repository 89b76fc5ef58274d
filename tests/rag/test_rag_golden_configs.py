"""`golden/configs.yaml`: every configuration is one the pipeline honours, and the shipped one is the shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ragbench.configurations.loading import load_catalogue
from rag.options import Options, load_settings, with_overrides

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue(ROOT / "golden" / "configs.yaml")


@pytest.fixture(scope="module")
def settings():
    return load_settings(ROOT / "rag" / "config.yaml")


def test_the_ladder_climbs_by_one_component(catalogue):
    rungs = [catalogue.configurations[name] for name in catalogue.experiments["ladder"].arms]
    assert [rung.name for rung in rungs] == [
        "R0-bm25",
        "R1-dense",
        "R2-hybrid",
        "R3-routing",
        "R4-code",
        "R5-rerank",
        "R6-hyde",
    ]
    assert [rung.factors for rung in rungs[:2]] == [("sparse",), ("dense",)]
    whole = ("sparse", "dense", "routing", "code", "rerank", "hyde")
    assert [rung.factors for rung in rungs[2:]] == [whole[:count] for count in (2, 3, 4, 5, 6)]
    assert [rung.pairs for rung in rungs] == [(), *((before.name,) for before in rungs[:-1])]


def overrides(catalogue, name):
    return catalogue.configurations[name].overrides


@pytest.mark.parametrize(
    ("arm", "same_as"),
    [
        ("H-off", "R5-rerank"),
        ("F-full", "R5-rerank"),
        ("P-plain", "R5-rerank"),
        ("Q-off", "D-off"),
        ("G-off", "D-off"),
        ("GM-off", "D-off"),
        ("H-on", "R6-hyde"),
    ],
)
def test_arms_that_are_one_pipeline_have_one_set_of_overrides(catalogue, arm, same_as):
    assert overrides(catalogue, arm) == overrides(catalogue, same_as)


def test_d_off_is_r5_without_routing(catalogue):
    changed = {"scope_lanes": False, "metadata_boost": False}
    assert overrides(catalogue, "D-off") == {**overrides(catalogue, "R5-rerank"), **changed}


def test_pairs_are_those_of_the_protocol(catalogue):
    pairs = {name: catalogue.configurations[name].pairs for name in catalogue.configurations}
    assert pairs["F-noscope"] == pairs["F-noboost"] == pairs["F-none"] == ("F-full",)
    assert pairs["H-on"] == ("H-off",)
    assert pairs["D-cap2"] == pairs["D-cap3"] == ("D-off",)
    assert pairs["G-legacy"] == ("G-off",)
    assert pairs["G-e1e4"][0] == "G-legacy"
    assert pairs["GM-route"] == ("GM-drop", "GM-off")
    assert {pairs[name] for name in pairs if name.startswith("-")} == {("full",)}
    assert len(catalogue.experiments["factorial"].arms) == 64


def test_graph_arms_walk_without_a_gate_or_parts(catalogue):
    for name in catalogue.experiments["graph"].arms:
        assert (overrides(catalogue, name)["gate"], overrides(catalogue, name)["decompose"]) == ("none", False)


def test_only_the_route_arm_has_the_routed_lane(catalogue):
    assert [name for name in catalogue.configurations if overrides(catalogue, name).get("routed")] == ["GM-route"]


def test_the_configuration_of_the_required_check_asks_no_language_model(catalogue):
    told = overrides(catalogue, "default-k10")
    assert not any(told[option] for option in ("hyde", "decompose", "hype"))


def test_what_the_protocol_keeps_off_is_off_everywhere(catalogue):
    for name in catalogue.configurations:
        for option in ("omnisearch", "hype", "parent_context", "neighbor_context"):
            assert overrides(catalogue, name)[option] is False


def test_the_protocol_leaves_no_option_to_the_shipped_settings(catalogue):
    for configuration in catalogue.configurations.values():
        assert set(configuration.overrides) == set(Options.model_fields)


def test_every_configuration_that_searches_is_honoured(catalogue, settings):
    assert {"ladder", "loo", "factorial"} <= set(catalogue.experiments)
    for configuration in catalogue.configurations.values():
        if configuration.searches:
            with_overrides(settings.search, configuration.overrides)
        else:
            assert not {"sparse", "dense"} & set(configuration.factors)


def test_default_k10_is_the_shipped_pipeline_at_depth_ten(catalogue, settings):
    options = with_overrides(settings.search, catalogue.configurations["default-k10"].overrides)
    assert options == settings.search.model_copy(update={"top_k": 10})


def test_the_approximate_index_is_measured_against_the_exact_one(catalogue):
    assert catalogue.configurations["dense-hnsw"].pairs == ("R1-dense",)
    assert catalogue.configurations["dense-hnsw"].overrides["dense_search"] == "hnsw"
    assert catalogue.warm_up == ("rerank", "walk", "generated_mode")
