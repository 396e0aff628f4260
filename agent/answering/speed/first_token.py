"""What shortens the wait for the first token: reading the prompt is bound by compute."""

from __future__ import annotations

from agent.answering.plan import Call, Context, Plan
from agent.answering.speed import plans
from agent.answering.telling.draft import HEAD, TYPICAL_CHARACTERS, Draft
from agent.answering.telling.joining import in_front
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox.registries import GpuReport, ModelReport
from tools.units import format_significant

_INTENTS = ("serving_plan", "time_estimate", "concept", "fit_check", "multi_gpu_plan")


def applies(request: Request, context: Context) -> bool:
    """True where a served model's wait for the first token is to become shorter."""
    slots = request.slots
    has_job = slots.has_model and slots.task != "train"
    is_asked = request.says("speed.first_token") and request.says("speed.remedy")
    return has_job and slots.has_card and is_asked and request.intent in _INTENTS


def compose(request: Request, context: Context) -> Plan:
    """Why it waits, with its arithmetic for this prompt, what helps, then the serving plan."""
    draft = Draft(request.model_copy(update={"clarifying_question": None, "corrections": ()}))
    slots = request.slots
    named = {"name": slots.model, "params_b": slots.params_b}
    results = yield (
        Call("find_model", {k: v for k, v in named.items() if v is not None}),
        Call("find_gpu", {"name": slots.gpu}),
    )
    draft.use(*results)
    model, card = results[0].report, results[1].report
    draft.say("first_token.why", importance=HEAD)
    prompt = slots.input_len or slots.seq_len
    if isinstance(model, ModelReport) and isinstance(card, GpuReport) and prompt:
        _say_least(draft, model, card, prompt)
    ways = ["prefix", "shorter", "chunked"]
    if isinstance(card, GpuReport) and card.fp8_supported:
        ways.append("fp8")
    ways += ["more_cards", "faster_card"]
    draft.say("first_token.ways", ways=joined(
        draft, [draft.phrase(f"first_token.{way}") for way in ways]), importance=HEAD)  # fmt: skip
    told = draft.finish("depends")
    answer = yield from plans.compose(request, context)
    return in_front(told, answer, most=TYPICAL_CHARACTERS[request.language], verdict="depends")


def _say_least(draft: Draft, model: ModelReport, card: GpuReport, prompt: int) -> None:
    """Arithmetic of one prompt over what the cards can do at their peak."""
    peak, active = card.bf16_tflops, model.params_active or model.params
    if not peak or not active:
        return
    cards = draft.request.slots.gpu_count or 1
    work = 2 * active * prompt / 1e12
    least = work / (peak * cards)
    draft.figure("prompt", prompt, "token", sources=("user:seq_len",))
    draft.figure("prefill_work", work, "TFLOP", formula="2 * parameters * prompt tokens")
    draft.figure("peak", peak * cards, "TFLOPS", formula="dense BF16 of a card * cards")
    draft.figure("least_wait", least, "s", formula="prefill_work / peak")
    draft.say("first_token.least", prompt=f"{prompt:,}", work=f"{work:,.0f}",
              peak=f"{peak * cards:,.0f}", least=format_significant(least, 2),
              importance=HEAD)  # fmt: skip
