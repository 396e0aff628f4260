"""A scripted server on loopback that speaks the OpenAI wire format, for tests.

Each request is answered by the next step of a script; the last step repeats. It speaks plain
JSON and SSE, tool-call deltas, a usage chunk, error envelopes, delays and cut connections.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Step:
    """What the server does with one request."""

    text: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    """(tool name, arguments as the raw JSON text)."""
    status: int = 200
    error: str = ""
    body: bytes | None = None
    """Sent as it is, with `content_type`."""
    content_type: str = "application/json"
    delay_s: float = 0.0
    finish_reason: str | None = "stop"
    cut_after: int | None = None
    """Pieces after which the connection is cut."""
    choices: bool = True
    trickle_s: float = 0.0
    """Pause between the pieces of a stream."""


@dataclass
class Script:
    """The steps, and what was asked."""

    steps: Sequence[Step]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def next(self, body: dict[str, Any]) -> Step:
        """The step for the next request."""
        self.requests.append(body)
        return self.steps[min(len(self.requests), len(self.steps)) - 1]


class _Handler(BaseHTTPRequestHandler):
    """Answers each request with the script's next step."""

    protocol_version = "HTTP/1.1"
    script: Script

    def log_message(self, *arguments: Any) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        step = self.script.next(body)
        time.sleep(step.delay_s)
        try:
            if step.body is not None or step.status != 200:
                self._plain(step)
            elif body.get("stream"):
                self._stream(step, body)
            else:
                self._whole(step)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _plain(self, step: Step) -> None:
        envelope = {"error": {"message": step.error, "type": "error", "code": None}}
        content = step.body if step.body is not None else json.dumps(envelope).encode()
        self.send_response(step.status)
        self.send_header("Content-Type", step.content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _whole(self, step: Step) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": step.text}
        if step.tool_calls:
            message["tool_calls"] = calls(step)
        choice = {"index": 0, "message": message, "finish_reason": reason(step)}
        content = json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [choice] if step.choices else [],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) if step.cut_after is None else 10**6))
        self.end_headers()
        self.wfile.write(content if step.cut_after is None else content[:40])
        if step.cut_after is not None:
            self.close_connection = True

    def _stream(self, step: Step, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(pieces(step, body)):
            if step.cut_after is not None and number >= step.cut_after:
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
                return
            data = f"data: {piece}\n\n".encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
            time.sleep(step.trickle_s)
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def scripted_endpoint(*steps: Step, port: int = 0) -> Iterator[tuple[str, Script]]:
    """A running server: its base URL, and the script with what it was asked."""
    script = Script(steps)
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def calls(step: Step) -> list[dict[str, Any]]:
    """Tool calls on the wire."""
    return [
        {
            "index": number,
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(step.tool_calls)
    ]


def reason(step: Step) -> str | None:
    """The finish reason on the wire."""
    return "tool_calls" if step.tool_calls and step.finish_reason == "stop" else step.finish_reason


def pieces(step: Step, body: dict[str, Any]) -> Iterator[str]:
    """The chunks of a stream, `[DONE]` last."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        choices = [choice] if step.choices else []
        return json.dumps(
            {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
             "model": "scripted", "choices": choices}
        )  # fmt: skip

    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(step.text), 16):
        yield chunk({"content": step.text[start : start + 16]})
    for call in calls(step):
        yield chunk({"tool_calls": [call]})
    if step.finish_reason is not None:
        yield chunk({}, reason(step))
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        yield json.dumps({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                          "model": "scripted", "choices": [], "usage": usage})  # fmt: skip
    if step.finish_reason is not None:
        yield "[DONE]"
