"""How a probe is started: the command, the environment that isolates it, and what its processes said of themselves."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pytest_ragbench.bisection.model import UnscorableError
from pytest_ragbench.bisection.probing import ragbench_probe
from pytest_ragbench.bisection.repository import git_free

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = Path(__file__).resolve().parents[1]
PROBING = Path(ragbench_probe.__file__).resolve().parent

_SPOKEN_TO_ANOTHER = ("GITHUB_STEP_SUMMARY", "PYTHONSAFEPATH")


class Isolation:
    """What keeps the user's own tree out of a probe, the same for every probe of a bisect.

    Attributes:
        trees: The user's working trees, real paths, the longest first.
    """

    def __init__(self, trees: Sequence[Path], folder: Path) -> None:
        self.trees = tuple(sorted(map(str, trees), key=len, reverse=True))
        self._folder = folder
        self._copies, self._sources = _installed_from(self.trees)

    def environment(self, tree: Path, scratch: Path, reports: Path, shared: Sequence[Path]) -> dict[str, str]:
        """The environment of a probe.

        Args:
            tree: Its worktree.
            scratch: Where its temporary files go.
            reports: A folder, in which each process says what it loaded; the probe's description goes there too.
            shared: Real paths of the user's tree that the commit is given on purpose.
        """
        probe = ragbench_probe.Probe(self.trees, str(tree), str(PACKAGE), tuple(map(str, shared)), frozenset())
        told = probe._asdict() | {"copies": sorted(self._copies)}
        file = reports / "probe.description"
        file.write_text(json.dumps(told), encoding="utf-8")
        here = probe.counterpart(str(self._folder)) or str(tree)
        typed = [str(self._folder / entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        installed = [tree / source for source in self._sources]
        path = [str(PROBING), here, str(tree), *(probe.counterpart(entry) or entry for entry in typed)]
        path += [str(folder) for folder in installed if folder.is_dir()]
        kept = {name: value for name, value in git_free().items() if name not in _SPOKEN_TO_ANOTHER}
        return kept | {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
            "TMPDIR": str(scratch),
            ragbench_probe.ENVIRONMENT: str(file),
        }


def command(arguments: Sequence[str]) -> list[str]:
    """The command of a probe: this Python, without the working directory in front of the path."""
    return [sys.executable, "-P", "-m", "pytest", "-p", ragbench_probe.__name__.rpartition(".")[2], *arguments]


def check_isolated(reports: Path) -> None:
    """Hold against a finished probe what its processes said.

    Raises:
        UnscorableError: One was not isolated, loaded a module that is not the commit's, or loaded none of the commit's.
    """
    told = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(reports.glob("*.json"))]
    if not told or not all(report["isolated"] for report in told):
        raise UnscorableError("the probe did not say what it loaded, so it may have run other code than the commit's")
    strays = sorted({(name, file) for report in told for name, file in report["strays"]})
    if strays:
        name, file = strays[0]
        more = f", and {len(strays) - 1} more" if len(strays) > 1 else ""
        raise UnscorableError(f"not the commit's code: module {name} was loaded from {file}{more}")
    if not any(report["own"] for report in told):
        raise UnscorableError("not the commit's code: no module at all was loaded from its worktree")


def _installed_from(trees: Sequence[str]) -> tuple[set[str], list[str]]:
    """Files of distributions that were copied out of a tree when installed, and where in a tree their source may lie.

    An editable install needs none of this: what it finds in the tree is redirected.
    """
    copies: set[str] = set()
    sources: list[str] = []
    for distribution in distributions():
        place = _local_source(distribution.read_text("direct_url.json"))
        tree = next((tree for tree in trees if place is not None and ragbench_probe.within(place, tree)), None)
        if place is None or tree is None:
            continue
        found = {os.path.realpath(str(distribution.locate_file(file))) for file in distribution.files or ()}
        copies.update(file for file in found if file.endswith((".py", ".so", ".pyd")))
        below = os.path.relpath(place, tree) if Path(place).is_dir() else "."
        sources += [below, str(Path(below) / "src")]
    return {file for file in copies if not ragbench_probe.within(file, str(PACKAGE))}, list(dict.fromkeys(sources))


def _local_source(direct_url: str | None) -> str | None:
    """The file or folder that a distribution was installed from, by PEP 610; None for an editable install."""
    try:
        told = json.loads(direct_url or "null")
        url = urlsplit(told["url"])
        editable = told.get("dir_info", {}).get("editable", False)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return os.path.realpath(unquote(url.path)) if url.scheme == "file" and not editable else None
