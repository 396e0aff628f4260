"""The calculator tab: the memory engine behind sliders, and what fits on which card."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from tools.errors import AdvisorError
from ui.charts import Line, Part, gib, log_chart, memory_bar, table
from ui.markup import tag, text
from ui.reask import slot_label, value_text
from ui.render import verdict_badge
from ui.wording import Language, say, say_or

if TYPE_CHECKING:
    from tools.gpus import GpuSpec
    from tools.memory import MemoryEstimate, Workload
    from tools.models import ModelSpec
    from tools.provenance import Assumption

METHODS = ("full", "lora", "qlora")
PRECISIONS = ("", "bf16-mixed", "fp16-mixed", "pure-bf16", "pure-fp16", "fp32", "fp8")
OPTIMIZERS = ("", "adamw", "adamw-8bit", "adafactor", "sgd", "lion")
CHECKPOINTING = ("", "full", "none")
PARALLELISM = ("", "ddp", "zero1", "zero2", "zero3", "fsdp")
ENGINES = ("vllm", "sglang", "transformers", "llama.cpp", "lmdeploy")
FORMATS = ("bf16", "fp8", "int8", "awq-int4", "gptq-int4", "gguf-q8_0", "gguf-q4_k_m")
COMPARED = ("T4", "RTX 4090", "L20", "A100 80GB")
"""Cards drawn beside the chosen one: 16, 24, 48 and 80 GB."""
BATCHES = (1, 2, 4, 8, 16, 32, 64)
SHORTEST, LONGEST = 256, 131_072


@dataclass(frozen=True, slots=True)
class Setup:
    """The controls; their names are those of the address bar."""

    model: str = "Qwen/Qwen2.5-7B"
    task: str = "train"
    method: str = "lora"
    precision: str = ""
    optimizer: str = ""
    checkpointing: str = ""
    parallel: str = ""
    engine: str = "vllm"
    weights: str = "bf16"
    batch: int = 1
    seq_len: int = 2048
    gpu: str = "NVIDIA A10"
    gpu_count: int = 1

    @classmethod
    def from_values(cls, values: Any) -> Setup:
        """A setup from any mapping; what is missing or malformed keeps its default."""
        taken: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            given = values.get(field.name)
            if given is None or given == "":
                continue
            if isinstance(field.default, int):
                number = str(given).strip()
                if number.isdigit() and int(number) >= 1:
                    taken[field.name] = int(number)
            else:
                taken[field.name] = str(given)[:200]
        return cls(**taken)


@cache
def model_names() -> tuple[str, ...]:
    """Models that generate text, the best known first by name."""
    from tools.models import LANGUAGE_KINDS, all_models

    return tuple(sorted((m.name for m in all_models() if m.kind in LANGUAGE_KINDS), key=str.lower))


@cache
def card_names() -> tuple[str, ...]:
    """Cards whose usable memory is known."""
    from tools.gpus import all_gpus

    return tuple(sorted((g.name for g in all_gpus() if g.usable_bytes), key=str.lower))


@lru_cache(maxsize=256)
def _model(name: str) -> ModelSpec:
    from tools.models import find_model

    return find_model(name).spec


@lru_cache(maxsize=256)
def _card(name: str) -> GpuSpec:
    from tools.gpus import find_gpu

    return find_gpu(name).spec


def workload_of(setup: Setup) -> Workload:
    """The engine's workload for a setup.

    Raises:
        UserInputError: For a name or a value that cannot be.
    """
    from tools.memory import InferenceWorkload, TrainingWorkload

    given: dict[str, Any] = {  # checked by the workload itself, which names what is allowed
        "method": setup.method,
        "precision": setup.precision or None,
        "optimizer": setup.optimizer or None,
        "gradient_checkpointing": setup.checkpointing or None,
        "parallelism": setup.parallel or None,
    }
    common: dict[str, Any] = {"gpu": _card(setup.gpu), "gpu_count": setup.gpu_count}
    if setup.task == "infer":
        return InferenceWorkload(
            _model(setup.model), **common, engine=setup.engine, weight_format=setup.weights,
            concurrency=setup.batch, context_len=setup.seq_len,
            tensor_parallel_size=setup.gpu_count if setup.gpu_count > 1 else None,
        )  # fmt: skip
    return TrainingWorkload(
        _model(setup.model), **common, **given, micro_batch_size=setup.batch, seq_len=setup.seq_len
    )


def calculator_html(setup: Setup, language: Language) -> str:
    """The result: verdict, bar, what was assumed, what fits; errors in words."""
    if not setup.model.strip():
        return _said(say("calc_no_model", language), language)
    try:
        return _result(setup, language)
    except AdvisorError as error:
        return _said(str(error), language)


def _said(message: str, language: Language) -> str:
    return tag("p", text(message), class_="xk-answer xk-error", role="alert", lang=language)


def _result(setup: Setup, language: Language) -> str:
    from tools.memory import estimate, fit

    need = estimate(workload_of(setup))
    usable = _card(setup.gpu).usable_bytes
    verdict = fit(need, usable).verdict if usable else ""
    summary = say(
        "calc_summary", language, size=gib(need.process_bytes), low=gib(need.low_bytes),
        high=gib(need.high_bytes),
    )  # fmt: skip
    bar = memory_bar(
        [Part(part.name, part.bytes) for part in need.parts], language=language,
        usable_bytes=usable, low_bytes=need.low_bytes, high_bytes=need.high_bytes,
    )  # fmt: skip
    head = tag("header", verdict_badge(verdict, language),
               tag("span", text(summary), class_="xk-need"))  # fmt: skip
    return tag(
        "article",
        head,
        bar,
        _actions(setup, language),
        _assumed(need, language),
        _frontier(setup, language),
        class_="xk-answer xk-calc",
        lang=language,
        data_verdict=verdict,
        data_bytes=need.process_bytes,
    )


def _actions(setup: Setup, language: Language) -> str:
    question = question_of(setup, language)
    return tag(
        "div",
        tag("button", text(say("calc_ask", language)), type="button", data_ask=question),
        tag("button", text(say("calc_link", language)), type="button", data_copy_link=True),
        class_="xk-take",
    )


def question_of(setup: Setup, language: Language) -> str:
    """The setup as a question for the chat."""
    return say(
        f"calc_question_{'infer' if setup.task == 'infer' else 'train'}", language,
        model=setup.model, method=say_or(f"method_{setup.method}", language, setup.method),
        batch=setup.batch, concurrency=setup.batch, seq_len=setup.seq_len, gpu=setup.gpu,
        count=setup.gpu_count,
    )  # fmt: skip


def _assumed(need: MemoryEstimate, language: Language) -> str:
    if not need.assumptions:
        return ""

    def item(a: Assumption) -> str:
        name = slot_label(a.name, language)
        value = tag("b", text(value_text(a.value, a.unit, language)))
        return tag("li", tag("span", text(name)), " ", value, data_tip=a.why)

    items = "".join(item(a) for a in need.assumptions)
    title = tag("h3", text(say("calc_assumed", language)))
    return tag("section", title, tag("ul", items, class_="xk-plain"))


def frontier(
    workload_at: Callable[[int, int], Workload], usable_bytes: int
) -> Iterator[tuple[int, int]]:
    """(batch, longest sequence that fits) for each batch, until nothing fits."""
    from tools.memory import estimate

    longest = LONGEST
    for batch in BATCHES:
        low, high = SHORTEST // 2, longest
        while high - low > max(64, low // 16):
            middle = (low + high) // 2
            if estimate(workload_at(batch, middle)).process_bytes <= usable_bytes:
                low = middle
            else:
                high = middle
        if low < SHORTEST:
            return
        longest = high if low < LONGEST // 2 else LONGEST
        yield batch, low


@lru_cache(maxsize=512)
def _curve(setup: Setup) -> tuple[tuple[float, float], ...]:
    """One card's frontier; batch and length of the setup do not matter and are set to 1."""
    usable = _card(setup.gpu).usable_bytes
    if not usable:
        return ()

    def at(batch: int, seq_len: int) -> Workload:
        return workload_of(dataclasses.replace(setup, batch=batch, seq_len=seq_len))

    return tuple((float(b), float(s)) for b, s in frontier(at, usable))


def _frontier(setup: Setup, language: Language) -> str:
    cards = dict.fromkeys([setup.gpu, *(_card(name).name for name in COMPARED)])
    plain = dataclasses.replace(setup, batch=1, seq_len=SHORTEST)
    curves = [Line(card, _curve(dataclasses.replace(plain, gpu=card))) for card in cards]
    drawn = [curve for curve in curves if curve.points]
    title = tag("h3", text(say("calc_frontier", language)))
    if not drawn:
        return tag("section", title, tag("p", text(say("calc_frontier_none", language))))
    is_infer = setup.task == "infer"
    x_label = say("calc_axis_requests" if is_infer else "calc_axis_batch", language)
    y_label = say("calc_axis_tokens", language)
    here = say("calc_here", language, x=setup.batch, y=setup.seq_len)
    chart = log_chart(
        drawn, x_label=x_label, y_label=y_label, title=say("calc_frontier", language),
        marks=[(setup.batch, setup.seq_len, here)],
    )  # fmt: skip
    rows = [[line.name, *(_longest(line, batch) for batch in BATCHES)] for line in curves]
    heads = [say("col_gpu", language), *(str(batch) for batch in BATCHES)]
    numbers = tag(
        "details",
        tag("summary", text(say("bar_table", language))),
        table(heads, rows, caption=say("calc_frontier_note", language),
              numeric=tuple(range(1, len(heads)))),
        class_="xk-more",
    )  # fmt: skip
    legend = "".join(
        tag("li", tag("span", class_=f"xk-key xk-k{i % 8 + 1}"), text(line.name))
        for i, line in enumerate(drawn)
    )
    note = tag("p", text(say("calc_frontier_note", language)), class_="xk-dim")
    return tag("section", title, note, chart, tag("ul", legend, class_="xk-legend"), numbers,
               class_="xk-frontier")  # fmt: skip


def _longest(line: Line, batch: int) -> str:
    return next((f"{int(y)}" for x, y in line.points if x == batch), "–")
