"""The tabs beside the chat: calculator, catalog, this machine, accuracy.

The library holds the controls; what they show is fetched as a fragment by the page's script
(`ui.http.fragments`), so that it follows the hand.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from ui import calculator, catalog_page
from ui.blocks import html_block, i18n
from ui.calculator import Setup
from ui.wording import Language, language_of, say

_PRIVATE: dict[str, Any] = {"api_visibility": "private"}


def _words(key: str) -> Any:
    return i18n()(key)


def _draw(name: str) -> str:
    """Browser side of an event: hands the controls' values to the page's script."""
    return f"(...values) => {{ window.xuanka.draw({name!r}, values); return values; }}"


def _live(name: str, controls: dict[str, Any]) -> None:
    inputs = list(controls.values())
    for control in inputs:
        control.input(None, inputs, None, js=_draw(name), queue=False, **_PRIVATE)
        if isinstance(control, gr.Textbox):  # a paste is a change without an input
            control.change(None, inputs, None, js=_draw(name), queue=False, **_PRIVATE)


def _place(name: str) -> gr.HTML:
    """Where a fragment is shown; the script fills it."""
    loading = '<div class="xk-loading"></div>'
    return html_block(f'<div data-fragment="{name}">{loading}</div>', elem_id=f"xk-{name}")


# ---- calculator


def calculator_tab(page: gr.Blocks) -> None:
    """Controls on the left, the result on the right; the address bar holds the setup."""
    with gr.Row(elem_classes="xk-split"):
        with gr.Column(elem_classes="xk-controls", scale=1, min_width=300):
            controls = _calculator_controls()
        with gr.Column(elem_classes="xk-result", scale=2, min_width=320):
            _place("calculator")
    _live("calculator", controls)
    groups = _by_task(controls)
    controls["task"].input(
        lambda task: [gr.update(visible=kind == task) for _, kind in groups],
        controls["task"], [control for control, _ in groups],
        queue=False, show_progress="hidden", **_PRIVATE,
    )  # fmt: skip
    _restore_from_address(page, controls, {id(control): kind for control, kind in groups})


def _restore_from_address(page: gr.Blocks, controls: dict[str, Any], kinds: dict[int, str]) -> None:
    language, query = gr.Textbox(visible=False), gr.Textbox(visible=False)

    def restore(language_tag: str, search: str) -> list[Any]:
        setup = Setup.from_values(dict(parse_qsl(search.removeprefix("?"))))
        choices = _task_choices(language_of(language_tag))
        shown: list[Any] = []
        for name, control in controls.items():
            visible = kinds.get(id(control), setup.task) == setup.task
            more: dict[str, Any] = {"choices": choices} if name == "task" else {}
            shown.append(gr.update(value=getattr(setup, name), visible=visible, **more))
        return shown

    page.load(
        restore, [language, query], list(controls.values()),
        js="() => [window.xuanka.lang(), window.xuanka.address()]",
        queue=False, show_progress="hidden", **_PRIVATE,
    )  # fmt: skip


def _calculator_controls() -> dict[str, Any]:
    usual = Setup()

    def choice(key: str, values: tuple[str, ...], value: str) -> gr.Dropdown:
        pairs = [(v or "auto · 自动", v) for v in values]
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


def catalog_tab(page: gr.Blocks) -> None:
    """Filters above, the table below."""
    with gr.Column(elem_classes="xk-panel"):
        with gr.Row(elem_classes="xk-filters"):
            controls: dict[str, Any] = _catalog_controls()
        _place("catalog")
    _live("catalog", controls)
    language = gr.Textbox(visible=False)
    page.load(
        lambda language_tag: gr.update(choices=_flag_choices(language_of(language_tag))),
        [language], [controls["flags"]], js="() => [window.xuanka.lang()]",
        queue=False, show_progress="hidden", **_PRIVATE,
    )  # fmt: skip


def _catalog_controls() -> dict[str, Any]:
    return {
        "providers": gr.Dropdown(list(catalog_page.providers()), multiselect=True,
                                 label=_words("filter_provider")),
        "gpus": gr.Dropdown(list(catalog_page.gpu_names()), multiselect=True,
                            label=_words("filter_gpu")),
        "min_memory_gb": gr.Number(None, label=_words("filter_memory"), minimum=0),
        "min_count": gr.Number(None, label=_words("filter_count"), minimum=0, precision=0),
        "max_price": gr.Number(None, label=_words("filter_price"), minimum=0),
        "currency": gr.Radio(["CNY", "USD"], value="CNY", label=_words("filter_currency")),
        "flags": gr.CheckboxGroup(_flag_choices("en"), label=_words("filter_flags")),
        "name": gr.Textbox(label=_words("filter_text"), max_length=80),
    }  # fmt: skip


def _flag_choices(language: Language) -> list[tuple[str, str]]:
    return [(say(f"flag_{flag}", language), flag) for flag in catalog_page.FLAGS]


# ---- this machine, accuracy


def machine_tab() -> None:
    """What the probe finds, and what fits there now."""
    with gr.Column(elem_classes="xk-panel"):
        _place("machine")


def accuracy_tab() -> None:
    """Predicted against measured."""
    with gr.Column(elem_classes="xk-panel"):
        _place("accuracy")
