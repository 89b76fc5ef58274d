"""Workers on other machines: what they need to find the project there, said before any starts.

A worker that cannot read the sets ends while it starts, and xdist puts another in its place, again and again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError
from pytest_ragbench.harness import options

if TYPE_CHECKING:
    import pytest

LOCAL_ONLY = ("rag_sets", "rag_resume", "rag_llm")
"""Options whose path a worker would look for from another folder."""

OTHERWISE = "or run --rag-shard=I/N on each machine and join the records with `ragbench merge`"


def check_remote(config: pytest.Config) -> None:
    """Refuse remote workers that could not find the project.

    Raises:
        UsageError: The tests are not named by an absolute path, or an option names a file of this machine.
    """
    from xdist.workermanage import parse_tx_spec_config

    specs = parse_tx_spec_config(config)
    if all(spec.partition("//")[0] == "popen" and "chdir=" not in spec for spec in specs):
        return
    typed = [name for name in LOCAL_ONLY if name in options.typed_options(config)]
    if typed:
        flag = f"--{typed[0].replace('_', '-')}"
        raise UsageError(f"{flag} names a file of this machine, and these workers run elsewhere; {OTHERWISE}")
    if not config.getoption("file_or_dir", default=None):
        raise UsageError(
            f"workers on other machines need the absolute path of the tests, below a folder that --rsyncdir=FOLDER "
            f"copies to them; {OTHERWISE}"
        )
    for argument in map(str, config.invocation_params.args):
        path = Path(argument.partition("::")[0])
        if argument and not path.is_absolute() and path.exists():
            raise UsageError(
                f"{argument}: for workers on other machines, type paths in full, and an option's value with `=` "
                f"(--rsyncdir=FOLDER); {OTHERWISE}"
            )
