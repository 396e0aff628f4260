"""The MCP server: the advisor's tools with their schemas, and the guidance as resources."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ui.hints import for_a_client

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from starlette.applications import Starlette

    from agent import Settings, Tool

INSTRUCTIONS = """\
Figures for choosing a GPU or a cloud instance for deep learning. Sizes are bytes (GiB = 2**30),
prices carry currency and date, null means not known. An argument that is left out is assumed and
the assumption is reported.
显存、适配、价格与时间的计算工具:未给出的参数会取默认值并在结果中说明。"""


def build_server(settings: Settings) -> MCPServer:
    """The server with every tool of the toolbox."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    from agent import build_toolbox

    tools = {tool.name: tool for tool in build_toolbox(settings)}

    class Server(MCPServer):
        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            """Calls a tool; a name that it has no argument of is said, not passed over."""
            if name in tools and (wrong := unknown_arguments(tools[name], arguments)):
                raise ToolError(wrong)
            return await super().call_tool(name, arguments, context)

    server = Server(
        name="xuanka", title="Xuanka 选卡", instructions=INSTRUCTIONS, version=version("xuanka")
    )
    for tool in tools.values():
        if not tool.needs_own_machine or settings.own_machine:
            server.add_tool(
                _function(tool), name=tool.name, description=tool.described(),
                structured_output=True,
            )  # fmt: skip
    _add_guidance(server)
    return server


def unknown_arguments(tool: Tool[Any], given: Mapping[str, Any]) -> str | None:
    """What is wrong with the names of a call's arguments; None when nothing is."""
    from difflib import get_close_matches

    known = list(tool.arguments.model_fields)
    problems = []
    for name in sorted(set(given) - set(known)):
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        closest = f"; closest: {near[0]}" if near else ""
        problems.append(f"{name[:80]!r} is no argument of {tool.name}{closest}.")
    return f"{' '.join(problems)} Known: {', '.join(known)}." if problems else None


def _function(tool: Tool[Any]) -> Callable[..., Any]:
    """The tool as a function with one keyword for each of its arguments."""
    import inspect

    from mcp.server.mcpserver.exceptions import ToolError

    def call(**values: Any) -> Any:
        result = tool.call({k: v for k, v in values.items() if v is not None})
        if not result.ok:
            raise ToolError(for_a_client(result.hint or "The arguments cannot be used."))
        return result.report

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=_annotated(field),
            default=inspect.Parameter.empty if field.is_required() else field.default,
        )
        for name, field in tool.arguments.model_fields.items()
    ]  # fmt: skip
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # read by the library
        parameters, return_annotation=tool.report
    )
    call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": tool.report}
    call.__name__ = tool.name
    return call


def _annotated(field: Any) -> Any:
    from typing import Annotated

    metadata = [*field.metadata]
    if field.description:
        from pydantic import Field

        metadata.append(Field(description=field.description))
    annotation = field.annotation
    for item in metadata:
        annotation = Annotated[annotation, item]
    return annotation


def _add_guidance(server: MCPServer) -> None:
    @server.resource(
        "guidance://search/{query}", name="guidance", mime_type="text/markdown",
        description="Checked guidance for a question, with its sources / 核对过的指南段落",
    )  # fmt: skip
    def search(query: str) -> str:
        from knowledge import search as find

        passages = find(query, k=5)
        if not passages:
            return "Nothing in the guidance is relevant to this."
        return "\n\n".join(
            f"## {p.title}\n\n{p.text}\n\n"
            + "\n".join(f"- {source.locator}" for source in p.sources)
            for p in passages
        )


def http_app(server: MCPServer) -> Starlette:
    """The server as an application for /mcp; its lifespan must run.

    Host names are checked by the service in front of it (`ui.http.protection`), not here.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    return server.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def run(*, http: bool, host: str, port: int) -> None:
    """Serves until the client goes away (stdio) or the process is stopped (HTTP)."""
    from agent import Settings

    settings = Settings()
    if "own_machine" not in settings.model_fields_set and (
        not http or host in ("127.0.0.1", "localhost", "::1")
    ):
        settings = settings.model_copy(update={"own_machine": True})
    if not http:
        build_server(settings).run("stdio")
        return
    server = build_server(settings.reached_over_http())
    import uvicorn

    from ui.config import ServiceSettings
    from ui.http.heads import BoundedHeads
    from ui.http.protection import protect
    from ui.workers import listening_sockets, url_of

    app = protect(http_app(server), ServiceSettings())
    sockets = listening_sockets(host, port, 1)
    where = url_of(host, sockets[0].getsockname()[1])
    print(f"MCP is on {where}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, host=host, port=port, http=BoundedHeads)).run(
        sockets=sockets
    )
