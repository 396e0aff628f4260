"""A model's file beside the larger memory that llama.cpp or Ollama asks for: what the rest is."""

from __future__ import annotations

from agent.answer import AssumptionOut, MemoryRange
from agent.answering.hosts.host import in_one_memory
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.assumed import say_assumptions
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count, gib
from agent.answering.telling.run_words import memory_arguments, short_model
from agent.request import Request
from agent.toolbox.memory import MemoryReport
from tools.units import bytes_from_gb

_SERVERS = ("ollama", "llama.cpp", "lmstudio")
_CONTEXT = 4096
_MORE = 1.2
"""Times the file from which the need asks for a reason."""


def applies(request: Request, context: Context) -> bool:
    """True where a file's size and a larger need of the same model are set beside each other."""
    slots = request.slots
    is_served = slots.framework in _SERVERS and slots.task != "train" and not request.pasted
    return is_served and slots.has_model and _sizes(request) is not None


def _sizes(request: Request) -> tuple[int, int] | None:
    """Bytes of the file and of the need."""
    files = request.amounts.get("failures.file_gb", ())
    needs = request.amounts.get("failures.asked_gb", ())
    if not files or not needs or max(needs) <= _MORE * files[0]:
        return None
    return bytes_from_gb(files[0]), bytes_from_gb(max(needs))


def compose(request: Request, context: Context) -> Plan:
    """The need less weights and buffers, as tokens of context, and what makes it smaller."""
    draft = Draft(request.model_copy(update={"clarifying_question": None}))
    slots, sizes = request.slots, _sizes(request)
    assert sizes is not None
    form = slots.quantization or "q4_k_m"
    results = yield (
        Call("estimate_memory", memory_arguments(
            slots, task="infer", quantization=form, precision=None, gpu=None, gpu_count=None,
            gpu_mem_gb=None, instance=None, framework="llama.cpp", seq_len=_CONTEXT,
            concurrency=1)),
    )  # fmt: skip
    draft.use(*results)
    report = results[0].report
    if not isinstance(report, MemoryReport):
        draft.add(results[0].hint or "", importance=HEAD)
        return draft.finish("not_applicable")
    report = in_one_memory(report)
    if slots.quantization is None:
        why = "4-bit GGUF is what Ollama and llama.cpp users run"
        draft.assume([AssumptionOut(name="quantization", value=form, unit="1", why=why)])
    _tell(draft, report, *sizes)
    say_assumptions(draft, report)
    low, high = sorted((sizes[1], report.process_bytes))
    held = MemoryRange(scope="host_ram", low_bytes=low, high_bytes=high, usable_bytes=None)
    return draft.finish("not_applicable", intent="fit_check", memory=held)


def _tell(draft: Draft, report: MemoryReport, file_bytes: int, need_bytes: int) -> None:
    for name, size in (("file", file_bytes), ("need", need_bytes)):
        draft.figure(name, size, "B", sources=("user:question",))
    per_token = report.kv_cache_bytes / _CONTEXT
    draft.figure("kv_bytes_per_token", round(per_token), "B", formula="kv_cache / context")
    draft.say("file_and_need.head", importance=HEAD, model=short_model(report),
              file=gib(file_bytes), need=gib(need_bytes))  # fmt: skip
    rest = need_bytes - (report.process_bytes - report.kv_cache_bytes)
    if per_token and rest > 0:
        tokens = round(rest / per_token / 1000) * 1000
        draft.figure("rest", rest, "B", formula="need - (weights + buffers)")
        draft.figure("tokens_of_context", tokens, "token", formula="(need - weights) / KV of one")
        draft.say("file_and_need.tokens", importance=HEAD, kib=f"{per_token / 1024:,.0f} KiB",
                  rest=gib(rest), tokens=count(tokens, draft.language))  # fmt: skip
        draft.figure("kv_kib_per_token", round(per_token / 1024), "KiB", formula="bytes / 1024")
        _tell_expanded(draft, report, rest)
    draft.figure("least", report.process_bytes, "B", formula="weights + KV + buffers")
    draft.say("file_and_need.least", need=gib(report.process_bytes), context=f"{_CONTEXT:,}")
    draft.figure("context", _CONTEXT, "token", formula="a usual short context")
    draft.say("file_and_need.ways")


def _tell_expanded(draft: Draft, report: MemoryReport, rest: int) -> None:
    """Latent attention: builds that keep whole keys and values hold far more for a token."""
    from tools.models import find_model

    spec = find_model(report.model).spec
    if spec.mla is None or spec.num_attention_heads is None or spec.num_hidden_layers is None:
        return
    width = spec.mla.qk_nope_head_dim + spec.mla.qk_rope_head_dim + spec.mla.v_head_dim
    per_token = 2 * spec.num_hidden_layers * spec.num_attention_heads * width
    tokens = round(rest / per_token / 1000) * 1000
    draft.figure("expanded_kv_per_token", round(per_token / 1024), "KiB",
                 formula="2 B * layers * heads * (qk_nope + qk_rope + v) / 1024")  # fmt: skip
    draft.figure("tokens_expanded", tokens, "token", formula="(need - weights) / KV of one")
    draft.say("file_and_need.expanded", importance=HEAD, kib=f"{per_token / 1024:,.0f} KiB",
              tokens=count(tokens, draft.language))  # fmt: skip
