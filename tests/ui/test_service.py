from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent import Settings
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.http.logs import redacted
from ui.service import create_app

TOKEN = "t" * 20


def a_client(advisor: FakeAdvisor | None = None, **config: Any) -> TestClient:
    settings = ServiceSettings(**config)
    app = create_app(Settings(), config=settings, advisor=advisor or FakeAdvisor(), page=False)
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture
def client() -> Iterator[TestClient]:
    with a_client() as opened:
        yield opened


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n", 1)
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_health_and_readiness(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready", "missing": [], "degraded": []}


def test_ask_gives_the_answer_as_the_contract_says(client: TestClient) -> None:
    reply = client.post("/v1/ask", json={"question": "hello"})
    assert reply.status_code == 200
    assert reply.json()["text"].endswith("You asked: hello")
    assert reply.json()["offers"][0]["price"] == "10.5"


def test_ask_streams_events_with_the_answer_last(client: TestClient) -> None:
    reply = client.post("/v1/ask", json={"question": "hello", "stream": True})
    names = [name for name, _ in events(reply.text)]
    assert names[:2] == ["tool_started", "tool_finished"]
    assert names[-1] == "answer"
    assert "text" in names


def test_conversations_go_on_by_name_and_stay_apart(client: TestClient) -> None:
    for thread, turn in (("a", 1), ("a", 2), ("b", 1)):
        text = client.post("/v1/ask", json={"question": "q", "thread": thread}).json()["text"]
        assert text.startswith(f"Turn {turn} ")


@pytest.mark.parametrize(
    ("question", "status", "kind"),
    [
        ("unknown card", 400, "invalid_request_error"),
        ("backend down", 502, "backend_error"),
        ("bug", 500, "internal_error"),
    ],
)
def test_errors_have_one_form_and_no_secret(
    client: TestClient, question: str, status: int, kind: str
) -> None:
    reply = client.post("/v1/ask", json={"question": question})
    assert reply.status_code == status
    assert reply.json()["error"]["type"] == kind
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"]
    assert "/srv/key" not in reply.text


def test_error_within_a_stream_is_its_last_event(client: TestClient) -> None:
    reply = client.post("/v1/ask", json={"question": "bug", "stream": True})
    (name, data) = events(reply.text)[-1]
    assert (name, data["error"]["type"]) == ("error", "internal_error")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"nonsense", b"[]", b'{"question": 3}', b'{"question": "q", "extra": 1}',
        b'{"question": "q", "thread": "../x"}', b'{"question": "q", "language": "fr"}',
        b"\xff\xfe",
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused_in_words(client: TestClient, body: bytes) -> None:
    reply = client.post("/v1/ask", content=body, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 422)
    assert reply.json()["error"]["message"]


def test_body_over_the_limit_is_refused_by_its_stated_and_by_its_real_length() -> None:
    with a_client(max_body_bytes=2000) as client:
        assert client.post("/v1/ask", json={"question": "x" * 3000}).status_code == 413

        def chunks() -> Iterator[bytes]:
            yield b'{"question": "'
            yield from (b"x" * 500 for _ in range(6))

        assert client.post("/v1/ask", content=chunks()).status_code == 413


def test_token_is_needed_once_tokens_are_set() -> None:
    with a_client(api_tokens=f"alice:{TOKEN}:2,bob:{'b' * 20}") as client:
        assert client.post("/v1/ask", json={"question": "q"}).status_code == 401
        bad = {"authorization": "Bearer " + "x" * 20}
        assert client.post("/v1/ask", json={"question": "q"}, headers=bad).status_code == 401
        basic = {"authorization": f"Basic {TOKEN}"}
        assert client.get("/v1/models", headers=basic).status_code == 401
        good = {"authorization": f"Bearer {TOKEN}"}
        codes = [client.get("/v1/models", headers=good).status_code for _ in range(3)]
        assert codes == [200, 200, 429]
        other = {"authorization": "Bearer " + "b" * 20}
        assert client.get("/v1/models", headers=other).status_code == 200
        assert client.get("/metrics").status_code == 401
        assert client.get("/healthz").status_code == 200


def test_two_tokens_never_share_a_conversation() -> None:
    with a_client(api_tokens=f"a:{TOKEN},b:{'b' * 20}") as client:
        for secret in (TOKEN, "b" * 20):
            reply = client.post(
                "/v1/ask", json={"question": "q", "thread": "x"},
                headers={"authorization": f"Bearer {secret}"},
            )  # fmt: skip
            assert reply.json()["text"].startswith("Turn 1 ")


def test_short_token_is_refused_at_start() -> None:
    from tools.errors import BadQuantityError

    with pytest.raises(BadQuantityError, match="16 characters"):
        ServiceSettings(api_tokens="alice:short").tokens()


def test_secret_may_stand_in_a_file(tmp_path: Any) -> None:
    (tmp_path / "tokens").write_text(f"# team\nalice:{TOKEN}:5\n", encoding="utf-8")
    settings = ServiceSettings(api_tokens_file=tmp_path / "tokens")
    assert settings.tokens() == (("alice", TOKEN, 5),)


def test_foreign_host_header_is_refused(client: TestClient) -> None:
    assert client.get("/healthz", headers={"host": "evil.example:7860"}).status_code == 421
    assert client.get("/healthz", headers={"host": "127.0.0.1:7860"}).status_code == 200


def test_security_headers_and_no_cors(client: TestClient) -> None:
    reply = client.get("/healthz", headers={"origin": "https://evil.example"})
    assert "default-src 'self'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in reply.headers


def test_request_id_is_taken_over_only_when_well_formed(client: TestClient) -> None:
    kept = client.get("/healthz", headers={"x-request-id": "abc-12345"})
    assert kept.headers["x-request-id"] == "abc-12345"
    made = client.get("/healthz", headers={"x-request-id": "a b\tc"})
    assert made.headers["x-request-id"] != "a b\tc"


def test_unknown_path_has_the_form_of_all_errors(client: TestClient) -> None:
    reply = client.get("/v1/nothing")
    assert reply.status_code == 404
    assert reply.json()["error"]["type"] == "not_found"


def test_metrics_count_answers_by_intent_and_verdict(client: TestClient) -> None:
    client.post("/v1/ask", json={"question": "degraded"})
    text = client.get("/metrics").text
    line = ('xuanka_answers_total{backend="embedded",face="api",intent="fit_check",'
            'verdict="fits"} 1.0')  # fmt: skip
    assert line in text
    assert 'xuanka_degraded_total{face="api"} 1.0' in text


def test_full_desk_refuses_with_retry_after() -> None:
    advisor = FakeAdvisor(delay_s=0.3)
    with a_client(advisor, simultaneous_answers=1, waiting_answers=1) as client:
        codes: list[int] = []
        lock = threading.Lock()

        def call() -> None:
            reply = client.post("/v1/ask", json={"question": "q"})
            with lock:
                codes.append(reply.status_code)
                assert reply.status_code == 200 or reply.headers["retry-after"]

        callers = [threading.Thread(target=call) for _ in range(5)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert sorted(set(codes)) == [200, 503]
        assert client.post("/v1/ask", json={"question": "q"}).status_code == 200


def test_slow_answer_ends_in_504() -> None:
    with a_client(FakeAdvisor(delay_s=1.0), answer_timeout_s=0.2) as client:
        assert client.post("/v1/ask", json={"question": "q"}).status_code == 504


def test_openapi_describes_ask_and_errors(client: TestClient) -> None:
    schema = client.get("/v1/openapi.json").json()
    ask = schema["paths"]["/v1/ask"]["post"]
    assert ask["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith(
        "/Answer"
    )
    assert {"400", "413", "503"} <= set(ask["responses"])


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("Authorization: Bearer abc.def", "abc.def"),
        ("token=s3cr3t&x=1", "s3cr3t"),
        ("postgresql://u:pa55@h/db", "pa55"),
        ("xoxb-123-456", "123-456"),
        ('{"api_key": "k-12345"}', "k-12345"),
    ],
)
def test_log_lines_hide_secrets(line: str, hidden: str) -> None:
    assert hidden not in redacted(line)


@pytest.mark.parametrize(
    ("path", "body", "has"),
    [
        ("/v1/estimate", {"model": "Qwen2.5-7B", "method": "qlora", "gpu": "A10"}, "process_bytes"),
        ("/v1/recommend", {"model": "Qwen2.5-7B", "method": "qlora"}, "offers"),
        ("/v1/catalog", {"gpu": "A10"}, "figures"),
    ],
)
def test_tools_have_paths_of_their_own(
    client: TestClient, path: str, body: dict[str, Any], has: str
) -> None:
    reply = client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    assert has in reply.json()


def test_tool_says_what_is_allowed(client: TestClient) -> None:
    reply = client.post("/v1/estimate", json={"model": "Qwen2.5-7B", "gpu": "A10O"})
    assert reply.status_code == 400
    assert "A10" in reply.json()["error"]["message"]
    assert client.post("/v1/estimate", json={"batch": -1}).status_code == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/ask", r'{"question": "half \ud83d"}'),
        ("/v1/chat/completions", r'{"messages": [{"role": "user", "content": "\udc00"}]}'),
        ("/v1/tools/find_gpu", r'{"name": "\ud83d"}'),
        ("/v1/tools/spot_plan", '{"job_hours": 1, "on_demand_price": 1e40}'),
        ("/v1/tools/spot_plan", '{"mtbf_hours": 1e308}'),
    ],
)
def test_text_and_numbers_that_cannot_be_used_are_the_askers_fault(
    client: TestClient, path: str, body: str
) -> None:
    reply = client.post(path, content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_a_tool_answers_as_the_openapi_says(client: TestClient) -> None:
    described = client.get("/v1/openapi.json").json()
    reply = client.post("/v1/tools/find_model", json={"name": "Qwen2.5-7B"}).json()
    name = described["paths"]["/v1/tools/find_model"]["post"]["responses"]["200"]["content"][
        "application/json"
    ]["schema"]["$ref"].rsplit("/", 1)[1]
    schema = described["components"]["schemas"][name]
    assert set(schema["required"]) <= set(reply) <= set(schema["properties"])
    assert reply["ok"] is True


FRIEND, FOE = "https://app.example", "https://evil.example"


@pytest.fixture
def guarded() -> Iterator[TestClient]:
    with a_client(
        api_tokens=f"al:{TOKEN}:1", allowed_origins=(FRIEND,), max_body_bytes=2000
    ) as opened:
        yield opened


def test_a_preflight_needs_no_token_and_tells_what_an_allowed_origin_may(
    guarded: TestClient,
) -> None:
    asked = {"access-control-request-method": "POST",
             "access-control-request-headers": "authorization,x-stainless-os"}  # fmt: skip
    reply = guarded.options("/v1/ask", headers={"origin": FRIEND, **asked})
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == FRIEND
    assert "authorization" in reply.headers["access-control-allow-headers"]
    refused = guarded.options("/v1/ask", headers={"origin": FOE, **asked})
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers


def test_refusals_can_be_read_by_an_allowed_origin_and_by_no_other(guarded: TestClient) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}

    def statuses(origin: str) -> dict[int, str | None]:
        ask: dict[str, Any] = {"json": {"question": "q"}}
        replies = [
            guarded.post("/v1/ask", **ask, headers={"origin": origin}),
            guarded.post("/v1/ask", **ask, headers={"origin": origin, **bearer}),
            guarded.post("/v1/ask", **ask, headers={"origin": origin, **bearer}),
            guarded.post("/slack/events", content=b"x" * 3000, headers={"origin": origin}),
            guarded.get("/healthz", headers={"origin": origin, "host": "evil.example"}),
            guarded.get("/healthz", headers={"origin": origin}),
        ]
        return {r.status_code: r.headers.get("access-control-allow-origin") for r in replies}

    friendly = statuses(FRIEND)
    assert set(friendly) == {401, 200, 429, 413, 421}
    assert set(friendly.values()) == {FRIEND}
    assert set(statuses(FOE).values()) == {None}


def test_without_origins_a_preflight_opens_nothing() -> None:
    headers = {"origin": FOE, "access-control-request-method": "POST"}
    with a_client() as client:
        reply = client.options("/v1/ask", headers=headers)
    assert reply.status_code >= 400
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize(("question", "status"), [("显" * 33_333 + "a", 200), ("显" * 33_334, 422)])
def test_a_question_has_one_limit_in_bytes(client: TestClient, question: str, status: int) -> None:
    reply = client.post("/v1/ask", json={"question": question})
    assert reply.status_code == status
    if status == 422:
        assert "100002 bytes; at most 100000" in reply.json()["error"]["message"]
        assert reply.json()["error"]["param"] == "question"
