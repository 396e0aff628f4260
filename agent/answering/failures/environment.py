"""What the environment explains, whatever the model: an unseen device, /dev/shm, the cache."""

from __future__ import annotations

from agent.answer import Correction
from agent.answering.plan import Context, Plan
from agent.answering.telling.corrections import worded
from agent.answering.telling.draft import BODY, HEAD, Draft
from agent.answering.telling.sources import guidance_call
from agent.request import Request
from tools.units import GIB

_INTENTS = ("recommend_instance", "oom_diagnosis", "probe_local", "io_bottleneck", "concept",
            "network_distributed", "fit_check")  # fmt: skip
_OTHER_INTENTS = ("gpu_compare", "catalog_lookup", "ecs_vs_gpu")
"""What a failure outside the card may be taken for, by the card that is named beside it."""
_HELD = ("failures.memory_shown", "failures.takes_all", "failures.fails")
_READINGS = (
    ("driver", ("failures.old_driver",), ()),
    ("no_driver", ("failures.no_driver",), ()),
    ("no_kernel", ("failures.no_kernel",), ()),
    ("no_device", ("failures.no_device",), ()),
    ("shared_memory", ("failures.shared_memory",), ("failures.workers", "failures.container")),
    ("not_finite", ("failures.loss_not_finite",), ()),
    ("leftover", ("failures.no_process_listed",), _HELD),
    ("allocator", ("failures.memory_shown",), ("failures.memory_in_tensors",)),
    ("reserved", ("failures.reserved",), ("failures.asks_meaning",)),
)
"""Kinds of trouble, the marks of which one shows it, and those of which one must stand beside;
the first that holds answers."""
_MESSAGES = {"shared_memory": "shared_memory", "no_kernel_image": "no_kernel",
             "illegal_memory": "illegal_memory", "cuda_assert": "cuda_assert"}  # fmt: skip
"""Messages of a log that leave no doubt, whatever run is named, and the kind of each."""
_NOT_OF_CARD = ("shared_memory", "no_driver", "driver", "no_device", "no_kernel", "not_finite",
                "illegal_memory", "cuda_assert")  # fmt: skip
_SAYS_SO = ("not_finite", "illegal_memory", "cuda_assert")
"""Kinds whose first sentence says that the card has no part in it."""
_LARGEST_FP16 = 65504
_WHATEVER_RUN = ("not_finite",)
"""Kinds of words alone that leave no doubt, whatever run is named."""
_OF_CARD = ("no_driver",)
_OF_LOG = ("reserved",)
"""Kinds about figures that stand in a memory error itself."""
_SHM_MB = 64
"""Size of /dev/shm in a container where none is given, by Docker's documentation."""
_WITH_FIGURE = "shared_memory"


def _message(request: Request) -> str | None:
    """Key of the kind that a pasted message names."""
    said = [p.fields.get("message") for p in request.pasted if p.kind == "error_message"]
    return next((key for name, key in _MESSAGES.items() if name in said), None)


def _found(request: Request) -> str | None:
    """Key of the first kind that a message or the words show."""
    shown = (
        key
        for key, marks, beside in _READINGS
        if request.says(*marks) and (not beside or request.says(*beside))
    )
    return _message(request) or next(shown, None)


def applies(request: Request, context: Context) -> bool:
    """True for a message of the kind, or for its words without a model whose memory is asked."""
    key, is_message = _found(request), _message(request) is not None
    is_pasted = any(p.kind == "cuda_oom" for p in request.pasted) and key not in _OF_LOG
    is_sure = is_message or key in _WHATEVER_RUN
    is_other = is_pasted or (request.slots.has_model and not is_sure)
    intents = _INTENTS + _OTHER_INTENTS if key in _NOT_OF_CARD else _INTENTS
    return request.intent in intents and key is not None and not is_other


def _blames_card(request: Request, key: str | None) -> tuple[Correction, ...]:
    """The wish for a larger card, where the card's memory has no part in the failure."""
    if key not in _NOT_OF_CARD or not request.says("failures.wants_larger_card"):
        return ()
    return (worded(request, f"larger_{key}", f"rule:{key}"),)


def _of_log(draft: Draft, key: str | None) -> dict[str, str]:
    """Figures of a pasted failure that the sentence names."""
    if key not in _OF_LOG:
        return {}
    log = next((p.fields for p in draft.request.pasted if p.kind == "cuda_oom"), {})
    held = log.get("reserved_unallocated_bytes")
    if held:
        draft.figure("log: reserved_unallocated_bytes", held, "B", sources=("user:log",))
    told = f"({held / GIB:.2f} GiB)" if held else ""
    return {"held": f" {told}" if told and draft.language == "en" else told}


def _lacks_bf16(request: Request) -> bool:
    """Whether the card that is named computes in fp16 and not in bf16."""
    from tools.errors import AdvisorError
    from tools.gpus import find_gpu

    if not request.slots.has_card:
        return False
    try:
        return find_gpu(str(request.slots.gpu)).spec.bf16_supported is False
    except AdvisorError:
        return False


def compose(request: Request, context: Context) -> Plan:
    """What the reading means, then what to look at and to change."""
    key = _found(request)
    blamed = _blames_card(request, key)
    draft = Draft(request.model_copy(update={
        "clarifying_question": None, "corrections": request.corrections + blamed}))  # fmt: skip
    for correction in blamed if key in _SAYS_SO else ():
        draft.tell_correction(correction)
    results = yield (guidance_call(request, k=1),)
    draft.use(*results)
    default = f"{_SHM_MB} MB"
    if key == _WITH_FIGURE:
        draft.figure("default_shm", _SHM_MB, "MB", sources=("guide:docker-run",))
    draft.say(f"environment.{key}_head", default=default, importance=HEAD, **_of_log(draft, key))
    if key in _OF_CARD and request.slots.has_card:
        shown = "card" if request.says("failures.on_the_bus") else "said"
        draft.say(f"environment.{key}_{shown}", gpu=request.slots.gpu, importance=HEAD)
    if key == "not_finite" and _lacks_bf16(request):
        draft.figure("largest_fp16", _LARGEST_FP16, "1", formula="(2 - 2**-10) * 2**15")
        draft.say("environment.not_finite_old", gpu=request.slots.gpu, importance=HEAD)
    items = draft.phrase(f"environment.{key}_items").split("\n")
    draft.bullets(items, title=draft.phrase(f"environment.{key}_title"), importance=BODY)
    is_message = _message(request) is not None
    is_failure = request.intent in _OTHER_INTENTS or (request.intent == "fit_check" and is_message)
    return draft.finish("not_applicable", intent="oom_diagnosis" if is_failure else None)
