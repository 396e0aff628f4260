"""What a description of a failure points to: words that tell when it fails, and the advice."""

from __future__ import annotations

from typing import NamedTuple

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.found import Found
from agent.request import Pasted, Request
from tools.models import DENOISER_KINDS, ENCODER_KINDS, LANGUAGE_KINDS, try_find_model
from tools.units import GIB, MIB

_COLAB_RAM_GB = 12.7
"""Host memory that a free Colab session reports, GB."""


class _Symptom(NamedTuple):
    """A mark that tells when or how a run fails; the advice (texts/symptoms.toml) has its name."""

    mark: str
    task: str
    """train, infer or any."""
    least_cards: int = 1
    """With fewer it is something else."""

    @property
    def advice(self) -> str:
        return self.mark.removeprefix("failures.")


_SYMPTOMS = (
    _Symptom("failures.grows", "any"),
    _Symptom("failures.at_save", "train"),
    _Symptom("failures.at_resume", "train"),
    _Symptom("failures.at_load", "any"),
    _Symptom("failures.host_load", "any"),
    _Symptom("failures.later", "train"),
    _Symptom("failures.first_card", "train"),
    _Symptom("failures.one_used", "train"),
    _Symptom("failures.several", "infer"),
    _Symptom("failures.slow_parallel", "infer", least_cards=2),
    _Symptom("failures.at_step", "train"),
)


def symptoms_of(request: Request) -> list[str]:
    """Advice keys that the words of the question point to."""
    task = "train" if request.slots.task == "train" else "infer"
    count = request.slots.gpu_count or request.slots.tp or 1
    rates = request.amounts.get("failures.tokens_per_s", ())
    if task == "infer" and count > 1 and len(rates) > 1:
        return ["slow_parallel"]  # speeds of several numbers of cards, set against each other
    return [
        symptom.advice
        for symptom in _SYMPTOMS
        if symptom.task in ("any", task) and request.says(symptom.mark)
        if symptom.mark != "failures.grows" or grows(request)
        if symptom.mark != "failures.at_load" or _fails(request)
        if count >= symptom.least_cards
    ]


def _fails(request: Request) -> bool:
    """Whether anything went wrong: to load a model is no trouble by itself."""
    is_told = request.says("failures.fails", "failures.out_of_memory", "failures.killed")
    return is_told or request.intent == "oom_diagnosis" or bool(request.pasted)


def grows(request: Request) -> bool:
    """Whether memory climbs from step to step in a loop of the asker's own."""
    is_served = request.slots.framework not in (None, "transformers")
    return request.says("failures.grows") and not is_served


def pasted(request: Request, kind: str) -> Pasted | None:
    """The first pasted piece of a kind."""
    return next((p for p in request.pasted if p.kind == kind), None)


def say_checks(draft: Draft, *, importance: int, told: tuple[str, ...] = ()) -> None:
    """The order in which to look when a run that should fit does not.

    Args:
        draft: The answer so far.
        importance: Of the list.
        told: Checks that the answer has told already.
    """
    slots = draft.request.slots
    found = symptoms_of(draft.request)
    if slots.task == "train" or (slots.task is None and slots.framework is None):
        usual = ["processes", "settings", _largest(slots.model)]
        if (slots.gpu_count or 1) > 1:
            usual.insert(2, "replica")
        if not slots.has_model and slots.task == "train":
            usual.insert(1, "remedy_accumulate")
    else:
        usual = ["processes", "serving"]
    if pasted(draft.request, "host_kill") is not None and pasted(draft.request, "cuda_oom") is None:
        usual = []
    told = (*told, "grows") if grows(draft.request) else told
    keys = [key for key in dict.fromkeys([*found, *usual]) if key not in told]
    record_symptom_figures(draft, keys)
    draft.bullets(
        [draft.phrase(f"symptoms.{key}") for key in keys[:4]],
        title=draft.phrase("symptoms.title"),
        importance=importance,
    )


def _largest(model: str | None) -> str:
    """Which of the inputs sets the peak, by the kind of the model."""
    match = try_find_model(model) if model is not None else None
    if match is None or match.spec.kind in (*LANGUAGE_KINDS, *ENCODER_KINDS):
        return "longest"
    return "largest_latents" if match.spec.kind in DENOISER_KINDS else "largest_input"


_REMEDIES = {
    "train": ("accumulate", "checkpointing", "length", "states", "adapter", "shard", "fragments"),
    "infer": ("quantize", "context", "engine", "split"),
}
"""The least sacrifice first."""


def say_remedies(draft: Draft) -> None:
    """What lowers the need of any run, for a question that names none."""
    task = "infer" if draft.request.slots.task == "infer" else "train"
    draft.bullets(
        [draft.phrase(f"symptoms.remedy_{key}") for key in _REMEDIES[task]],
        title=draft.phrase(f"symptoms.remedies_{task}"),
        importance=HEAD,
    )


_NO_NEED = ("grows", "one_used")
"""Causes that no change of the run's need takes away."""


_BEFORE_ANY_WORK = {"at_load", "at_step"}
"""Failures of a run that never got going: too large a need explains them."""


def is_explained(request: Request, found: Found, symptoms: list[str]) -> bool:
    """Whether a run that never got going needs more than the card gives at the lower end already.

    What was not said, or a model that did run, leaves it open.
    """
    report, slots = found.report, request.slots
    if report is None or found.verdict != "does_not_fit" or not set(symptoms) <= _BEFORE_ANY_WORK:
        return False
    is_said = not {"task", "method"} & set(request.inferred) and len(slots.models or ()) < 2
    return is_said and report.low_bytes > (report.usable_bytes or 0)


def say_symptoms(draft: Draft) -> list[str]:
    """Advice for what the words point to; what is no matter of the need opens the answer."""
    found = symptoms_of(draft.request)
    record_symptom_figures(draft, found)
    for symptom in found:
        if symptom in _NO_NEED:
            draft.lead(f"symptoms.{symptom}")
        else:
            draft.say(f"symptoms.{symptom}")
    return found


def record_symptom_figures(draft: Draft, keys: list[str]) -> None:
    """Numbers that an advice states."""
    if "host_load" in keys:
        draft.figure("colab_ram", _COLAB_RAM_GB, "GB", sources=("measured:colab-free-tier",))


def free_bytes(request: Request) -> tuple[int, int, int] | None:
    """(used, total, free) of one card, in bytes, where a pasted line shows them."""
    slots = request.slots
    total_mib = slots.gpu_mem_total_mib
    if total_mib is None and slots.gpu_mem_used_mib is not None:
        total_mib = _card_mib(request)
    if total_mib is None:
        return None
    used, total = (slots.gpu_mem_used_mib or 0) * MIB, total_mib * MIB
    return used, total, max(total - used, 0)


def _card_mib(request: Request) -> int | None:
    """What nvidia-smi shows for the card that was named, or for its size."""
    from tools.errors import UserInputError
    from tools.gpus import find_gpu

    slots = request.slots
    if slots.has_card:
        try:
            spec = find_gpu(str(slots.gpu)).spec
        except UserInputError:
            spec = None
        if spec is not None and spec.memory_smi_mib:
            return spec.memory_smi_mib
    return None if slots.gpu_mem_gb is None else int(slots.gpu_mem_gb * GIB / MIB)
