from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent import Settings, build_toolbox
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.mcp_server import build_server
from ui.service import create_app

mcp = pytest.importorskip("mcp")


def call(name: str, arguments: dict[str, Any]) -> Any:
    async def run() -> Any:
        async with mcp.Client(build_server(Settings())) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(run())


def test_every_tool_of_the_toolbox_is_listed_with_both_schemas() -> None:
    async def run() -> Any:
        async with mcp.Client(build_server(Settings())) as client:
            return (await client.list_tools()).tools

    listed = {tool.name: tool for tool in asyncio.run(run())}
    expected = {t.name: t for t in build_toolbox(Settings()) if not t.needs_own_machine}
    assert set(listed) == set(expected)
    for name, tool in expected.items():
        assert set(listed[name].input_schema["properties"]) == set(tool.arguments.model_fields)
        assert set(listed[name].output_schema["properties"]) == set(tool.report.model_fields)


def test_the_prober_is_served_only_on_the_askers_own_machine() -> None:
    async def names(settings: Settings) -> set[str]:
        async with mcp.Client(build_server(settings)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    own = {t.name for t in build_toolbox(Settings(own_machine=True)) if t.needs_own_machine}
    assert own <= asyncio.run(names(Settings(own_machine=True)))
    assert not own & asyncio.run(names(Settings()))


def test_call_gives_structured_figures() -> None:
    result = call("find_gpu", {"name": "A10"})
    assert not result.is_error
    assert result.structured_content["memory_usable_mib"] == 22_476


def test_unknown_name_is_an_error_with_candidates() -> None:
    result = call("find_gpu", {"name": "A10O"})
    assert result.is_error
    assert "A100" in result.content[0].text


def test_bad_argument_is_an_error_in_words() -> None:
    assert call("estimate_memory", {"model": "Qwen2.5-7B", "batch": -1}).is_error


def test_unknown_name_points_to_a_tool_and_to_no_terminal() -> None:
    for name, arguments in (("find_model", {"name": "Qwen9-7B"}), ("find_gpu", {"name": "A10O"})):
        text = call(name, arguments).content[0].text
        assert f"with {name}" in text
        assert "python -m" not in text


def test_unknown_argument_is_refused_with_the_closest() -> None:
    result = call("estimate_memory", {"model": "Qwen2.5-7B", "batchsize": 4})
    assert result.is_error
    assert "'batchsize' is no argument of estimate_memory; closest: batch" in result.content[0].text


def test_the_server_has_the_packages_version() -> None:
    async def run() -> Any:
        async with mcp.Client(build_server(Settings())) as client:
            return client.server_info.version

    assert asyncio.run(run()) == version("xuanka")


def test_http_endpoint_lists_tools() -> None:
    app = create_app(Settings(), config=ServiceSettings(), advisor=FakeAdvisor(), page=False)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"accept": "application/json, text/event-stream"}
    with TestClient(app) as client:
        reply = client.post("/mcp", json=request, headers=headers)
    assert reply.status_code == 200, reply.text
    assert "estimate_memory" in json.dumps(reply.json())
