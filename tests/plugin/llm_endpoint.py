"""A chat completions endpoint on this machine, and the environment that leads to it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer


@contextmanager
def serving(handler, monkeypatch):
    """Serve requests by a handler class until the block ends; its list `asked` begins empty and is handed out."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    handler.asked = []
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("RAGBENCH_LLM_MODEL", "tiny")
    try:
        yield handler.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
