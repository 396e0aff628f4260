"""`make fuzz-http`: many almost right bodies over all POST routes, and schemathesis; no 5xx.

The application runs in this process and is called as an ASGI server calls it. The advisor is the
fake of the tests but for a share of the questions, which the real one answers; tools, bots, MCP
and everything in front of them are real.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from agent import Advisor, Settings, build_toolbox
from tests.ui.bot.platforms import (
    Platforms,
    ding_message,
    ding_post,
    feishu_event,
    feishu_post,
    sealed,
    slack_event,
    slack_post,
)
from tests.ui.fakes import FakeAdvisor
from tests.ui.fuzz.mutations import mutated, odd, of_schema
from tests.ui.fuzz.schema import check_schema
from ui.config import ServiceSettings
from ui.service import create_app
from ui.wording import examples

_REAL_SHARE = 0.02
_KEPT = 20
Make = Callable[[random.Random], tuple[bytes, dict[str, str]]]


class MostlyFake:
    """The fake advisor, but the real one for some questions."""

    def __init__(self, folder: Path) -> None:
        self._fake = FakeAdvisor()
        self._real = Advisor(Settings(state_dir=folder))
        self._dice = random.Random(1)
        self.real_count = 0

    def ask(self, question: str, **more: Any) -> Any:
        """One answer."""
        return self._chosen().ask(question, **more)

    def stream(self, question: str, **more: Any) -> Any:
        """The events of one answer."""
        self._fake.asked.clear()
        # Words that make the fake fail on purpose are not a fault of the service.
        tame = question.replace("bug", "b-g").replace("backend down", "")
        return self._chosen().stream(tame, **more)

    def _chosen(self) -> Any:
        if self._dice.random() >= _REAL_SHARE:
            return self._fake
        self.real_count += 1
        return self._real


async def call(app: Any, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status and body of one POST, as an ASGI server would call for it."""
    given = {"host": "testserver", "content-type": "application/json"} | headers
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
        "asgi": {"version": "3.0"}, "client": ("127.0.0.1", 1), "server": ("testserver", 80),
        "headers": [(k.encode(), v.encode("latin-1", "replace")) for k, v in given.items()],
    }  # fmt: skip
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    status, said = 0, b""

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.sleep(30)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, said
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            said += message.get("body", b"")

    try:
        await app(scope, receive, send)
    except Exception as error:  # what an ASGI server would answer with 500
        return 0, repr(error).encode(errors="replace")
    return status, said


@asynccontextmanager
async def started(app: Any) -> AsyncIterator[None]:
    """The application between its start and its end."""
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    task = asyncio.ensure_future(app(scope, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    assert (await outbox.get())["type"] == "lifespan.startup.complete"
    yield
    await inbox.put({"type": "lifespan.shutdown"})
    await task


def questions(dice: random.Random) -> str:
    """A question of the page's, or anything."""
    row = dice.choice(examples())
    return row[dice.choice(("zh", "en"))] if dice.random() < 0.8 else str(odd(dice))


def api_routes() -> dict[str, Make]:
    """Our own JSON routes: path -> maker of bodies."""
    routes: dict[str, Make] = {}
    short = {"estimate_memory": "estimate", "recommend": "recommend", "find_instances": "catalog"}
    for tool in build_toolbox(Settings(own_machine=True)):
        schema = tool.arguments.model_json_schema()

        def make(dice: random.Random, schema: dict[str, Any] = schema) -> Any:
            return mutated(of_schema(schema, dice, schema), dice), {}

        routes[f"/v1/tools/{tool.name}"] = make
        if tool.name in short:
            routes[f"/v1/{short[tool.name]}"] = make

    def ask(dice: random.Random) -> Any:
        body = {
            "question": questions(dice),
            "thread": f"t{dice.randrange(50)}",
            "language": dice.choice((None, "zh", "en")),
            "stream": dice.random() < 0.3,
        }
        return mutated(body, dice), {"accept": dice.choice(("*/*", "text/event-stream"))}

    def chat(dice: random.Random) -> Any:
        roles = ("system", "user", "assistant", "user")
        body = {"model": "xuanka", "stream": dice.random() < 0.3, "temperature": 0.2,
                "messages": [{"role": r, "content": questions(dice)} for r in roles],
                "stream_options": {"include_usage": True}}  # fmt: skip
        return mutated(body, dice), {}

    def mcp(dice: random.Random) -> Any:
        method = dice.choice(("initialize", "tools/list", "tools/call", "resources/read", "ping"))
        params = {"name": "estimate_memory", "arguments": {"model": "7B"}, "uri": "guidance://x",
                  "protocolVersion": "2025-06-18", "capabilities": {},
                  "clientInfo": {"name": "f", "version": "1"}}  # fmt: skip
        body = {"jsonrpc": "2.0", "id": dice.randrange(9), "method": method, "params": params}
        return mutated(body, dice), {"accept": "application/json, text/event-stream"}

    return routes | {"/v1/ask": ask, "/v1/chat/completions": chat, "/mcp": mcp}


def bot_routes(url: str) -> dict[str, Make]:
    """The bots' routes: bodies changed before they are signed, so that they are read."""

    def slack(dice: random.Random) -> Any:
        body = mutated(json.loads(slack_event(f"Ev{dice.random()}")), dice)
        return _signed(slack_post(body), dice)

    def form(path: str, fields: Callable[[random.Random], dict[str, Any]]) -> Make:
        def make(dice: random.Random) -> Any:
            body = mutated(fields(dice), dice, _form)
            kind = "application/x-www-form-urlencoded"
            return _signed(slack_post(body, path=path, kind=kind), dice)

        return make

    def command(dice: random.Random) -> dict[str, Any]:
        return {"command": "/xuanka", "text": "A10?", "trigger_id": f"t{dice.random()}",
                "channel_id": "C", "user_id": "U", "team_id": "T",
                "response_url": f"{url}/response"}  # fmt: skip

    def press(dice: random.Random) -> dict[str, Any]:
        payload = {
            "type": "block_actions",
            "trigger_id": f"t{dice.random()}",
            "team": {"id": "T"},
            "channel": {"id": "C"},
            "user": {"id": "U"},
            "message": {"ts": "1.0"},
            "actions": [{"action_id": "ask_1", "value": "A10?", "type": "button"}],
        }
        return {"payload": mutated(payload, dice).decode("utf-8", "replace")}

    def feishu(dice: random.Random) -> Any:
        body = mutated(feishu_event(f"fe{dice.random()}"), dice)
        return _signed(feishu_post(sealed(body) if dice.random() < 0.8 else body), dice)

    def ding(dice: random.Random) -> Any:
        body = mutated(json.loads(ding_message(url, msgId=f"m{dice.random()}")), dice)
        return _signed(ding_post(body), dice)

    return {"/slack/events": slack, "/slack/commands": form("/slack/commands", command),
            "/slack/interactive": form("/slack/interactive", press), "/feishu/events": feishu,
            "/dingtalk/events": ding}  # fmt: skip


def _form(value: Any) -> bytes:
    fields = value if isinstance(value, dict) else {"payload": value}
    return urlencode({str(k): str(v) for k, v in fields.items()}, errors="replace").encode()


def _signed(post: Any, dice: random.Random) -> tuple[bytes, dict[str, str]]:
    headers = dict(post.headers)
    if dice.random() < 0.1:
        name = dice.choice(list(headers))
        headers[name] = str(odd(dice)).replace("\n", " ").replace("\r", " ")
    return post.body, headers


async def run(app: Any, routes: dict[str, Make], bots: dict[str, Make], args: Any) -> list[str]:
    """Posts the bodies; gives back what was wrong."""
    dice, wrong, seen = random.Random(args.seed), [], Counter[int]()
    names, bot_names = list(routes), list(bots)
    until, started_at, done = time.monotonic() + args.minutes * 60, time.monotonic(), 0

    async def one(path: str, body: bytes, headers: dict[str, str]) -> None:
        status, said = await call(app, path, body, headers)
        seen[status] += 1
        is_fault = status >= 500 or status == 0 or b"internal_error" in said
        if is_fault and len(wrong) < _KEPT:
            wrong.append(f"{path} -> {status} {said[:200]!r}\n    body {body[:400]!r}")

    while done < args.bodies and time.monotonic() < until:
        batch = []
        for _ in range(16):
            is_bot = dice.random() < 0.15
            path = dice.choice(bot_names if is_bot else names)
            body, headers = (bots if is_bot else routes)[path](dice)
            batch.append(one(path, body, headers))
        await asyncio.gather(*batch)
        done += len(batch)
    took = time.monotonic() - started_at
    print(f"{done} bodies over {len(names) + len(bot_names)} routes in {took:.0f} s; "
          f"statuses { {int(k): n for k, n in sorted(seen.items())} }", flush=True)  # fmt: skip
    if done < args.bodies:
        wrong.append(f"only {done} of {args.bodies} bodies within {args.minutes:g} minutes")
    return wrong


async def work(args: Any) -> int:
    """Both parts; exit status 1 when anything was wrong."""
    logging.disable(logging.CRITICAL)
    platforms = Platforms()
    with tempfile.TemporaryDirectory() as folder:
        config = ServiceSettings(state_dir=Path(folder), waiting_answers=1000,
                                 **platforms.settings())  # fmt: skip
        advisor = MostlyFake(Path(folder))
        app = create_app(Settings(state_dir=Path(folder), own_machine=True), config=config,
                         advisor=advisor, page=False)  # fmt: skip
        async with started(app):
            wrong = await run(app, api_routes(), bot_routes(platforms.url), args)
            print(f"{advisor.real_count} questions answered by the real advisor", flush=True)
            wrong += await asyncio.to_thread(check_schema, app, args.examples)
    platforms.close()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def main() -> int:
    """Reads how much is wanted."""
    parser = argparse.ArgumentParser(prog="tests.ui.fuzz", description=__doc__)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--examples", type=int, default=60, help="schemathesis: cases a route")
    parser.add_argument("--minutes", type=float, default=8, help="longest time for the bodies")
    parser.add_argument("--seed", type=int, default=20261130)
    return asyncio.run(work(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
