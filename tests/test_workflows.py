"""The workflows for GitHub: what they may do, and the script that posts the comment, against an API on this machine."""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from pytest_ragbench.reports.comment import marker

FOLDER = Path(__file__).parents[1] / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))}
SHA = "b" * 40


def steps(name):
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_script_has_a_foreign_value_written_into_it(name):
    # A branch may be named `$(curl …)`: values reach scripts through the environment alone.
    assert not [step for step in steps(name) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_workflow_runs_a_pull_requests_code_with_a_right_to_write(name):
    workflow = WORKFLOWS[name]
    events = workflow[True]  # YAML reads the key `on` as a boolean
    assert "pull_request_target" not in events
    rights = [
        workflow["permissions"],
        *(job["permissions"] for job in workflow["jobs"].values() if "permissions" in job),
    ]
    writes = any(right == "write" for granted in rights for right in granted.values())
    checks_out = any("checkout" in step.get("uses", "") for step in steps(name))
    assert not (writes and checks_out)
    assert "secrets." not in (FOLDER / f"{name}.yml").read_text(encoding="utf-8")


class GitHub(ThreadingHTTPServer):
    """The part of the API that the script uses: pulls by head, comments of an issue, paged by 100."""

    def __init__(self, comments=(), head=SHA):
        self.comments = [dict(comment, id=number) for number, comment in enumerate(comments, start=1)]
        self.pulls = [{"number": 7, "head": {"sha": head}}]
        self.asked = []
        super().__init__(("127.0.0.1", 0), Api)


class Api(BaseHTTPRequestHandler):
    def _answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def do_GET(self):
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.server.asked.append((url.path, query))
        page, size = int(query["page"][0]), int(query["per_page"][0])
        found = self.server.pulls if url.path.endswith("/pulls") else self.server.comments
        self._answer(found[(page - 1) * size : page * size])

    def do_POST(self):
        comment = {"id": len(self.server.comments) + 1, "user": {"login": "github-actions[bot]"}, "body": self._body()}
        self.server.comments.append(comment)
        self._answer(comment, 201)

    def do_PATCH(self):
        number = int(self.path.rpartition("/")[2])
        (comment,) = (one for one in self.server.comments if one["id"] == number)
        comment["body"] = self._body()
        self._answer(comment)

    def log_message(self, *_):
        pass


@pytest.fixture
def post(tmp_path):
    """`post(server, text)`: the workflow's own script, run as a runner would."""
    (script,) = (step["run"] for step in steps("comment") if step.get("shell") == "python")

    def run(server, text):
        folder = tmp_path / "ragbench-gate" / "ragbench-gate"
        folder.mkdir(parents=True, exist_ok=True)
        if text is not None:
            (folder / "comment.md").write_text(text, encoding="utf-8")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            **os.environ,
            "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_TOKEN": "t",
            "HEAD_SHA": SHA,
            "HEAD": "fork:a branch/#1&x",
        }
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        server.shutdown()
        server.server_close()
        return done

    return run


def comment(body, login="github-actions[bot]"):
    return {"user": {"login": login}, "body": body}


OLD, NEW = f"{marker('gate')}\nold\n", f"{marker('gate')}\nnew\n"


def test_the_first_run_posts_a_comment(post):
    server = GitHub([comment("hello", "someone")])
    assert post(server, NEW).stdout == "posted on #7\n"
    assert [one["body"] for one in server.comments] == ["hello", NEW]
    assert server.asked[0][1]["head"] == ["fork:a branch/#1&x"]


def test_later_runs_replace_it_even_behind_a_hundred_others_and_no_one_elses(post):
    others = [comment(OLD, "someone"), *(comment(f"{n}") for n in range(130)), comment(f"{marker('v0')}\nother\n")]
    server = GitHub([*others, comment(OLD)])
    assert post(server, NEW).stdout == "replaced on #7\n"
    assert [one["body"] for one in server.comments] == [*(one["body"] for one in others), NEW]


def test_two_checks_have_a_comment_each_and_other_files_of_the_artifact_are_none(post, tmp_path):
    other = tmp_path / "ragbench-gate" / "ragbench-v0"
    other.mkdir(parents=True)
    (other / "v0.md").write_text(f"{marker('v0')}\nanother\n", encoding="utf-8")
    (other / "report.md").write_text("# Retrieval bench\n", encoding="utf-8")
    server = GitHub([comment(OLD)])
    assert sorted(post(server, NEW).stdout.splitlines()) == ["posted on #7", "replaced on #7"]
    assert [one["body"] for one in server.comments] == [NEW, f"{marker('v0')}\nanother\n"]


def test_a_commit_that_is_no_longer_the_head_posts_nothing(post):
    server = GitHub(head="c" * 40)
    assert "no open pull request has this commit" in post(server, NEW).stdout
    assert server.comments == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "nothing that --rag-comment writes"),
        ("# hello\n", "nothing that --rag-comment writes"),
        (f"{marker('gate')}\n{'x' * 65_536}", "nothing that --rag-comment writes"),
    ],
)
def test_what_the_gate_did_not_write_is_not_posted(post, text, message):
    server = GitHub()
    done = post(server, text)
    assert done.returncode == 1
    assert message in done.stderr
    assert not re.search("Traceback", done.stderr)
    assert server.comments == []
