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


def test_an_editable_install_by_a_finder_does_not_leak(toy, installed):
    toy.answers(GOOD, BAD)
    (toy.folder / "src/toy/__init__.py").write_text("raise RuntimeError('the tree as it is now')\n")
    (installed / "toy_finder.py").write_text(FINDER.format(package=str(toy.folder / "src" / "toy")))
    (installed / "toy.pth").write_text("import toy_finder; toy_finder.install()\n")
    assert toy.bisect().status == 1


def test_a_copy_that_was_installed_from_the_tree_does_not_stand_in_for_the_commit(toy, installed):
    toy.answers(GOOD, BAD)
    package, about = installed / "toy", installed / "toy-1.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the copy')\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (about / "RECORD").write_text("toy/__init__.py,,\ntoy-1.dist-info/METADATA,,\n")
    (about / "direct_url.json").write_text(json.dumps({"url": toy.folder.as_uri(), "dir_info": {}}))
    assert toy.bisect().status == 1
    # Where no commit has the module, the copy is imported, and the probe says so.
    (package / "__init__.py").write_text(f"def search(query):\n    return {GOOD}\n")
    toy.git("mv", "src/toy", "src/other")
    toy.git("commit", "-qm", "moved")
    toy.history_after({"README": "later"})
    found = toy.bisect(good="HEAD~1")
    assert found.status == 4
    assert f"not the commit's code: module toy was loaded from {package / '__init__.py'}" in found.err


def test_a_module_that_only_the_users_tree_has_is_none_of_the_commits(toy):
    toy.history({}, {"conftest.py": "import later\nfrom toy import search\n"})
    (toy.folder / "src" / "later.py").write_text("")
    found = toy.bisect("--json")
    assert (found.status, found.json["answer"]) == (2, "could not be scored")
    assert "No module named 'later'" in found.json["bad"]["reason"]


def test_a_module_that_was_loaded_past_every_finder_is_named(toy):
    toy.history(
        {
            "conftest.py": (
                "import importlib.util, pytest, sys\n"
                f"spec = importlib.util.spec_from_file_location('helper', {str(toy.folder / 'helper.py')!r})\n"
                "module = sys.modules['helper'] = importlib.util.module_from_spec(spec)\n"
                "spec.loader.exec_module(module)\n\n"
                "@pytest.fixture(scope='session')\ndef rag_pipeline():\n    return module.search\n"
            ),
            "helper.py": f"def search(query):\n    return {GOOD}\n",
        },
        {"helper.py": f"def search(query):\n    return {BAD}\n"},
    )
    found = toy.bisect()
    assert found.status == 4
    assert f"not the commit's code: module helper was loaded from {toy.folder / 'helper.py'}" in found.err


def test_a_plugin_of_the_same_name_in_the_commit_does_not_measure(toy):
    names = ("__init__", "plugin", "cli")
    files = {f"pytest_ragbench/{name}.py": "raise RuntimeError('the plugin of the commit')\n" for name in names}
    toy.history(files, {"src/toy/__init__.py": f"def search(query):\n    return {BAD}\n"})
    assert toy.bisect(" -- -p no:cacheprovider").status == 1


def test_workers_of_xdist_run_the_commits_code_too(toy, installed, tmp_path):
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
    told = [json.loads(file.read_text()) for file in tmp_path.glob("kept/01-*/processes/*.json")]
    assert len(told) == 3  # two workers and who distributes
    assert all(report["isolated"] and not report["strays"] for report in told)
    assert all("helpers" in report["own"] for report in told)
    assert any("toy" in report["own"] for report in told)


def test_a_process_that_the_pipeline_starts_runs_the_commits_code(toy, installed):
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
    (toy.folder / "src/toy/rank.py").write_text("raise RuntimeError('the tree as it is now')\n")
    assert toy.bisect().status == 1


def test_what_git_exports_to_a_hook_does_not_lead_a_bisect_elsewhere(toy, tmp_path, monkeypatch):
    toy.answers(GOOD, BAD)
    command, environment = toy.command(), toy.environment
    other = tmp_path / "other"
    toy.git("init", "-q", str(other))
    environment |= {"GIT_DIR": str(other / ".git"), "GIT_INDEX_FILE": str(other / ".git" / "index")}
    said = subprocess.run(command, cwd=toy.folder, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 1, said.stderr


def test_the_folder_on_the_path_of_a_probe_holds_two_modules_and_hides_no_sitecustomize(toy, tmp_path):
    from pytest_ragbench.bisection.environment import PROBING

    assert sorted(file.stem for file in PROBING.glob("*.py")) == ["__init__", "ragbench_probe", "sitecustomize"]
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys; sys.hidden = 'ran'\n")
    path = os.pathsep.join([str(PROBING), str(tmp_path / "site")])
    command = [sys.executable, "-c", "import sys; print(sys.hidden)"]
    said = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert said.stdout == "ran\n"
