"""`configs.yaml` through files: what is generated, what is merged, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ragbench.configurations.loading import load_catalogue, missing_off_values
from pytest_ragbench.configurations.model import Catalogue
from pytest_ragbench.configurations.selection import select
from pytest_ragbench.errors import InputError, Problem, UsageError

BASE = """\
defaults: {top_k: 10, sparse: false, dense: false, rerank: none}
factors:
  sparse: {sparse: true}
  dense: {dense: true}
  rerank: {rerank: late, pool: 50}
"""


def load(folder: Path, text: str, **options: object) -> Catalogue:
    file = folder / "configs.yaml"
    file.write_text(text, encoding="utf-8")
    return load_catalogue(file, **options)


def problems(folder: Path, text: str, **options: object) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load(folder, text, **options)
    return caught.value.problems


def only(folder: Path, text: str, **options: object) -> Problem:
    found = problems(folder, text, **options)
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


def test_without_a_file_there_is_one_configuration_without_overrides() -> None:
    catalogue = load_catalogue(None)
    assert list(catalogue.configurations) == ["default"]
    assert catalogue.configurations["default"].overrides == {}
    assert catalogue.configurations["default"].searches
    assert catalogue.experiments == {}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "defaults: {}\n"])
def test_a_file_that_declares_nothing_is_like_none(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == load_catalogue(None)


def test_defaults_alone_are_the_overrides_of_the_default_configuration(tmp_path: Path) -> None:
    assert load(tmp_path, "defaults: {top_k: 7}\n").configurations["default"].overrides == {"top_k": 7}


def test_defaults_then_factors_in_declared_order_then_own_overrides(tmp_path: Path) -> None:
    text = (
        BASE + "configurations:\n  mine: {factors: [rerank, sparse], overrides: {pool: 99}, paired: [full, -dense]}\n"
    )
    mine = load(tmp_path, text).configurations["mine"]
    assert mine.overrides == {"top_k": 10, "sparse": True, "dense": False, "rerank": "late", "pool": 99}
    assert mine.factors == ("sparse", "rerank")
    assert mine.pairs == ("full", "-dense")


def test_a_rung_has_exactly_its_factors_and_pairs_with_the_rung_before(tmp_path: Path) -> None:
    text = (
        BASE
        + "ladder:\n- {name: R0, factors: [sparse]}\n- {name: R1, factors: [dense]}\n- {name: R2, factors: [dense, rerank]}\n"
    )
    catalogue = load(tmp_path, text)
    arms = [catalogue.configurations[name] for name in catalogue.experiments["ladder"].arms]
    assert [(arm.name, arm.factors, arm.pairs) for arm in arms] == [
        ("R0", ("sparse",), ()),
        ("R1", ("dense",), ("R0",)),
        ("R2", ("dense", "rerank"), ("R1",)),
    ]
    assert next(iter(catalogue.configurations)) == "R0"


def test_loo_has_full_and_one_arm_without_each_factor_paired_with_full(tmp_path: Path) -> None:
    catalogue = load(tmp_path, BASE)
    assert catalogue.experiments["loo"].arms == ("full", "-sparse", "-dense", "-rerank")
    without = catalogue.configurations["-rerank"]
    assert (without.marker, without.factors, without.pairs) == ("no-rerank", ("sparse", "dense"), ("full",))
    assert without.overrides == {"top_k": 10, "sparse": True, "dense": True, "rerank": "none"}


def test_sta_14_the_factorial_has_every_subset_paired_with_the_empty_one(tmp_path: Path) -> None:
    names = [f"f{index}" for index in range(6)]
    text = f"defaults: {{{', '.join(f'{name}: false' for name in names)}}}\nfactors:\n"
    catalogue = load(tmp_path, text + "".join(f"  {name}: {{{name}: true}}\n" for name in names))
    arms = catalogue.experiments["factorial"].arms
    assert len(arms) == len(set(arms)) == 64
    assert arms[0] == "F:none"
    assert arms[-1] == "F:" + "+".join(names)
    pairs = [catalogue.configurations[arm].pairs for arm in arms]
    assert pairs == [(), *[("F:none",)] * 63]
    for arm in arms:
        on = {name for name, value in catalogue.configurations[arm].overrides.items() if value}
        assert arm == "F:" + ("+".join(name for name in names if name in on) or "none")


def test_beyond_ten_factors_there_is_no_factorial_and_selection_says_why(tmp_path: Path) -> None:
    text = "factors:\n" + "".join(f"  f{index}: {{k{index}: 1}}\n" for index in range(11))
    catalogue = load(tmp_path, text)
    assert list(catalogue.experiments) == ["loo"]
    with pytest.raises(UsageError, match="1 to 10"):
        select(catalogue, ["factorial"])


def test_experiments_are_families_of_their_own_arms(tmp_path: Path) -> None:
    text = BASE + (
        "experiments:\n  routing:\n    arms:\n      plain: {factors: [sparse]}\n"
        "      soft: {factors: [sparse], overrides: {route: soft}, paired: plain}\n"
    )
    catalogue = load(tmp_path, text)
    assert catalogue.experiments["routing"].arms == ("plain", "soft")
    assert catalogue.configurations["soft"].pairs == ("plain",)
    assert catalogue.configurations["soft"].overrides["route"] == "soft"


def test_one_meaning_may_be_declared_twice_and_keeps_all_its_pairs(tmp_path: Path) -> None:
    text = BASE + (
        "ladder:\n- {name: R0, factors: [sparse]}\n- {name: R1, factors: [dense]}\n"
        "configurations:\n  R1: {factors: [dense], paired: full}\n"
    )
    assert load(tmp_path, text).configurations["R1"].pairs == ("R0", "full")


LANES = BASE + "lanes: [sparse, dense]\n"


def test_a_subset_without_a_lane_does_not_search(tmp_path: Path) -> None:
    catalogue = load(tmp_path, LANES)
    silent = [name for name, configuration in catalogue.configurations.items() if not configuration.searches]
    assert silent == ["F:none", "F:rerank"]


@pytest.mark.parametrize(
    ("arm", "searches"),
    [
        ("{}", False),
        ("{factors: [rerank]}", False),
        ("{overrides: {top_k: 20}}", False),
        ("{factors: [dense]}", True),
        ("{overrides: {dense: true}}", True),
        ("{overrides: {dense: hnsw}}", True),
        ("{overrides: {dense: false}}", False),
        ("{factors: [dense], overrides: {dense: hnsw}}", True),
        ("{factors: [dense], overrides: {dense: false}}", False),
        ("{factors: [sparse, dense], overrides: {dense: false}}", True),
    ],
)
def test_a_lane_is_on_by_its_factor_or_by_an_override(tmp_path: Path, arm: str, searches: bool) -> None:
    assert load(tmp_path, f"{LANES}configurations:\n  mine: {arm}\n").configurations["mine"].searches is searches


@pytest.mark.parametrize(
    ("more", "line", "code"),
    [
        ("configurations:\n  mine: {factors: [spares]}\n", 7, "unknown-factor"),
        ("lanes: [sprase]\n", 6, "unknown-factor"),
        ("ladder:\n- {name: R0, factors: [bm25]}\n", 7, "unknown-factor"),
        ("configurations:\n  mine: {paired: ful}\n", 7, "unknown-pair"),
        ("configurations:\n  mine: {paired: mine}\n", 7, "paired-with-itself"),
        ("ladder:\n- {name: R0, factors: [sparse]}\n- {name: R0, factors: [sparse]}\n", 8, "name-twice"),
        ("configurations:\n  full: {factors: [sparse]}\n", 7, "name-with-two-meanings"),
        (
            "ladder:\n- {name: A, factors: [sparse]}\nconfigurations:\n  A: {factors: [dense]}\n",
            9,
            "name-with-two-meanings",
        ),
        ("ladder:\n- {name: ladder, factors: [sparse]}\n", 7, "name-with-two-meanings"),
        ("configurations:\n  loo: {}\n", 7, "name-with-two-meanings"),
        ("experiments:\n  loo: {arms: {a: {}}}\n", 7, "name-taken"),
        ("experiments:\n  e: {arms: {}}\n", 7, "bad-value"),
        ("configurations:\n  F.none: {}\n", 7, "marker-clash"),
        ("configurations:\n  no-rerank: {}\n", 7, "marker-clash"),
        ("configurations:\n  a:b: {}\n  a.b: {}\n", 8, "marker-clash"),
        ("configurations:\n  ../../x: {}\n", 7, "bad-name"),
        ("configurations:\n  a b: {}\n", 7, "bad-name"),
        ("configurations:\n  and: {}\n", 7, "bad-name"),
        ("experiments:\n  e: {arms: {'a,b': {}}}\n", 7, "bad-name"),
        ("configurations:\n  mine: {override: {}}\n", 7, "unknown-field"),
        ("lader: []\n", 6, "unknown-field"),
        ("warm_up: [rerankr]\n", 6, "unknown-override"),
        ("configurations:\n  mine: {overrides: {top-k: 1}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {overrides: {query: x}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {overrides: {a: .nan}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {overrides: {a: 2026-01-05}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {overrides: {a: [{b: 010}]}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {factors: sparse}\n", 7, "wrong-type"),
        ("configurations:\n  mine:\n", 7, "wrong-type"),
        ("configurations:\n  1: {}\n", 7, "non-text-key"),
        ("configurations:\n  mine: &a {}\n  other: *a\n", 7, "alias"),
        ("defaults: {}\n", 6, "duplicate-key"),
        ("'[key]': 1\n", 6, "unknown-field"),
        ("configurations:\n  '[key]': {}\n", 7, "bad-name"),
        ("configurations:\n  mine: {overrides: {'[key]': 1}}\n", 7, "bad-override"),
        ("configurations:\n  mine: {'[key]': 1}\n", 7, "unknown-field"),
    ],
)
def test_conflicts_are_errors_with_their_line(tmp_path: Path, more: str, line: int, code: str) -> None:
    found = problems(tmp_path, BASE + more)
    assert (found[0].line, found[0].code) == (line, code), [str(problem) for problem in found]


def test_two_factors_that_set_one_key_differently_are_refused(tmp_path: Path) -> None:
    problem = only(tmp_path, "factors:\n  a: {mode: x}\n  b: {mode: y}\n")
    assert (problem.line, problem.field, problem.code) == (3, "factors.b.mode", "factor-conflict")
    assert load(tmp_path, "factors:\n  a: {mode: x}\n  b: {mode: x, k: 1}\n").factors == ("a", "b")


@pytest.mark.parametrize("other", ["true", "1.0", "'1'"])
def test_values_that_only_python_takes_for_equal_are_two_values(tmp_path: Path, other: str) -> None:
    assert only(tmp_path, f"factors:\n  a: {{mode: 1}}\n  b: {{mode: {other}}}\n").code == "factor-conflict"


@pytest.mark.parametrize("name", ["skip", "lexical", "T1", "sealed", "ragbench"])
def test_pyt_01_a_name_that_is_another_marker_is_refused(tmp_path: Path, name: str) -> None:
    reserved = {"skip", "lexical", "T1", "sealed", "ragbench"}
    problem = only(tmp_path, f"configurations:\n  {name}: {{}}\n", reserved=reserved)
    assert (problem.line, problem.code) == (2, "marker-clash")


def test_a_marker_form_that_is_another_marker_is_refused(tmp_path: Path) -> None:
    assert only(tmp_path, "configurations:\n  a:b: {}\n", reserved={"a.b"}).code == "marker-clash"


def test_all_conflicts_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = BASE + "warm_up: [nope]\nlanes: [nope]\nconfigurations:\n  mine: {factors: [nope], paired: nope}\n"
    assert [problem.line for problem in problems(tmp_path, text)] == [6, 7, 9, 9]


@pytest.mark.parametrize("text", ["- a\n", "text\n", "a: b: c\n", "a:\n\t- b\n", "{}\n---\n{}\n"])
def test_other_shapes_are_refused(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, text).file.endswith("configs.yaml")


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_catalogue(tmp_path / "nowhere.yaml")


def test_numbers_booleans_and_nested_values_reach_the_overrides_as_they_are(tmp_path: Path) -> None:
    text = "configurations:\n  mine:\n    overrides: {a: 1, b: 1.5, c: 1e-3, d: off, e: ~, f: [1, {g: x}], h: '1'}\n"
    overrides = load(tmp_path, text).configurations["mine"].overrides
    assert overrides == {"a": 1, "b": 1.5, "c": 0.001, "d": False, "e": None, "f": [1, {"g": "x"}], "h": "1"}
    assert type(overrides["f"]) is list


def test_the_digest_knows_the_declarations_and_not_their_layout(tmp_path: Path) -> None:
    one = load(tmp_path, BASE).digest
    assert load(tmp_path, "# reformatted\n" + BASE.replace("{top_k: 10, ", "{ 'top_k': 10,  ")).digest == one
    assert load(tmp_path, BASE.replace("top_k: 10", "top_k: 11")).digest != one
    assert load(tmp_path, BASE + "warm_up: [rerank]\n").digest != one


def test_a_factor_without_an_off_value_is_pointed_out(tmp_path: Path) -> None:
    load(tmp_path, BASE)
    (problem,) = missing_off_values(tmp_path / "configs.yaml")
    assert (problem.line, problem.field, problem.code) == (5, "factors.rerank.pool", "no-off-value")


def test_selection_takes_experiments_and_configurations_by_name_or_marker_each_once(tmp_path: Path) -> None:
    catalogue = load(tmp_path, BASE + "ladder:\n- {name: R0, factors: [sparse]}\n- {name: R1, factors: [dense]}\n")
    chosen = select(catalogue, ["ladder", " no-rerank", "F.none", "R0", "-rerank", ""])
    assert [configuration.name for configuration in chosen.configurations] == ["R0", "R1", "-rerank", "F:none"]
    assert [experiment.name for experiment in chosen.experiments] == ["ladder"]


def test_pyt_01_names_are_matched_whole_and_unknown_ones_get_suggestions(tmp_path: Path) -> None:
    catalogue = load(tmp_path, BASE + "ladder:\n- {name: R0-bm25, factors: [sparse]}\n")
    with pytest.raises(UsageError) as caught:
        select(catalogue, ["R0-bm52", "LADDER", "quite-other", "ladder"])
    said = str(caught.value).splitlines()
    assert "'R0-bm52': did you mean R0-bm25?" in said[0]
    assert "'LADDER': did you mean ladder?" in said[1]
    assert "declared are ladder, loo, factorial, R0-bm25" in said[2]
    with pytest.raises(UsageError, match="unknown configuration or experiment 'R0'"):
        select(catalogue, ["R0"])


@pytest.mark.parametrize("names", [[], ["", " "]])
def test_selecting_nothing_is_a_usage_error(names: list[str]) -> None:
    with pytest.raises(UsageError, match="declared are default"):
        select(load_catalogue(None), names)


def test_an_experiment_may_say_what_it_is_judged_by(tmp_path: Path) -> None:
    text = """
experiments:
  caps:
    judged_by: [recall@k, complete@k]
    guarded_by: hit@1
    arms: {D-off: {}, D-cap2: {overrides: {max_per_file: 2}, paired: D-off}}
  plain:
    arms: {P: {}}
"""
    experiments = load(tmp_path, text).experiments
    assert (experiments["caps"].judged_by, experiments["caps"].guarded_by) == (("recall@k", "complete@k"), ("hit@1",))
    assert (experiments["plain"].judged_by, experiments["plain"].guarded_by) == ((), ())


def test_what_an_experiment_is_judged_by_looks_like_a_metric(tmp_path: Path) -> None:
    text = "experiments: {caps: {judged_by: [Recall at 10], arms: {A: {}}}}\n"
    assert only(tmp_path, text).code == "bad-name"
