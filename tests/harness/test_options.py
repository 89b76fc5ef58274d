"""Options and their values, as pytest reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ragbench.errors import UsageError
from pytest_ragbench.harness import options
from pytest_ragbench.harness.settings import read_settings


@pytest.fixture
def configured(pytester, monkeypatch):
    """Parses a command line in an empty project, with an ini file where one is given."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def parse(*args, ini=""):
        if ini:
            pytester.makeini(f"[pytest]\n{ini}\n")
        return pytester.parseconfig("-p", "no:randomly", *args)

    return parse


def test_the_defaults(configured, pytester):
    settings = read_settings(configured())
    root = pytester.path
    assert (settings.configs, settings.suites, settings.domains, settings.split) == ((), (), (), None)
    assert (settings.limit, settings.k, settings.require, settings.cluster) == (None, 10, "", "file")
    assert (settings.test_looks, settings.unseal, settings.resume) == (None, False, None)
    assert (settings.sets, settings.configs_file) == (root / "golden/sets", root / "golden/configs.yaml")
    assert (settings.baselines, settings.runs_dir) == (root / "baselines", root / ".ragbench/runs")
    assert (settings.tests, settings.corpus, settings.report) == (root / "golden", None, None)


def test_names_are_split_at_commas_and_each_counts_once(configured):
    settings = read_settings(configured("--rag-configs= R0, R1 ,,R0", "--rag-suites=lexical", "--rag-domain=a,b"))
    assert (settings.configs, settings.suites, settings.domains) == (("R0", "R1"), ("lexical",), ("a", "b"))


def test_typed_values_win_over_the_ini_file(configured):
    settings = read_settings(configured("--rag-k=3", ini="rag_k = 7\nrag_limit = 5"))
    assert (settings.k, settings.limit) == (3, 5)


def test_paths_of_the_ini_file_belong_to_it_and_typed_ones_to_the_working_folder(configured, pytester, monkeypatch):
    pytester.makeini("[pytest]\nrag_sets = eval/sets\nrag_corpus = ~/corpus\n")
    deep = pytester.mkdir("deep")
    monkeypatch.chdir(deep)
    settings = read_settings(configured("--rag-runs-dir=runs"))
    assert settings.sets == pytester.path / "eval/sets"
    assert settings.runs_dir == deep / "runs"
    assert settings.corpus == Path("~/corpus").expanduser()


@pytest.mark.parametrize(
    ("typed", "ini", "said"),
    [
        ("--rag-split=tset", "", "dev, test or all"),
        ("--rag-limit=-1", "", "rag_limit = -1"),
        ("--rag-limit=1.5", "", "whole number"),
        ("--rag-k=0", "", "1 or more"),
        ("--rag-k=²", "", "whole number"),
        ("-q", "rag_cluster = book", "file or none"),
        ("-q", "rag_test_looks = many", "rag_test_looks = many"),
        ("-q", "rag_alpha_spending = 2", "on or off"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told(configured, typed, ini, said):
    with pytest.raises(UsageError, match=said):
        read_settings(configured(typed, ini=ini))


@pytest.mark.parametrize(("ini", "wanted"), [("on", True), ("True", True), ("yes", True), ("off", False), ("0", False)])
def test_alpha_is_spent_only_where_the_ini_file_says_so(configured, ini, wanted):
    assert read_settings(configured()).alpha_spending is False
    assert read_settings(configured(ini=f"rag_alpha_spending = {ini}")).alpha_spending is wanted


def test_unsealing_counts_only_when_it_was_typed(configured, monkeypatch):
    assert read_settings(configured("--unseal-test")).unseal is True
    assert read_settings(configured("-q", ini="addopts = --unseal-test")).unseal is False
    monkeypatch.setenv("PYTEST_ADDOPTS", "--unseal-test")
    assert read_settings(configured("-q")).unseal is False


def test_the_bench_sleeps_until_something_asks_for_it(configured, pytester):
    assert not options.wakes(configured())
    assert not options.wakes(configured("-m", "slow"))
    assert not options.wakes(configured("--dist=load", "--tx=2*popen"))
    assert not options.wakes(configured("test_x.py::test[lex-0001]"))
    assert options.wakes(configured("--rag-configs=R0"))
    assert options.wakes(configured("--unseal-test"))
    (pytester.path / "golden" / "sets").mkdir(parents=True)
    assert not options.wakes(configured())
    assert not options.wakes(configured("test_x.py::test"))
    for hint in (("-m", "slow"), ("--dist=load", "--tx=2*popen"), ("--markers",), ("test_x.py::test[lex-0001]",)):
        assert options.wakes(configured(*hint)), hint
    assert options.wakes(configured("-q", ini="rag_k = 5"))


def test_every_setting_has_a_flag_or_an_ini_key(configured):
    config = configured()
    for option in options.OPTIONS:
        assert option.flag or option.ini
        if option.ini:
            assert config.getini(option.dest) is None
        if option.flag:
            assert config.getoption(option.dest) is None
