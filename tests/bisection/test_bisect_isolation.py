"""Each probe runs its commit's code, whatever is installed; the running plugin measures, whatever the commit holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_ragbench

GOOD = '[f"g{query[1:]}.md", "x.md"]'
BAD = '["x.md", f"g{query[1:]}.md"]'

CONFTEST = """
import pytest
from toy import search


@pytest.fixture(scope="session")
def rag_pipeline():
    return search
"""

PAST_EVERY_FINDER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("helper", {file!r})
sys.modules["helper"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["helper"])
"""

FINDER = """
import importlib.util, pathlib, sys

MAPPING = {{"toy": {package!r}}}


class EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        place = MAPPING.get(name)
        if place is None:
            return None
        return importlib.util.spec_from_file_location(name, pathlib.Path(place) / "__init__.py", submodule_search_locations=[place])


def install():
    sys.meta_path.append(EditableFinder)
"""


def search(answer):
    """The source of the toy's retriever."""
    return f"def search(query, **overrides):\n    return {answer}\n"


@pytest.fixture
def installed(toy):
    """Give the toy an environment in its own tree, which has what this one has; the folder of what is installed there."""
    folder = toy.folder / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    package = Path(pytest_ragbench.__file__).parent.parent
    places = [str(package), *(entry for entry in sys.path if entry.endswith("site-packages"))]
    (site / "here.pth").write_text("\n".join(places) + "\n")
    toy.python, toy.path = str(folder / "bin" / "python"), ""
    said = subprocess.run([toy.python, "-c", "import toy"], env=toy.environment, capture_output=True, check=False)
    assert b"No module named 'toy'" in said.stderr
    return site


def imported(toy):
    """Where the toy comes from in the user's own Python."""
    command = [toy.python, "-P", "-c", "import toy; print(toy.__file__)"]
    return subprocess.run(command, env=toy.environment, capture_output=True, text=True, check=True).stdout.strip()


def test_64_commits_take_eight_probes_from_a_dirty_tree_with_an_editable_install(toy, installed):
    answers = [*[GOOD] * 44, *[BAD] * 20]
    for at in (12, 13, 20, 21, 50):  # commits that cannot be scored, which the search happens to pass by
        answers[at - 1] = "1 / 0"
    toy.answers(*answers)
    (installed / "_toy.pth").write_text(f"{toy.folder / 'src'}\n")
    (toy.folder / "src/toy/__init__.py").write_text("raise RuntimeError('the tree as it is now')\n")
    (toy.folder / "new.py").write_text("untracked\n")
    toy.git("add", "src")
    found = toy.bisect("--json")
    assert (found.status, found.json["first_bad"]["subject"]) == (1, "commit 45")
    assert len(found.probes) == len(found.json["probes"]) == 2 + 6  # 63 commits after the good end
    assert len({probe["sha"] for probe in found.json["probes"]}) == 8
    assert found.json["uncommitted_changes"] is True
    assert "note: the working tree has uncommitted changes, which are not measured" in found.err


def test_code_that_is_not_the_commits_own_is_found_out_however_it_got_in(toy, installed):
    pipeline = "src/toy/__init__.py"
    plugin = {
        f"pytest_ragbench/{name}.py": "raise RuntimeError('the plugin of the commit')\n" for name in ("__init__", "cli")
    }
    toy.history(
        plugin | {pipeline: search(GOOD)},
        {"conftest.py": "import later\n" + CONFTEST},
        {"conftest.py": PAST_EVERY_FINDER.format(file=str(toy.folder / "helper.py")) + CONFTEST},
        {"conftest.py": CONFTEST},
    )
    toy.git("mv", "src/toy", "src/other")
    toy.git("commit", "-qm", "moved away")
    toy.git("mv", "src/other", "src/toy")
    toy.history_after({pipeline: search(BAD)})
    for name in ("src/later.py", "helper.py"):  # in the user's tree alone
        (toy.folder / name).write_text("")
    copy = installed / "toy" / "__init__.py"
    install_copy(toy, installed, search(GOOD))
    found = toy.bisect(f"--good {toy.commits()[0]} --skip-unscorable --json")
    reasons = {probe["subject"]: probe["reason"] for probe in found.json["probes"]}
    assert "No module named 'later'" in reasons["commit 2"]
    assert reasons["commit 3"] == f"not the commit's code: module helper was loaded from {toy.folder / 'helper.py'}"
    assert reasons["moved away"] == f"not the commit's code: module toy was loaded from {copy}"
    # Where a commit has the module itself, the copy, the plugin of that name and the user's tree stand back.
    scored = {probe["subject"]: probe["value"] for probe in found.json["probes"] if probe["reason"] is None}
    assert scored == {"commit 1": 1.0, "commit 4": 1.0, "one more": 0.5}


def install_copy(toy, site, text):
    """Install the toy as `pip install PATH` does."""
    package, about = site / "toy", site / "toy-1.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text(text)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (about / "RECORD").write_text("toy/__init__.py,,\ntoy-1.dist-info/METADATA,,\n")
    (about / "direct_url.json").write_text(json.dumps({"url": toy.folder.as_uri(), "dir_info": {}}))


def test_workers_of_xdist_run_the_commits_code_too_and_records_are_kept_where_asked(toy, installed, tmp_path):
    fixture = "import pytest\n\n\n@pytest.fixture(scope='session')\ndef rag_pipeline():\n"
    fixture += "    from toy import search\n    return search\n"
    toy.history(
        {"conftest.py": "pytest_plugins = ['helpers']\n", "src/helpers.py": fixture},
        {"src/toy/__init__.py": f"def search(query):\n    return {BAD}\n"},
    )
    (installed / "_toy.pth").write_text(f"{toy.folder / 'src'}\n")
    for name in ("toy/__init__.py", "helpers.py"):
        (toy.folder / "src" / name).write_text("raise RuntimeError('the tree as it is now')\n")
    assert toy.bisect(f"--keep {tmp_path / 'kept'} -- -n2").status == 1
    good, bad = toy.commits()
    assert sorted(folder.name for folder in (tmp_path / "kept").iterdir()) == [f"01-{bad[:10]}", f"02-{good[:10]}"]
    (run,) = tmp_path.glob("kept/01-*/runs/*/run.json")
    assert json.loads(run.read_text())["git"] == {"sha": bad, "dirty": False}
    told = [json.loads(file.read_text()) for file in tmp_path.glob("kept/01-*/processes/*.json")]
    assert len(told) == 3  # two workers and who distributes
    assert all(report["isolated"] and not report["strays"] for report in told)
    assert all("helpers" in report["own"] for report in told)
    assert any("toy" in report["own"] for report in told)


def test_an_editable_install_by_a_finder_leaks_neither_into_a_probe_nor_into_what_its_pipeline_starts(toy, installed):
    starts = (
        "import json, subprocess, sys\n\n\ndef search(query):\n"
        "    told = subprocess.run([sys.executable, '-c', f'from toy.rank import rank; print(rank({query!r}))'],\n"
        "                          capture_output=True, text=True, check=True)\n"
        "    return json.loads(told.stdout.replace(chr(39), chr(34)))\n"
    )
    rank = "def rank(query):\n    return {}\n"
    toy.history(
        {"src/toy/__init__.py": starts, "src/toy/rank.py": rank.format(GOOD)}, {"src/toy/rank.py": rank.format(BAD)}
    )
    (installed / "toy_finder.py").write_text(FINDER.format(package=str(toy.folder / "src" / "toy")))
    (installed / "toy.pth").write_text("import toy_finder; toy_finder.install()\n")
    for name in ("__init__", "rank"):
        (toy.folder / f"src/toy/{name}.py").write_text("raise RuntimeError('the tree as it is now')\n")
    assert toy.bisect().status == 1


def test_the_folder_on_the_path_of_a_probe_holds_two_modules_and_hides_no_sitecustomize(toy, tmp_path):
    from pytest_ragbench.bisection.environment import PROBING

    assert sorted(file.stem for file in PROBING.glob("*.py")) == ["__init__", "ragbench_probe", "sitecustomize"]
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys; sys.hidden = 'ran'\n")
    path = os.pathsep.join([str(PROBING), str(tmp_path / "site")])
    command = [sys.executable, "-c", "import sys; print(sys.hidden)"]
    said = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert said.stdout == "ran\n"
