"""The options and ini keys: their declaration, and one typed view of what a session was asked for.

Loaded in every pytest run of every project, so it imports nothing beyond pytest and the standard library's lightest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    import pytest


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: its flag on the command line, its ini twin, and what it means."""

    name: str
    metavar: str
    help: str
    flag: bool = True
    ini: bool = True

    @property
    def dest(self) -> str:
        """Name of the attribute and of the ini key."""
        return "rag_" + self.name.replace("-", "_")


OPTIONS = (
    Option("configs", "NAMES", "configurations and experiments to run, comma-separated"),
    Option("suites", "NAMES", "only questions of these suites, comma-separated"),
    Option("domain", "NAMES", "only questions of these domains, comma-separated"),
    Option("split", "dev|test|all", "which split to run (default: dev); test and all need --unseal-test"),
    Option("limit", "N", "only the first N questions by id"),
    Option("sets", "PATH", "folder of question sets (default: golden/sets)"),
    Option("k", "K", "evaluation depth of the ranking (default: 10)"),
    Option("require", "RULES", "fail items below these, comma-separated: hit@10 or ndcg@10>=0.5"),
    Option("report", "FILE", "write the Markdown report to FILE as well"),
    Option("runs-dir", "DIR", "where run records go (default: .ragbench/runs)"),
    Option("resume", "RUN", "finish an interrupted run: its folder, or `last`", ini=False),
    Option("configs-file", "FILE", "configurations (default: golden/configs.yaml)", flag=False),
    Option("baselines", "DIR", "folder of baselines and of the test split's ledger (default: baselines)", flag=False),
    Option("corpus", "DIR", "folder of the corpus, for `ragbench validate`", flag=False),
    Option("tests", "DIR", "folder that a --rag-* run narrows collection to (default: golden)", flag=False),
    Option("cluster", "file|none", "resample whole gold files (default), or single questions", flag=False),
    Option("test-looks", "N", "how many openings of the test split are allowed", flag=False),
)


def add(parser: pytest.Parser) -> None:
    """Declare every option and ini key."""
    group = parser.getgroup("ragbench", "measure a RAG pipeline")
    for option in OPTIONS:
        if option.flag:
            group.addoption(f"--rag-{option.name}", dest=option.dest, metavar=option.metavar, help=option.help)
        if option.ini:
            parser.addini(option.dest, option.help, default=None)
    group.addoption(
        "--unseal-test",
        dest="rag_unseal_test",
        action="store_true",
        help="open the sealed test split; counts only when typed, and every opening is recorded",
    )


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Whether this process distributes tests to xdist workers and collects none itself."""
    distributing = config.getoption("dist", default="no") != "no" and bool(config.getoption("tx", default=None))
    return distributing and not is_worker(config) and not config.getoption("collectonly", default=False)


def typed_options(config: pytest.Config) -> dict[str, str]:
    """The `--rag-*` options that have a value, by attribute name."""
    values = ((option.dest, config.getoption(option.dest, None)) for option in OPTIONS if option.flag)
    return {name: str(value) for name, value in values if value is not None}


def ini_values(config: pytest.Config) -> dict[str, str]:
    """The `rag_*` ini keys that are set, by name."""
    values = ((option.dest, config.getini(option.dest)) for option in OPTIONS if option.ini)
    return {name: str(value) for name, value in values if value is not None}


def asked(config: pytest.Config) -> bool:
    """Whether an option asks for the bench, so that a mistake in it must end the session."""
    return bool(typed_options(config)) or bool(config.getoption("rag_unseal_test", default=False))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a session was asked for: options over ini keys over defaults, paths made absolute.

    A path typed on the command line is relative to where it was typed; one in the ini file is relative to that file.
    """

    configs: tuple[str, ...]
    suites: tuple[str, ...]
    domains: tuple[str, ...]
    split: str | None
    limit: int | None
    k: int
    require: str
    cluster: str
    test_looks: int | None
    unseal: bool
    resume: str | None
    sets: Path
    configs_file: Path
    baselines: Path
    corpus: Path | None
    runs_dir: Path
    tests: Path
    report: Path | None
    root: Path


def settings(config: pytest.Config) -> Settings:
    """Read the settings of a session.

    Raises:
        UsageError: A value is not of its kind.
    """
    typed, ini = typed_options(config), ini_values(config)
    merged = ini | typed
    ini_root = config.inipath.parent if config.inipath else config.rootpath

    def path(name: str, default: str) -> Path:
        if name in typed:
            return _absolute(Path(config.invocation_params.dir), typed[name])
        return _absolute(ini_root, ini[name]) if name in ini else config.rootpath / default

    split = merged.get("rag_split")
    if split not in (None, "dev", "test", "all"):
        raise UsageError(f"--rag-split={split}: it is dev, test or all")
    cluster = merged.get("rag_cluster", "file")
    if cluster not in ("file", "none"):
        raise UsageError(f"rag_cluster = {cluster}: it is file or none")
    return Settings(
        configs=_names(merged.get("rag_configs")),
        suites=_names(merged.get("rag_suites")),
        domains=_names(merged.get("rag_domain")),
        split=split,
        limit=_whole(merged, "rag_limit", 1),
        k=_whole(merged, "rag_k", 1) or 10,
        require=merged.get("rag_require", ""),
        cluster=cluster,
        test_looks=_whole(merged, "rag_test_looks", 0),
        unseal="--unseal-test" in map(str, config.invocation_params.args),
        resume=typed.get("rag_resume"),
        sets=path("rag_sets", "golden/sets"),
        configs_file=path("rag_configs_file", "golden/configs.yaml"),
        baselines=path("rag_baselines", "baselines"),
        corpus=path("rag_corpus", "") if "rag_corpus" in merged else None,
        runs_dir=path("rag_runs_dir", ".ragbench/runs"),
        tests=path("rag_tests", "golden"),
        report=path("rag_report", "") if "rag_report" in merged else None,
        root=config.rootpath,
    )


def _absolute(base: Path, text: str) -> Path:
    return (base / Path(text).expanduser()).absolute()


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


def _whole(values: dict[str, Any], name: str, least: int) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not str(text).strip().isdecimal() or int(text) < least:
        raise UsageError(f"{name} = {text}: it is a whole number, {least} or more")
    return int(text)


def has_sets(config: pytest.Config) -> bool:
    """Whether the folder of question sets exists."""
    try:
        return settings(config).sets.exists()
    except UsageError:
        return True


def wakes(config: pytest.Config) -> bool:
    """Whether sets and configurations are to be read before collection.

    An option or ini key asks for it. So do `--markers`, and `-m`, which may name a configuration, and being an xdist
    controller, which never sees the tests; these three only where there are sets.
    """
    if asked(config) or ini_values(config):
        return True
    hinted = config.getoption("markexpr", default="") or config.getoption("markers", default=False)
    return bool(hinted or is_controller(config)) and has_sets(config)


def measures_nothing(config: pytest.Config) -> bool:
    """Whether this session only shows what it would run."""
    return any(
        config.getoption(name, default=False) for name in ("collectonly", "setupplan", "showfixtures", "markers")
    )
