"""A model endpoint on loopback that follows a script: it fails, lies or tells the truth on cue.

It speaks the OpenAI wire format as far as one answer needs it. Step n answers request n; the last
step goes on for ever.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Endpoint:
    """A running endpoint."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests, in order."""


@contextmanager
def running(steps: Sequence[Mapping[str, Any]]) -> Iterator[Endpoint]:
    """An endpoint that plays the steps.

    Args:
        steps: What each request gets: `text`, `tool_calls` ([name, arguments] pairs), `status`
            with `error`, `body` (sent as it is), `finish_reason`, `delay_s`, `cut` (the
            connection breaks inside the reply), `no_choices`.
    """
    endpoint = Endpoint("")
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                endpoint.requests.append(asked)
                step = steps[min(len(endpoint.requests), len(steps)) - 1]
            time.sleep(float(step.get("delay_s", 0)))
            try:
                self._send(int(step.get("status", 200)), reply(step), bool(step.get("cut")))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, status: int, content: bytes, is_cut: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if is_cut else content)
            if is_cut:
                self.wfile.flush()
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(step: Mapping[str, Any]) -> bytes:
    """The body that a step sends."""
    if "body" in step:
        return str(step["body"]).encode()
    if int(step.get("status", 200)) != 200:
        error = {"message": step.get("error", ""), "type": "error", "code": None}
        return json.dumps({"error": error}).encode()
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(step.get("tool_calls", ()))
    ]
    message: dict[str, Any] = {"role": "assistant", "content": step.get("text", "")}
    if calls:
        message["tool_calls"] = calls
    finish = step.get("finish_reason", "tool_calls" if calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return json.dumps(
        {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [] if step.get("no_choices") else [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    ).encode()
