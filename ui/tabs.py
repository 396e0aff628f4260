"""The tabs beside the chat: calculator, catalog, this machine, accuracy."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import gradio as gr

from ui import calculator, catalog_page
from ui.accuracy import accuracy_html
from ui.blocks import html_block, i18n
from ui.calculator import Setup, calculator_html
from ui.catalog_page import Filters, catalog_html
from ui.machine import machine_html
from ui.markup import tag, text
from ui.wording import Language, language_of, say

if TYPE_CHECKING:
    from agent import Settings

# Direct calls, not through the queue: the result follows the hand.
_LIVE: dict[str, Any] = {"queue": False, "show_progress": "hidden", "trigger_mode": "always_last"}
_PRIVATE: dict[str, Any] = {"api_visibility": "private"}


def _words(key: str) -> Any:
    return i18n()(key)


def _with_language(name: str) -> str:
    """The browser's side of an event: adds the page's language as the last input."""
    return f"(...values) => window.xuanka.send({name!r}, values)"


def _language_box() -> gr.Textbox:
    return gr.Textbox(visible=False)


# ---- calculator


def calculator_tab(page: gr.Blocks) -> None:
    """Controls on the left, the result on the right; the address bar holds the setup."""
    with gr.Row(elem_classes="xk-split"):
        with gr.Column(elem_classes="xk-controls", scale=1, min_width=300):
            controls = _calculator_controls()
        with gr.Column(elem_classes="xk-result", scale=2, min_width=320):
            result = html_block(elem_id="xk-calc")
    language = _language_box()
    inputs = [*controls.values(), language]

    def redraw(*values: Any) -> str:
        given = dict(zip(controls, values[:-1], strict=True))
        return calculator_html(Setup.from_values(given), language_of(values[-1]))

    gr.on(
        [control.input for control in controls.values()], redraw, inputs, result,
        js=_with_language("calculator"), **_LIVE, **_PRIVATE,
    )  # fmt: skip
    groups = _by_task(controls)
    controls["task"].input(
        lambda task: [gr.update(visible=kind == task) for _, kind in groups],
        controls["task"], [control for control, _ in groups], **_LIVE, **_PRIVATE,
    )  # fmt: skip

    kinds = {id(control): kind for control, kind in groups}
    query = gr.Textbox(visible=False)

    def restore(language_tag: str, search: str) -> list[Any]:
        setup = Setup.from_values(dict(parse_qsl(search.removeprefix("?"))))
        language_ = language_of(language_tag)
        shown: list[Any] = []
        for name, control in controls.items():
            visible = kinds.get(id(control), setup.task) == setup.task
            more: dict[str, Any] = {"choices": _task_choices(language_)} if name == "task" else {}
            shown.append(gr.update(value=getattr(setup, name), visible=visible, **more))
        return [*shown, calculator_html(setup, language_)]

    page.load(
        restore, [language, query], [*controls.values(), result],
        js="() => [window.xuanka.lang(), window.location.search]",
        queue=False, show_progress="hidden", **_PRIVATE,
    )  # fmt: skip


def _calculator_controls() -> dict[str, Any]:
    usual = Setup()

    def choice(key: str, values: tuple[str, ...], value: str) -> gr.Dropdown:
        pairs = [(v or "—", v) for v in values]
        return gr.Dropdown(pairs, value=value, label=_words(key), filterable=False)

    return {
        "task": gr.Radio(_task_choices("en"), value=usual.task, label=_words("calc_task")),
        "model": gr.Dropdown(list(calculator.model_names()), value=usual.model,
                             label=_words("calc_model"), allow_custom_value=True),
        "gpu": gr.Dropdown(list(calculator.card_names()), value=usual.gpu,
                           label=_words("calc_gpu")),
        "gpu_count": gr.Slider(1, 16, usual.gpu_count, step=1, label=_words("calc_gpu_count")),
        "batch": gr.Slider(1, 64, usual.batch, step=1, label=_words("calc_batch")),
        "seq_len": gr.Slider(256, 32768, usual.seq_len, step=256, label=_words("calc_seq_len")),
        "method": gr.Radio(list(calculator.METHODS), value=usual.method,
                           label=_words("calc_method")),
        "precision": choice("calc_precision", calculator.PRECISIONS, usual.precision),
        "optimizer": choice("calc_optimizer", calculator.OPTIMIZERS, usual.optimizer),
        "checkpointing": choice("calc_checkpointing", calculator.CHECKPOINTING,
                                usual.checkpointing),
        "parallel": choice("calc_parallel", calculator.PARALLELISM, usual.parallel),
        "engine": choice("calc_engine", calculator.ENGINES, usual.engine),
        "weights": choice("calc_quantization", calculator.FORMATS, usual.weights),
    }  # fmt: skip


def _task_choices(language: Language) -> list[tuple[str, str]]:
    return [(say(f"calc_task_{task}", language), task) for task in ("train", "infer")]


def _by_task(controls: dict[str, Any]) -> list[tuple[Any, str]]:
    train = ("method", "precision", "optimizer", "checkpointing", "parallel")
    kinds = {**dict.fromkeys(train, "train"), "engine": "infer", "weights": "infer"}
    return [(controls[name], kind) for name, kind in kinds.items()]


# ---- catalog


def catalog_tab(tab: gr.Tab) -> None:
    """Filters above, the table below."""
    with gr.Column(elem_classes="xk-panel"):
        controls = _catalog_controls()
        result = html_block(elem_id="xk-catalog")
    language = _language_box()

    def redraw(*values: Any) -> str:
        given = dict(zip(controls, values[:-1], strict=True))
        return catalog_html(_filters(given), language_of(values[-1]))

    inputs = [*controls.values(), language]
    shared: dict[str, Any] = {"js": _with_language("catalog"), **_LIVE, **_PRIVATE}
    gr.on([c.input for c in controls.values()], redraw, inputs, result, **shared)
    tab.select(redraw, inputs, result, **shared)
    tab.select(
        lambda language_tag: gr.update(choices=_flag_choices(language_of(language_tag))),
        [language], [controls["flags"]], js="() => [window.xuanka.lang()]", **_LIVE, **_PRIVATE,
    )  # fmt: skip


def _catalog_controls() -> dict[str, Any]:
    with gr.Row(elem_classes="xk-filters"):
        return {
            "providers": gr.Dropdown(
                list(catalog_page.providers()), multiselect=True,
                label=_words("filter_provider"),
            ),
            "gpus": gr.Dropdown(
                list(catalog_page.gpu_names()), multiselect=True, label=_words("filter_gpu")
            ),
            "min_memory_gb": gr.Number(None, label=_words("filter_memory"), minimum=0),
            "min_count": gr.Number(None, label=_words("filter_count"), minimum=0,
                                   precision=0),
            "max_price": gr.Number(None, label=_words("filter_price"), minimum=0),
            "currency": gr.Radio(["CNY", "USD"], value="CNY", label=_words("filter_currency")),
            "flags": gr.CheckboxGroup(
                _flag_choices("en"), label=_words("filter_flags"),
            ),
            "name": gr.Textbox(label=_words("filter_text"), max_length=80),
        }  # fmt: skip


def _flag_choices(language: Language) -> list[tuple[str, str]]:
    return [(say(f"flag_{flag}", language), flag) for flag in catalog_page.FLAGS]


def _filters(given: dict[str, Any]) -> Filters:
    known = {field.name for field in dataclasses.fields(Filters)}
    values = {key: value for key, value in given.items() if key in known and value is not None}
    for key in ("providers", "gpus", "flags"):
        values[key] = tuple(values.get(key) or ())
    return Filters(**values)


# ---- this machine


def machine_tab(tab: gr.Tab, settings: Settings) -> None:
    """What the probe finds, and what fits there now."""
    with gr.Column(elem_classes="xk-panel"):
        result = html_block(elem_id="xk-machine")
        again = gr.Button(_words("machine_refresh"), elem_id="xk-probe", size="sm")
    language = _language_box()

    def look(language_tag: str) -> str:
        return machine_html(language_of(language_tag), is_allowed=settings.own_machine)

    for event in (tab.select, again.click):
        event(
            look, [language], result, js="() => [window.xuanka.lang()]",
            queue=False, show_progress="minimal", **_PRIVATE,
        )  # fmt: skip


# ---- accuracy


def accuracy_tab(tab: gr.Tab) -> None:
    """Predicted against measured."""
    with gr.Column(elem_classes="xk-panel"):
        waiting = tag("p", text(say("loading", "en")), class_="xk-dim")
        result = html_block(waiting, elem_id="xk-accuracy")
    language = _language_box()
    tab.select(
        lambda language_tag: accuracy_html(language_of(language_tag)), [language], result,
        js="() => [window.xuanka.lang()]", queue=False, show_progress="hidden", **_PRIVATE,
    )  # fmt: skip
