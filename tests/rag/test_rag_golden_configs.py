"""`golden/configs.yaml`: every configuration is one the pipeline honours, and the shipped one is the shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ragbench.configurations.loading import load_catalogue
from rag.options import load_settings, with_overrides

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalogue():
    return load_catalogue(ROOT / "golden" / "configs.yaml")


@pytest.fixture(scope="module")
def settings():
    return load_settings(ROOT / "rag" / "config.yaml")


def test_the_ladder_climbs_by_one_component(catalogue):
    rungs = catalogue.experiments["ladder"].arms
    assert [(name, catalogue.configurations[name].factors) for name in rungs] == [
        ("R0-bm25", ("sparse",)),
        ("R1-dense", ("dense",)),
        ("R2-hybrid", ("sparse", "dense")),
        ("R5-rerank", ("sparse", "dense", "rerank")),
    ]


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
    assert catalogue.warm_up == ("rerank",)
