"""The options and ini keys: their declaration, and whether a session asks for the bench. `settings` reads the values.

Loaded in every pytest run of every project, so it imports nothing and makes no dataclass, which takes milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest


class Option(NamedTuple):
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
    Option("report", "FILE", "write the report to FILE as well: FILE.md is Markdown, FILE.html one page"),
    Option("comment", "FILE", "write the gate's verdict to FILE, as a comment for a pull request"),
    Option("llm", "MODE:FILE", "language model: replay:STORE, record:STORE, live or live:STORE"),
    Option("runs-dir", "DIR", "where run records go (default: .ragbench/runs)"),
    Option("resume", "RUN", "finish an interrupted run: its folder, or `last`", ini=False),
    Option("shard", "I/N", "only the I-th of N parts of the questions; `ragbench merge` joins the parts", ini=False),
    Option("compare", "RUN", "compare with an earlier run at the end: its id, its folder, or `last`"),
    Option("gate", "full|floors|off", "hold every run against floors and baseline, as --rag-gate does", flag=False),
    Option("configs-file", "FILE", "configurations (default: golden/configs.yaml)", flag=False),
    Option("baselines", "DIR", "folder of thresholds, baseline and ledger (default: baselines)", flag=False),
    Option("corpus", "DIR", "folder of the corpus, for `ragbench validate`", flag=False),
    Option("chunks", "FILE", "listing of the pipeline's chunks (JSON lines), for `ragbench validate`", flag=False),
    Option("encoder-limit", "N", "word pieces that its encoder reads of a chunk, for `ragbench validate`", flag=False),
    Option("tests", "DIR", "folder that a --rag-* run narrows collection to (default: golden)", flag=False),
    Option("cluster", "file|none", "resample whole gold files (default), or single questions", flag=False),
    Option("alpha-spending", "on|off", "judge the j-th look at the test split at 6*0.05/(pi*j)^2", flag=False),
    Option("test-looks", "N", "how many openings of the test split are allowed", flag=False),
)


class Switch(NamedTuple):
    """A flag without a value: as an option with an optional value it would swallow the path behind it."""

    flag: str
    dest: str
    value: str
    help: str


SWITCHES = (
    Switch("--rag-gate", "rag_gate", "full", "fail below the floors and on regressions (thresholds.yaml, main.json)"),
    Switch("--rag-gate=floors", "rag_gate", "floors", "fail below the floors alone"),
    Switch("--rag-update-baseline", "rag_update_baseline", "on", "make this run the baseline; counts only when typed"),
    Switch("--rag-force", "rag_force", "on", "let --rag-update-baseline keep a partial or errored run"),
)


def add(parser: pytest.Parser) -> None:
    """Declare every option and ini key."""
    group = parser.getgroup("ragbench", "measure a RAG pipeline")
    for option in OPTIONS:
        if option.flag:
            group.addoption(f"--rag-{option.name}", dest=option.dest, metavar=option.metavar, help=option.help)
        if option.ini:
            parser.addini(option.dest, option.help, default=None)
    for flag, dest, value, text in SWITCHES:
        group.addoption(flag, dest=dest, action="store_const", const=value, default=None, help=text)
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
    dests = dict.fromkeys([option.dest for option in OPTIONS if option.flag] + [switch.dest for switch in SWITCHES])
    values = ((dest, config.getoption(dest, None)) for dest in dests)
    return {name: str(value) for name, value in values if value is not None}


def ini_values(config: pytest.Config) -> dict[str, str]:
    """The `rag_*` ini keys that are set, by name."""
    values = ((option.dest, config.getini(option.dest)) for option in OPTIONS if option.ini)
    return {name: str(value) for name, value in values if value is not None}


def asked(config: pytest.Config) -> bool:
    """Whether an option has a value, on the command line or in `addopts`, so that sets and configurations are read."""
    return bool(typed_options(config)) or bool(config.getoption("rag_unseal_test", default=False))


def typed_here(config: pytest.Config) -> bool:
    """Whether a bench option stands on the command line itself; one in `addopts` is a setting, and selects nothing."""
    return any(arg == "--unseal-test" or arg.startswith("--rag-") for arg in map(str, config.invocation_params.args))


def typed_ids(config: pytest.Config) -> tuple[str, ...]:
    """The node ids of single parameters that were typed in place of paths."""
    typed = map(str, config.getoption("file_or_dir", default=None) or ())
    return tuple(argument for argument in typed if "::" in argument and "[" in argument)


def has_sets(config: pytest.Config) -> bool:
    """Whether the folder of question sets exists."""
    from pytest_ragbench.errors import UsageError
    from pytest_ragbench.harness.settings import read_settings

    try:
        return read_settings(config).sets.exists()
    except UsageError:
        return True


def wakes(config: pytest.Config) -> bool:
    """Whether sets and configurations are to be read before collection.

    An option or ini key asks for it. So do, where there are sets: `--markers`; `-m` and node ids, which may name a
    configuration or a question; and being an xdist controller, which never sees the tests.
    """
    if asked(config) or ini_values(config):
        return True
    hinted = config.getoption("markexpr", default="") or config.getoption("markers", default=False)
    return bool(hinted or typed_ids(config) or is_controller(config)) and has_sets(config)


def measures_nothing(config: pytest.Config) -> bool:
    """Whether this session only shows what it would run."""
    return any(
        config.getoption(name, default=False) for name in ("collectonly", "setupplan", "showfixtures", "markers")
    )
