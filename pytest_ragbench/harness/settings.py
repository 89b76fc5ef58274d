"""One typed view of what a session was asked for: options over ini keys over defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ragbench.errors import UsageError
from pytest_ragbench.harness import options
from pytest_ragbench.llm.opening import split_mode
from pytest_ragbench.questions.shards import Shard, parse_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest


_SWITCH = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}

GATE_MODES = {"full": "full", "floors": "floors", "off": None, "": None}


class LlmSetting(NamedTuple):
    """Where completions come from.

    Attributes:
        mode: `replay`, `record` or `live`.
        store: The store; None for a live model whose answers are not kept.
    """

    mode: str
    store: Path | None


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
    alpha_spending: bool
    unseal: bool
    resume: str | None
    shard: Shard | None
    compare: str | None
    gate: str | None
    comment: Path | None
    update_baseline: bool
    force: bool
    sets: Path
    configs_file: Path
    baselines: Path
    corpus: Path | None
    runs_dir: Path
    tests: Path
    report: Path | None
    llm: LlmSetting | None
    root: Path

    def shown(self, path: Path) -> str:
        """A path as the user would type it from the root."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()


def read_settings(config: pytest.Config) -> Settings:
    """Read the settings of a session.

    Raises:
        UsageError: A value is not of its kind.
    """
    typed, ini = options.typed_options(config), options.ini_values(config)
    merged = ini | typed
    ini_root = config.inipath.parent if config.inipath else config.rootpath

    def path_of(name: str, text: str) -> Path:
        return _absolute(Path(config.invocation_params.dir) if name in typed else ini_root, text)

    def path(name: str, default: str) -> Path:
        return path_of(name, merged[name]) if name in merged else config.rootpath / default

    split = merged.get("rag_split")
    if split not in (None, "dev", "test", "all"):
        raise UsageError(f"--rag-split={split}: it is dev, test or all")
    cluster = merged.get("rag_cluster", "file")
    if cluster not in ("file", "none"):
        raise UsageError(f"rag_cluster = {cluster}: it is file or none")
    if "rag_configs_file" in merged and not path("rag_configs_file", "").is_file():
        raise UsageError(f"rag_configs_file = {merged['rag_configs_file']}: there is no such file")
    gate = merged.get("rag_gate", "off").strip()
    if gate not in GATE_MODES:
        raise UsageError(f"rag_gate = {gate}: it is full, floors or off")
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
        alpha_spending=_switch(merged, "rag_alpha_spending"),
        unseal="--unseal-test" in map(str, config.invocation_params.args),
        resume=typed.get("rag_resume"),
        shard=_shard(typed.get("rag_shard")),
        compare=merged.get("rag_compare"),
        gate=GATE_MODES[gate],
        comment=path("rag_comment", "") if "rag_comment" in merged else None,
        update_baseline="rag_update_baseline" in typed,
        force="rag_force" in typed,
        sets=path("rag_sets", "golden/sets"),
        configs_file=path("rag_configs_file", "golden/configs.yaml"),
        baselines=path("rag_baselines", "baselines"),
        corpus=path("rag_corpus", "") if "rag_corpus" in merged else None,
        runs_dir=path("rag_runs_dir", ".ragbench/runs"),
        tests=path("rag_tests", "golden"),
        report=path("rag_report", "") if "rag_report" in merged else None,
        llm=_llm(merged["rag_llm"], path_of) if "rag_llm" in merged else None,
        root=config.rootpath,
    )


def _llm(text: str, path: Callable[[str, str], Path]) -> LlmSetting:
    """`replay:FILE`, `record:FILE`, `live` or `live:FILE`."""
    mode, file = split_mode(text, "--rag-llm")
    return LlmSetting(mode, path("rag_llm", file) if file else None)


def _shard(text: str | None) -> Shard | None:
    if text is None:
        return None
    shard = parse_shard(text)
    if shard is None:
        raise UsageError(f"--rag-shard={text}: it is I/N, the I-th of N parts, as 1/3, 2/3 and 3/3")
    return shard


def _absolute(base: Path, text: str) -> Path:
    try:
        return (base / Path(text).expanduser()).absolute()
    except RuntimeError as error:  # `~name` of nobody
        raise UsageError(f"{text}: {error}") from error


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in (text or "").split(",") if (name := part.strip())))


def _switch(values: Mapping[str, str], name: str) -> bool:
    text = values.get(name, "off").strip().lower()
    if text not in _SWITCH:
        raise UsageError(f"{name} = {values[name]}: it is on or off")
    return _SWITCH[text]


def _whole(values: Mapping[str, str], name: str, least: int) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < least:
        raise UsageError(f"{name} = {text}: it is a whole number, {least} or more")
    return int(text)
