"""A classifier of pictures or texts without a model's name: counted for a usual small network."""

from __future__ import annotations

from agent.answer import AssumptionOut
from agent.answering.plan import Context, Plan
from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.joining import in_front
from agent.request import Request

_PICTURES, _TEXTS = "timm/resnet50", "google-bert/bert-base-uncased"
_INTENTS = ("recommend_instance", "fit_check", "ecs_vs_gpu")


def applies(request: Request, context: Context) -> bool:
    """True where a classifier is to be trained and nothing says of what size."""
    slots = request.slots
    if slots.has_model or slots.model_size_mb is not None:
        return False
    if slots.task != "train" or slots.method is not None or request.intent not in _INTENTS:
        return False
    return request.says("sizing.classifier") and not request.says("sizing.of_rows")


def compose(request: Request, context: Context) -> Plan:
    """That such a network is small, then the answer for a usual one."""
    from agent.answering import compose as answer_to
    from tools.models import find_model

    name = _TEXTS if request.says("sizing.of_texts") else _PICTURES
    spec = find_model(name).spec
    slots = request.slots.model_copy(update={
        "model": spec.name, "params_b": round(spec.params_total / 1e9, 4), "method": "full",
    })  # fmt: skip
    intent = "recommend_instance" if slots.gpu is None else "fit_check"
    named = request.model_copy(update={
        "slots": slots, "intent": intent, "clarifying_question": None,
        "inferred": tuple(sorted({*request.inferred, "model", "params_b", "method"})),
    })  # fmt: skip
    answer = yield from answer_to(named, context)
    draft = Draft(request.model_copy(update={"corrections": (), "clarifying_question": None}))
    why = "a classifier without a name; a common network of its kind"
    draft.assume([AssumptionOut(name="model", value=spec.name, unit="1", why=why)])
    millions = round(spec.params_total / 1e6)
    draft.figure("parameters", millions, "M", sources=("data:models.jsonl",))
    kind = "texts" if name == _TEXTS else "pictures"
    draft.say(f"usual_nets.{kind}", model=spec.name.rpartition("/")[2],
              millions=millions, importance=HEAD)  # fmt: skip
    return in_front(draft.finish(answer.verdict), answer)
