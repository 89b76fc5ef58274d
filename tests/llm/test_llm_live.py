"""The live provider against a real HTTP server on this machine that speaks the chat completions protocol."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

import pytest
from llm_endpoint import serving

from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm.live import Live, model_of
from pytest_ragbench.llm.seam import NoCompletionError, Replay
from pytest_ragbench.llm.store import read_store

pytest.importorskip("openai")


def choice(content):
    return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}


ODD = {
    "mute": {"choices": [choice(None)]},
    "no choices": {"choices": []},
    "null choices": {"choices": None},
    "no message": {"choices": [{"index": 0, "finish_reason": "stop", "message": None}]},
    "parts": {"choices": [choice([{"type": "text", "text": "in parts"}])]},
    "a list": [1, 2],
    "a page": "<html>not found</html>",
    "cut off": '{"choices": [',
}
"""What an endpoint may send beside answers, by the prompt that makes it do so."""


class Endpoint(BaseHTTPRequestHandler):
    """Answers every prompt by its own words.

    `fail` answers an HTTP error, what stands in `ODD` that, `half` half a surrogate pair; `busy` is too many requests
    at first and `busy for ever` always; `slow` comes too late.
    """

    asked: list[dict] = []  # noqa: RUF012 - one a test, set by the fixture

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, "authorization": self.headers["Authorization"], **body})
        user = body["messages"][-1]["content"]
        busy = user == "busy for ever" or (user == "busy" and len(self.asked) < 3)
        if user == "slow":
            time.sleep(0.3)
        if user == "fail" or busy:
            self.send(429 if busy else 400, {"error": {"message": "no such luck"}})
        elif user in ODD:
            self.send(200, ODD[user])
        else:
            text = "half \ud800 a pair" if user == "half" else f"{body['model']} says {user}"
            known = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"]}
            self.send(200, {**known, "choices": [choice(text)]})

    def send(self, status, answer):
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if text.startswith("<") else "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.send_header("Retry-After-Ms", "1")
        with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked has gone
            self.end_headers()
            self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def asked(monkeypatch):
    """The requests that reached the server."""
    with serving(Endpoint, monkeypatch) as prompts:
        yield prompts


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


@pytest.mark.parametrize(
    ("user", "told"), [("fail", "no such luck"), *((user, "an answer without text") for user in ODD)]
)
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


def test_an_endpoint_that_is_busy_is_asked_again_and_three_times_at_most(asked):
    live = Live("tiny")
    assert live.complete("s", "busy") == "tiny says busy"
    assert len(asked) == 3
    asked.clear()
    with pytest.raises(NoCompletionError, match="no such luck"):
        live.complete("s", "busy for ever")
    assert len(asked) == 4


def test_an_endpoint_that_does_not_answer_in_time_is_given_up(asked):
    live = Live("tiny", timeout=0.05, retries=1)
    with pytest.raises(NoCompletionError, match="timed out"):
        live.complete("s", "slow")
    assert len(asked) == 2


def test_an_endpoint_that_is_not_there_is_said_to_be_so(asked, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(NoCompletionError, match="'tiny' gave no answer: Connection error"):
        Live("tiny", retries=0).complete("s", "hello")
    assert not asked


@pytest.mark.parametrize(
    "user", ["caf\u00e9", "cafe\u0301", "line\u2028separator", "\U0001f600 \u0928\u092e", "a\r\nb\tc", "half"]
)
def test_any_text_is_kept_as_it_came(asked, tmp_path, user):
    path = tmp_path / "kept.jsonl"
    answer = Live("tiny", path).complete("s", user)
    assert answer == ("half \ufffd a pair" if user == "half" else f"tiny says {user}")
    assert Replay(read_store(path)).complete("s", user) == Live("tiny", path).complete("s", user) == answer
    assert len(asked) == 1


def test_those_who_ask_one_prompt_at_once_get_one_answer_and_keep_it_once(asked, tmp_path):
    path = tmp_path / "kept.jsonl"
    lives = [Live("tiny", path) for _ in range(4)]
    prompts = [f"prompt {n % 5}" for n in range(20)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda at: lives[at % 4].complete("s", prompts[at]), range(20)))
    assert answers == [f"tiny says {prompt}" for prompt in prompts]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 5
    assert not read_store(path).warnings


def test_its_source_tells_endpoints_apart_and_stores_that_lack_an_answer(asked, tmp_path, monkeypatch):
    path = tmp_path / "kept.jsonl"
    bare, keeping = Live("tiny"), Live("tiny", path)
    keeping.complete("s", "hello")
    sources = [bare.source, keeping.source, Live("tiny", path).source]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    sources.append(Live("tiny").source)
    assert len(set(sources)) == len(sources)
    path.unlink()
    monkeypatch.undo()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert Live("tiny").source == sources[-1]
    assert all("secret" not in source and "127.0.0.1" not in source for source in sources)
