"""schemathesis over the service's own OpenAPI: what it describes is what it does, and no 5xx."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

_KEPT = 20


def _running(app: Any) -> Any:
    """The application to a client that would start it again: it runs already."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        while (message := await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": message["type"] + ".complete"})

    return call


def check_schema(app: Any, examples: int) -> list[str]:
    """What was wrong, over all operations with allowed and with refused data.

    Args:
        app: The application, started.
        examples: Cases an operation and kind of data (count).
    """
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance,
              response_schema_conformance]  # fmt: skip
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", _running(app))
    wrong: list[str] = []
    last: list[object] = [None]
    count: Counter[str] = Counter()
    started = time.monotonic()
    quick = settings(max_examples=examples, deadline=None, database=None, derandomize=True,
                     phases=[Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @quick
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: Any) -> None:
                count[case.operation.label] += 1
                last[0] = case.body
                case.call_and_validate(checks=checks)

            try:
                check()
            except (Exception, BaseExceptionGroup) as error:  # schemathesis groups its findings
                if type(error).__name__ == "Unsatisfiable":  # nothing can be refused here
                    continue
                told = [str(e) for e in getattr(error, "exceptions", [error])]
                what = f"{operation.label} ({mode.value}), last body {str(last[0])[:300]}"
                wrong.append(f"{what}: {' | '.join(told)[:1500]}")
    took = time.monotonic() - started
    print(f"schemathesis: {sum(count.values())} cases over {len(count)} operations "
          f"in {took:.0f} s", flush=True)  # fmt: skip
    return wrong[:_KEPT]
