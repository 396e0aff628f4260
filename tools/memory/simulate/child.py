"""The process that simulates: a request on standard input, one line of JSON on standard output."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from typing import Any

from tools.memory.simulate.request import SimulationRequest


def run(request: SimulationRequest) -> dict[str, Any]:
    """Peak and its parts, in bytes, of one step of the request."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tools.memory.simulate import build, shard, steps
    from tools.memory.simulate.tracker import StorageTracker

    torch.set_num_threads(1)
    started = time.perf_counter()
    _say("building the model on the meta device")
    model = build.build_on_meta(request)
    params = sum(p.numel() for p in model.parameters())
    tracker = StorageTracker()
    with ExitStack() as stack:
        stack.enter_context(shard.ranks(request))
        model = shard.shard(model, request)
        stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(tracker)
        build.materialise(model, split_tied=request.precision in ("bf16-mixed", "fp16-mixed"))
        tracker.tag(model.parameters(), "params")
        tracker.tag(model.buffers(), "buffers")
        prepared = build.prepare(model, request)
        _say("running the step on fake tensors")
        (steps.train if request.task == "train" else steps.infer)(prepared, request, tracker)
    names = ("params", "buffers", "grads", "opt", "other")
    return {
        "peak_bytes": tracker.peak_bytes,
        "peak_phase": tracker.peak_phase,
        "parts": {name: tracker.peak_parts.get(name, 0) for name in names},
        "params": params,
        "seconds": round(time.perf_counter() - started, 2),
    }


def _say(text: str) -> None:
    print(f"[simulate] {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Reads a request, prints {"ok": ...} or {"error": ...}."""
    from tools.errors import AdvisorError

    try:
        answer: dict[str, Any] = {"ok": run(SimulationRequest.from_json(sys.stdin.read()))}
    except AdvisorError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": "the simulation reached its memory limit"}
    print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
