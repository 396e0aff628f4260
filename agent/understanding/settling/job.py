"""What is done with the model: task, method, quantisation."""

from __future__ import annotations

import re
from itertools import pairwise

from agent.understanding.lexicon.numerals import parse_number
from agent.understanding.lexicon.phrases import table
from agent.understanding.lexicon.readings import Board, Reading
from agent.understanding.lexicon.text import Document
from agent.understanding.settling.resolution import Resolution
from tools.models import SEEING_KINDS, SMALL_KINDS


def settle_job(document: Document, board: Board, out: Resolution) -> None:
    """Settle ``task`` and ``method``."""
    cues = board.of("task_cue")
    scales = list(dict.fromkeys(reading.value for reading in board.of("method_scale")))
    goal = max(
        board.of("method_goal"),
        key=lambda r: (
            r.value != "rm",
            not document.text[r.start : r.end].startswith("rlhf"),
            r.origin == "said",
        ),
        default=None,
    )  # "rlhf" is any of them: a goal that is named goes first
    formats = [*board.of("quantization"), *board.of("quantization_named")]
    four_bit = any(reading.value in ("int4", "nf4") for reading in formats)
    scale = _scale(scales, four_bit=four_bit)
    if goal is None and (loras := _served_adapters(document, board, scale)):
        out.put("served_loras", loras, board.best("method_scale"))
        scale, scales = None, []
    if goal is not None and goal.value == "rm":
        goal = None
    if goal is not None and goal.value != "pretrain" and not scales:
        scale = _scale_of_format({str(reading.value) for reading in formats})
        is_unsloth = any(reading.value == "unsloth" for reading in board.of("library"))
        scale = scale or ("lora" if is_unsloth else None)  # whole weights only when asked for
    if goal is not None:
        out.put(
            "method",
            goal.value if scale is None or goal.value in ("pretrain",) else f"{goal.value}+{scale}",
            goal,
        )
    elif scale is not None:
        out.put("method", scale, board.best("method_scale"))
    task = _task(document, board, out)
    if task is not None:
        said = next((r for r in cues if r.value == task), None)
        out.put("task", task, said, inferred=said is None)
    _assumed_method(goal, scale if scale or not _is_partial(scales) else "partial", out)
    if board.has("whole_without_adapter") and out.get("method") == "lora" and scale is None:
        out.put("method", "full", inferred=True)


_ADAPTERS = re.compile(
    r"(?P<n>\d{1,4}|[一二两三四五六七八九十百]{1,3})?\s?(?:个|份|套|x\s)?\s?(?:different\s|不同的?\s?)?"
    r"(?:lora|peft)(?:s(?![a-z])|[ \-]?adapters?|\s?适配器|\s?权重|\s?插件)"
    r"|enable[-_]lora|multi[- ]?lora|多\s?lora"
    r"|(?P<m>\d{1,4}|[一二两三四五六七八九十百]{1,3})\s?(?:个|份|套)\s?(?:不同的?\s?)?lora"
)
_TRAINED = re.compile(r"微调|训练|(?<![a-z])(?:fine ?-?tun|train|sft(?![a-z]))")
_SERVERS = ("vllm", "sglang", "lmdeploy", "tgi", "tensorrt-llm")


def _served_adapters(document: Document, board: Board, scale: str | None) -> int | None:
    """Adapters beside a base model that is served ("serve 20 lora adapters"); None in training."""
    kinds = {cue.value for cue in board.of("task_cue")}
    serves = "infer" in kinds or board.value("framework") in _SERVERS
    if scale != "lora" or not serves or _TRAINED.search(document.text):
        return None
    found = _ADAPTERS.search(document.text)
    if found is None:
        return None
    written = found["n"] or found["m"]
    value = parse_number(written) if written else 1
    return int(value) if value else 1


def _is_partial(scales: list[str]) -> bool:
    """Freezing and prompt tuning are neither LoRA nor full: nothing is assumed."""
    return bool({"freeze", "ptuning"} & set(scales))


def _scale(scales: list[str], *, four_bit: bool) -> str | None:
    if "qlora" in scales:
        return "qlora"
    if "lora" in scales and four_bit:
        return "qlora"
    for name in ("full", "lora"):
        if scales and scales[0] == name:
            return name
    return scales[0] if scales and scales[0] in ("full", "lora") else None


_FROZEN_FORMATS = ("int8", "gptq", "awq", "gptq-int8", "awq-int8", "fp4")
"""Formats besides 4 bits of weights that cannot be trained themselves."""


def _scale_of_format(formats: set[str]) -> str | None:
    """Adapters, where the base that is to be trained is loaded in so few bits."""
    if formats & {"int4", "nf4"}:
        return "qlora"
    return "lora" if formats & set(_FROZEN_FORMATS) else None


def _task(document: Document, board: Board, out: Resolution) -> str | None:
    cues = [cue for cue in board.of("task_cue") if not _is_denied(document, cue)]
    if any(cue.value == "infer" for cue in cues):
        cues = [cue for cue in cues if not _is_over(document, cue)]
    kinds = {reading.value for reading in cues}
    if out.get("served_loras"):
        return "infer"
    if "quantize" in kinds:
        return "quantize"
    if {"train", "infer"} <= kinds and _are_joined(document, cues):
        return "train" if _samples_with_engine(board, cues, out) else "both"
    if "train" in kinds:
        return "train"
    if (out.get("epochs") or _says_how_trained(board)) and "infer" not in kinds:
        return "train"
    kind = getattr(out.spec, "kind", None)
    is_classic = board.has("model_small") and not board.has("model_unlisted")
    if (is_classic and "infer" not in kinds) or (
        kind in _TRAINED_KINDS and out.get("batch") and "infer" not in kinds
    ):
        return "train"
    if board.has("model_unlisted") and out.get("batch") and not kinds:
        return "train"
    if board.has("model_unlisted") or "infer" in kinds or "run" in kinds or out.spec is not None:
        return "infer"
    return "infer" if out.get("params_b") is not None else None


_SAMPLED = ("grpo", "ppo")


def _samples_with_engine(board: Board, cues: list[Reading], out: Resolution) -> bool:
    """Whether serving is spoken of only as the engine that samples for reinforcement learning."""
    if str(out.get("method")).partition("+")[0] not in _SAMPLED:
        return False
    engines = [(r.start, r.end) for r in board.of("framework")]
    return all(
        any(low <= cue.start < high for low, high in engines)
        for cue in cues
        if cue.value == "infer"
    )


def _says_how_trained(board: Board) -> bool:
    """Whether an optimizer, the training of all parameters or what it aims at is named."""
    aims = any(r.value != "rm" for r in board.of("method_goal"))
    is_whole = any(r.value == "full" for r in board.of("method_scale"))
    return board.has("optimizer") or is_whole or aims


def _is_denied(document: Document, cue: Reading) -> bool:
    """Whether quantising is what is not wanted ("without quantizing")."""
    before = document.text[max(0, cue.start - 10) : cue.start]
    return cue.value == "quantize" and table("resolve", "negation").has(before)


def _is_over(document: Document, cue: Reading) -> bool:
    """Whether a training lies behind what is asked: "训完了部署", "after fine-tuning, serve it"."""
    if cue.value != "train":
        return False
    before = document.text[max(0, cue.start - _OVER) : cue.start]
    behind = document.text[cue.end : cue.end + _OVER]
    is_over = any(hit.start == 0 for hit in table("resolve", "over_behind").find(behind))
    hits = table("resolve", "over_before").find(before)
    return is_over or bool(hits and not before[hits[-1].end :].strip())


_OVER = 10
"""Characters beside the word of a training in which it is told that it is over."""


def _are_joined(document: Document, cues: list[Reading]) -> bool:
    """Training and serving named side by side ("vllm / lora", "训练和推理")."""
    for first, second in pairwise(cues):
        between = document.text[first.end : second.start].strip()
        is_pair = {first.value, second.value} == {"train", "infer"}
        if is_pair and between in (
            "/",
            "和",
            "and",
            "+",
            "&",
            "或",
            "或者",
            "or",
            "、",
            "与",
            "以及",
            "",
        ):
            return True
    return False


_FROM_SCRATCH = 20
"""Tokens a parameter from which training without a method is taken for one from nothing: there
that network is trained as well as its compute allows (Hoffmann et al., arXiv 2203.15556)."""
_QLORA = re.compile(r"q[ \-_]?lora")
_TRAINED_KINDS = ("encoder", *SEEING_KINDS)
_TRAINED_WHOLE = (*SMALL_KINDS, "seq2seq", "speech")


def assume_method(out: Resolution) -> None:
    """What training without a method means, once earlier turns are joined."""
    if out.get("method") is None:
        _assumed_method(None, None, out)


def _assumed_method(goal: Reading | None, scale: str | None, out: Resolution) -> None:
    """Training without a method: LoRA for language models, all weights for small networks."""
    if out.get("task") != "train" or scale is not None or out.get("method") == "freeze":
        return
    kind = getattr(out.spec, "kind", None) or _kind_of_family(out)
    if goal is not None:
        if goal.value == "cpt":
            out.put("method", "cpt+full", goal, inferred=True)
        return
    if (out.get("tokens") or 0) >= _FROM_SCRATCH * 1e9 * (out.get("params_b") or 1e9):
        out.put("method", "pretrain", inferred=True)
        return
    if kind in _TRAINED_WHOLE:
        out.put("method", "full", inferred=True)
    elif out.get("zero_stage") == 3 or out.get("offload") or out.get("strategy") == "fsdp":
        out.put("method", "full", inferred=True)
    elif out.spec is None and 0 < (out.get("params_b") or 0) < _SMALLEST_WITH_ADAPTERS_B:
        out.put("method", "full", inferred=True)
    elif out.get("params_b") or out.spec is not None:
        out.put("method", "lora", inferred=True)


def _kind_of_family(out: Resolution) -> str | None:
    """The kind that all models of a family named without a size share."""
    from tools.models import find_model

    kinds = {find_model(name).spec.kind for name in out.model_candidates}
    return kinds.pop() if len(kinds) == 1 else None


_SMALLEST_WITH_ADAPTERS_B = 0.5
"""Below so many billions a network that is not in the registry trains all its weights."""
_NO_TENSOR_CORES = 7.0
"""Below this compute capability vLLM and the like do not run; llama.cpp does."""


def settle_layers(board: Board, out: Resolution) -> None:
    """Layers spread over the cards (device_map=auto): each holds its share of them."""
    count = out.get("gpu_count") or 1
    is_dealt = board.has("layers_split") or getattr(out.spec, "kind", None) == "seq2seq"
    is_split = is_dealt and out.get("task") == "infer"
    if is_split and count > 1 and out.get("tp") is None and out.get("pp") is None:
        out.put("pp", count, board.best("layers_split"))


def settle_engine(out: Resolution) -> None:
    """The engine that is left for quantised weights on an old card."""
    cards = [card.spec.compute_capability for card in out.cards]
    is_old = bool(cards) and all(cc is not None and cc < _NO_TENSOR_CORES for cc in cards)
    four_bit = str(out.get("quantization")).startswith(("int4", "q4", "q5", "q8", "q6", "q3", "q2"))
    if is_old and four_bit and out.get("task") == "infer" and out.get("framework") is None:
        out.put("framework", "llama.cpp", inferred=True)


_SIDE_BY_SIDE = 12
"""Characters between two formats that are compared."""


def _formats_compared(document: Document, board: Board) -> bool:
    """Whether formats are set against each other and no model is spoken of ("Q4_0 和 Q8_0")."""
    if any(board.has(slot) for slot in ("model_match", "params_b", "model_family", "model_small")):
        return False
    found = sorted(board.of("quantization"), key=lambda reading: reading.start)
    return any(
        first.value != second.value
        and second.start - first.end <= _SIDE_BY_SIDE
        and (
            table("resolve", "against").has(document.text[first.end : second.start])
            or document.text[first.end : second.start].strip() in ("/", "、")
        )
        for first, second in pairwise(found)
    )


def _is_format(value: str) -> bool:
    """Whether a written format is one that can be computed with."""
    from tools.memory import is_format

    return is_format(value)


def settle_quantization(document: Document, board: Board, out: Resolution) -> None:
    """Settle ``quantization``, by what was said and by the format in the model's name."""
    named = board.best("quantization_named")
    said = board.best("quantization")
    if said is not None and _formats_compared(document, board):
        said = None
    reading = said or named
    if named is not None and (said is None or said.value in str(named.value)):
        reading = named
    value = None if reading is None else reading.value
    if named is not None and value in ("int4", "int8") and named.value in ("gptq", "awq"):
        value = named.value if value == "int4" else f"{named.value}-{value}"
    if value == "nf4" and out.get("task") == "train" and out.get("method") in (None, "lora"):
        out.put("method", "qlora", reading)
    if value in ("fp16", "bf16", "fp32"):
        out.put("precision", value, reading)
        value = None
    if (
        value is not None
        and out.get("task") == "train"
        and str(out.get("method") or "").endswith("qlora")
    ):
        explicit = any(
            _QLORA.search(document.text[r.start : r.end]) for r in board.of("method_scale")
        )
        if not explicit or value == "nf4" or (reading and reading.origin == "pasted"):
            value = None
    is_asked = value is not None and not (board.has("not_quantized") and said is None)
    if is_asked and not _is_format(str(value)):
        out.unknown_format = str(value)
    elif is_asked:
        out.put("quantization", value, reading)
    elif (
        out.get("framework") == "ollama" and out.spec is not None and not board.has("not_quantized")
    ):
        out.put("quantization", "q4_k_m", inferred=True)
