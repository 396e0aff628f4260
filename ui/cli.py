"""The console: `xuanka ask|serve|mcp|tools|search|evals`.

Each command imports what it needs when it is called, so that `--help` is instant.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tools.errors import UserInputError

PASSED_ON = {
    "ask": ("agent", 'one question, one answer: xuanka ask "QUESTION" [--json] [--lang zh|en]'),
    "tools": ("tools", "the calculators and registries: xuanka tools fit|models|gpus|..."),
    "knowledge": ("knowledge", "guidance: xuanka knowledge search|ingest|build"),
    "evals": ("evals", "evaluation suites: xuanka evals run|compare|report"),
}
"""Command -> package whose `python -m` entry point does it."""

_SECRET = re.compile(r"TOKEN|SECRET|KEY|URL|PASSWORD")

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; exit 0 done, 2 bad usage, else as the command says."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in PASSED_ON:
        return _pass_on(arguments[0], arguments[1:])
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return 2
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    from pydantic import ValidationError

    try:
        return _serve(args) if args.command == "serve" else _mcp(args)
    except UserInputError as error:
        print(error, file=sys.stderr)
    except ValidationError as error:  # of a setting; what was given may be a secret
        for problem in error.errors(include_url=False):
            print(setting_problem(problem), file=sys.stderr)
    return 2


def setting_problem(problem: Mapping[str, Any]) -> str:
    """A setting that cannot be used, in one sentence; a secret's value is not in it.

    >>> setting_problem({"loc": ("port_s",), "input": "abc", "msg": "Input should be a number"})
    "XUANKA_PORT_S is 'abc': input should be a number."
    """
    name = "_".join(str(part) for part in problem["loc"]).upper() or "setting"
    is_plain = isinstance(problem["input"], str) and not _SECRET.search(name)
    given = f"{problem['input'][:80]!r}" if is_plain else "not usable"
    reason = problem["msg"].removeprefix("Value error, ")
    return f"XUANKA_{name} is {given}: {reason[:1].lower()}{reason[1:].rstrip('.')}."


def _port(written: str) -> int:
    if not (written.isascii() and written.isdigit() and int(written[:9]) <= 65535):
        raise argparse.ArgumentTypeError(f"{written!r}; allowed: 1 to 65535, or 0 for any free one")
    return int(written)


def console() -> NoReturn:
    """`main` as the installed script runs it."""
    from tools.console import run_console

    run_console(main)


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<10} {about}" for name, (_, about) in PASSED_ON.items())
    parser = argparse.ArgumentParser(
        prog="xuanka",
        description="Which machine does my deep-learning job need?",
        epilog=f"further commands:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="the chat page and the HTTP service")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on")
    serve.add_argument("--port", type=_port, default=7860, help="1 to 65535, 0 for any free one")
    serve.add_argument("--workers", type=int, default=1, help="processes that share the port")
    serve.add_argument("--worker", help=argparse.SUPPRESS)  # the parent's word to a worker
    serve.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    mcp = commands.add_parser("mcp", help="the tools as an MCP server")
    mcp.add_argument("--http", action="store_true", help="streamable HTTP instead of stdio")
    mcp.add_argument("--host", default="127.0.0.1")
    mcp.add_argument("--port", type=_port, default=7861, help="1 to 65535, 0 for any free one")
    return parser


def _pass_on(command: str, arguments: list[str]) -> int:
    package = PASSED_ON[command][0]
    module = importlib.import_module(f"{package}.__main__")
    result = module.main(arguments)
    return int(result or 0)


def _serve(args: argparse.Namespace) -> int:
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if args.workers < 1:
        print(f"--workers {args.workers}: at least 1 is needed.", file=sys.stderr)
        return 2
    if args.worker is None:
        from ui.config import ServiceSettings

        ServiceSettings().tokens()  # complained of once, here, rather than by each worker
        if args.workers > 1:
            return _supervise(args)
    return _serve_here(args)


def _say_where(what: str, host: str, port: int) -> None:
    """Told once the port is bound: whoever connects from now on is answered."""
    from ui.workers import url_of

    print(f"{what} is on {url_of(host, port)}", file=sys.stderr, flush=True)


def _supervise(args: argparse.Namespace) -> int:
    from ui.config import ServiceSettings
    from ui.http.logs import set_up_logs
    from ui.workers import Supervisor, serve_command

    set_up_logs(args.log_level, as_json=ServiceSettings().log_json)
    command = serve_command(["--host", args.host, "--port", str(args.port),
                             "--log-level", args.log_level])  # fmt: skip
    supervisor = Supervisor(command, host=args.host, port=args.port, count=args.workers)
    _say_where("Xuanka", args.host, supervisor.port)
    return supervisor.run()


def _serve_here(args: argparse.Namespace) -> int:
    import uvicorn

    from agent import Settings
    from ui.config import ServiceSettings
    from ui.http.heads import BoundedHeads
    from ui.http.logs import set_up_logs
    from ui.service import create_app
    from ui.workers import Place, listening_sockets

    config = ServiceSettings()
    set_up_logs(args.log_level, as_json=config.log_json)
    settings = Settings()
    if args.host in LOOPBACK and "own_machine" not in settings.model_fields_set:
        settings = settings.model_copy(update={"own_machine": True})
    place = Place.read(args.worker) if args.worker else None
    sockets = place.sockets() if place else listening_sockets(args.host, args.port, 1)
    app = create_app(settings, config=config, place=place)
    server = uvicorn.Server(uvicorn.Config(
        app, host=args.host, port=args.port, log_config=None, access_log=False, http=BoundedHeads,
        timeout_graceful_shutdown=20, server_header=False,
    ))  # fmt: skip
    if place is None:
        _say_where("Xuanka", args.host, sockets[0].getsockname()[1])
    else:
        place.end_with_parent()
    server.run(sockets=sockets)
    return 0


def _mcp(args: argparse.Namespace) -> int:
    from ui.mcp_server import run

    run(http=args.http, host=args.host, port=args.port)
    return 0
