"""The live provider against a real HTTP server on this machine that speaks the chat completions protocol."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm.live import Live, model_of
from pytest_ragbench.llm.seam import NoCompletionError, Replay
from pytest_ragbench.llm.store import read_store

pytest.importorskip("openai")


class Endpoint(BaseHTTPRequestHandler):
    """Answers every prompt by its own words; `fail` answers an HTTP error, `mute` a message without text."""

    asked: list[dict] = []  # noqa: RUF012 - one a test, set by the fixture

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "authorization": self.headers["Authorization"], **body})
        user = body["messages"][-1]["content"]
        status = 400 if user == "fail" else 200
        message = {"role": "assistant", "content": None if user == "mute" else f"{body['model']} says {user}"}
        answer = (
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            }
            if status == 200
            else {"error": {"message": "no such luck"}}
        )
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def asked(monkeypatch):
    """The requests that reached the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Endpoint.asked = []
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("RAGBENCH_LLM_MODEL", "tiny")
    yield Endpoint.asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_environment_names_address_key_and_model(asked):
    assert Live(model_of()).complete("be brief", "hello") == "tiny says hello"
    (request,) = asked
    assert request["path"] == "/v1/chat/completions"
    assert request["authorization"] == "Bearer secret"
    assert request["model"] == "tiny"
    assert request["temperature"] == 0
    assert request["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}]


def test_answers_that_are_kept_are_asked_for_once_and_replay_alike(asked, tmp_path):
    path = tmp_path / "kept.jsonl"
    live = Live("tiny", path)
    first = live.complete("s", "hello")
    assert live.complete("s", "hello") == Live("tiny", path).complete("s", "hello") == first
    assert len(asked) == 1
    assert Replay(read_store(path)).complete("s", "hello") == first


@pytest.mark.parametrize(("user", "told"), [("fail", "no such luck"), ("mute", "an answer without text")])
def test_an_endpoint_that_gives_no_answer_fails_and_nothing_is_kept(asked, tmp_path, user, told):
    live = Live("tiny", tmp_path / "kept.jsonl")
    with pytest.raises(NoCompletionError, match=told):
        live.complete("s", user)
    assert not (tmp_path / "kept.jsonl").exists()
    assert asked


def test_another_models_store_is_refused(asked, tmp_path):
    path = tmp_path / "kept.jsonl"
    Live("tiny", path).complete("s", "hello")
    with pytest.raises(UsageError, match="keeps the answers of 'tiny', not of 'big'"):
        Live("big", path)


def test_an_environment_without_model_or_key_says_what_is_missing(monkeypatch):
    with pytest.raises(UsageError, match="RAGBENCH_LLM_MODEL"):
        model_of({})
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        Live("tiny")
